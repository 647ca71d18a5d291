//! The append-only journal of a run: its stores, what a model sees of it, and when to compact.
//!
//! What happened and what a model sees of it are two things. The first is the journal: entries that are
//! written once, each durable before anything acts on it ([`store`], [`Journal`]). The second is a
//! projection of one lane's path through it ([`branch`], [`project`], [`compact`]): a pure function.

pub mod blobs;
mod chain;
pub mod compact;
mod disk;
pub mod error;
pub mod file;
mod gist;
pub mod journal;
pub mod ledger;
pub mod line;
mod lock;
pub mod memory;
pub mod path;
pub mod projection;
mod scan;
pub mod store;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod tree;
mod writer;

pub use blobs::Blobs;
pub use error::{Damage, StoreError, Wrong};
pub use file::FileStore;
pub use journal::Journal;
pub use memory::MemoryStore;
pub use path::{branch, leaves};
pub use projection::{Projection, Projector, project};
pub use store::{Commit, JournalStore, Loaded, TornTail};
pub use tree::{TreeOptions, render_tree};
