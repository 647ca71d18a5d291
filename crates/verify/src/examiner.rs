//! The examiner: the ground that is fixed before the worker starts, and the examination of each claim on it.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use countersign_protocol::{CheckReport, Finding, Policy, TreeId, Verdict};
use countersign_sandbox::{Change, Sandbox, SnapshotError, Snapshots};
use tokio_util::sync::CancellationToken;

use crate::{Check, Problem};

/// What an examiner is made from.
pub struct Setup {
    /// What a claim must survive.
    pub policy: Policy,
    /// The folder against which the policy's relative paths are read.
    pub policy_dir: PathBuf,
    /// The snapshots of the workspace.
    pub snapshots: Arc<Snapshots>,
    /// Runs commands.
    pub sandbox: Arc<dyn Sandbox>,
    /// The workspace's content as the task began.
    pub base: TreeId,
    /// A folder of the run's own, out of the worker's reach: frozen files and copies lie in it.
    pub scratch: PathBuf,
    /// Where outputs are kept by their hash.
    pub blobs: PathBuf,
    /// What the worker was asked to do.
    pub goal: String,
    /// Checks that the embedder adds, after those of the policy.
    pub extra: Vec<Arc<dyn Check>>,
}

/// Why a policy can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// It says what can't be, or contradicts itself.
    #[error("the policy `{name}` can't be used: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid {
        /// The policy.
        name: String,
        /// What is wrong, each with its key.
        problems: Vec<Problem>,
    },
    /// A file or folder that it names can't be frozen, or the scratch folder can't be used.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was to be done.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A snapshot could not be taken or read.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// The verifying ground of a run: read once, before the worker starts. Editing its files later changes nothing.
pub struct Examiner {
    setup: Setup,
}

/// What the host's checks came to for one candidate.
#[derive(Debug)]
pub struct Examination {
    /// The candidate.
    pub candidate: TreeId,
    /// What changed from the base.
    pub changes: Vec<Change>,
    /// One report a check, in order.
    pub reports: Vec<CheckReport>,
    /// The verdict of the host's checks alone.
    pub verdict: Verdict,
    /// Checks whose output holds what the worker must never see.
    pub held_out: BTreeSet<String>,
    /// The candidate's files for the judge, where the policy has one; thrown away with this value.
    pub copy: Option<tempfile::TempDir>,
}

/// What the judge said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it accepts the claim.
    pub accept: bool,
    /// Why, in a sentence or two.
    pub summary: String,
    /// What it found.
    pub findings: Vec<Finding>,
}

#[allow(clippy::unused_async)] // the bodies come next
impl Examiner {
    /// Checks the policy, and freezes what it names (held-out files, plug-ins) out of the worker's reach.
    ///
    /// A scratch folder that an earlier session of the same run froze is taken as it is.
    ///
    /// # Errors
    /// Where the policy contradicts itself, or what it names can't be frozen.
    pub async fn prepare(setup: Setup) -> Result<Self, PolicyError> {
        Ok(Self { setup })
    }

    /// Runs the checks that have a baseline on the base tree, and keeps their reports.
    pub async fn baseline(&mut self, _cancel: &CancellationToken) -> Vec<CheckReport> {
        unimplemented!("{}", self.setup.goal)
    }

    /// Takes the baseline from the journal, on resume.
    pub fn adopt_baseline(&mut self, _reports: Vec<CheckReport>) {
        unimplemented!()
    }

    /// Examines a candidate with the host's checks. `observe` is told each report as it comes.
    pub async fn examine(
        &self,
        _candidate: &TreeId,
        _cancel: &CancellationToken,
        _observe: &mut (dyn FnMut(&CheckReport) + Send),
    ) -> Examination {
        unimplemented!()
    }

    /// Weighs the judge's word: the host re-runs the command of each finding and looks up each place.
    pub async fn weigh(
        &self,
        _examination: &Examination,
        _judgement: Judgement,
        _cancel: &CancellationToken,
    ) -> Verdict {
        unimplemented!()
    }
}
