//! The examination of one candidate: each check in one pass or two, the counterfactual, and the last condition.
//!
//! In the first pass every protected path is as in the base tree, and what the worker added to protected places
//! is gone. In the second its additions, and its changes to files that are protected by implication, are there.
//! Both must hold, so that what a worker does to the ground can only make the judgement stricter.

use std::collections::BTreeSet;

use countersign_protocol::{CheckReport, CheckStatus, Finding, TestState, TreeId, Verdict};
use countersign_sandbox::Change;
use tokio_util::sync::CancellationToken;

use super::{Examination, Examiner, attempt::Ground};
use crate::{
    Check,
    check::inconclusive,
    checks::{ProtectedPaths, Scope},
    condition::DiffFacts,
    decide,
    protection::Touched,
};

/// One candidate, and the trees on which it is judged.
struct Case<'a> {
    candidate: &'a TreeId,
    changes: &'a [Change],
    touched: Touched,
    first: TreeId,
    second: Option<TreeId>,
    cancel: &'a CancellationToken,
}

impl Examiner {
    /// Examines a candidate with the host's checks. `observe` is told each report as it comes.
    pub async fn examine(
        &self,
        candidate: &TreeId,
        cancel: &CancellationToken,
        observe: &mut (dyn FnMut(&CheckReport) + Send),
    ) -> Examination {
        let mut reports = Vec::new();
        let mut changes = Vec::new();
        let mut tell = |report: CheckReport, reports: &mut Vec<CheckReport>| {
            observe(&report);
            reports.push(report);
        };
        match self.snapshots().changes(&self.setup.base, candidate).await {
            Err(error) => tell(snapshot_lost(&error.to_string()), &mut reports),
            Ok(found) => {
                changes = found;
                match self.open(candidate, &changes, cancel).await {
                    Err(reason) => tell(snapshot_lost(&reason), &mut reports),
                    Ok(case) => {
                        for check in &self.checks {
                            tell(self.judge_by(&**check, &case).await, &mut reports);
                        }
                        if let Some(report) = self.last_condition(&case, &reports).await {
                            tell(report, &mut reports);
                        }
                    }
                }
            }
        }
        if let Some(report) = self.nothing_applies(&reports) {
            tell(report, &mut reports);
        }
        let mut verdict = decide(&reports);
        let copy = match self.setup.policy.judge.is_some() && matches!(verdict, Verdict::Accepted { .. }) {
            false => None,
            true => match self.judge.fill(self.snapshots(), candidate).await {
                Ok(copy) => Some(copy),
                Err(reason) => {
                    let needs = "mend what kept the judge's copy from being made, then resume".into();
                    verdict = Verdict::Inconclusive { reason, needs };
                    None
                }
            },
        };
        let held_out = self.checks.iter().filter(|check| check.needs().overlay.is_some());
        let held_out = held_out.map(|check| check.name().to_owned()).collect();
        Examination { candidate: candidate.clone(), changes, reports, verdict, held_out, copy }
    }

    pub(super) async fn run_baseline(&self, cancel: &CancellationToken) -> Vec<CheckReport> {
        let base = &self.setup.base;
        let mut reports = Vec::new();
        for check in self.checks.iter().filter(|check| check.needs().baseline) {
            let ground = Ground { tree: base, candidate: base, changes: &[], baseline: None, cancel };
            reports.push(self.attempt(&**check, &check.needs(), ground).await);
        }
        reports
    }

