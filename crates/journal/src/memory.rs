//! The store in memory: for embedders that keep nothing, and for tests.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use countersign_protocol::{BlobId, Entry};
use futures_util::future::BoxFuture;

use crate::{Commit, JournalStore, Loaded, StoreError, chain::Chain};

/// A journal in memory, with the same rules and hashes as one in a folder. It lives as long as any of its writers.
#[derive(Debug, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
    epoch: u64,
    /// How many commits are still to succeed.
    commits_left: Option<u64>,
}

#[derive(Debug, Default)]
struct Shared {
    chain: Chain,
    entries: Vec<Entry>,
    blobs: HashMap<BlobId, Vec<u8>>,
    epoch: u64,
}

impl MemoryStore {
    /// An empty journal.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Another writer of the same journal, which fences this one.
    #[must_use]
    pub fn reopen(&self) -> Self {
        let mut shared = self.lock();
        shared.epoch += 1;
        Self { shared: Arc::clone(&self.shared), epoch: shared.epoch, commits_left: None }
    }

    /// After this many more commits every commit fails, as on a full disk.
    #[must_use]
    pub fn failing_after(self, commits: u64) -> Self {
        Self { commits_left: Some(commits), ..self }
    }

    /// The bytes that were put under this id.
    #[must_use]
    pub fn blob(&self, id: &BlobId) -> Option<Vec<u8>> {
        self.lock().blobs.get(id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(
        &mut self,
        epoch: u64,
        expected: Option<&BlobId>,
        batch: Vec<Entry>,
    ) -> Result<Commit, StoreError> {
        let shared = Arc::clone(&self.shared);
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if epoch < shared.epoch {
            return Ok(Commit::Fenced { epoch: shared.epoch });
        }
        if let Some(answer) = shared.chain.answer(expected, &batch)? {
            return Ok(answer);
        }
        match &mut self.commits_left {
            Some(0) => {
                let full = io::Error::from(io::ErrorKind::StorageFull);
                return Err(StoreError::io("writing to the journal", "(memory)")(full));
            }
            Some(left) => *left -= 1,
            None => {}
        }
        shared.chain.extend(&batch)?;
        shared.entries.extend(batch);
        let head = shared.chain.head().ok_or(StoreError::Closed)?;
        Ok(Commit::Committed { head })
    }
}

impl JournalStore for MemoryStore {
    fn commit<'a>(
        &'a mut self,
        epoch: u64,
        expected: Option<&'a BlobId>,
        batch: Vec<Entry>,
    ) -> BoxFuture<'a, Result<Commit, StoreError>> {
        let result = self.write(epoch, expected, batch);
        Box::pin(async move { result })
    }

    fn load(&mut self) -> Result<Loaded, StoreError> {
        let shared = self.lock();
        Ok(Loaded {
            entries: shared.entries.clone(),
            hashes: shared.chain.hashes(),
            epoch: self.epoch,
            repaired: None,
        })
    }

    fn put_blob(&mut self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, StoreError>> {
        let id = BlobId::of(&bytes);
        self.lock().blobs.insert(id.clone(), bytes);
        Box::pin(async move { Ok(id) })
    }
}
