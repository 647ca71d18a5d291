//! Where results and everything else go: results to stdout, the rest to stderr.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::cli::Color;

/// What a word's colour says.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// See [`GOOD`].
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// See [`GOOD`].
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// See [`GOOD`].
pub(crate) const FAINT: Style = Style::new().dimmed();
/// See [`GOOD`].
pub(crate) const STRONG: Style = Style::new().bold();

/// Chooses when colour is used, for the whole process. `auto` honours `NO_COLOR`, `CLICOLOR` and `TERM=dumb`.
pub(crate) fn choose_color(color: Color) {
    let choice = match color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// A text in a style; the style's codes are taken out again where they don't belong.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Writes a text to stdout at once, and a line break after it where it ends with none.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// Writes a value to stdout as one line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}

/// Says something on stderr. A stderr that is closed is no reason to stop.
pub(crate) fn note(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "{text}").and_then(|()| stderr.flush());
}

/// Whether the error says that whoever read stdout has gone away.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    let io = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    io.map(io::Error::kind).any(|kind| kind == io::ErrorKind::BrokenPipe)
}
