//! Snapshots: a folder's content as a git tree, in an object store that the worker cannot reach.

mod error;
mod model;

use std::path::Path;

use countersign_protocol::TreeId;

pub use error::SnapshotError;
pub use model::{AddedLine, Change, ChangeKind, Mode, ObjectId, Patch, TreeEntry};

/// The snapshots of one workspace: a private git object store, and the ignore rules as they were at the base.
#[derive(Debug)]
pub struct Snapshots {
    _private: (),
}

#[allow(clippy::unused_async)] // the bodies come next
impl Snapshots {
    /// Makes a new store, freezes the ignore rules, and takes the base.
    pub async fn create(_store: &Path, _workspace: &Path) -> Result<(Self, TreeId), SnapshotError> {
        unimplemented!()
    }

    /// Opens a store that [`Snapshots::create`] made.
    pub async fn open(_store: &Path, _workspace: &Path) -> Result<Self, SnapshotError> {
        unimplemented!()
    }

    /// The base, as [`Snapshots::create`] took it.
    #[must_use]
    pub fn base(&self) -> &TreeId {
        unimplemented!()
    }

    /// What of the base could not be kept (sockets and the like), a line each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        unimplemented!()
    }

    /// The workspace's content now.
    pub async fn take(&self) -> Result<TreeId, SnapshotError> {
        unimplemented!()
    }

    /// Any other folder's content, with nothing ignored but `.git`.
    pub async fn take_folder(&self, _folder: &Path) -> Result<TreeId, SnapshotError> {
        unimplemented!()
    }

    /// What changed from one tree to another, by path.
    pub async fn changes(&self, _from: &TreeId, _to: &TreeId) -> Result<Vec<Change>, SnapshotError> {
        unimplemented!()
    }

    /// What changed, as a unified diff of at most `max_bytes` bytes.
    pub async fn patch(
        &self,
        _from: &TreeId,
        _to: &TreeId,
        _max_bytes: usize,
    ) -> Result<Patch, SnapshotError> {
        unimplemented!()
    }

    /// The lines that were added, with their number in the new file. Files with binary content count too.
    pub async fn added_lines(&self, _from: &TreeId, _to: &TreeId) -> Result<Vec<AddedLine>, SnapshotError> {
        unimplemented!()
    }

    /// The files of a tree, by path.
    pub async fn entries(&self, _tree: &TreeId) -> Result<Vec<TreeEntry>, SnapshotError> {
        unimplemented!()
    }

    /// A file's bytes (a link's target); `None` where the tree has no such file.
    pub async fn read(&self, _tree: &TreeId, _path: &str) -> Result<Option<Vec<u8>>, SnapshotError> {
        unimplemented!()
    }

    /// `onto`, where each of these paths becomes what it is in `from`: a file, all of a folder, or nothing.
    pub async fn compose(
        &self,
        _onto: &TreeId,
        _from: &TreeId,
        _paths: &[String],
    ) -> Result<TreeId, SnapshotError> {
        unimplemented!()
    }

    /// `onto` with every file of `over` put on it.
    pub async fn overlay(&self, _onto: &TreeId, _over: &TreeId) -> Result<TreeId, SnapshotError> {
        unimplemented!()
    }

    /// Writes a tree's files into an absent or empty folder. There is no `.git` in it, and no link is followed.
    pub async fn materialise(&self, _tree: &TreeId, _into: &Path) -> Result<(), SnapshotError> {
        unimplemented!()
    }
}
