//! The process boundary: spawn, contain and kill; and snapshots of the workspace.

pub mod doctor;
pub mod process;
pub mod snapshot;

pub use process::{
    Captured, Command, Contained, Containment, Finished, Level, ProcessGroup, Program, Sandbox, SpawnError,
    Streams, best, close_to_others, helper_entry,
};
pub use snapshot::{
    AddedLine, Change, ChangeKind, Mode, ObjectId, Patch, SnapshotError, Snapshots, TreeEntry,
};
