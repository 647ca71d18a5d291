//! From flags and files to an assignment: everything is read and checked before anything is spent.

use std::path::PathBuf;

use crate::{
    diagnose::{Diagnostic, LoadError},
    task::TaskFlags,
    world::{Globals, World},
};

/// A run that may start.
pub struct Prepared {
    /// Where its state goes: `STATE/runs/RUN`.
    pub state_dir: PathBuf,
    /// What is worth telling the user before it starts.
    pub notes: Vec<Diagnostic>,
}

/// Reads and checks everything that a run needs.
///
/// # Errors
/// All that is wrong, at once.
pub fn prepare(_world: &World, _globals: &Globals, _flags: &TaskFlags) -> Result<Prepared, LoadError> {
    unimplemented!()
}
