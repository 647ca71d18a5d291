//! Bodies that lie beside a journal, each under the hash of its bytes.

use std::path::{Path, PathBuf};

use countersign_protocol::BlobId;

use crate::StoreError;

/// A folder of blobs.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    /// The blobs of this folder, which need not exist yet.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where the blob lies, or would.
    #[must_use]
    pub fn path(&self, id: &BlobId) -> PathBuf {
        self.folder.join(id.as_str())
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the bytes, durably.
    ///
    /// # Errors
    /// Where the write fails.
    pub fn put(&self, _bytes: &[u8]) -> Result<BlobId, StoreError> {
        unimplemented!()
    }

    /// The blob's bytes, checked against its hash.
    ///
    /// # Errors
    /// Where it is missing, can't be read, or was changed.
    pub fn get(&self, _id: &BlobId) -> Result<Vec<u8>, StoreError> {
        unimplemented!()
    }
}
