//! `node --test`, with its `spec` or its `tap` reporter: names by their place in suites, counts from the end.

use countersign_protocol::{TestCounts, TestState};

use super::{ReportError, Roll, number, pattern, tap};

pattern!(COUNT, r"^[#ℹ] (tests|suites|pass|fail|cancelled|skipped|todo) (\d+)$");
pattern!(SUBTEST, r"^( *)# Subtest: (.*)$");
pattern!(SCRIPT, r"\.[cm]?[jt]sx?$");
pattern!(SPEC, r"^( *)([✔✖﹣▶⚠]) (.*?)(?: \([\d.]+ms\))?(?: # (.*))?$");

#[derive(Default)]
struct Counts {
    tests: Option<u64>,
    suites: u64,
    counts: TestCounts,
}

impl Counts {
    fn line(&mut self, line: &str) -> bool {
        let Some(found) = COUNT.captures(line) else { return false };
        let tests = number(&found[2]);
        match &found[1] {
            "tests" => self.tests = Some(self.tests.unwrap_or(0) + tests),
            "suites" => self.suites += tests,
            "pass" => self.counts.passed += tests,
            "fail" | "cancelled" => self.counts.failed += tests,
            _ => self.counts.skipped += tests,
        }
        true
    }
}

pub(super) fn read(text: &str) -> Result<Roll, ReportError> {
    let mut counts = Counts::default();
    let is_tap = text.lines().any(|line| line.starts_with("TAP version"));
    let (mut found, mut ended) = (Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        // After the counts the spec reporter shows its failures once more.
        if counts.line(line) {
            ended = true;
        } else if is_tap && line.starts_with("TAP version") {
            ended = false;
        } else if !ended {
            found.extend(if is_tap { tap_event(line) } else { spec_event(line) }.map(|event| (index, event)));
        }
    }
    let Some(tests) = counts.tests else {
        return Err(ReportError::Absent { expected: "the counts at the end of `node --test`" });
    };
    let lines: Vec<&str> = text.lines().collect();
    let (roll, containers) = roll(&found, &lines);
    if roll.named.is_empty() {
        return Ok(Roll { counts: counts.counts, ..Roll::default() });
    }
    // Of what the spec reporter shows as opened and closed, some are suites and some are tests with parts.
    let with_parts = containers.saturating_sub(if is_tap { 0 } else { counts.suites });
    if roll.counts.total() + with_parts != tests || (roll.counts.failed > 0) != (counts.counts.failed > 0) {
        let (named, said) = (roll.counts, counts.counts);
        let what = format!(
            "the counts say {tests} tests, {} failed; by name there are {}, {} failed",
            said.failed,
            named.total(),
            named.failed
        );
        return Err(ReportError::Contradiction { what });
    }
    Ok(roll)
}

/// A line that opens a test or suite, or closes one with its state.
enum Event {
    Open { depth: usize, name: String },
    Close { depth: usize, name: String, state: TestState },
}

fn tap_event(line: &str) -> Option<Event> {
    if let Some(open) = SUBTEST.captures(line) {
        return Some(Event::Open { depth: open[1].len() / 4, name: open[2].into() });
    }
    let text = line.trim_start_matches(' ');
    let (name, state) = tap::point(text)?;
    Some(Event::Close { depth: (line.len() - text.len()) / 4, name, state })
}

fn spec_event(line: &str) -> Option<Event> {
    let found = SPEC.captures(line)?;
    let (depth, name) = (found[1].len() / 2, found[3].to_owned());
    let todo = found.get(4).is_some_and(|directive| directive.as_str().starts_with("TODO"));
    let state = match &found[2] {
        "▶" => return Some(Event::Open { depth, name }),
        "﹣" => TestState::Skipped,
        "✔" => TestState::Passed,
        _ if todo => TestState::Skipped,
        _ => TestState::Failed,
    };
    Some(Event::Close { depth, name, state })
}

/// The tests among the events, and how many of the closed ones are left out because they hold others.
///
/// A suite is no test: in TAP its block says so. The spec reporter opens both suites and tests that have parts
/// with the same sign; there neither is taken by name, their parts are.
fn roll(events: &[(usize, Event)], lines: &[&str]) -> (Roll, u64) {
    let mut roll = Roll::default();
    let (mut path, mut opened, mut containers) = (Vec::<String>::new(), Vec::new(), 0);
    let is_tap = lines.iter().any(|line| line.starts_with("TAP version"));
    for (at, event) in events {
        match event {
            Event::Open { depth, name } => {
                path.truncate(*depth);
                path.push(name.clone());
                opened.push((*depth, name));
            }
            Event::Close { depth, name, state } => {
                path.truncate(*depth);
                let full = path.iter().chain([name]).cloned().collect::<Vec<_>>().join(" > ");
                if is_tap && is_suite(&lines[at + 1..]) {
                    continue;
                }
                if !is_tap && let Some(open) = opened.iter().rposition(|open| *open == (*depth, name)) {
                    opened.remove(open);
                    containers += 1;
                } else if *state == TestState::Failed && *depth == 0 && SCRIPT.is_match(name) {
                    roll.count(*state, 1); // a file that could not be loaded
                } else {
                    roll.test(full, *state);
                }
            }
        }
    }
    (roll, containers)
}

/// Whether the block of details below a TAP test point says that it is a suite.
fn is_suite(below: &[&str]) -> bool {
    let details = below.iter().map(|line| line.trim()).take(4).take_while(|line| *line != "...");
    details.into_iter().any(|line| line == "type: 'suite'")
}
