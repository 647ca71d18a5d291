//! Report readers: from what a test runner printed or wrote to counts and named tests.
//!
//! A reader takes the runner's own final summary for the counts and compares it with the tests that it saw by
//! name; where the two differ it says so instead of choosing one. What a test prints while it runs can look
//! like a runner's line: text reports share their stream with the program under test, so a program that sets
//! out to imitate its runner's whole output *and* exits with 0 can't be told apart from it by text alone.
//! A report file (`junit:PATH`) that a protected runner writes is stronger; held-out checks stronger still.

mod cargo_test;
mod go_test;
mod junit;
mod node_test;
mod pytest;
mod tap;
mod unittest;

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use countersign_protocol::{TestState, Tests, policy::ReportKind};
use regex::Regex;

/// What a command printed and wrote.
#[derive(Debug, Clone, Copy, Default)]
pub struct Output<'a> {
    /// Its standard output; both streams, where they were not kept apart.
    pub stdout: &'a str,
    /// Its standard error; empty where the streams were not kept apart.
    pub stderr: &'a str,
    /// The JUnit files that it wrote.
    pub junit: &'a [String],
    /// The folder it ran in, which is cut from test names so that they are the same in every copy.
    pub root: &'a str,
}

/// Why a report can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// There is none.
    #[error("no report was found: expected {expected}")]
    Absent {
        /// What was looked for.
        expected: &'static str,
    },
    /// The code under test could not be built, so that no test could run.
    #[error("the build failed before any test ran: {what}")]
    NotBuilt {
        /// The line that says so.
        what: String,
    },
    /// The runner began and never came to its end.
    #[error("the report stops before its end: {what}")]
    Unfinished {
        /// What was begun and not ended.
        what: String,
    },
    /// Two parts of the report contradict each other.
    #[error("the report contradicts itself: {what}")]
    Contradiction {
        /// Both sides.
        what: String,
    },
    /// It is not what it should be.
    #[error("the report can't be read: {what}")]
    Malformed {
        /// What was wrong, and where.
        what: String,
    },
}

/// Reads a report. `None`: the kind has none, the exit status is all there is.
///
/// # Errors
/// Where there is no report, or it can't be trusted to say what ran.
pub fn read(kind: &ReportKind, output: &Output<'_>) -> Option<Result<Tests, ReportError>> {
    let stdout = plain(output.stdout);
    let stderr = plain(output.stderr);
    let tests = match kind {
        ReportKind::None => return None,
        ReportKind::CargoTest => cargo_test::read(&stdout),
        ReportKind::Pytest => pytest::read(&stdout, output.junit),
        // The runner writes to stderr; some scripts send it to stdout.
        ReportKind::Unittest => unittest::read(&stderr).or_else(|first| match unittest::read(&stdout) {
            Err(ReportError::Absent { .. }) => Err(first),
            other => other,
        }),
        ReportKind::GoTest => go_test::read(&stdout),
        ReportKind::NodeTest => node_test::read(&stdout),
        ReportKind::Junit(_) => junit::read(output.junit),
        ReportKind::Tap => tap::read(&stdout),
    };
    Some(tests.map(|roll| roll.finish(output.root)))
}

/// The text without terminal colours and carriage returns.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    static ESCAPES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\x1b\[[0-9;?]*[A-Za-z]|\r").expect("a constant pattern"));
    ESCAPES.replace_all(text, "")
}

/// The tests of a report as they are read, one by one.
#[derive(Debug, Default, PartialEq, Eq)]
struct Roll {
    counts: countersign_protocol::TestCounts,
    named: BTreeMap<String, Vec<TestState>>,
}

impl Roll {
    /// A test with a name of its own.
    fn test(&mut self, name: impl Into<String>, state: TestState) {
        self.count(state, 1);
        self.named.entry(name.into()).or_default().push(state);
    }

    /// Tests that are counted and have no name that lasts: quiet output, or a file that could not be loaded.
    fn count(&mut self, state: TestState, tests: u64) {
        let bucket = match state {
            TestState::Passed => &mut self.counts.passed,
            TestState::Failed => &mut self.counts.failed,
            TestState::Skipped => &mut self.counts.skipped,
        };
        *bucket += tests;
    }

    /// All of another report.
    fn join(&mut self, other: Self) {
        self.counts.passed += other.counts.passed;
        self.counts.failed += other.counts.failed;
        self.counts.skipped += other.counts.skipped;
        for (name, mut states) in other.named {
            self.named.entry(name).or_default().append(&mut states);
        }
    }

    /// The report. Tests of one name are numbered in the order of their states, so that the order in which
    /// they happened to run changes nothing.
    fn finish(self, root: &str) -> Tests {
        let mut by_name = BTreeMap::new();
        for (name, mut states) in self.named {
            states.sort_unstable();
            let name = if root.is_empty() { name } else { name.replace(root, "") };
            for (index, state) in states.into_iter().enumerate() {
                let numbered = if index == 0 { name.clone() } else { format!("{name} #{}", index + 1) };
                by_name.insert(numbered, state);
            }
        }
        Tests { counts: self.counts, by_name }
    }
}

/// A constant pattern, compiled once.
macro_rules! pattern {
    ($name:ident, $text:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($text).expect("a constant pattern"));
    };
}
use pattern;

/// A number that a pattern has found; absurdly long ones count as the largest.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or(u64::MAX / 1_000_000)
}

#[cfg(test)]
mod tests;
