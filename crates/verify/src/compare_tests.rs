//! The comparison, case by case and by its one law: what is lost never makes a pass.

use std::collections::BTreeMap;

use countersign_protocol::{BlobId, Evidence, Span, TestCounts};
use proptest::prelude::*;

use super::*;

fn tests(states: &[(&str, TestState)]) -> Tests {
    let by_name: BTreeMap<String, TestState> = states.iter().map(|(n, s)| ((*n).to_owned(), *s)).collect();
    Tests { counts: counted(by_name.values()), by_name }
}

fn counted<'a>(states: impl Iterator<Item = &'a TestState>) -> TestCounts {
    let mut counts = TestCounts::default();
    for state in states {
        match state {
            TestState::Passed => counts.passed += 1,
            TestState::Failed => counts.failed += 1,
            TestState::Skipped => counts.skipped += 1,
        }
    }
    counts
}

fn baseline(exit: Exit, tests: Option<Tests>) -> CheckReport {
    let evidence = Evidence {
        command: "run".into(),
        exit,
        took: Span::from_secs(1),
        output: BlobId::of(b""),
        tail: String::new(),
    };
    CheckReport {
        check: "tests".into(),
        status: CheckStatus::Failed,
        summary: String::new(),
        findings: Vec::new(),
        evidence: vec![evidence],
        tests,
    }
}

fn now(exit: i32, tests: Tests) -> Observed {
    Observed { exit: Exit::Code(exit), tests: Some(Ok(tests)) }
}

use TestState::{Failed, Passed, Skipped};

#[test]
fn a_smaller_green_suite_is_refuted_by_name() {
    let before = baseline(Exit::Code(1), Some(tests(&[("a", Passed), ("b", Failed), ("c", Passed)])));
    let conclusion = compare(Some(&before), &now(0, tests(&[("a", Passed), ("c", Passed)])));
    assert_eq!(conclusion.status, CheckStatus::Failed);
    assert!(conclusion.reasons[0].contains("`b`"), "{conclusion:?}");
}

#[test]
fn a_test_skipped_anew_is_refuted_and_an_old_skip_is_not() {
    let before = baseline(Exit::Code(0), Some(tests(&[("a", Passed), ("b", Skipped)])));
    let skipped = compare(Some(&before), &now(0, tests(&[("a", Skipped), ("b", Passed)])));
    assert_eq!(skipped.status, CheckStatus::Failed);
    let same = compare(Some(&before), &now(0, tests(&[("a", Passed), ("b", Skipped)])));
    assert_eq!(same.status, CheckStatus::Passed);
}

#[test]
fn without_names_the_counts_decide() {
    let counts = |passed, skipped| Tests {
        counts: TestCounts { passed, failed: 0, skipped },
        by_name: BTreeMap::new(),
    };
    let before = baseline(Exit::Code(0), Some(counts(4992, 3)));
    assert_eq!(compare(Some(&before), &now(0, counts(4992, 3))).status, CheckStatus::Passed);
    assert_eq!(compare(Some(&before), &now(0, counts(5000, 3))).status, CheckStatus::Passed);
    for lost in [counts(4985, 3), counts(4991, 4), counts(4995, 0).with(|t| t.counts.passed = 4000)] {
        assert_eq!(compare(Some(&before), &now(0, lost)).status, CheckStatus::Failed);
    }
    let named = baseline(Exit::Code(0), Some(tests(&[("a", Passed)])));
    assert_eq!(compare(Some(&named), &now(0, counts(9, 0))).status, CheckStatus::Failed);
}

trait With: Sized {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}
impl With for Tests {}

#[test]
fn an_exit_status_alone_never_accepts_where_a_report_is_declared() {
    let absent = || Some(Err(ReportError::Absent { expected: "x" }));
    let before = baseline(Exit::Code(0), Some(tests(&[("a", Passed)])));
    let silent = Observed { exit: Exit::Code(0), tests: absent() };
    assert_eq!(compare(Some(&before), &silent).status, CheckStatus::Failed);
    assert_eq!(compare(Some(&baseline(Exit::Code(0), None)), &silent).status, CheckStatus::Inconclusive);
    assert_eq!(compare(None, &silent).status, CheckStatus::Inconclusive);
    // Nothing ran: not a pass either, whoever's fault it is.
    let nothing = now(0, tests(&[]));
    assert_eq!(compare(Some(&before), &nothing).status, CheckStatus::Failed);
    assert_eq!(compare(None, &nothing).status, CheckStatus::Inconclusive);
    let all_skipped = now(0, tests(&[("a", Skipped)]));
    assert_eq!(compare(None, &all_skipped).status, CheckStatus::Inconclusive);
}

