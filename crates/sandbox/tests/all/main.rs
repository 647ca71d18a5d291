//! The sandbox with real processes, real git and real files.

#![allow(clippy::unwrap_used, reason = "the helpers of tests fail as tests do")]

mod doctor;
mod ground;
mod host;
mod hostile;
mod process;
mod snapshot;
mod support;
mod trees;
