//! Commands under a helper process, to which every descendant returns and which outlives none of them.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{Command, Containment, Finished, Sandbox, SpawnError};

/// Runs each command under a helper process that kills every descendant at the end, and when the host dies.
#[derive(Debug, Clone)]
pub struct Contained {
    helper: PathBuf,
}

impl Contained {
    /// With this program as the helper: one whose `main` starts with [`helper_entry`].
    #[must_use]
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self { helper: program.into() }
    }

    /// With this very program as the helper, if its `main` called [`helper_entry`]; else with a
    /// `countersign-contain` beside it; `None` where neither is there or the system can't contain so.
    #[must_use]
    pub fn find() -> Option<Self> {
        None
    }
}

impl Sandbox for Contained {
    fn run<'a>(
        &'a self,
        _command: Command,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finished, SpawnError>> {
        unimplemented!("{}", self.helper.display())
    }

    fn containment(&self) -> Containment {
        Containment::DESCENDANTS
    }
}

/// The first line of `main` of a program that contains commands.
///
/// If this process was started as the helper, runs the helper and exits; otherwise notes that this program
/// can be its own helper, and returns. Call it before any thread is started.
pub fn helper_entry() {}
