//! The library face of countersign: build a run in Rust, or load it from the files that users write.

mod builder;
mod cast;
mod choose;
mod config;
mod copy;
pub mod diagnose;
mod document;
pub mod keys;
pub mod lint;
pub mod lookup;
pub mod models;
mod nearest;
pub mod prepare;
pub mod prompt;
pub mod schema;
pub mod settings;
pub mod shipped;
pub mod skills;
pub mod task;
#[cfg(test)]
mod testing;
mod trust;
mod validate;
mod walk;
pub mod world;

pub use countersign_journal as journal;
pub use countersign_model as model;
pub use countersign_protocol as protocol;
pub use countersign_runtime as runtime;
pub use countersign_sandbox as sandbox;
pub use countersign_tools as tools;
pub use countersign_verify as verify;

pub use builder::{ModelSource, PolicyChoice, RoleChoice, Run, RunBuilder};
pub use diagnose::{Diagnostic, Fault, LoadError, Severity};
pub use lint::{Linted, lint};
pub use lookup::{Found, Listed};
pub use models::ListedModel;
pub use prepare::{Prepared, prepare, prepare_resume};
pub use settings::{Origin, Settings};
pub use task::{ModelChoice, ResumeFlags, TaskFlags};
pub use world::{Globals, World};
