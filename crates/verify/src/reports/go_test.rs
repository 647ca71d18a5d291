//! `go test`, as JSON (`-json`) or as verbose text (`-v`).

use std::collections::{BTreeMap, BTreeSet};

use countersign_protocol::TestState;
use serde::Deserialize;

use super::{ReportError, Roll, pattern};

pattern!(RESULT, r"^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$");
pattern!(BEGUN, r"^=== RUN +(\S+)$");
pattern!(PACKAGE, r"^(ok|FAIL|\?)\s+(\S+)(?:\s+(.*))?$");

pub(super) fn read(text: &str) -> Result<Roll, ReportError> {
    let events: Vec<Event> = text.lines().filter_map(event).collect();
    if events.is_empty() { read_text(text) } else { read_events(&events) }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    package: Option<String>,
    test: Option<String>,
    output: Option<String>,
}

fn event(line: &str) -> Option<Event> {
    line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
}

fn read_events(events: &[Event]) -> Result<Roll, ReportError> {
    let mut roll = Roll::default();
    let (mut open, mut open_packages) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        let state = match event.action.as_str() {
            "pass" => TestState::Passed,
            "fail" => TestState::Failed,
            "skip" => TestState::Skipped,
            "build-fail" => return Err(ReportError::NotBuilt { what: "go test: build failed".into() }),
            action => {
                let output = event.output.as_deref().unwrap_or_default();
                if event.test.is_none() && output.starts_with("FAIL") && output.contains("[build failed]") {
                    return Err(ReportError::NotBuilt { what: output.trim_end().into() });
                }
                match (&event.package, &event.test) {
                    (Some(package), None) if action == "start" => {
                        open_packages.insert(package);
                    }
                    (Some(package), Some(test)) if action == "run" => {
                        open_packages.insert(package);
                        open.insert((package, test));
                    }
                    _ => {}
                }
                continue;
            }
        };
        match (&event.package, &event.test) {
            (Some(package), Some(test)) => {
                open.remove(&(package, test));
                roll.test(format!("{package}.{test}"), state);
            }
            (Some(package), None) => {
                open_packages.remove(package);
                let failed = |(name, states): (&String, &Vec<TestState>)| {
                    name.starts_with(&format!("{package}.")) && states.contains(&TestState::Failed)
                };
                if state == TestState::Passed && roll.named.iter().any(failed) {
                    let what = format!("package {package} passed and one of its tests failed");
                    return Err(ReportError::Contradiction { what });
                }
            }
            _ => {}
        }
    }
    let unfinished = open.iter().map(|(package, test)| format!("{package}.{test}"));
    match unfinished.chain(open_packages.iter().map(|package| (*package).clone())).next() {
        Some(what) => Err(ReportError::Unfinished { what: format!("{what} began and has no result") }),
        None => Ok(roll),
    }
}

fn read_text(text: &str) -> Result<Roll, ReportError> {
    let mut roll = Roll::default();
    let mut begun = BTreeSet::new();
    let mut seen: BTreeMap<String, Vec<TestState>> = BTreeMap::new();
    let mut packages = 0;
    for line in text.lines() {
        if let Some(run) = BEGUN.captures(line) {
            begun.insert(run[1].to_owned());
        } else if let Some(result) = RESULT.captures(line) {
            let state = match &result[1] {
                "PASS" => TestState::Passed,
                "FAIL" => TestState::Failed,
                _ => TestState::Skipped,
            };
            begun.remove(&result[2]);
            seen.entry(result[2].to_owned()).or_default().push(state);
        } else if let Some(package) = PACKAGE.captures(line) {
            if package.get(3).is_some_and(|rest| rest.as_str().contains("[build failed]")) {
                return Err(ReportError::NotBuilt { what: line.into() });
            }
            packages += 1;
            let any_failed = seen.values().flatten().any(|state| *state == TestState::Failed);
            if &package[1] == "ok" && any_failed {
                return Err(ReportError::Contradiction {
                    what: format!("`{line}`, and one of its tests failed"),
                });
            }
            for (name, states) in std::mem::take(&mut seen) {
                states.into_iter().for_each(|state| roll.test(format!("{}.{name}", &package[2]), state));
            }
        }
    }
    if let Some(test) = begun.first().or(seen.keys().next()) {
        return Err(ReportError::Unfinished { what: format!("{test} began and its package has no result") });
    }
    if packages == 0 || (roll.named.is_empty() && !text.contains("no test files")) {
        return Err(ReportError::Absent { expected: "the output of `go test` with -json or -v" });
    }
    Ok(roll)
}
