//! What is available to a run: configuration in its layers, roles, policies and models, each with its origin.

use std::path::{Path, PathBuf};

use countersign_protocol::{ModelRef, Policy, Price, Role, RoleKind};

use crate::{
    diagnose::LoadError,
    world::{Globals, World},
};

/// Where something came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is a part of countersign.
    Shipped,
    /// A file of the user, or one that the user named.
    User(PathBuf),
    /// A file of the workspace.
    Workspace(PathBuf),
}

/// A role or policy, and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<T> {
    /// The content.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
    /// The folder against which its relative paths are read.
    pub dir: PathBuf,
}

/// A model that can be named.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedModel {
    /// Its name.
    pub model: ModelRef,
    /// Tokens of prompt and answer together.
    pub context_window: u64,
    /// Tokens of one answer.
    pub max_output_tokens: u64,
    /// What it costs, where that is known.
    pub price: Option<Price>,
    /// Where it came from.
    pub origin: Origin,
    /// The variable with the key, and whether it is set; `None` where the provider needs no key.
    pub key: Option<(String, bool)>,
}

/// What is available.
pub struct Settings;

impl Settings {
    /// Reads the configuration: the user's, then the workspace's (where it is trusted), then `--config`.
    ///
    /// # Errors
    /// All that is wrong with the files.
    pub fn load(_world: &World, _globals: &Globals, _workspace: &Path) -> Result<Self, LoadError> {
        unimplemented!()
    }

    /// Finds a role by name or path; a relative path is read against `base`.
    ///
    /// # Errors
    /// It is missing, wrong, or not of this kind.
    pub fn role(&self, _name: &str, _kind: Option<RoleKind>, _base: &Path) -> Result<Found<Role>, LoadError> {
        unimplemented!()
    }

    /// Finds a policy by name or path; a relative path is read against `base`.
    ///
    /// # Errors
    /// It is missing or wrong.
    pub fn policy(&self, _name: &str, _base: &Path) -> Result<Found<Policy>, LoadError> {
        unimplemented!()
    }

    /// All roles that can be named; one that can't be read is its error.
    #[must_use]
    pub fn list_roles(&self) -> Vec<(String, Origin, Result<Found<Role>, LoadError>)> {
        unimplemented!()
    }

    /// All policies that can be named; one that can't be read is its error.
    #[must_use]
    pub fn list_policies(&self) -> Vec<(String, Origin, Result<Found<Policy>, LoadError>)> {
        unimplemented!()
    }

    /// All models that can be named.
    #[must_use]
    pub fn list_models(&self) -> Vec<ListedModel> {
        unimplemented!()
    }
}
