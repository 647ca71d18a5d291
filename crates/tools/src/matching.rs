//! Where an edit's text stands in a file: exactly, else with other line ends, else with other quotes, dashes and
//! blanks. Only the matched span changes.

use std::{cell::OnceCell, ops::Range};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    folding::{Fold, Folded, fold, is_blank},
    text,
};

// One replacement. Not a documentation comment, which would go into the schema.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Edit {
    pub(crate) old_text: String,
    pub(crate) new_text: String,
}

/// Why edits can't be made. The texts are for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditError {
    #[error("edits[{index}].old_text is empty: give the text to replace; to create a file, use write")]
    Empty { index: usize },
    #[error("edits[{index}].old_text is not in it{near}. Read it again and copy the text as it stands")]
    Missing { index: usize, near: String },
    #[error(
        "edits[{index}].old_text is in it {count} times (lines {lines}): add lines around it until it is unique"
    )]
    Ambiguous { index: usize, count: usize, lines: String },
    #[error("edits[{first}] and edits[{second}] overlap: make one edit of them")]
    Overlap { first: usize, second: usize },
    #[error("the edits change nothing: what they would write is there already")]
    Nothing,
}

const BOM: char = '\u{feff}';

/// The text with all edits made, or none: each is looked for in the text as it was.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    // A byte order mark stays where it is, and is no part of what is matched.
    let body = text.strip_prefix(BOM).unwrap_or(text);
    let haystack = Haystack::new(body);
    let mut changes = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let (old, new) = match (edit.old_text.strip_prefix(BOM), edit.new_text.strip_prefix(BOM)) {
            (Some(old), new) => (old, new.unwrap_or(&edit.new_text)),
            (None, _) => (edit.old_text.as_str(), edit.new_text.as_str()),
        };
        changes.push((index, haystack.change(index, old, new)?));
    }
    changes.sort_by_key(|(_, change)| change.span.start);
    let mut edited = text[..text.len() - body.len()].to_owned();
    let mut done: Option<(usize, usize)> = None;
    for (index, change) in changes {
        let from = match done {
            Some((first, end)) if change.span.start < end => {
                return Err(EditError::Overlap { first: first.min(index), second: first.max(index) });
            }
            Some((_, end)) => end,
            None => 0,
        };
        edited.push_str(&body[from..change.span.start]);
        edited.push_str(&change.new);
        done = Some((index, change.span.end));
    }
    edited.push_str(&body[done.map_or(0, |(_, end)| end)..]);
    if edited == text { Err(EditError::Nothing) } else { Ok(edited) }
}

/// A span of the file, and what comes in its place.
struct Change {
    span: Range<usize>,
    new: String,
}

/// What must follow a match.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    Anything,
    LineEnd,
    FileEnd,
}

struct Haystack<'a> {
    body: &'a str,
    line_ends: OnceCell<Folded>,
    loose: OnceCell<Folded>,
}

impl<'a> Haystack<'a> {
    const fn new(body: &'a str) -> Self {
        Self { body, line_ends: OnceCell::new(), loose: OnceCell::new() }
    }

    fn change(&self, index: usize, old: &str, new: &str) -> Result<Change, EditError> {
        if old.is_empty() {
            return Err(EditError::Empty { index });
        }
        let exact = occurrences(self.body, old).map(|start| start..start + old.len()).collect();
        if let Some(span) = self.unique(index, exact)? {
            let new = self.in_local_style(&span, new, true);
            return Ok(Change { span: self.whole_line_end(span), new });
        }
        for kind in [Fold::LineEnds, Fold::Loose] {
            let folded = match kind {
                Fold::LineEnds => self.line_ends.get_or_init(|| fold(self.body, kind)),
                Fold::Loose => self.loose.get_or_init(|| fold(self.body, kind)),
            };
            let needle = fold(old, kind).text;
            for (needle, then) in variants(&needle, kind) {
                if let Some(span) = self.unique(index, spans(folded, needle, then))? {
                    let dropped = then == Then::FileEnd && new.ends_with('\n');
                    let new = if dropped { new.trim_end_matches('\n') } else { new };
                    let new = self.in_local_style(&span, new, false);
                    return Ok(Change { span: self.whole_line_end(span), new });
                }
            }
        }
        Err(EditError::Missing { index, near: self.nearest_line(old) })
    }