    async fn open<'a>(
        &self,
        candidate: &'a TreeId,
        changes: &'a [Change],
        cancel: &'a CancellationToken,
    ) -> Result<Case<'a>, String> {
        let touched = self.protected.protection().touched(changes);
        let first = self.put_back(candidate, &touched.first_pass()).await?;
        let second = match touched.needs_second_pass() {
            true => Some(self.put_back(candidate, &touched.second_pass()).await?),
            false => None,
        };
        Ok(Case { candidate, changes, touched, first, second, cancel })
    }

    async fn put_back(&self, candidate: &TreeId, paths: &[String]) -> Result<TreeId, String> {
        if paths.is_empty() {
            return Ok(candidate.clone());
        }
        let composed = self.snapshots().compose(candidate, &self.setup.base, paths).await;
        composed.map_err(|error| error.to_string())
    }

    /// Both passes of one check.
    async fn judge_by(&self, check: &dyn Check, case: &Case<'_>) -> CheckReport {
        let needs = check.needs();
        let baseline = self.baseline.iter().find(|report| report.check == check.name());
        let ground = |tree| Ground {
            tree,
            candidate: case.candidate,
            changes: case.changes,
            baseline,
            cancel: case.cancel,
        };
        let mut first = self.confirmed(check, ground(&case.first)).await;
        if needs.copy && first.status == CheckStatus::Failed {
            explain_put_back(&mut first, &case.touched);
        }
        let Some(second_tree) = case.second.as_ref().filter(|_| needs.copy && first.passed()) else {
            return first;
        };
        let mut second = self.confirmed(check, ground(second_tree)).await;
        if second.passed() && needs.counterfactual {
            second = self.counterfactual(check, case, second).await;
        }
        first.evidence.append(&mut second.evidence);
        if second.passed() {
            first.summary = format!("{}; also with what was added: {}", first.summary, second.summary);
            return first;
        }
        let what = "Run with what you added to protected places or changed of the runner's files:";
        for finding in &mut second.findings {
            finding.statement = format!("{what} {}", finding.statement);
        }
        second.summary = format!("only without what was added; with it: {}", second.summary);
        CheckReport { evidence: first.evidence, ..second }
    }

    /// Whether the tests that the worker added fail on the base tree, as they must where they test the change.
    async fn counterfactual(&self, check: &dyn Check, case: &Case<'_>, with: CheckReport) -> CheckReport {
        let known = self.baseline.iter().find(|report| report.check == check.name());
        let known = known.and_then(|report| report.tests.as_ref());
        let tests = with.tests.as_ref().map(|tests| &tests.by_name);
        let added: BTreeSet<&String> = tests
            .into_iter()
            .flat_map(|tests| tests.keys())
            .filter(|name| known.is_none_or(|known| !known.by_name.contains_key(*name)))
            .collect();
        if added.is_empty() {
            return with;
        }
        let base = &self.setup.base;
        let tree = match self.snapshots().compose(base, case.candidate, &case.touched.added).await {
            Ok(tree) => tree,
            Err(error) => return inconclusive(check.name(), error.to_string(), "see the error above"),
        };
        let ground =
            Ground { tree: &tree, candidate: base, changes: &[], baseline: None, cancel: case.cancel };
        let mut without = self.attempt(check, &check.needs(), ground).await;
        if case.cancel.is_cancelled() {
            return inconclusive(check.name(), "the run was stopped", "resume the run");
        }
        let all_pass = without.tests.as_ref().is_some_and(|tests| {
            added.iter().all(|name| tests.by_name.get(*name) == Some(&TestState::Passed))
        });
        let mut report = with.clone();
        report.evidence.append(&mut without.evidence);
        if all_pass {
            let names = added.iter().take(5).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let statement = format!(
                "the added tests pass on the base tree too, so they do not test the change: {names}. Add a test that \
                 fails without it."
            );
            report.status = CheckStatus::Failed;
            report.summary = "the added tests pass without the change".into();
            report.findings = vec![Finding { statement, ..Finding::default() }];
        }
        report
    }

    async fn last_condition(&self, case: &Case<'_>, reports: &[CheckReport]) -> Option<CheckReport> {
        let condition = self.condition.as_ref()?;
        let (base, snapshots) = (&self.setup.base, self.snapshots());
        let added = snapshots.added_lines(base, case.candidate).await;
        let removed = snapshots.added_lines(case.candidate, base).await;
        let size = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        Some(match (added, removed) {
            (Ok(added), Ok(removed)) => {
                let diff = DiffFacts {
                    files: size(case.changes.len()),
                    added: size(added.len()),
                    removed: size(removed.len()),
                };
                condition.decide(reports, &self.baseline, diff)
            }
            (Err(error), _) | (_, Err(error)) => snapshot_lost(&error.to_string()),
        })
    }

    /// A policy that protects paths and checks nothing can't say that a task is done, unless a judge does.
    fn nothing_applies(&self, reports: &[CheckReport]) -> Option<CheckReport> {
        let only_ground =
            reports.iter().all(|report| [ProtectedPaths::NAME, Scope::NAME].contains(&report.check.as_str()));
        (only_ground && self.setup.policy.judge.is_none()).then(|| {
            inconclusive("policy", "no check applies to this claim", "give the policy a check or a judge")
        })
    }
}

/// A failure in the first pass may come from what was put back; the worker must be able to know.
fn explain_put_back(report: &mut CheckReport, touched: &Touched) {
    let list = |paths: &[String]| {
        let shown: Vec<String> = paths.iter().take(8).map(|path| format!("`{path}`")).collect();
        shown.join(", ")
    };
    let put_back = [&touched.changed[..], &touched.changed_implied].concat();
    let mut notes = Vec::new();
    if !put_back.is_empty() {
        notes.push(format!("with these as in the base: {}", list(&put_back)));
    }
    if !touched.added.is_empty() {
        notes.push(format!("without what you added to protected places: {}", list(&touched.added)));
    }
    if let Some(finding) = report.findings.first_mut().filter(|_| !notes.is_empty()) {
        finding.statement = format!("Run {}: {}", notes.join(" and "), finding.statement);
    }
}

fn snapshot_lost(reason: &str) -> CheckReport {
    inconclusive("snapshot", reason, "mend what kept the snapshot from being read, then resume")
}
