//! The comparison of a check's run with its baseline: what counts as a pass, and what refutes. Pure.
//!
//! | now | without a usable baseline | with one |
//! | --- | --- | --- |
//! | command missing (127), report unreadable, timeout | inconclusive: the ground must be mended | failed: the candidate broke it |
//! | no test ran | inconclusive | failed where tests ran before |
//! | build failed, exit not 0, a test failed | failed | failed |
//! | a test gone, skipped, or no longer named | – | failed, by name; by count where no names are known |
//!
//! A baseline that fails is normal: it is the task.

use countersign_protocol::{CheckReport, CheckStatus, Exit, TestState, Tests};

use crate::reports::ReportError;

/// The exit code of a shell that does not find a command.
const NOT_FOUND: i32 = 127;

/// How many tests are named in one finding.
const NAMED: usize = 12;

/// One run of a check's command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// How it ended.
    pub exit: Exit,
    /// Its report; `None` where the check declares none.
    pub tests: Option<Result<Tests, ReportError>>,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// What it came to.
    pub status: CheckStatus,
    /// One line.
    pub summary: String,
    /// What refutes, a statement each; for an inconclusive run, what a person must mend.
    pub reasons: Vec<String>,
}

impl Conclusion {
    fn new(status: CheckStatus, summary: impl Into<String>, reasons: Vec<String>) -> Self {
        Self { status, summary: summary.into(), reasons }
    }

    fn inconclusive(summary: impl Into<String>, needs: impl Into<String>) -> Self {
        Self::new(CheckStatus::Inconclusive, summary, vec![needs.into()])
    }

    fn failed(summary: impl Into<String>) -> Self {
        let summary = summary.into();
        Self::new(CheckStatus::Failed, summary.clone(), vec![summary])
    }
}

/// What a run came to, beside the same check's run on the base tree.
#[must_use]
pub fn compare(baseline: Option<&CheckReport>, now: &Observed) -> Conclusion {
    let before = baseline.and_then(|report| report.evidence.last()).map(|evidence| evidence.exit);
    let tests_before = baseline.and_then(|report| report.tests.as_ref());
    match now.exit {
        Exit::Cancelled => return Conclusion::inconclusive("the run was stopped", "resume the run"),
        Exit::Timeout if matches!(before, Some(Exit::Code(_) | Exit::Signal(_))) => {
            return Conclusion::failed("it did not end in time, and on the base tree it did");
        }
        Exit::Timeout => {
            let needs = "give the check a longer `timeout`, or mend its command";
            return Conclusion::inconclusive("it did not end in time, nor on the base tree", needs);
        }
        Exit::Code(NOT_FOUND) if matches!(before, Some(exit) if exit != Exit::Code(NOT_FOUND)) => {
            return Conclusion::failed(
                "its command is no longer found (exit 127), and on the base tree it was",
            );
        }
        Exit::Code(NOT_FOUND) => {
            return Conclusion::inconclusive(
                "its command was not found (exit 127)",
                "install what the check's command needs, or change the policy",
            );
        }
        Exit::Code(_) | Exit::Signal(_) => {}
    }
    match &now.tests {
        None if now.exit.success() => Conclusion::new(CheckStatus::Passed, "exit 0", Vec::new()),
        None => Conclusion::failed(now.exit.to_string()),
        Some(Err(error)) => unreadable(error, tests_before.is_some(), now.exit),
        Some(Ok(tests)) => with_tests(tests_before, tests, now.exit),
    }
}

fn unreadable(error: &ReportError, readable_before: bool, exit: Exit) -> Conclusion {
    if matches!(error, ReportError::NotBuilt { .. }) {
        return Conclusion::failed(format!("{exit}; {error}"));
    }
    if readable_before {
        return Conclusion::failed(format!("{exit}; {error}; on the base tree there was a report"));
    }
    let needs = "mend the check's command or its `report` kind, so that its tests can be counted";
    Conclusion::inconclusive(format!("{exit}; {error}"), needs)
}

fn with_tests(before: Option<&Tests>, now: &Tests, exit: Exit) -> Conclusion {
    let counts = now.counts;
    let summary =
        format!("{exit}; {} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    let ran_before = before.is_some_and(|tests| tests.counts.passed + tests.counts.failed > 0);
    if counts.passed + counts.failed == 0 && !ran_before {
        let needs = "add tests to the base, or change the check: it has nothing to judge by";
        return Conclusion::inconclusive(format!("{summary}: no test ran, nor on the base tree"), needs);
    }
    let mut reasons = Vec::new();
    if counts.failed > 0 {
        let failed =
            names(now.by_name.iter().filter(|(_, state)| **state == TestState::Failed).map(|(n, _)| n));
        reasons.push(match failed {
            Some(names) => format!("{} failed: {names}", tests(counts.failed)),
            None => format!("{} failed", tests(counts.failed)),
        });
    } else if !exit.success() {
        reasons.push(format!("{exit}, although no failed test was reported"));
    }
    if counts.passed + counts.failed == 0 {
        reasons.push("no test ran, and on the base tree some did".into());
    }
    if let Some(before) = before {
        reasons.extend(losses(before, now));
    }
    let status = if reasons.is_empty() { CheckStatus::Passed } else { CheckStatus::Failed };
    Conclusion::new(status, summary, reasons)
}

/// What was there before and is not now.
fn losses(before: &Tests, now: &Tests) -> Vec<String> {
    let mut reasons = Vec::new();
    if before.by_name.is_empty() {
        let (was, is) = (before.counts, now.counts);
        if is.total() < was.total() {
            reasons.push(format!(
                "{} were counted on the base tree and {} now",
                tests(was.total()),
                is.total()
            ));
        }
        if is.skipped > was.skipped {
            reasons.push(format!(
                "{} were skipped on the base tree and {} now",
                tests(was.skipped),
                is.skipped
            ));
        }
        if is.passed < was.passed {
            reasons.push(format!("{} passed on the base tree and {} now", tests(was.passed), is.passed));
        }
        return reasons;
    }
    if now.by_name.is_empty() {
        return vec!["the report named its tests on the base tree and names none now".into()];
    }
    let gone = before.by_name.keys().filter(|name| !now.by_name.contains_key(*name));
    if let Some(names) = names(gone) {
        reasons.push(format!("tests of the base tree are gone: {names}"));
    }
    let skipped = before.by_name.iter().filter(|(name, state)| {
        **state != TestState::Skipped && now.by_name.get(*name) == Some(&TestState::Skipped)
    });
    if let Some(names) = names(skipped.map(|(name, _)| name)) {
        reasons.push(format!("tests that ran on the base tree are skipped now: {names}"));
    }
    reasons
}

fn tests(count: u64) -> String {
    if count == 1 { "1 test".into() } else { format!("{count} tests") }
}

/// The first names, and how many more there are; `None` for none.
fn names<'a>(all: impl Iterator<Item = &'a String>) -> Option<String> {
    let all: Vec<&str> = all.map(String::as_str).collect();
    let shown = all.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match all.len() {
        0 => None,
        more if more > NAMED => Some(format!("{shown} and {} more", more - NAMED)),
        _ => Some(shown),
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests_of_compare;
