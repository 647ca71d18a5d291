//! The order of a journal's entries and their hashes: what every store must check alike.

use std::collections::HashMap;

use blake3::Hash;
use countersign_protocol::{BlobId, Body, Entry, EntryId};

use crate::{
    Commit, StoreError,
    line::{self, Encoded, Links},
};

/// The ids and hashes of all entries, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain {
    order: Vec<EntryId>,
    hashes: HashMap<EntryId, Hash>,
}

/// An entry's place.
pub(crate) struct Place {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    pub(crate) seq: u64,
}

impl From<&Entry> for Place {
    fn from(entry: &Entry) -> Self {
        Self { id: entry.id, parent: entry.parent, seq: entry.seq }
    }
}

impl Chain {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn head(&self) -> Option<BlobId> {
        self.last().map(BlobId::from)
    }

    pub(crate) fn last(&self) -> Option<Hash> {
        self.order.last().map(|id| self.hashes[id])
    }

    pub(crate) fn hashes(&self) -> Vec<BlobId> {
        self.order.iter().map(|id| self.hashes[id].into()).collect()
    }

    pub(crate) fn parent_hash(&self, parent: Option<EntryId>) -> Option<Hash> {
        parent.and_then(|id| self.hashes.get(&id)).copied()
    }

    pub(crate) fn push(&mut self, id: EntryId, hash: Hash) {
        self.order.push(id);
        self.hashes.insert(id, hash);
    }

    /// Forgets all entries but the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        for id in self.order.drain(len..) {
            self.hashes.remove(&id);
        }
    }

    /// Whether an entry may come next; if not, why.
    pub(crate) fn fits(&self, place: &Place) -> Result<(), String> {
        let next = self.order.len() as u64 + 1;
        if place.seq != next {
            return Err(format!("its number is {}, but {next} comes next", place.seq));
        }
        if self.hashes.contains_key(&place.id) {
            return Err(format!("there is an entry {} before it", place.id));
        }
        match place.parent {
            None if next > 1 => Err("it has no parent, but is not the first entry".into()),
            Some(parent) if !self.hashes.contains_key(&parent) => {
                Err(format!("its parent {parent} is not before it"))
            }
            _ => Ok(()),
        }
    }

    /// What a commit comes to before anything is written; `None`: it is to be written.
    pub(crate) fn answer(
        &self,
        expected: Option<&BlobId>,
        batch: &[Entry],
    ) -> Result<Option<Commit>, StoreError> {
        let Some(head) = self.head() else {
            let conflict = || Commit::Conflict { head: None };
            return Ok(expected.map(|_| conflict()));
        };
        let there = batch.iter().filter(|entry| self.hashes.contains_key(&entry.id)).count();
        if there > 0 && there == batch.len() {
            return Ok(Some(Commit::Already { head }));
        }
        if there > 0 {
            return Err(StoreError::Invalid(format!("{there} of {} entries are there already", batch.len())));
        }
        Ok((expected != Some(&head)).then_some(Commit::Conflict { head: Some(head) }))
    }

    /// Takes a batch in and gives its lines; on an error nothing was taken in.
    pub(crate) fn extend(&mut self, batch: &[Entry]) -> Result<Vec<Encoded>, StoreError> {
        let before = self.len();
        let encoded = self.try_extend(batch);
        if encoded.is_err() {
            self.truncate(before);
        }
        encoded
    }

    fn try_extend(&mut self, batch: &[Entry]) -> Result<Vec<Encoded>, StoreError> {
        if batch.is_empty() {
            return Err(StoreError::Invalid("a commit without entries".into()));
        }
        let mut lines = Vec::with_capacity(batch.len());
        for (done, entry) in batch.iter().enumerate() {
            self.fits(&entry.into()).map_err(|why| StoreError::Invalid(format!("{}: {why}", entry.id)))?;
            if matches!(entry.body, Body::Run(_)) != (entry.seq == 1) {
                return Err(StoreError::Invalid("the first entry, and no other, is the run's ground".into()));
            }
            let links = Links { parent: self.parent_hash(entry.parent), prev: self.last() };
            let encoded = line::encode(entry, batch.len() - done - 1, links)?;
            self.push(entry.id, encoded.hash);
            lines.push(encoded);
        }
        Ok(lines)
    }
}
