//! The handle to a journal: all appends go through one writer task.

use std::sync::Arc;

use async_channel::Sender;
use countersign_protocol::{BlobId, Body, Entry, Lane};
use jiff::Timestamp;
use tokio::sync::{broadcast, oneshot};

use crate::{
    JournalStore, Loaded, StoreError,
    writer::{Request, Writer},
};

/// How many entries an observer may lag behind before it loses some.
const OBSERVED: usize = 1024;
/// How many requests may wait for the writer before the next one waits to be sent.
const WAITING: usize = 64;

/// A handle to a journal that is being written. Cheap to clone. The writer ends with the last handle.
#[derive(Debug, Clone)]
pub struct Journal {
    requests: Sender<Request>,
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

    /// As [`spawn`](Self::spawn), with another clock. Where it goes backwards, the entries' times stand still.
    ///
    /// # Errors
    /// Where the store can't be read.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn_with(
        mut store: Box<dyn JournalStore>,
        clock: impl Fn() -> Timestamp + Send + 'static,
    ) -> Result<(Self, Loaded), StoreError> {
        let loaded = store.load()?;
        let (observers, _) = broadcast::channel(OBSERVED);
        let (requests, inbox) = async_channel::bounded(WAITING);
        let writer = Writer::new(store, Box::new(clock), &loaded, observers.clone());
        tokio::spawn(writer.run(inbox));
        Ok((Self { requests, observers }, loaded))
    }

    /// Appends to one lane. All of the bodies are durable when it returns, or none is there.
    ///
    /// # Errors
    /// Where the store refuses; nothing may be acted on then.
    pub async fn append(&self, lane: Lane, bodies: Vec<Body>) -> Result<Vec<Entry>, StoreError> {
        self.append_many(bodies.into_iter().map(|body| (lane, body)).collect()).await
    }

    /// Appends to several lanes at once, atomically.
    ///
    /// # Errors
    /// Where the store refuses; nothing may be acted on then.
    pub async fn append_many(&self, bodies: Vec<(Lane, Body)>) -> Result<Vec<Entry>, StoreError> {
        self.ask(|answer| Request::Append { bodies, answer }).await?
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
    pub async fn put_blob(&self, bytes: Vec<u8>) -> Result<BlobId, StoreError> {
        self.ask(|answer| Request::PutBlob { bytes, answer }).await?
    }

    /// The hash of the last entry; `None` where there is none, or the journal is closed.
    pub async fn head(&self) -> Option<BlobId> {
        self.ask(|answer| Request::Head { answer }).await.ok().flatten()
    }

    /// Ends the writer once all that was asked of it before is done, and frees the store with its lock.
    ///
    /// # Errors
    /// Where it was closed before.
    pub async fn close(self) -> Result<(), StoreError> {
        self.ask(|answer| Request::Close { answer }).await
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(request(answer)).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)
    }
}

#[cfg(test)]
mod tests;
