//! Python's unittest, verbose or quiet: names from the lines of the run, counts from its end.

use std::collections::BTreeMap;

use countersign_protocol::TestState;

use super::{ReportError, Roll, number, pattern};

pattern!(HEAD, r"^(\S+) \(([^()\s]+)\)(.*)$");
pattern!(SUBTEST, r"^  (\S+) \(([^()\s]+)\) .*\.\.\. (FAIL|ERROR|skipped .*)$");
pattern!(NEXT_HEAD, r"^ \.\.\. (\S+ \([^()\s]+\) ?.*)$");
pattern!(STATE, r"(?:^|\.\.\. )(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$");
pattern!(RULE, r"^(?:={70}|-{70})$");
pattern!(RAN, r"^Ran (\d+) tests? in [\d.]+s$");
pattern!(STATUS, r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$");
pattern!(PART, r"([a-z ]+)=(\d+)");

/// One run of the runner, up to its status line.
#[derive(Default)]
struct Run {
    named: BTreeMap<String, TestState>,
    /// Files that could not be loaded. The runner counts each as a test; it stands for none that has a name.
    unloaded: u64,
    pending: Option<String>,
    ran: Option<u64>,
    in_report: bool,
}

pub(super) fn read(text: &str) -> Result<Roll, ReportError> {
    let mut roll = Roll::default();
    let (mut run, mut runs) = (Run::default(), 0);
    for line in text.lines() {
        if let Some(ran) = RAN.captures(line) {
            run.ran = Some(number(&ran[1]));
        } else if let (Some(ran), Some(status)) = (run.ran, STATUS.captures(line)) {
            std::mem::take(&mut run).close(ran, status.get(1).map_or("", |m| m.as_str()), &mut roll)?;
            runs += 1;
        } else if RULE.is_match(line) {
            run.in_report = true;
        } else if !run.in_report {
            run.line(line);
        }
    }
    if runs == 0 && run.ran.is_none() && run.named.is_empty() && run.pending.is_none() {
        return Err(ReportError::Absent { expected: "unittest's `Ran n tests` and status line" });
    }
    if run.ran.is_some() || !run.named.is_empty() || run.pending.is_some() {
        return Err(ReportError::Unfinished { what: "tests began and their status line is missing".into() });
    }
    Ok(roll)
}

impl Run {
    fn line(&mut self, line: &str) {
        if let Some(part) = SUBTEST.captures(line) {
            let state = if part[3].starts_with("skipped") { TestState::Skipped } else { TestState::Failed };
            self.note(full_name(&part[1], &part[2]), state);
            return;
        }
        let mut rest = line;
        while let Some(head) = HEAD.captures(rest) {
            self.abandon();
            self.pending = Some(full_name(&head[1], &head[2]));
            rest = head.get(3).map_or("", |m| m.as_str());
            // Older versions print nothing for a failed subtest, so that two tests share a line.
            rest = NEXT_HEAD.captures(rest).and_then(|next| next.get(1)).map_or(rest, |m| m.as_str());
        }
        if let Some(state) = STATE.captures(rest.trim_end())
            && let Some(name) = self.pending.take()
        {
            self.settle(name, &state[1]);
        }
    }

    /// A test that has no result of its own when the next one begins has failed in a part of it.
    fn abandon(&mut self) {
        if let Some(name) = self.pending.take()
            && !self.named.contains_key(&name)
        {
            self.named.insert(name, TestState::Failed);
        }
    }

    /// A part's failure is its test's, and a part that was left out is not made good by the others.
    fn note(&mut self, name: String, state: TestState) {
        let held = self.named.entry(name).or_insert(state);
        if state == TestState::Failed || (state == TestState::Skipped && *held == TestState::Passed) {
            *held = state;
        }
    }

    fn settle(&mut self, name: String, word: &str) {
        let state = match word {
            "ok" => TestState::Passed,
            "FAIL" | "ERROR" | "unexpected success" => TestState::Failed,
            _ => TestState::Skipped,
        };
        let fixtures = ["setUpClass", "tearDownClass", "setUpModule", "tearDownModule"];
        if name.starts_with("unittest.loader.") {
            self.unloaded += 1;
        } else if !fixtures.iter().any(|fixture| name.ends_with(&format!(".{fixture}"))) {
            self.note(name, state);
        }
    }

    fn close(mut self, ran: u64, parts: &str, roll: &mut Roll) -> Result<(), ReportError> {
        self.abandon();
        let part = |wanted: &str| {
            let found = PART.captures_iter(parts).find(|p| p[1].trim() == wanted);
            found.map_or(0, |p| number(&p[2]))
        };
        let failed = part("failures") + part("errors") + part("unexpected successes");
        if self.named.is_empty() {
            let skipped = part("skipped") + part("expected failures");
            roll.count(TestState::Failed, failed);
            roll.count(TestState::Skipped, skipped);
            roll.count(TestState::Passed, ran.saturating_sub(failed).saturating_sub(skipped));
            return Ok(());
        }
        let named = self.named.len() as u64 + self.unloaded;
        // A test whose only trace is a failed part of it, or one that was never reached, shows in the counts.
        let contradiction = |what| Err(ReportError::Contradiction { what });
        if named != ran {
            return contradiction(format!("it says that it ran {ran} tests; by name there are {named}"));
        }
        let named_failed = self.named.values().any(|state| *state == TestState::Failed) || self.unloaded > 0;
        if named_failed && failed == 0 {
            return contradiction("a test failed by name and none in the summary".into());
        }
        if failed > 0 && !named_failed {
            roll.count(TestState::Failed, failed); // a class's or module's own set-up
        }
        roll.count(TestState::Failed, self.unloaded);
        for (name, state) in self.named {
            roll.test(name, state);
        }
        Ok(())
    }
}

/// `package.module.Class.method`, which newer versions print and older ones print in two parts.
fn full_name(method: &str, place: &str) -> String {
    if place.rsplit('.').next() == Some(method) || place.starts_with("unittest.loader.") {
        place.into()
    } else {
        format!("{place}.{method}")
    }
}
