//! What is asked: `task.toml`, and the flags that say the same.

use std::{path::PathBuf, str::FromStr};

use countersign_protocol::{ModelRef, Money, Span, ids::InvalidId, role::SandboxLevel};

/// What the command line says about a task. A flag wins over the task file.
#[derive(Debug, Clone, Default)]
pub struct TaskFlags {
    /// The task file.
    pub file: Option<PathBuf>,
    /// `--goal`.
    pub goal: Option<String>,
    /// `--workspace DIR`; with neither flag nor task file the working directory.
    pub workspace: Option<PathBuf>,
    /// `--worker R`: a name, or a path.
    pub worker: Option<String>,
    /// `--verifier R`.
    pub verifier: Option<String>,
    /// `--supervisor R`.
    pub supervisor: Option<String>,
    /// `--policy P`.
    pub policy: Option<String>,
    /// `--model ROLE=PROVIDER/MODEL`, in order; the last for a role wins.
    pub models: Vec<ModelChoice>,
    /// `--money`.
    pub money: Option<Money>,
    /// `--tokens`.
    pub tokens: Option<u64>,
    /// `--turns`.
    pub turns: Option<u64>,
    /// `--wall`.
    pub wall: Option<Span>,
    /// `--sandbox LEVEL`, for all roles.
    pub sandbox: Option<SandboxLevel>,
}

/// `ROLE=PROVIDER/MODEL`: ROLE is `worker`, `verifier`, `supervisor` or a role's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The role.
    pub role: String,
    /// The model.
    pub model: ModelRef,
}

impl FromStr for ModelChoice {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let invalid =
            || InvalidId { text: text.into(), expected: "a choice of a model (ROLE=PROVIDER/MODEL)" };
        let (role, model) = text.split_once('=').ok_or_else(invalid)?;
        if role.is_empty() {
            return Err(invalid());
        }
        Ok(Self { role: role.into(), model: model.parse().map_err(|_| invalid())? })
    }
}
