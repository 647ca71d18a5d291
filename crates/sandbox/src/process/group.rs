//! Commands in a session of their own, without a helper: the fallback.

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::{Command, Containment, Finished, Sandbox, SpawnError};

/// Runs each command in a session and process group of its own, and kills what can be found of it at the end.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessGroup {
    _private: (),
}

impl ProcessGroup {
    /// The fallback.
    #[must_use]
    pub const fn new() -> Self {
        Self { _private: () }
    }
}

impl Sandbox for ProcessGroup {
    fn run<'a>(
        &'a self,
        _command: Command,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finished, SpawnError>> {
        unimplemented!()
    }

    fn containment(&self) -> Containment {
        Containment::PROCESS_GROUP
    }
}
