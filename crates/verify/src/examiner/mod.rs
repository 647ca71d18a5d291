//! The examiner: the ground that is fixed before the worker starts, and the examination of each claim on it.

mod attempt;
mod copy;
mod examine;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use countersign_protocol::{CheckReport, Policy, TreeId, Verdict, policy::Objections};
use countersign_sandbox::{Change, Sandbox, SnapshotError, Snapshots};
use tokio_util::sync::CancellationToken;

use crate::{
    Check, Problem,
    checks::{CommandCheck, ForbidAdded, Plugin, ProtectedPaths, Scope},
    condition::Condition,
    freeze::Frozen,
    globs::Globs,
    protection::Protection,
    room::Room,
    validate,
};

pub use copy::JudgeCopy;
use copy::JudgeRoom;

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
    protected: Arc<ProtectedPaths>,
    checks: Vec<Arc<dyn Check>>,
    condition: Option<Condition>,
    baseline: Vec<CheckReport>,
    room: Room,
    judge: JudgeRoom,
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
    pub copy: Option<JudgeCopy>,
}

impl Examiner {
    /// Checks the policy, and freezes what it names (held-out files, plug-ins) out of the worker's reach.
    ///
    /// A scratch folder that an earlier session of the same run froze is taken as it is.
    ///
    /// # Errors
    /// Where the policy contradicts itself, or what it names can't be frozen.
    pub async fn prepare(setup: Setup) -> Result<Self, PolicyError> {
        std::fs::create_dir_all(&setup.scratch).map_err(|source| PolicyError::Io {
            action: "make",
            path: setup.scratch.clone(),
            source,
        })?;
        let earlier = Frozen::earlier(&setup.scratch)?;
        let mut problems = match &earlier {
            Some(_) => validate::validate_words(&setup.policy),
            None => validate::validate(&setup.policy, &setup.policy_dir),
        };
        problems.extend(taken_names(&setup));
        if !problems.is_empty() {
            return Err(PolicyError::Invalid { name: setup.policy.name, problems });
        }
        let frozen = match earlier {
            Some(frozen) => frozen,
            None => Frozen::take(&setup.policy, &setup.policy_dir, &setup.snapshots, &setup.scratch).await?,
        };
        let base = setup.snapshots.entries(&setup.base).await?;
        let base = base.into_iter().map(|entry| entry.path).collect();
        Self::assemble(setup, &frozen, &base)
            .map_err(|(name, problem)| PolicyError::Invalid { name, problems: vec![problem] })
    }

    fn assemble(setup: Setup, frozen: &Frozen, base: &BTreeSet<String>) -> Result<Self, (String, Problem)> {
        let policy = &setup.policy;
        let unfit = |key: &str, message: String| (policy.name.clone(), Problem { key: key.into(), message });
        let protection = Protection::new(policy, &setup.goal, base)
            .map_err(|error| unfit("protected", error.to_string()))?;
        let protected = Arc::new(ProtectedPaths::new(protection, policy.protected_change));
        let mut checks: Vec<Arc<dyn Check>> = vec![Arc::clone(&protected) as _];
        if !policy.scope.is_empty() {
            let globs = Globs::new(&policy.scope).map_err(|error| unfit("scope", error.to_string()))?;
            checks.push(Arc::new(Scope::new(globs)));
        }
        // What is cheap to look at comes first; the rest keeps the policy's order.
        for spec in &policy.checks {
            if let Some(patterns) = &spec.forbid_added {
                let check = ForbidAdded::new(&spec.name, patterns, &spec.paths);
                checks.push(Arc::new(check.map_err(|message| unfit("check", message))?));
            }
        }
        for spec in &policy.checks {
            let overlay = frozen.overlays.get(&spec.name).cloned();
            if let Some(check) = CommandCheck::new(spec.clone(), overlay) {
                checks.push(Arc::new(check));
            } else if let Some(program) = frozen.programs.get(&spec.name) {
                checks.push(Arc::new(Plugin::new(spec.clone(), program.clone())));
            }
        }
        checks.extend(setup.extra.iter().cloned());
        let accept = policy.accept.as_ref();
        let condition = accept.map(|accept| Condition::new(&accept.when)).transpose();
        let condition = condition.map_err(|message| unfit("accept.when", message))?;
        let (room, judge) = (Room::new(&setup.scratch), JudgeRoom::new(&setup.scratch));
        Ok(Self { protected, checks, condition, baseline: Vec::new(), room, judge, setup })
    }

    /// Runs the checks that have a baseline on the base tree, and keeps their reports.
    pub async fn baseline(&mut self, cancel: &CancellationToken) -> Vec<CheckReport> {
        self.baseline = self.run_baseline(cancel).await;
        self.baseline.clone()
    }

    /// Takes the baseline from the journal, on resume.
    pub fn adopt_baseline(&mut self, reports: Vec<CheckReport>) {
        self.baseline = reports;
    }

    pub(crate) fn objections(&self) -> Objections {
        self.setup.policy.judge.as_ref().map_or(Objections::Note, |judge| judge.objections)
    }

    pub(crate) fn snapshots(&self) -> &Snapshots {
        &self.setup.snapshots
    }

    pub(crate) fn sandbox(&self) -> &dyn Sandbox {
        &*self.setup.sandbox
    }

    pub(crate) fn blobs(&self) -> &Path {
        &self.setup.blobs
    }

    pub(crate) const fn room(&self) -> &Room {
        &self.room
    }
}

/// Embedder's checks whose names the policy, or another of them, has already.
fn taken_names(setup: &Setup) -> Vec<Problem> {
    let mut names: BTreeSet<&str> = setup.policy.checks.iter().map(|check| check.name.as_str()).collect();
    names.extend([ProtectedPaths::NAME, Scope::NAME, Condition::NAME]);
    let taken = setup.extra.iter().filter(|check| !names.insert(check.name()));
    taken
        .map(|check| Problem {
            key: "check".into(),
            message: format!("an added check is named `{}` too: rename one of them", check.name()),
        })
        .collect()
}
