//! `grep`: lines of files by regular expression.

use std::{io, ops::ControlFlow};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{Builtin, Work, reads_all};
use crate::{
    ToolContext, ToolOutput,
    limits::{GREP_LINE_CHARS, GREP_MATCHES, MAX_BYTES, MAX_KIB, MAX_LINES},
    text,
    walk::{Glob, shown, start, walk, within},
};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    ignore_case: Option<bool>,
    context: Option<usize>,
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

pub(super) fn tool() -> Builtin<Arguments> {
    let description = format!(
        "Search files for a regular expression (Rust syntax), line by line; shows file:line:text. path: a folder or \
         file; glob: which files, as `*.rs`; context: lines around each match. Leaves out binary files and what \
         .gitignore names, unless path is in it. At most limit matches (default {GREP_MATCHES}) or {MAX_KIB} KiB, \
         lines cut at {GREP_LINE_CHARS} characters; where there are more, narrow the search."
    );
    Builtin::new("grep", description, reads_all, Work::Reads(grep))
}

fn grep(
    given: &Arguments,
    context: &ToolContext,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolOutput> {
    let matcher = matcher(given)?;
    let glob = given.glob.as_deref().map(Glob::new).transpose()?;
    let place = start(context, given.path.as_deref())?;
    let around = given.context.unwrap_or(0).min(20);
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .before_context(around)
        .after_context(around)
        .build();
    let mut found = Found::new(given.limit.unwrap_or(GREP_MATCHES).min(MAX_LINES));
    walk(context, &place, |entry| {
        let wanted = entry.file_type().is_some_and(|kind| kind.is_file())
            && glob.as_ref().is_none_or(|glob| glob.matches(within(&place, entry.path())));
        if wanted {
            found.file = shown(context, entry.path());
            found.parted = false;
            if searcher.search_path(&matcher, entry.path(), &mut found).is_err() {
                found.unread += 1;
            }
        }
        if found.full || cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if cancel.is_cancelled() {
        return Err(ToolOutput::error("Interrupted; nothing was changed."));
    }
    Ok(ToolOutput::text(found.report(&given.pattern, &place.shown)))
}

fn matcher(given: &Arguments) -> Result<RegexMatcher, ToolOutput> {
    RegexMatcherBuilder::new()
        .case_insensitive(given.ignore_case.unwrap_or(false))
        .line_terminator(Some(b'\n'))
        .build(&given.pattern)
        .map_err(|error| {
            ToolOutput::error(format!(
                "`{}` is not a regular expression that can be used here: {error}.\nWrite a backslash before a bracket, \
                 brace, parenthesis, dot or star that stands for itself; matches are within one line.",
                given.pattern
            ))
        })
}

/// What was found so far.
struct Found {
    text: String,
    lines: usize,
    matches: usize,
    limit: usize,
    /// No more is to be shown.
    full: bool,
    /// Files that could not be read.
    unread: usize,
    /// The file that is searched.
    file: String,
    /// Whether the next match in this file needs a line that parts it from the one before.
    parted: bool,
}

impl Found {
    const fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            lines: 0,
            matches: 0,
            limit,
            full: false,
            unread: 0,
            file: String::new(),
            parted: false,
        }
    }

    /// Adds a line; answers whether it fitted.
    fn add(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) -> bool {
        let line = String::from_utf8_lossy(bytes);
        let line = text::cut_line(line.trim_end_matches(['\n', '\r']), GREP_LINE_CHARS);
        let part = if std::mem::take(&mut self.parted) { "--\n" } else { "" };
        let line = format!("{part}{}{mark}{}{mark}{line}\n", self.file, number.unwrap_or_default());
        if self.lines == MAX_LINES || self.text.len() + line.len() > MAX_BYTES {
            self.full = true;
            return false;
        }
        self.text.push_str(&line);
        self.lines += 1;
        true
    }

    fn report(mut self, pattern: &str, place: &str) -> String {
        if self.matches == 0 {
            self.text = format!("[no line matches `{pattern}` in {place}]");
        } else if self.full {
            let note = format!("[only the first {} matches: narrow the pattern, path or glob]", self.matches);
            self.text.push_str(&note);
        }
        if self.unread > 0 {
            self.text.push_str(&format!("\n[{} files could not be read]", self.unread));
        }
        self.text
    }
}

impl Sink for &mut Found {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.matches == self.limit {
            self.full = true;
            return Ok(false);
        }
        let added = self.add(found.line_number(), ':', found.bytes());
        self.matches += usize::from(added);
        Ok(added)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.add(line.line_number(), '-', line.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.parted = true;
        Ok(true)
    }
}
