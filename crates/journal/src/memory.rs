//! The store in memory: for embedders that keep nothing, and for tests.

use countersign_protocol::{BlobId, Entry};
use futures_util::future::BoxFuture;

use crate::{Commit, JournalStore, Loaded, StoreError};

/// A journal in memory, with the same rules and hashes as one in a folder.
#[derive(Debug, Default)]
pub struct MemoryStore;

impl MemoryStore {
    /// An empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    /// Another writer of the same journal, which fences this one.
    #[must_use]
    pub fn reopen(&self) -> Self {
        unimplemented!()
    }

    /// After this many more commits every commit fails, as on a full disk.
    #[must_use]
    pub fn failing_after(self, _commits: u64) -> Self {
        unimplemented!()
    }
}

impl JournalStore for MemoryStore {
    fn commit<'a>(
        &'a mut self,
        _epoch: u64,
        _expected: Option<&'a BlobId>,
        _batch: Vec<Entry>,
    ) -> BoxFuture<'a, Result<Commit, StoreError>> {
        unimplemented!()
    }

    fn load(&mut self) -> Result<Loaded, StoreError> {
        unimplemented!()
    }

    fn put_blob(&mut self, _bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, StoreError>> {
        unimplemented!()
    }
}
