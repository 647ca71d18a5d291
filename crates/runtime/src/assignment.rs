//! What a run is made from. Everything in it is fixed before the worker starts.

use std::{path::PathBuf, sync::Arc};

use countersign_model::Model;
use countersign_protocol::{Budget, Policy, Role, RunId, entry::Section};
use countersign_tools::Toolset;
use countersign_verify::Check;

/// What a run is made from.
pub struct Assignment {
    /// What is asked.
    pub goal: String,
    /// Where: an existing folder.
    pub workspace: PathBuf,
    /// Who does it.
    pub worker: ActorSpec,
    /// Who judges it after the checks. A policy with a judge needs one; without a judge it is not asked.
    pub verifier: Option<ActorSpec>,
    /// Who watches: its rules need no model.
    pub supervisor: Role,
    /// The supervisor's model, where it has one.
    pub reviewer: Option<ActorSpec>,
    /// What a claim must survive.
    pub policy: Policy,
    /// The folder against which the policy's relative paths are read.
    pub policy_dir: PathBuf,
    /// What the run may use.
    pub budget: Budget,
    /// Where runs are kept: this run lies in `runs/RUN` below it.
    pub state_dir: PathBuf,
    /// Checks beside those of the policy.
    pub checks: Vec<Arc<dyn Check>>,
    /// Values that must never reach a model, the journal or a log, such as providers' keys.
    pub secrets: Vec<String>,
}

/// Who plays a part, and with what.
pub struct ActorSpec {
    /// The role.
    pub role: Role,
    /// The model that thinks for it.
    pub model: Arc<dyn Model>,
    /// The system prompt.
    pub sections: Vec<Section>,
    /// The tools.
    pub tools: Toolset,
}

/// How a run goes on that stopped before its end.
#[derive(Debug, Clone, Default)]
pub struct Resumption {
    /// A person's word for the worker, as the answer to what blocked it.
    pub steer: Option<String>,
}

/// Where a run's files lie.
#[derive(Debug, Clone)]
pub struct RunDir(PathBuf);

impl RunDir {
    /// The folder of a run in a state directory.
    #[must_use]
    pub fn new(state_dir: &std::path::Path, run: RunId) -> Self {
        Self(state_dir.join("runs").join(run.to_string()))
    }

    /// The folder itself, which holds the journal and its blobs.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.0
    }

    /// The certificate of a completed run.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.0.join("certificate.json")
    }

    /// The private object store and index of the snapshots.
    #[must_use]
    pub fn snapshots(&self) -> PathBuf {
        self.0.join("snapshots")
    }

    /// The bodies that lie beside the journal.
    #[must_use]
    pub fn blobs(&self) -> PathBuf {
        self.0.join("blobs")
    }

    /// Frozen files of the policy, and copies while they are examined.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.0.join("scratch")
    }

    /// Whole outputs of commands, for the worker to read.
    #[must_use]
    pub fn outputs(&self) -> PathBuf {
        self.0.join("outputs")
    }
}