    /// The only span; nothing where there is none.
    fn unique(&self, index: usize, mut spans: Vec<Range<usize>>) -> Result<Option<Range<usize>>, EditError> {
        const SHOWN: usize = 5;
        if spans.len() < 2 {
            return Ok(spans.pop());
        }
        let line = |span: &Range<usize>| self.body[..span.start].matches('\n').count() + 1;
        let mut lines: Vec<String> = spans.iter().take(SHOWN).map(|span| line(span).to_string()).collect();
        if spans.len() > SHOWN {
            lines.push("…".into());
        }
        Err(EditError::Ambiguous { index, count: spans.len(), lines: lines.join(", ") })
    }

    /// A span that begins between the two characters of a line end begins before them.
    fn whole_line_end(&self, span: Range<usize>) -> Range<usize> {
        let splits = self.body[span.start..].starts_with('\n') && self.body[..span.start].ends_with('\r');
        span.start - usize::from(splits)..span.end
    }

    /// The new text with the line ends that are used where it goes.
    fn in_local_style(&self, span: &Range<usize>, new: &str, exact: bool) -> String {
        let newline = self.body[span.start..].find('\n').map(|at| span.start + at);
        let newline = newline.or_else(|| self.body[..span.start].rfind('\n'));
        if newline.is_some_and(|at| self.body[..at].ends_with('\r')) {
            new.replace("\r\n", "\n").replace('\n', "\r\n")
        } else if exact {
            new.to_owned()
        } else {
            new.replace("\r\n", "\n")
        }
    }

    /// The line of the file that looks most like the first line that was looked for.
    fn nearest_line(&self, old: &str) -> String {
        const LINES: usize = 5_000;
        const SIMILAR: f64 = 0.6;
        let Some(wanted) = old.lines().map(str::trim).find(|line| !line.is_empty()) else {
            return String::new();
        };
        let scored = self.body.lines().take(LINES).enumerate().map(|(number, line)| {
            (strsim::sorensen_dice(text::head(wanted, 500), text::head(line.trim(), 500)), number + 1, line)
        });
        match scored.max_by(|(a, ..), (b, ..)| a.total_cmp(b)) {
            Some((score, number, line)) if score >= SIMILAR => {
                format!("; the nearest is line {number}: `{}`", text::cut_line(line.trim_end(), 200))
            }
            _ => String::new(),
        }
    }
}

/// All places of a text, overlapping ones too.
fn occurrences<'a>(haystack: &'a str, needle: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = needle.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + haystack.get(from..)?.find(needle)?;
        from = start + step;
        Some(start)
    })
}

/// The ways in which a text may stand in the file: as it is; with a blank at its end that the line there lacks;
/// with a newline at its end that the file lacks.
fn variants(needle: &str, kind: Fold) -> Vec<(&str, Then)> {
    let mut variants = vec![(needle, Then::Anything)];
    let trimmed = needle.trim_end_matches(is_blank);
    if kind == Fold::Loose && trimmed.len() < needle.len() {
        variants.push((trimmed, Then::LineEnd));
    }
    if let Some(line) = needle.strip_suffix('\n') {
        variants.push((line, Then::FileEnd));
    }
    variants.retain(|(needle, _)| !needle.is_empty());
    variants
}

/// The spans of the file that a folded text stands for.
fn spans(folded: &Folded, needle: &str, then: Then) -> Vec<Range<usize>> {
    let fits = |start: &usize| {
        let rest = &folded.text[start + needle.len()..];
        match then {
            Then::Anything => true,
            Then::LineEnd => rest.is_empty() || rest.starts_with('\n'),
            Then::FileEnd => rest.is_empty(),
        }
    };
    let found = occurrences(&folded.text, needle).filter(fits);
    found.filter_map(|start| folded.original(start..start + needle.len())).collect()
}
