//! The shape of the files that users write: which keys each table has, and what each means.
//!
//! This is the one list of keys. Files are checked against it, and the reference is written from it.

use std::str::FromStr;

/// A table of a TOML file.
#[derive(Debug)]
pub struct Table {
    /// What it is called in messages, with an article.
    pub title: &'static str,
    /// Its keys, in the order of the reference.
    pub keys: &'static [Key],
    /// Words that people write here and what they should write instead.
    pub slips: &'static [(&'static str, &'static str)],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What happens without it.
    pub without: Without,
    /// What it means, in a sentence or two.
    pub meaning: &'static str,
}

/// What happens where a key is left out.
#[derive(Debug, Clone, Copy)]
pub enum Without {
    /// The file is refused.
    Refused,
    /// This value holds, written as in TOML.
    Default(&'static str),
    /// As these words say.
    Otherwise(&'static str),
}

/// What a key holds.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text that must be of a certain form.
    Formed(Form),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number that is at least this.
    Integer(u64),
    /// A number in 0..=1.
    Share,
    /// `true` or `false`.
    Boolean,
    /// An array.
    List(&'static Kind),
    /// A table.
    Table(&'static Table),
    /// An array of tables.
    Tables(&'static Table),
    /// A table of tables, each under a name of the user's choice.
    Named(&'static Table),
    /// A table with keys of the user's choice.
    Values(&'static Kind),
}

/// A text that must be of a certain form.
#[derive(Clone, Copy)]
pub struct Form {
    /// What it is, with an article.
    pub what: &'static str,
    /// A right one, as it stands in a file.
    pub example: &'static str,
    /// What is wrong with a text.
    pub check: fn(&str) -> Result<(), String>,
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)
    }
}

/// The check of a [`Form`] for a type that can be parsed.
pub(crate) fn parses<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<(), String> {
    text.parse::<T>().map(|_| ()).map_err(|error| error.to_string())
}

impl Table {
    /// The key of this name.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.keys.iter().map(|key| key.name)
    }
}

impl Kind {
    /// What is expected, with an article.
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Text => "a text".into(),
            Self::Formed(form) => format!("a text that is {}", form.what),
            Self::Choice(words) => format!("one of {}", words.map_quoted()),
            Self::Integer(0) => "a whole number".into(),
            Self::Integer(least) => format!("a whole number from {least}"),
            Self::Share => "a number from 0 to 1".into(),
            Self::Boolean => "`true` or `false`".into(),
            Self::List(kind) => format!("an array, each entry {}", kind.expected()),
            Self::Table(table) => format!("a table ({})", table.title),
            Self::Tables(table) => format!("an array of tables, each {}", table.title),
            Self::Named(table) => format!("a table of names, each {}", table.title),
            Self::Values(kind) => format!("a table of names, each {}", kind.expected()),
        }
    }

    /// The tables inside it.
    #[must_use]
    pub fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Table(table) | Self::Tables(table) | Self::Named(table) => Some(table),
            Self::List(kind) | Self::Values(kind) => kind.table(),
            _ => None,
        }
    }
}

trait Quoted {
    fn map_quoted(&self) -> String;
}

impl Quoted for &[&str] {
    fn map_quoted(&self) -> String {
        self.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
    }
}