#[test]
fn a_forged_summary_does_not_outweigh_the_exit() {
    let conclusion = compare(None, &now(1, tests(&[("a", Passed)])));
    assert_eq!(conclusion.status, CheckStatus::Failed);
}

#[test]
fn whose_fault_a_missing_command_or_a_timeout_is_follows_from_the_baseline() {
    let missing = Observed { exit: Exit::Code(127), tests: None };
    assert_eq!(compare(Some(&baseline(Exit::Code(127), None)), &missing).status, CheckStatus::Inconclusive);
    assert_eq!(compare(Some(&baseline(Exit::Code(1), None)), &missing).status, CheckStatus::Failed);
    assert_eq!(compare(None, &missing).status, CheckStatus::Inconclusive);
    let slow = Observed { exit: Exit::Timeout, tests: None };
    assert_eq!(compare(Some(&baseline(Exit::Code(0), None)), &slow).status, CheckStatus::Failed);
    assert_eq!(compare(Some(&baseline(Exit::Timeout, None)), &slow).status, CheckStatus::Inconclusive);
    let stopped = Observed { exit: Exit::Cancelled, tests: None };
    assert_eq!(compare(Some(&baseline(Exit::Code(0), None)), &stopped).status, CheckStatus::Inconclusive);
    let killed = Observed { exit: Exit::Signal(9), tests: None };
    assert_eq!(compare(None, &killed).status, CheckStatus::Failed);
}

#[test]
fn code_that_does_not_build_is_the_claims_fault() {
    let what = "error: could not compile".to_owned();
    let broken = Observed { exit: Exit::Code(101), tests: Some(Err(ReportError::NotBuilt { what })) };
    assert_eq!(compare(Some(&baseline(Exit::Code(101), None)), &broken).status, CheckStatus::Failed);
}

fn any_state() -> impl Strategy<Value = TestState> {
    prop_oneof![Just(Passed), Just(Failed), Just(Skipped)]
}

fn any_tests() -> impl Strategy<Value = BTreeMap<String, TestState>> {
    prop::collection::btree_map("[a-f]", any_state(), 1..6)
}

proptest! {
    /// Whatever a run reports: take a test of the base away or skip it, and what is left is no pass.
    #[test]
    fn losing_a_test_never_passes(before in any_tests(), added in any_tests(), pick in any::<prop::sample::Index>(),
                                  skip: bool, exit in 0..2, named: bool) {
        let lost = before.keys().nth(pick.index(before.len())).cloned().unwrap_or_default();
        prop_assume!(!skip || before[&lost] != Skipped);
        let mut after = before.clone();
        after.extend(added.into_iter().map(|(name, state)| (format!("new {name}"), state)));
        if skip { after.insert(lost, Skipped); } else { after.remove(&lost); }
        let before = baseline(Exit::Code(0), Some(Tests { counts: counted(before.values()), by_name: before }));
        let counts = counted(after.values());
        let by_name = if named { after } else { BTreeMap::new() };
        let conclusion = compare(Some(&before), &now(exit, Tests { counts, by_name }));
        prop_assert_ne!(conclusion.status, CheckStatus::Passed);
    }

    /// A pass means: exit 0, at least one test passed, none failed.
    #[test]
    fn a_pass_is_what_it_says(before in any_tests(), after in any_tests(), exit in 0..3) {
        let before = baseline(Exit::Code(0), Some(Tests { counts: counted(before.values()), by_name: before }));
        let counts = counted(after.values());
        let conclusion = compare(Some(&before), &now(exit, Tests { counts, by_name: after }));
        if conclusion.status == CheckStatus::Passed {
            prop_assert!(exit == 0 && counts.failed == 0 && counts.passed > 0);
        } else {
            prop_assert!(!conclusion.reasons.is_empty());
        }
    }
}
