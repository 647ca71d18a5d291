//! One thing that was looked at, and what came of it: a line of `doctor` and of `verify`.

use std::process::ExitCode;

use serde::Serialize;

use crate::{
    output::{self, BAD, GOOD, WARN, paint},
    text::one_line,
};

/// How a finding is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// It holds.
    Holds,
    /// It does not, and that can be lived with.
    Lacking,
    /// It does not, and nothing works without it.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "finding")]
pub(crate) struct Finding {
    /// What was looked at.
    pub(crate) what: &'static str,
    /// What came of it.
    pub(crate) state: State,
    /// The same for a person.
    pub(crate) found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl Finding {
    /// Something that holds.
    pub(crate) fn holds(what: &'static str, found: impl Into<String>) -> Self {
        Self { what, state: State::Holds, found: found.into(), next: None }
    }

    /// Something that does not hold and can be lived with.
    pub(crate) fn lacking(what: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what, state: State::Lacking, found: found.into(), next: Some(next.into()) }
    }

    /// Something that must hold and does not.
    pub(crate) fn broken(what: &'static str, found: impl Into<String>, next: impl Into<String>) -> Self {
        Self { what, state: State::Broken, found: found.into(), next: Some(next.into()) }
    }

    /// Prints it.
    pub(crate) fn tell(&self, json: bool) -> std::io::Result<()> {
        if json { output::print_json(self) } else { output::print(&self.render()) }
    }

    fn render(&self) -> String {
        let sign = match self.state {
            State::Holds => paint(GOOD, "✓"),
            State::Lacking => paint(WARN, "!"),
            State::Broken => paint(BAD, "✗"),
        };
        let next = self.next.as_ref().map(|next| format!("\n{:14}→ {}", "", one_line(next, 300)));
        format!("{sign} {:<11} {}{}", self.what, one_line(&self.found, 300), next.unwrap_or_default())
    }
}

/// The exit code: 1 where anything that must hold does not.
pub(crate) fn exit_code(findings: &[Finding]) -> ExitCode {
    let broken = findings.iter().any(|finding| finding.state == State::Broken);
    if broken { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
