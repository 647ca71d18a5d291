//! A lane's path through the tree.

use std::collections::{BTreeMap, HashMap};

use countersign_protocol::{Body, Entry, EntryId, Lane};

/// The entry after which each lane goes on: its last one, or the one that its last [`Body::Branch`] names.
///
/// A lane without entries of its own is not in it: it goes on after the run's first entry. Over the first
/// entries of a journal it gives the leaves at that time, from which a fork goes on.
#[must_use]
pub fn leaves(entries: &[Entry]) -> BTreeMap<Lane, EntryId> {
    let mut leaves = BTreeMap::new();
    let Some(root) = entries.first() else { return leaves };
    for entry in entries {
        leaves.insert(entry.lane, leaf_after(entry, root.id));
    }
    leaves
}

/// The leaf of an entry's lane once the entry is written.
pub(crate) fn leaf_after(entry: &Entry, root: EntryId) -> EntryId {
    match entry.body {
        Body::Branch { leaf } => leaf.unwrap_or(root),
        _ => entry.id,
    }
}

/// The lane's path, from the run's first entry to the lane's leaf. Other branches are not on it.
#[must_use]
pub fn branch(entries: &[Entry], lane: Lane) -> Vec<&Entry> {
    let by_id: HashMap<EntryId, &Entry> = entries.iter().map(|entry| (entry.id, entry)).collect();
    let leaf = leaves(entries).get(&lane).copied().or_else(|| entries.first().map(|root| root.id));
    let mut path = Vec::new();
    let mut next = leaf.and_then(|leaf| by_id.get(&leaf));
    while let Some(entry) = next {
        path.push(*entry);
        // A parent is always an earlier entry: stores refuse any other, so this comes to an end.
        next = entry.parent.and_then(|parent| by_id.get(&parent)).filter(|parent| parent.seq < entry.seq);
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Script, note};

    fn seqs(entries: &[Entry], lane: Lane) -> Vec<u64> {
        branch(entries, lane).iter().map(|entry| entry.seq).collect()
    }

    #[test]
    fn lanes_share_the_first_entry_and_nothing_else() {
        let mut script = Script::new();
        script.add(Lane::Worker, note("a"));
        script.add(Lane::Verifier, note("b"));
        script.add(Lane::Worker, note("c"));
        assert_eq!(seqs(&script.entries, Lane::Worker), [1, 2, 4]);
        assert_eq!(seqs(&script.entries, Lane::Verifier), [1, 3]);
        assert_eq!(seqs(&script.entries, Lane::Supervisor), [1]);
        assert!(branch(&[], Lane::Worker).is_empty());
    }

    #[test]
    fn a_branch_goes_on_from_its_leaf() {
        let mut script = Script::new();
        let kept = script.add(Lane::Worker, note("kept"));
        script.add(Lane::Worker, note("left behind"));
        script.add(Lane::Worker, Body::Branch { leaf: Some(kept) });
        assert_eq!(seqs(&script.entries, Lane::Worker), [1, 2], "the branch entry itself is on the old path");
        script.add(Lane::Worker, note("new"));
        assert_eq!(seqs(&script.entries, Lane::Worker), [1, 2, 5]);
        script.add(Lane::Worker, Body::Branch { leaf: None });
        script.add(Lane::Worker, note("anew"));
        assert_eq!(seqs(&script.entries, Lane::Worker), [1, 7]);
        assert_eq!(leaves(&script.entries[..3])[&Lane::Worker], script.entries[2].id, "leaves of back then");
    }
}
