//! A TOML file: read, checked against its schema, and turned into a type, with the place of every key kept.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read},
    ops::Range,
    path::Path,
    sync::Arc,
};

use serde::de::DeserializeOwned;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use crate::{
    diagnose::{Diagnostic, Findings, LoadError, Severity, Source},
    nearest::did_you_mean,
    schema::Table,
    walk::{Required, walk},
};

/// No file that a person writes is larger, in bytes.
const LARGEST_FILE: u64 = 4 << 20;

/// A TOML file that could be parsed.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) source: Arc<Source>,
}

impl Document {
    /// Reads a file. `shown` is its path as the user would write it.
    pub(crate) fn read(path: &Path, shown: &str) -> Result<Self, LoadError> {
        let bytes = read_limited(path).map_err(|error| unreadable(path, shown, &error))?;
        match String::from_utf8(bytes) {
            Ok(text) => Self::parse(&Source::new(shown, text)),
            Err(error) => Err(not_utf8(shown, error.as_bytes(), error.utf8_error().valid_up_to()).into()),
        }
    }

    /// No file: what is checked was given by a program, so that there is no place to point to.
    pub(crate) fn none() -> Self {
        Self { source: Source::new("", "") }
    }

    /// Parses a text.
    pub(crate) fn parse(source: &Arc<Source>) -> Result<Self, LoadError> {
        DeTable::parse(&source.text).map_err(|error| {
            let end = source.text.trim_end().len();
            let diagnostic = Diagnostic::error(format!("this is not TOML: {}", error.message()));
            LoadError::from(diagnostic.at(source, error.span().unwrap_or(end..end)))
        })?;
        Ok(Self { source: Arc::clone(source) })
    }

    /// The tree with its places. It borrows from the text, so it is built where it is needed; files are small.
    fn root(&self) -> Spanned<DeTable<'_>> {
        DeTable::parse_recoverable(&self.source.text).0
    }

    /// Checks the file against its schema and gives it a type.
    pub(crate) fn typed<T: DeserializeOwned>(&self, schema: &Table) -> Result<T, LoadError> {
        self.check(schema, Required::Here)?;
        T::deserialize(toml::de::Deserializer::from(self.root())).map_err(|error| self.refused(&error))
    }

    /// Checks the file against its schema. Whether required keys must be there depends on the file being whole.
    pub(crate) fn check(&self, schema: &Table, required: Required) -> Result<(), LoadError> {
        let mut findings = Findings::default();
        walk(&self.root(), schema, required, &self.source, &mut findings);
        findings.finish().map(|_| ())
    }

    /// The content without places, for merging with other files.
    pub(crate) fn values(&self) -> Result<toml::Table, LoadError> {
        use serde::Deserialize;
        toml::Table::deserialize(toml::de::Deserializer::from(self.root()))
            .map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &toml::de::Error) -> LoadError {
        let diagnostic = Diagnostic::error(error.message());
        diagnostic.at(&self.source, error.span().unwrap_or(0..0)).into()
    }

    /// The top-level keys.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.root().get_ref().keys().map(|key| key.get_ref().to_string()).collect()
    }

    /// An error at the value under these keys (a number picks from an array), or at the nearest table around it.
    pub(crate) fn error(&self, keys: &[&str], message: impl Into<String>) -> Diagnostic {
        let error = Diagnostic::error(message);
        if self.source.text.is_empty() {
            return error;
        }
        error.at(&self.source, self.span(keys).unwrap_or(0..0))
    }

    /// The same as a warning or note.
    pub(crate) fn remark(&self, severity: Severity, keys: &[&str], message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity, ..self.error(keys, message) }
    }

    /// Where the value under these keys is, or the nearest table around it. `None` where the first key is absent.
    pub(crate) fn span(&self, keys: &[&str]) -> Option<Range<usize>> {
        let (first, rest) = keys.split_first()?;
        let root = self.root();
        let (key, value) = root.get_ref().get_key_value(*first)?;
        Some(inner_span(key.span(), value, rest))
    }
}

fn inner_span(key: Range<usize>, value: &Spanned<DeValue<'_>>, keys: &[&str]) -> Range<usize> {
    let Some((first, rest)) = keys.split_first() else {
        // A table's own span is its header; it is the name in it that one wants to see.
        return if value.get_ref().is_table() { key } else { value.span() };
    };
    match value.get_ref() {
        DeValue::Table(table) => {
            table.get_key_value(*first).map_or(key, |(inner, value)| inner_span(inner.span(), value, rest))
        }
        DeValue::Array(array) => {
            let entry = first.parse::<usize>().ok().and_then(|index| array.get(index));
            entry.map_or(key, |entry| inner_span(entry.span(), entry, rest))
        }
        _ => value.span(),
    }
}

fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(io::Error::other("it is larger than 4 MiB, so it is not a file of this kind"));
    }
    Ok(bytes)
}

/// Why a file can't be read. What the user misspelt is the user's, what the machine refuses is the world's.
pub(crate) fn unreadable(path: &Path, shown: &str, error: &io::Error) -> LoadError {
    let diagnostic = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => missing(path, shown),
        io::ErrorKind::IsADirectory => Diagnostic::error(format!("`{shown}` is a folder, not a file")),
        _ => Diagnostic::failure(format!("can't read `{shown}`: {error}")),
    };
    diagnostic.into()
}

/// A file or folder that doesn't exist, with the names that are there and nearest.
pub(crate) fn missing(path: &Path, shown: &str) -> Diagnostic {
    let diagnostic = Diagnostic::error(format!("`{shown}` does not exist"));
    let Some((parent, name)) = path.parent().zip(path.file_name()) else { return diagnostic };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let Ok(entries) = parent.read_dir() else {
        let there = parent.ancestors().skip(1).find(|ancestor| ancestor.is_dir());
        return match there {
            Some(there) if !there.as_os_str().is_empty() => diagnostic.because(format!(
                "the folder `{}` does not exist; `{}` does",
                parent.display(),
                there.display()
            )),
            _ => diagnostic,
        };
    };
    let names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    diagnostic.maybe_help(did_you_mean(&name.to_string_lossy(), names.iter().map(String::as_str)))
}

fn not_utf8(shown: &str, bytes: &[u8], offset: usize) -> Diagnostic {
    let source = Source::new(shown, String::from_utf8_lossy(bytes));
    let byte = bytes.get(offset).copied().unwrap_or_default();
    let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let guess = if wide { Cow::from("this looks like UTF-16") } else { Cow::from("this may be Latin-1") };
    Diagnostic::error(format!("this file is not UTF-8: byte 0x{byte:02x} at offset {offset}"))
        .at(&source, offset..offset + 1)
        .because(guess)
        .help("save it as UTF-8")
}
