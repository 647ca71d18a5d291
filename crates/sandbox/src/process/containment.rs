//! What a sandbox truly contains, said in facts that a certificate can carry.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The levels of containment, weakest first. Stronger ones (namespaces, containers) would come after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A session and process group of its own. What leaves the session and its parent can outlive the call.
    ProcessGroup,
    /// A helper process to which every descendant returns, and which kills them all.
    Descendants,
}

/// What a sandbox truly contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Containment {
    /// The level.
    pub level: Level,
    /// Everything that the command started is dead when the call returns, also what left its session.
    pub descendants_die: bool,
    /// Everything that the command started dies when the host is killed.
    pub dies_with_host: bool,
    /// Writes outside the workspace are refused.
    pub writes_limited: bool,
    /// The network is out of reach.
    pub network_limited: bool,
}

impl Containment {
    /// What a session and process group give.
    pub const PROCESS_GROUP: Self = Self {
        level: Level::ProcessGroup,
        descendants_die: false,
        dies_with_host: false,
        writes_limited: false,
        network_limited: false,
    };

    /// What the helper process gives.
    pub const DESCENDANTS: Self = Self {
        level: Level::Descendants,
        descendants_die: true,
        dies_with_host: true,
        writes_limited: false,
        network_limited: false,
    };
}

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::ProcessGroup => {
                "process group: a process that leaves its session can outlive the call, and all of them the host"
            }
            Level::Descendants => "descendants: every process started dies with the call and with the host",
        })?;
        match (self.writes_limited, self.network_limited) {
            (true, true) => Ok(()),
            (true, false) => f.write_str("; the network is not limited"),
            (false, true) => f.write_str("; files are not limited"),
            (false, false) => f.write_str("; files and the network are not limited"),
        }
    }
}
