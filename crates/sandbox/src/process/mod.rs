//! Contained processes: what to run, how it ended, and the trait behind which the ways to contain it lie.

mod command;
mod contained;
mod containment;
mod environment;
mod error;
mod group;
#[cfg(target_os = "linux")]
mod helper;
mod output;
mod prepared;
#[cfg(target_os = "linux")]
mod processes;
mod wire;

use std::sync::Arc;

use countersign_protocol::Exit;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

pub use command::{Command, DEFAULT_KEEP, DEFAULT_TIMEOUT, Program, Streams};
pub use contained::{Contained, close_to_others, helper_entry};
pub use containment::{Containment, Level};
pub use error::SpawnError;
pub use group::ProcessGroup;
pub use output::{Captured, SPILL_LIMIT};

/// A command that has ended, and all that it started with it (as far as the sandbox's [`Containment`] goes).
#[derive(Debug, Clone)]
pub struct Finished {
    /// How the command itself ended.
    pub exit: Exit,
    /// How long it took, by the host's clock.
    pub took: std::time::Duration,
    /// What it wrote to stdout; with [`Streams::Merged`] also what it wrote to stderr, in the order of writing.
    pub stdout: Captured,
    /// What it wrote to stderr; empty with [`Streams::Merged`].
    pub stderr: Captured,
}

/// A way to run commands so that they end when they should.
pub trait Sandbox: Send + Sync {
    /// Runs a command to its end, its timeout, or the cancellation.
    ///
    /// Returns when the command itself has ended: what it left running is killed, never waited for.
    /// A dropped future stops the command too.
    fn run<'a>(
        &'a self,
        command: Command,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finished, SpawnError>>;

    /// What this sandbox truly contains.
    fn containment(&self) -> Containment;
}

/// The strongest sandbox that this program can have: [`Contained`] where a helper is to be had, else [`ProcessGroup`].
#[must_use]
pub fn best() -> Arc<dyn Sandbox> {
    match Contained::find() {
        Some(contained) => Arc::new(contained),
        None => Arc::new(ProcessGroup::new()),
    }
}
