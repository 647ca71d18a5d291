//! The store in a folder: `journal.jsonl`, with `blobs/` beside it.

use std::path::Path;

use countersign_protocol::{BlobId, Entry};
use futures_util::future::BoxFuture;

use crate::{Commit, Damage, JournalStore, Loaded, StoreError};

/// A journal in a folder.
#[derive(Debug)]
pub struct FileStore;

impl FileStore {
    /// Makes the folder and an empty journal in it, and takes its lock.
    ///
    /// # Errors
    /// Where there is a journal already, or the folder can't be made.
    pub fn create(_dir: &Path) -> Result<Self, StoreError> {
        unimplemented!()
    }

    /// Opens the journal for writing: takes its lock, checks every line, and cuts off a torn end.
    ///
    /// # Errors
    /// Where there is none, another process has it open, or a line is not what was written.
    pub fn open(_dir: &Path) -> Result<Self, StoreError> {
        unimplemented!()
    }

    /// Reads the journal and changes nothing. Takes no lock, so that a live run can be looked at.
    ///
    /// # Errors
    /// Where there is none, or a line is not what was written.
    pub fn read(_dir: &Path) -> Result<Loaded, StoreError> {
        unimplemented!()
    }

    /// Reads as much as is whole: all entries before the first bad line, and what is wrong with that line.
    ///
    /// # Errors
    /// Where there is no journal.
    pub fn read_prefix(_dir: &Path) -> Result<(Loaded, Option<Damage>), StoreError> {
        unimplemented!()
    }
}

impl JournalStore for FileStore {
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
