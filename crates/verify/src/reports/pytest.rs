//! pytest: the JUnit file that the host asks it for, held against its final summary line.
//!
//! The file names every test exactly. It is used alone where the summary is switched off (`-qq`). Where pytest
//! ran several times in one command the file is only the last run's, and the text counts.

use countersign_protocol::{TestCounts, TestState};

use super::{ReportError, Roll, junit, number, pattern};

pattern!(SUMMARY, r"^(?:=+ )?((?:\d+ [a-z ]+(?:, )?)+|no tests ran) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$");
pattern!(PART, r"(\d+) ((?:subtests )?[a-z]+)");
pattern!(
    VERBOSE,
    r"^(?:(?:\[gw\d+\] \[ *\d+%\] )?(PASSED|FAILED|SKIPPED|XFAIL|XPASS|ERROR) (\S+::.+)|(\S+::.+?) (PASSED|FAILED|SKIPPED|XFAIL|XPASS|ERROR)(?: \(.*\))?(?: +\[ *\d+%\])?)$"
);

#[derive(Default)]
struct Summary {
    lines: u64,
    counts: TestCounts,
    /// Errors in fixtures and collection, and parts of tests: a test can then be in two of the counts.
    overlapping: bool,
}

pub(super) fn read(text: &str, files: &[String]) -> Result<Roll, ReportError> {
    let summary = summary(text);
    if !files.is_empty() && summary.lines <= 1 {
        let roll = junit::read(files)?;
        if summary.lines == 1 {
            agree(&roll, &summary)?;
        }
        return Ok(roll);
    }
    if summary.lines == 0 {
        return Err(ReportError::Absent { expected: "pytest's final summary line" });
    }
    let named = named(text);
    if !named.named.is_empty() {
        agree(&named, &summary)?;
        return Ok(named);
    }
    Ok(Roll { counts: summary.counts, ..Roll::default() })
}

fn summary(text: &str) -> Summary {
    let mut summary = Summary::default();
    for found in text.lines().filter_map(|line| SUMMARY.captures(line.trim_end())) {
        summary.lines += 1;
        for part in PART.captures_iter(&found[1]) {
            let tests = number(&part[1]);
            match &part[2] {
                "passed" | "xpassed" => summary.counts.passed += tests,
                "failed" => summary.counts.failed += tests,
                "skipped" | "xfailed" => summary.counts.skipped += tests,
                "error" | "errors" => {
                    summary.counts.failed += tests;
                    summary.overlapping = true;
                }
                other if other.starts_with("subtests") => summary.overlapping = true,
                _ => {} // deselected, warnings, rerun: no tests of their own
            }
        }
    }
    summary
}

/// The tests of verbose output. A test in error after it passed is seen twice and has failed.
fn named(text: &str) -> Roll {
    let mut states = std::collections::BTreeMap::new();
    let lines =
        text.lines().take_while(|line| !line.starts_with("====") || !line.contains("short test summary"));
    for found in lines.filter_map(|line| VERBOSE.captures(line.trim_end())) {
        let (name, word) = match (found.get(3), found.get(4), found.get(2), found.get(1)) {
            (Some(name), Some(word), ..) | (_, _, Some(name), Some(word)) => (name.as_str(), word.as_str()),
            _ => continue,
        };
        let state = match word {
            "PASSED" | "XPASS" => TestState::Passed,
            "SKIPPED" | "XFAIL" => TestState::Skipped,
            _ => TestState::Failed,
        };
        let held = states.entry(name.to_owned()).or_insert(state);
        if state == TestState::Failed {
            *held = state;
        }
    }
    let mut roll = Roll::default();
    for (name, state) in states {
        roll.test(name, state);
    }
    roll
}

fn agree(roll: &Roll, summary: &Summary) -> Result<(), ReportError> {
    let (named, said) = (roll.counts, summary.counts);
    let same = if summary.overlapping { (named.failed > 0) == (said.failed > 0) } else { named == said };
    if same {
        return Ok(());
    }
    let what = format!(
        "the summary says {} passed, {} failed, {} skipped; by name they are {}, {} and {}",
        said.passed, said.failed, said.skipped, named.passed, named.failed, named.skipped
    );
    Err(ReportError::Contradiction { what })
}
