//! A lane's path through the tree.

use std::collections::BTreeMap;

use countersign_protocol::{Entry, EntryId, Lane};

/// The entry after which each lane goes on. A lane without entries of its own is not in it.
#[must_use]
pub fn leaves(_entries: &[Entry]) -> BTreeMap<Lane, EntryId> {
    unimplemented!()
}

/// The lane's path, from the run's first entry to the lane's leaf. Other branches are not on it.
#[must_use]
pub fn branch(_entries: &[Entry], _lane: Lane) -> Vec<&Entry> {
    unimplemented!()
}
