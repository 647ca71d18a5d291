//! The running system: one agent loop, three actors, consensus, budgets, stalls and resume.

pub mod clock;
pub mod consensus;
pub mod ledger;
pub mod stall;
