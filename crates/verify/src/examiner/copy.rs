//! The judge's copy of the candidate: one folder with a path that stays the same from claim to claim.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use countersign_protocol::TreeId;
use countersign_sandbox::Snapshots;

use crate::room;

/// The folder of the judge's copies, of which the last one alone is there.
#[derive(Debug)]
pub(super) struct JudgeRoom {
    folder: PathBuf,
    latest: Arc<AtomicU64>,
}

/// The candidate's files for the judge. Removed when dropped, unless a later copy has taken its place.
#[derive(Debug)]
pub struct JudgeCopy {
    folder: PathBuf,
    number: u64,
    latest: Arc<AtomicU64>,
}

impl JudgeRoom {
    pub(super) fn new(scratch: &Path) -> Self {
        Self { folder: scratch.join("judge"), latest: Arc::default() }
    }

    pub(super) async fn fill(&self, snapshots: &Snapshots, tree: &TreeId) -> Result<JudgeCopy, String> {
        let number = self.latest.fetch_add(1, Ordering::SeqCst) + 1;
        let copy = JudgeCopy { folder: self.folder.clone(), number, latest: Arc::clone(&self.latest) };
        room::clear(&self.folder)
            .map_err(|error| format!("cannot empty {}: {error}", self.folder.display()))?;
        snapshots.materialise(tree, &self.folder).await.map_err(|error| error.to_string())?;
        Ok(copy)
    }
}

impl JudgeCopy {
    /// Where the files are.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for JudgeCopy {
    fn drop(&mut self) {
        if self.latest.load(Ordering::SeqCst) != self.number {
            return;
        }
        if let Err(error) = room::clear(&self.folder) {
            tracing::warn!(folder = %self.folder.display(), %error, "the judge's copy could not be removed");
        }
    }
}
