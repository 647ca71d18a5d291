//! The library face of countersign: build a run in Rust, or load it from the files that users write.

pub mod diagnose;
pub mod lint;
mod nearest;
pub mod prepare;
pub mod settings;
pub mod task;
pub mod world;

pub use countersign_journal as journal;
pub use countersign_model as model;
pub use countersign_protocol as protocol;
pub use countersign_runtime as runtime;
pub use countersign_sandbox as sandbox;
pub use countersign_tools as tools;
pub use countersign_verify as verify;

pub use diagnose::{Diagnostic, Fault, LoadError, Severity};
pub use lint::{Linted, lint};
pub use prepare::{Prepared, prepare};
pub use settings::{Found, ListedModel, Origin, Settings};
pub use task::{ModelChoice, TaskFlags};
pub use world::{Globals, World};
