//! The Test Anything Protocol, versions 12 to 14: top-level test points against their plan.

use countersign_protocol::TestState;

use super::{ReportError, Roll, number, pattern};

pattern!(PLAN, r"^1\.\.(\d+)(?:\s*#.*)?$");
pattern!(POINT, r"^(ok|not ok)\b\s*(\d+)?\s*(?:- ?)?(.*)$");
pattern!(DIRECTIVE, r"(?i)\s*(?:^|\s)# ?(skip|todo)\b.*$");

pub(super) fn read(text: &str) -> Result<Roll, ReportError> {
    let mut roll = Roll::default();
    let (mut planned, mut seen) = (None::<u64>, 0);
    for line in text.lines() {
        if let Some(reason) = line.strip_prefix("Bail out!") {
            return Err(ReportError::Unfinished { what: format!("the runner bailed out:{reason}") });
        }
        if let Some(plan) = PLAN.captures(line) {
            if planned.is_some() {
                return Err(ReportError::Contradiction { what: "it has two plans (`1..n`)".into() });
            }
            planned = Some(number(&plan[1]));
        } else if let Some((name, state)) = point(line) {
            seen += 1;
            if name.is_empty() {
                roll.test(format!("test {seen}"), state);
            } else {
                roll.test(name, state);
            }
        }
    }
    match planned {
        None if seen == 0 => Err(ReportError::Absent { expected: "TAP on stdout, with a plan (`1..n`)" }),
        None => Err(ReportError::Unfinished { what: format!("{seen} test points and no plan (`1..n`)") }),
        Some(planned) if planned != seen => Err(ReportError::Contradiction {
            what: format!("{planned} tests are planned and {seen} were seen"),
        }),
        Some(_) => Ok(roll),
    }
}

/// A test point that starts the line: its description without number and directive, and its state.
pub(super) fn point(line: &str) -> Option<(String, TestState)> {
    let found = POINT.captures(line)?;
    let held = &found[1] == "ok";
    let text = &found[3];
    let directive = DIRECTIVE.captures(text).map(|d| d[1].to_ascii_lowercase());
    let name = DIRECTIVE.replace(text, "").trim().to_owned();
    let state = match directive.as_deref() {
        Some("skip") => TestState::Skipped,
        Some("todo") if !held => TestState::Skipped,
        _ if held => TestState::Passed,
        _ => TestState::Failed,
    };
    Some((name, state))
}
