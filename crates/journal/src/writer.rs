//! The task that writes a journal: it gives each entry its place, and tells observers once it is durable.

use std::{collections::HashMap, sync::Arc};

use async_channel::Receiver;
use countersign_protocol::{BlobId, Body, Entry, EntryId, Lane};
use jiff::Timestamp;
use tokio::sync::{broadcast, oneshot};

use crate::{Commit, JournalStore, Loaded, StoreError, path::leaf_after};

/// What the writer is asked.
#[derive(Debug)]
pub(crate) enum Request {
    Append { bodies: Vec<(Lane, Body)>, answer: oneshot::Sender<Result<Vec<Entry>, StoreError>> },
    PutBlob { bytes: Vec<u8>, answer: oneshot::Sender<Result<BlobId, StoreError>> },
    Head { answer: oneshot::Sender<Option<BlobId>> },
    Close { answer: oneshot::Sender<()> },
}

/// Where the next entry goes.
#[derive(Debug, Clone, Default)]
struct Position {
    root: Option<EntryId>,
    seq: u64,
    at: Timestamp,
    leaves: HashMap<Lane, EntryId>,
}

pub(crate) struct Writer {
    store: Box<dyn JournalStore>,
    clock: Box<dyn Fn() -> Timestamp + Send>,
    observers: broadcast::Sender<Arc<Entry>>,
    epoch: u64,
    head: Option<BlobId>,
    position: Position,
    /// The lane of every entry: a lane may only branch from its own.
    lanes: HashMap<EntryId, Lane>,
}

impl Writer {
    pub(crate) fn new(
        store: Box<dyn JournalStore>,
        clock: Box<dyn Fn() -> Timestamp + Send>,
        loaded: &Loaded,
        observers: broadcast::Sender<Arc<Entry>>,
    ) -> Self {
        let mut position = Position::default();
        for entry in &loaded.entries {
            position.advance(entry);
        }
        let lanes = loaded.entries.iter().map(|entry| (entry.id, entry.lane)).collect();
        let head = loaded.head().cloned();
        Self { store, clock, observers, epoch: loaded.epoch, head, position, lanes }
    }

    /// Serves until it is asked to close, or nobody can ask any more.
    pub(crate) async fn run(mut self, inbox: Receiver<Request>) {
        while let Ok(request) = inbox.recv().await {
            // An answer that nobody waits for any more is no error: the work itself is done all the same.
            match request {
                Request::Append { bodies, answer } => _ = answer.send(self.append(bodies).await),
                Request::PutBlob { bytes, answer } => _ = answer.send(self.store.put_blob(bytes).await),
                Request::Head { answer } => _ = answer.send(self.head.clone()),
                Request::Close { answer } => {
                    inbox.close();
                    drop(self); // the store and its lock, before the answer says so
                    _ = answer.send(());
                    return;
                }
            }
        }
    }

    async fn append(&mut self, bodies: Vec<(Lane, Body)>) -> Result<Vec<Entry>, StoreError> {
        if bodies.is_empty() {
            return Ok(Vec::new());
        }
        let now = (self.clock)();
        let mut position = self.position.clone();
        let mut entries: Vec<Entry> = Vec::with_capacity(bodies.len());
        for (lane, body) in bodies {
            self.check_branch(lane, &body, &entries)?;
            let entry = position.place(lane, body, now);
            position.advance(&entry);
            entries.push(entry);
        }
        match self.store.commit(self.epoch, self.head.as_ref(), entries.clone()).await? {
            Commit::Committed { head } | Commit::Already { head } => self.head = Some(head),
            Commit::Fenced { epoch } => return Err(StoreError::Fenced { epoch }),
            Commit::Conflict { head } => return Err(StoreError::Conflict { head }),
        }
        self.position = position;
        self.lanes.extend(entries.iter().map(|entry| (entry.id, entry.lane)));
        if self.observers.receiver_count() > 0 {
            for entry in &entries {
                // It fails where the last observer has just gone.
                let _ = self.observers.send(Arc::new(entry.clone()));
            }
        }
        Ok(entries)
    }

    /// A lane branches from an entry of its own, or from the run's first.
    fn check_branch(&self, lane: Lane, body: &Body, batch: &[Entry]) -> Result<(), StoreError> {
        let Body::Branch { leaf: Some(leaf) } = *body else { return Ok(()) };
        let here = batch.iter().find(|entry| entry.id == leaf).map(|entry| entry.lane);
        match here.or_else(|| self.lanes.get(&leaf).copied()) {
            _ if self.position.root == Some(leaf) => Ok(()),
            Some(owner) if owner == lane => Ok(()),
            Some(owner) => Err(StoreError::Invalid(format!(
                "the {lane} lane can't go on from {leaf}, an entry of the {owner} lane"
            ))),
            None => Err(StoreError::Invalid(format!("there is no entry {leaf} to go on from"))),
        }
    }
}

impl Position {
    fn place(&self, lane: Lane, body: Body, now: Timestamp) -> Entry {
        Entry {
            id: EntryId::new(),
            parent: self.leaves.get(&lane).copied().or(self.root),
            lane,
            seq: self.seq + 1,
            at: self.at.max(now),
            body,
        }
    }

    fn advance(&mut self, entry: &Entry) {
        let root = *self.root.get_or_insert(entry.id);
        self.seq = entry.seq;
        self.at = self.at.max(entry.at);
        self.leaves.insert(entry.lane, leaf_after(entry, root));
    }
}
