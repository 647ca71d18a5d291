//! The room in which checks run: one folder, emptied and filled anew for each attempt.
//!
//! It always has the same path, so that paths in a runner's output are the same on the base tree and later.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use countersign_protocol::TreeId;
use countersign_sandbox::Snapshots;
use tokio::sync::{Mutex, MutexGuard};

/// A room that one attempt at a time may use.
#[derive(Debug)]
pub(crate) struct Room {
    folder: Mutex<PathBuf>,
}

/// A room in use. It is emptied when this value is dropped.
#[derive(Debug)]
pub(crate) struct Occupied<'a> {
    folder: MutexGuard<'a, PathBuf>,
}

impl Room {
    /// The room in this folder, which is nobody else's.
    pub(crate) fn new(scratch: &Path) -> Self {
        Self { folder: Mutex::new(scratch.join("room")) }
    }

    /// Empties the room and fills it with a tree, or with nothing.
    ///
    /// # Errors
    /// Where that fails: the reason, for a person.
    pub(crate) async fn enter(
        &self,
        snapshots: &Snapshots,
        tree: Option<&TreeId>,
    ) -> Result<Occupied<'_>, String> {
        let room = Occupied { folder: self.folder.lock().await };
        let failed = |error: io::Error| format!("cannot prepare {}: {error}", room.folder.display());
        clear(&room.folder).map_err(failed)?;
        fs::create_dir_all(room.copy()).map_err(failed)?;
        fs::create_dir_all(room.temporary()).map_err(failed)?;
        if let Some(tree) = tree {
            snapshots.materialise(tree, &room.copy()).await.map_err(|error| error.to_string())?;
        }
        Ok(room)
    }
}

impl Occupied<'_> {
    /// The copy of the files.
    pub(crate) fn copy(&self) -> PathBuf {
        self.folder.join("copy")
    }

    /// A folder for what is thrown away.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.folder.join("temporary")
    }
}

impl Drop for Occupied<'_> {
    fn drop(&mut self) {
        if let Err(error) = clear(&self.folder) {
            tracing::warn!(folder = %self.folder.display(), %error, "a copy could not be removed");
        }
    }
}

/// Removes a folder and all in it, also where a command took away the right to write in it.
pub(crate) fn clear(folder: &Path) -> io::Result<()> {
    let removed = fs::remove_dir_all(folder);
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => {
            open_up(folder);
            fs::remove_dir_all(folder)
        }
        Ok(()) => Ok(()),
    }
}

/// Gives back the right to read and write to every folder below. Links are not followed.
fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
