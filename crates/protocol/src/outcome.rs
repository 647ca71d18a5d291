//! How a run ends.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a run ends. Every run has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Worker, verifier and supervisor agree about the same claim and the same bytes.
    Completed,
    /// Too many claims were refuted.
    Refused,
    /// The next call's worst case does not fit the budget, or the time is over.
    Exhausted,
    /// The worker goes in circles.
    Stalled,
    /// A person must decide or mend something; resumable after that.
    Blocked,
    /// A person stopped it; resumable.
    Halted,
    /// The world failed: a provider, the disk, a file.
    Failed,
}

impl Outcome {
    /// The exit code of the command line.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Refused => 3,
            Self::Exhausted => 4,
            Self::Stalled => 5,
            Self::Halted => 6,
            Self::Blocked => 7,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Completed => "completed",
            Self::Refused => "refused",
            Self::Exhausted => "exhausted",
            Self::Stalled => "stalled",
            Self::Blocked => "blocked",
            Self::Halted => "halted",
            Self::Failed => "failed",
        })
    }
}
