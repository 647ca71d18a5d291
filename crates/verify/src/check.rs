//! The `Check` trait: one attempt to refute a claim without a model.

use std::path::Path;

use countersign_protocol::{CheckReport, CheckStatus, Finding, TreeId};
use countersign_sandbox::{Change, Sandbox, Snapshots};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

/// One attempt to refute a claim without a model. Implement it to add a rule of your own to a policy.
///
/// A check that panics or never answers is taken as inconclusive, never as passed.
pub trait Check: Send + Sync {
    /// Its name, unique among the checks of a run.
    fn name(&self) -> &str;

    /// Tries once to refute the claim.
    fn run<'a>(&'a self, scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport>;

    /// What it needs from the examiner.
    fn needs(&self) -> Needs {
        Needs::default()
    }
}

/// What a check needs from the examiner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Needs {
    /// A copy of the files. Without it the check sees trees and changes only, and [`Scene::copy`] is an empty folder.
    pub copy: bool,
    /// A run on the base tree before the worker starts, whose report [`Scene::baseline`] is.
    pub baseline: bool,
    /// How many runs must fail before a failure counts; each has a fresh copy. A pass among them passes the check,
    /// and its report says that it is flaky; every run stays in the evidence.
    pub confirm: u32,
    /// Files put over the copy, which the worker never sees. Nothing of this check's output reaches the worker.
    pub overlay: Option<TreeId>,
    /// Whether tests that the worker added must fail on the base tree.
    pub counterfactual: bool,
}

impl Default for Needs {
    fn default() -> Self {
        Self { copy: true, baseline: false, confirm: 1, overlay: None, counterfactual: false }
    }
}

/// What a check sees.
pub struct Scene<'a> {
    /// A fresh copy of [`Scene::tree`], out of the worker's reach. The check may write in it; it is thrown away.
    pub copy: &'a Path,
    /// An empty folder outside the copy, thrown away too.
    pub temporary: &'a Path,
    /// The content of the copy: the candidate with protected paths put back; the base tree for a baseline.
    pub tree: &'a TreeId,
    /// The workspace's content as the task began.
    pub base: &'a TreeId,
    /// The workspace's content at the claim; the base tree for a baseline.
    pub candidate: &'a TreeId,
    /// What changed from base to candidate.
    pub changes: &'a [Change],
    /// This check's own report on the base tree, where it has one.
    pub baseline: Option<&'a CheckReport>,
    /// Reads trees.
    pub snapshots: &'a Snapshots,
    /// Runs commands.
    pub sandbox: &'a dyn Sandbox,
    /// Where outputs are kept by their hash.
    pub blobs: &'a Path,
    /// What the worker was asked to do.
    pub goal: &'a str,
    /// Ends the check early.
    pub cancel: &'a CancellationToken,
}

/// The attempt did not succeed: nothing refutes the claim.
#[must_use]
pub fn passed(check: &str, summary: impl Into<String>) -> CheckReport {
    report(check, CheckStatus::Passed, summary.into(), Vec::new())
}

/// The claim is refuted by these findings.
#[must_use]
pub fn failed(check: &str, summary: impl Into<String>, findings: Vec<Finding>) -> CheckReport {
    report(check, CheckStatus::Failed, summary.into(), findings)
}

/// The check could not judge; `needs` says what a person must mend.
#[must_use]
pub fn inconclusive(check: &str, reason: impl Into<String>, needs: impl Into<String>) -> CheckReport {
    let needs = Finding { statement: needs.into(), ..Finding::default() };
    report(check, CheckStatus::Inconclusive, reason.into(), vec![needs])
}

fn report(check: &str, status: CheckStatus, summary: String, findings: Vec<Finding>) -> CheckReport {
    CheckReport { check: check.into(), status, summary, findings, evidence: Vec::new(), tests: None }
}
