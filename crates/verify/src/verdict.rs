//! From reports to a verdict, and from a verdict to what the worker is told. Pure.

use countersign_protocol::{CheckReport, CheckStatus, Finding, Verdict};

use crate::text;

/// The most that the worker is told about a refutation, in bytes.
pub const REFUTATION_LIMIT: usize = 16 * 1024;

/// The most that one finding takes of it, in bytes.
const FINDING_LIMIT: usize = 4 * 1024;

/// The verdict of these reports: any failure refutes; else any doubt is inconclusive; else it is accepted.
/// No report at all is a doubt.
#[must_use]
pub fn decide(reports: &[CheckReport]) -> Verdict {
    let of = |status| reports.iter().filter(move |report| report.status == status);
    let lines = |status| {
        of(status)
            .map(|report| format!("{}: {}", report.check, report.summary))
            .collect::<Vec<_>>()
            .join("; ")
    };
    let failed = of(CheckStatus::Failed).count();
    if failed > 0 {
        let summary = format!("{failed} of {} checks failed ({})", reports.len(), lines(CheckStatus::Failed));
        let findings = of(CheckStatus::Failed).flat_map(findings_of).collect();
        return Verdict::Refuted { summary, findings };
    }
    if of(CheckStatus::Inconclusive).next().is_some() {
        let needs: Vec<String> = of(CheckStatus::Inconclusive)
            .flat_map(|report| {
                report.findings.iter().map(move |f| format!("{}: {}", report.check, f.statement))
            })
            .collect();
        let needs = if needs.is_empty() { "mend the checks named above".into() } else { needs.join("; ") };
        return Verdict::Inconclusive { reason: lines(CheckStatus::Inconclusive), needs };
    }
    if reports.is_empty() {
        return Verdict::Inconclusive {
            reason: "no check applies to this claim".into(),
            needs: "give the policy a check or a judge".into(),
        };
    }
    let summary = format!("{} checks passed ({})", reports.len(), lines(CheckStatus::Passed));
    Verdict::Accepted { summary, objections: Vec::new() }
}

/// A report's findings; its summary where it failed without any.
fn findings_of(report: &CheckReport) -> Vec<Finding> {
    if !report.findings.is_empty() {
        return report.findings.clone();
    }
    let statement = format!("check `{}` failed: {}", report.check, report.summary);
    vec![Finding { statement, ..Finding::default() }]
}

/// What the worker is told about a verdict that is not an acceptance, in at most [`REFUTATION_LIMIT`] bytes.
#[must_use]
pub fn refutation_text(verdict: &Verdict) -> String {
    let (summary, findings) = match verdict {
        Verdict::Accepted { summary, objections } => (summary, objections),
        Verdict::Refuted { summary, findings } => (summary, findings),
        Verdict::Inconclusive { reason, needs } => {
            let text = format!("Your claim could not be judged: {reason}\nNeeded: {needs}");
            return text::head(&text, REFUTATION_LIMIT - '…'.len_utf8());
        }
    };
    let mut text = match verdict {
        Verdict::Refuted { .. } => {
            format!("Your claim was refuted: {}\n", text::head(summary, FINDING_LIMIT))
        }
        _ => format!("Your claim was accepted: {}\n", text::head(summary, FINDING_LIMIT)),
    };
    const END: &str = "\nMend what is found, see for yourself that it holds, then claim again.";
    for (index, finding) in findings.iter().enumerate() {
        let entry = entry(index + 1, finding);
        let more = format!("\n… and {} more.\n", findings.len() - index);
        if text.len() + entry.len() + more.len() + END.len() > REFUTATION_LIMIT {
            text.push_str(&more);
            break;
        }
        text.push_str(&entry);
    }
    if matches!(verdict, Verdict::Refuted { .. }) {
        text.push_str(END);
    }
    text
}

fn entry(number: usize, finding: &Finding) -> String {
    let mut entry = format!("\n{number}. {}\n", text::head(&finding.statement, FINDING_LIMIT));
    if let Some(file) = &finding.file {
        let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        entry.push_str(&format!("   Where: {}{line}\n", text::head(file, 500)));
    }
    if let Some(command) = &finding.command {
        entry.push_str(&format!("   Reproduce: {}\n", text::head(command, 1_000)));
    }
    entry
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check::{failed, inconclusive, passed};

    fn finding(statement: &str) -> Finding {
        Finding { statement: statement.into(), ..Finding::default() }
    }

    #[test]
    fn failures_outweigh_doubts_and_doubts_outweigh_passes() {
        let (yes, no, unsure) =
            (passed("a", "fine"), failed("b", "bad", vec![]), inconclusive("c", "lost", "mend it"));
        assert!(matches!(decide(std::slice::from_ref(&yes)), Verdict::Accepted { .. }));
        assert!(matches!(decide(&[yes.clone(), unsure.clone()]), Verdict::Inconclusive { .. }));
        assert!(
            matches!(decide(&[unsure.clone(), no, yes]), Verdict::Refuted { ref findings, .. } if findings.len() == 1)
        );
        assert!(matches!(decide(&[]), Verdict::Inconclusive { .. }));
        let Verdict::Inconclusive { needs, .. } = decide(&[unsure]) else { panic!() };
        assert_eq!(needs, "c: mend it");
    }

    #[test]
    fn the_worker_is_told_what_failed_and_how_to_see_it() {
        let findings = vec![Finding {
            statement: "one test failed".into(),
            command: Some("cargo test".into()),
            file: Some("src/lib.rs".into()),
            line: Some(7),
        }];
        let text = refutation_text(&Verdict::Refuted { summary: "1 of 1 checks failed".into(), findings });
        for part in ["one test failed", "Reproduce: cargo test", "Where: src/lib.rs:7"] {
            assert!(text.contains(part), "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_text_keeps_its_size(sizes in prop::collection::vec(0..4_000_usize, 0..20), summary in 0..9_000_usize) {
            let findings: Vec<Finding> = sizes.iter().map(|size| finding(&"é\n".repeat(*size))).collect();
            let text = refutation_text(&Verdict::Refuted { summary: "é".repeat(summary), findings });
            prop_assert!(text.len() <= REFUTATION_LIMIT);
        }

        /// Only a set of reports that all passed, and is not empty, is accepted.
        #[test]
        fn nothing_but_passes_is_accepted(states in prop::collection::vec(0..3_u8, 0..8)) {
            let reports: Vec<CheckReport> = states.iter().map(|state| match state {
                0 => passed("a", ""), 1 => failed("b", "", vec![]), _ => inconclusive("c", "", ""),
            }).collect();
            let all_passed = !states.is_empty() && states.iter().all(|state| *state == 0);
            prop_assert_eq!(matches!(decide(&reports), Verdict::Accepted { .. }), all_passed);
        }
    }
}
