//! One attempt of one check on one tree: a fresh copy, its held-out files, and whatever goes wrong caught.

use std::panic::AssertUnwindSafe;

use countersign_protocol::{CheckReport, CheckStatus, Exit, TreeId};
use countersign_sandbox::Change;
use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::Examiner;
use crate::{Check, Needs, Scene, check::inconclusive};

/// What an attempt is made on.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    /// The files that the check sees.
    pub(super) tree: &'a TreeId,
    /// The claim's own tree.
    pub(super) candidate: &'a TreeId,
    pub(super) changes: &'a [Change],
    pub(super) baseline: Option<&'a CheckReport>,
    pub(super) cancel: &'a CancellationToken,
}

impl Examiner {
    /// Attempts until one does not fail, at most as often as the check asks for.
    pub(super) async fn confirmed(&self, check: &dyn Check, ground: Ground<'_>) -> CheckReport {
        let needs = check.needs();
        let mut earlier = Vec::new();
        let mut run = 1;
        loop {
            let mut report = self.attempt(check, &needs, ground).await;
            let stopped = report.evidence.last().is_some_and(|last| last.exit == Exit::Cancelled);
            if report.status == CheckStatus::Failed && run < needs.confirm && !stopped {
                run += 1;
                earlier.append(&mut report.evidence);
                continue;
            }
            if report.passed() && run > 1 {
                report.summary = format!("{}; flaky: it failed {} of {run} runs", report.summary, run - 1);
            } else if report.status == CheckStatus::Failed && run > 1 {
                report.summary = format!("{}; in {run} of {run} runs", report.summary);
            }
            earlier.append(&mut report.evidence);
            report.evidence = earlier;
            return report;
        }
    }

    /// One attempt. A panic, or a copy that can't be made, is inconclusive.
    pub(super) async fn attempt(&self, check: &dyn Check, needs: &Needs, ground: Ground<'_>) -> CheckReport {
        let name = check.name().to_owned();
        let run = AssertUnwindSafe(self.try_attempt(check, needs, ground)).catch_unwind();
        let mut report = match run.await {
            Ok(Ok(report)) => report,
            Ok(Err(reason)) => inconclusive(&name, reason, "see the error above, then resume"),
            Err(_) => inconclusive(&name, "the check panicked", "mend the check's program"),
        };
        report.check = name;
        report
    }

    async fn try_attempt(
        &self,
        check: &dyn Check,
        needs: &Needs,
        ground: Ground<'_>,
    ) -> Result<CheckReport, String> {
        if ground.cancel.is_cancelled() {
            return Err("the run was stopped".into());
        }
        let snapshots = self.snapshots();
        let tree = match &needs.overlay {
            Some(over) => snapshots.overlay(ground.tree, over).await.map_err(|error| error.to_string())?,
            None => ground.tree.clone(),
        };
        let room = self.room().enter(snapshots, needs.copy.then_some(&tree)).await?;
        let (copy, temporary) = (room.copy(), room.temporary());
        let scene = Scene {
            copy: &copy,
            temporary: &temporary,
            tree: &tree,
            base: &self.setup.base,
            candidate: ground.candidate,
            changes: ground.changes,
            baseline: ground.baseline,
            snapshots,
            sandbox: self.sandbox(),
            blobs: self.blobs(),
            goal: &self.setup.goal,
            cancel: ground.cancel,
        };
        Ok(check.run(&scene).await)
    }
}
