//! Who an actor is: the contents of `agents/*.toml`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::ModelRef;

/// What an actor does in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoleKind {
    /// Does the task.
    Worker,
    /// Tries to refute the claim that it is done.
    Verifier,
    /// Watches the budget and the progress.
    Supervisor,
}

impl std::fmt::Display for RoleKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Worker => "worker",
            Self::Verifier => "verifier",
            Self::Supervisor => "supervisor",
        })
    }
}

/// A role. Every key of the file is a field here; an unknown key is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The name by which tasks ask for it.
    pub name: String,
    /// What it does in a run.
    pub kind: RoleKind,
    /// One line for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The model; a task or a flag may choose another. A supervisor without one decides by rules alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// The system prompt's first section.
    pub prompt: String,
    /// The names of its tools, in any order. Without the key: those of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Rules of conduct, one a line of the system prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guidelines: Vec<String>,
    /// Folders of skills, relative to the role's file. A skill enters the prompt as a line of an index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<PathBuf>,
    /// The most that one answer may hold, in tokens. Without the key: the model's own limit, at most 8,192.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// A supervisor with a model looks at the run each time the worker has taken this many turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_every: Option<u32>,
    /// When and how its history is compacted.
    #[serde(default)]
    pub compaction: Compaction,
    /// What its processes are kept from.
    #[serde(default)]
    pub sandbox: SandboxSpec,
}

/// When and how a lane's history is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compaction {
    /// Compaction comes when less than this much of the window is free, in tokens.
    pub reserve_tokens: u64,
    /// How much of the newest history stays verbatim, in tokens.
    pub keep_recent_tokens: u64,
}

impl Default for Compaction {
    fn default() -> Self {
        Self { reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}

/// How far a process is kept from the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxLevel {
    /// Contained as a process (own session, no stdin, bounded, killed with all descendants), not isolated.
    None,
    /// Writes only in the workspace, no network unless allowed.
    Workspace,
    /// In a container.
    Container,
}

/// What an actor's processes are kept from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxSpec {
    /// The level asked for.
    pub level: SandboxLevel,
    /// Whether its processes may use the network.
    pub network: bool,
    /// The level to go on with where the machine can't give the one asked for; without it the run is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<SandboxLevel>,
}

impl Default for SandboxSpec {
    fn default() -> Self {
        Self { level: SandboxLevel::None, network: true, fallback: None }
    }
}
