//! The handle to a journal: all appends go through one writer task.

use std::sync::Arc;

use countersign_protocol::{BlobId, Body, Entry, Lane};
use jiff::Timestamp;
use tokio::sync::broadcast;

use crate::{JournalStore, Loaded, StoreError};

/// A handle to a journal that is being written. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Journal {
    observers: broadcast::Sender<Arc<Entry>>,
}

impl Journal {
    /// Reads the store and starts its writer task on the current tokio runtime.
    ///
    /// # Errors
    /// Where the store can't be read.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn(store: Box<dyn JournalStore>) -> Result<(Self, Loaded), StoreError> {
        Self::spawn_with(store, Timestamp::now)
    }

    /// As [`spawn`](Self::spawn), with another clock.
    ///
    /// # Errors
    /// Where the store can't be read.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn_with(
        _store: Box<dyn JournalStore>,
        _clock: impl Fn() -> Timestamp + Send + 'static,
    ) -> Result<(Self, Loaded), StoreError> {
        unimplemented!()
    }

    /// Appends to one lane. All of the bodies are durable when it returns, or none is there.
    ///
    /// # Errors
    /// Where the store refuses; nothing may be acted on then.
    pub async fn append(&self, _lane: Lane, _bodies: Vec<Body>) -> Result<Vec<Entry>, StoreError> {
        unimplemented!()
    }

    /// Appends to several lanes at once, atomically.
    ///
    /// # Errors
    /// Where the store refuses; nothing may be acted on then.
    pub async fn append_many(&self, _bodies: Vec<(Lane, Body)>) -> Result<Vec<Entry>, StoreError> {
        unimplemented!()
    }

    /// Every entry from now on, once it is durable. An observer that lags loses entries and is told how many.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Entry>> {
        self.observers.subscribe()
    }

    /// Keeps bytes beside the journal, durably.
    ///
    /// # Errors
    /// Where the write fails.
    pub async fn put_blob(&self, _bytes: Vec<u8>) -> Result<BlobId, StoreError> {
        unimplemented!()
    }

    /// The hash of the last entry; `None` where there is none, or the journal is closed.
    pub async fn head(&self) -> Option<BlobId> {
        unimplemented!()
    }

    /// Ends the writer once all that was asked of it is done, and frees the store with its lock.
    ///
    /// # Errors
    /// Where it was closed before.
    pub async fn close(self) -> Result<(), StoreError> {
        unimplemented!()
    }
}
