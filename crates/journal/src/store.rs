//! The one writing call that every store has, and what reading one gives.

use countersign_protocol::{BlobId, Entry};
use futures_util::future::BoxFuture;
use std::path::PathBuf;

use crate::StoreError;

/// Where a journal lies. One store is one writer.
pub trait JournalStore: Send {
    /// Writes all of `batch` or nothing, durably, behind the entry whose hash is `expected`.
    ///
    /// Idempotent by entry ids: a batch that is already there answers [`Commit::Already`]. The writer's own
    /// `epoch` is the one that [`load`](Self::load) gave it; once a later writer has opened the journal, the
    /// earlier one is answered [`Commit::Fenced`].
    ///
    /// # Errors
    /// Where the write fails. After that the store writes nothing more: each call answers an error.
    fn commit<'a>(
        &'a mut self,
        epoch: u64,
        expected: Option<&'a BlobId>,
        batch: Vec<Entry>,
    ) -> BoxFuture<'a, Result<Commit, StoreError>>;

    /// Reads all that is there.
    ///
    /// # Errors
    /// Where it can't be read, or is not what was written.
    fn load(&mut self) -> Result<Loaded, StoreError>;

    /// Keeps bytes beside the journal, durably, under their hash.
    ///
    /// # Errors
    /// Where the write fails.
    fn put_blob(&mut self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, StoreError>>;
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commit {
    /// It is durable.
    Committed {
        /// The hash of its last entry.
        head: BlobId,
    },
    /// It was there before.
    Already {
        /// The hash of the journal's last entry.
        head: BlobId,
    },
    /// Nothing was written: a later writer has taken over.
    Fenced {
        /// The later writer's epoch.
        epoch: u64,
    },
    /// Nothing was written: the journal's last entry is another one than expected.
    Conflict {
        /// The hash of the journal's last entry.
        head: Option<BlobId>,
    },
}

/// A journal as it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// The entries, in the order in which they were written.
    pub entries: Vec<Entry>,
    /// The hash of each entry, in the same order.
    pub hashes: Vec<BlobId>,
    /// The epoch of this writer; of the last one, where the journal was only read.
    pub epoch: u64,
    /// The end that was not whole, where there was one.
    pub repaired: Option<TornTail>,
}

impl Loaded {
    /// The hash of the last entry. It stands for the whole journal up to there.
    #[must_use]
    pub fn head(&self) -> Option<&BlobId> {
        self.hashes.last()
    }
}

/// The end of a file which a write that was cut short has left. Nothing ever acted on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// Where it began in the file, in bytes.
    pub offset: u64,
    /// How long it was, in bytes.
    pub bytes: u64,
    /// Where its bytes are kept; `None` where the journal was only read and nothing was cut off.
    pub kept: Option<PathBuf>,
}
