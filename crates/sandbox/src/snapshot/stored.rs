//! What a store remembers of the base, so that it can be opened again.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use countersign_protocol::TreeId;
use serde::{Deserialize, Serialize};

use super::{
    Mode, ObjectId, SnapshotError,
    git::failed,
    rules::FrozenRules,
    scan::{Found, Stat},
};

const FILE: &str = "base.json";
const VERSION: u32 = 1;

/// A file of a tree that was taken, and how it was on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) mode: Mode,
    pub(super) stat: Stat,
    pub(super) object: ObjectId,
    /// Whether a later change must show in `stat`.
    pub(super) settled: bool,
}

impl Known {
    /// Whether the file that was found is certain to have the same content.
    pub(super) fn is_still(&self, found: &Found) -> bool {
        self.settled && self.mode == found.mode && self.stat == found.stat
    }
}

/// What a store remembers of the base.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    version: u32,
    pub(super) base: TreeId,
    pub(super) rules: FrozenRules,
    pub(super) kept: Vec<String>,
    pub(super) special: BTreeMap<String, String>,
    pub(super) files: BTreeMap<String, Known>,
}

impl Stored {
    pub(super) fn new(
        base: &TreeId,
        rules: FrozenRules,
        kept: Vec<String>,
        special: BTreeMap<String, String>,
        files: BTreeMap<String, Known>,
    ) -> Self {
        Self { version: VERSION, base: base.clone(), rules, kept, special, files }
    }

    /// Writes it as a whole, last of all: with it the store is complete.
    pub(super) fn write(&self, store: &Path) -> Result<(), SnapshotError> {
        let path = store.join(FILE);
        let json = serde_json::to_vec(self).map_err(|error| failed("write", &path)(error.into()))?;
        let mut file = tempfile::NamedTempFile::new_in(store).map_err(failed("create a file in", store))?;
        file.write_all(&json).and_then(|()| file.as_file().sync_all()).map_err(failed("write", &path))?;
        file.persist(&path).map_err(|error| failed("write", &path)(error.error))?;
        Ok(())
    }

    pub(super) fn read(store: &Path) -> Result<Self, SnapshotError> {
        let not_a_store = |detail: String| SnapshotError::NotAStore { store: store.into(), detail };
        let path = store.join(FILE);
        let json = fs::read(&path).map_err(|error| not_a_store(format!("{}: {error}", path.display())))?;
        let stored: Self = serde_json::from_slice(&json)
            .map_err(|error| not_a_store(format!("{}: {error}", path.display())))?;
        match stored.version {
            VERSION => Ok(stored),
            other => Err(not_a_store(format!("version {other} is not known here"))),
        }
    }
}

/// The folder of the private repository.
pub(super) fn git_dir(store: &Path) -> PathBuf {
    store.join("git")
}

/// Makes room for a new store, and returns its real path. One in the workspace's reach is refused, and one that is
/// complete; what is left of an unfinished one is taken away.
pub(super) fn prepare(store: &Path, workspace: &Path) -> Result<PathBuf, SnapshotError> {
    let absolute = std::path::absolute(store).map_err(failed("find", store))?;
    // Looked at before anything is made, so that nothing is left in the workspace.
    let real = absolute.ancestors().find_map(|folder| folder.canonicalize().ok());
    if real.is_some_and(|folder| folder.starts_with(workspace)) {
        return Err(SnapshotError::StoreInside { store: store.into() });
    }
    fs::create_dir_all(store).map_err(failed("create", store))?;
    let store = store.canonicalize().map_err(failed("find", store))?;
    if store.join(FILE).exists() {
        return Err(SnapshotError::StoreExists { store });
    }
    let git = git_dir(&store);
    match fs::remove_dir_all(&git) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", &git)(error)),
        _ => Ok(store),
    }
}
