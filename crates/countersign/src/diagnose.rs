//! What is wrong with what a user wrote, shown with file, line, column and the nearest right spelling.

use std::{fmt, ops::Range, sync::Arc};

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, renderer::DecorStyle};
use serde::Serialize;

/// A file that was read, kept so that its lines can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path as the user would write it.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Source {
    /// A text and what it is called.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into() })
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    #[must_use]
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let before = &self.text[..self.text.floor_char_boundary(byte)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub source: Arc<Source>,
    /// The bytes.
    pub span: Range<usize>,
    /// What to write beside the caret.
    pub label: Option<String>,
}

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is refused.
    Note,
    /// Probably not what was meant; nothing is refused.
    Warning,
    /// Refused.
    Error,
}

/// Who must act: the exit code depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// What the user wrote, in a file, a flag or the environment.
    User,
    /// What the world did: no permission, a disk that fails.
    World,
}

/// One thing that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// Whose fault it is.
    pub fault: Fault,
    /// What is wrong, in one line.
    pub message: String,
    /// Where.
    pub place: Option<Place>,
    /// Facts that explain it.
    pub notes: Vec<String>,
    /// What to do next.
    pub help: Vec<String>,
}

impl Diagnostic {
    fn new(severity: Severity, fault: Fault, message: impl Into<String>) -> Self {
        Self { severity, fault, message: message.into(), place: None, notes: Vec::new(), help: Vec::new() }
    }

    /// What the user wrote is wrong.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Fault::User, message)
    }

    /// The world failed.
    pub fn failure(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Fault::World, message)
    }

    /// Probably not what was meant.
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, Fault::User, message)
    }

    /// Worth knowing.
    pub fn note(message: impl Into<String>) -> Self {
        Self::new(Severity::Note, Fault::User, message)
    }

    /// Where it is.
    #[must_use]
    pub fn at(mut self, source: &Arc<Source>, span: Range<usize>) -> Self {
        self.place = Some(Place { source: Arc::clone(source), span, label: None });
        self
    }

    /// What to write beside the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        if let Some(place) = &mut self.place {
            place.label = Some(label.into());
        }
        self
    }

    /// Keeps these bytes of the file off the screen: they may be a secret.
    #[must_use]
    pub(crate) fn hidden(mut self, secret: Option<Range<usize>>) -> Self {
        if let (Some(place), Some(secret)) = (&mut self.place, secret) {
            let text = &place.source.text;
            let masked =
                format!("{}{}{}", &text[..secret.start], "*".repeat(secret.len()), &text[secret.end..]);
            place.source = Source::new(place.source.name.clone(), masked);
        }
        self
    }

    /// A fact that explains it.
    #[must_use]
    pub fn because(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// What to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// What to do next, where that is known.
    #[must_use]
    pub fn maybe_help(self, help: Option<impl Into<String>>) -> Self {
        match help {
            Some(help) => self.help(help),
            None => self,
        }
    }

    /// File, line and column, both from 1.
    #[must_use]
    pub fn position(&self) -> Option<(&str, usize, usize)> {
        let place = self.place.as_ref()?;
        let (line, column) = place.source.position(place.span.start);
        Some((&place.source.name, line, column))
    }

    /// As a person reads it, without a last newline. Colour is ANSI escapes.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let level = match self.severity {
            Severity::Note => Level::NOTE,
            Severity::Warning => Level::WARNING,
            Severity::Error => Level::ERROR,
        };
        let mut group = annotate_snippets::Group::with_title(level.primary_title(&self.message));
        if let Some(place) = &self.place {
            let caret = AnnotationKind::Primary.span(place.shown_span()).label(place.label.as_deref());
            let snippet = Snippet::source(&place.source.text).path(&place.source.name);
            group = group.element(snippet.annotation(caret));
        }
        let notes = self.notes.iter().map(|note| Level::NOTE.message(note));
        let help = self.help.iter().map(|help| Level::HELP.message(help));
        let report = [group.elements(notes.chain(help))];
        renderer.decor_style(DecorStyle::Ascii).render(&report)
    }

    /// As a program reads it.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let position = self.position();
        serde_json::json!({
            "type": "diagnostic",
            "severity": self.severity,
            "fault": self.fault,
            "message": self.message,
            "file": position.map(|(file, ..)| file),
            "line": position.map(|(_, line, _)| line),
            "column": position.map(|(.., column)| column),
            "notes": self.notes,
            "help": self.help,
        })
    }
}

impl Place {
    /// The bytes to point at: within the text, on character borders, and on the first line alone.
    fn shown_span(&self) -> Range<usize> {
        let text = &self.source.text;
        let start = text.floor_char_boundary(self.span.start);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let end = text.ceil_char_boundary(self.span.end).clamp(start, line_end);
        start..end
    }
}

/// Why something can't be loaded: one diagnostic or more, found before anything was spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// All that was found, warnings included. At least one is an error.
    pub diagnostics: Vec<Diagnostic>,
}

impl LoadError {
    /// Whose fault it is: the user's, where any of the errors is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        let user = self.diagnostics.iter().any(|d| d.severity == Severity::Error && d.fault == Fault::User);
        if user { Fault::User } else { Fault::World }
    }

    /// The exit code of the command line: 2 for what the user wrote, 1 for what the world did.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self.fault() {
            Fault::User => 2,
            Fault::World => 1,
        }
    }

    /// As a person reads it: the diagnostics with an empty line between them, without a last newline.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        render(&self.diagnostics, colour)
    }
}

/// Diagnostics as a person reads them, with an empty line between them and no newline at the end.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], colour: bool) -> String {
    diagnostics.iter().map(|d| d.render(colour)).collect::<Vec<_>>().join("\n\n")
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for LoadError {}

impl From<Diagnostic> for LoadError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic] }
    }
}

/// Collects diagnostics, so that a user sees all that is wrong at once and not the first alone.
#[derive(Debug, Default)]
pub(crate) struct Findings(Vec<Diagnostic>);

impl Findings {
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        if !self.0.contains(&diagnostic) {
            self.0.push(diagnostic);
        }
    }

    pub(crate) fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        diagnostics.into_iter().for_each(|diagnostic| self.add(diagnostic));
    }

    /// The value, or nothing where it failed; what is wrong is kept.
    pub(crate) fn take<T>(&mut self, result: Result<T, LoadError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.extend(error.diagnostics);
                None
            }
        }
    }

    /// The notes and warnings, or the error where there is one.
    pub(crate) fn finish(self) -> Result<Vec<Diagnostic>, LoadError> {
        if self.0.iter().any(|d| d.severity == Severity::Error) {
            return Err(LoadError { diagnostics: self.0 });
        }
        Ok(self.0)
    }

    pub(crate) fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }
}
