//! The running system: one agent loop, three actors, consensus, budgets, stalls and resume.
//!
//! Begin with `agent.rs`, the loop; then `consensus.rs`, which says when a run ends; then `run.rs`, which joins them.

mod agent;
mod assignment;
mod call;
pub mod clock;
mod compaction;
pub mod consensus;
mod digest;
mod handle;
mod history;
mod launch;
pub mod ledger;
mod messages;
mod part;
mod past;
pub mod review;
mod reviewer;
mod run;
pub mod stall;
mod start;
mod supervisor;
mod verifier;
mod words;
mod worker;

pub use assignment::{ActorSpec, Assignment, Resumption, RunDir};
pub use handle::{RunHandle, Stopper};
pub use messages::Stop;
pub use past::current_ground;
pub use start::{StartError, resume, start};
