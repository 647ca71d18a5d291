//! Shared parts of the whole-system tests: a scripted model server, a workspace, and a way to run the binary.

pub mod bench;
pub mod server;

pub use bench::{Bench, Outcome};
pub use server::{Server, Step};
