//! Looks files over without running anything: `countersign check`.

use std::path::PathBuf;

use crate::{
    diagnose::{Diagnostic, LoadError},
    settings::Settings,
};

/// What a look at files came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linted {
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// Looks over roles, policies, tasks and configuration: the files and folders named, or with none the
/// user's, the workspace's and the shipped ones.
///
/// # Errors
/// A path doesn't exist or can't be read.
pub fn lint(_settings: &Settings, _paths: &[PathBuf]) -> Result<Linted, LoadError> {
    unimplemented!()
}
