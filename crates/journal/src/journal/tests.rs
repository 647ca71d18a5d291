use std::sync::atomic::{AtomicI64, Ordering};

use countersign_protocol::EntryId;
use tokio::sync::broadcast::error::RecvError;

use super::*;
use crate::{
    FileStore, MemoryStore, branch,
    testing::{ground, note},
};

fn memory() -> (Journal, MemoryStore) {
    let store = MemoryStore::new();
    (Journal::spawn(Box::new(store.reopen())).unwrap().0, store)
}

fn ids(entries: &[Entry]) -> Vec<EntryId> {
    entries.iter().map(|entry| entry.id).collect()
}

#[tokio::test]
async fn entries_get_their_places() {
    let (journal, store) = memory();
    let root = journal.append(Lane::Run, vec![ground()]).await.unwrap().remove(0);
    let worker = journal.append(Lane::Worker, vec![note("a"), note("b")]).await.unwrap();
    let mixed = vec![(Lane::Verifier, note("c")), (Lane::Worker, note("d")), (Lane::Run, note("e"))];
    let mixed = journal.append_many(mixed).await.unwrap();
    assert_eq!(root.parent, None);
    assert_eq!(
        worker.iter().map(|entry| entry.parent).collect::<Vec<_>>(),
        [Some(root.id), Some(worker[0].id)]
    );
    let parents: Vec<_> = mixed.iter().map(|entry| entry.parent).collect();
    assert_eq!(parents, [Some(root.id), Some(worker[1].id), Some(root.id)]);
    let loaded = store.reopen().load().unwrap();
    assert_eq!(loaded.entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(ids(&loaded.entries), ids(&[vec![root], worker, mixed].concat()));
    assert_eq!(journal.append(Lane::Worker, vec![]).await.unwrap(), []);
}

#[tokio::test]
async fn a_branch_moves_the_leaf_also_within_a_commit() {
    let (journal, store) = memory();
    journal.append(Lane::Run, vec![ground()]).await.unwrap();
    let first = journal.append(Lane::Worker, vec![note("kept"), note("left")]).await.unwrap();
    let leaf = Some(first[0].id);
    let second = journal.append(Lane::Worker, vec![Body::Branch { leaf }, note("new")]).await.unwrap();
    assert_eq!((second[0].parent, second[1].parent), (Some(first[1].id), leaf));
    let other = journal.append(Lane::Verifier, vec![Body::Branch { leaf }]).await;
    assert!(matches!(other, Err(StoreError::Invalid(_))), "another lane's entry is no place to go on from");
    let loaded = store.reopen().load().unwrap();
    assert_eq!(branch(&loaded.entries, Lane::Worker).last().unwrap().id, second[1].id);

    let (journal, _) = Journal::spawn(Box::new(store.reopen())).unwrap();
    let third = journal.append(Lane::Worker, vec![note("later")]).await.unwrap();
    assert_eq!(third[0].parent, Some(second[1].id), "the leaf is what was stored");
}

#[tokio::test]
async fn time_stands_still_rather_than_going_back() {
    let clock = Arc::new(AtomicI64::new(100));
    let ticks = Arc::clone(&clock);
    let read = move || Timestamp::from_second(ticks.load(Ordering::SeqCst)).unwrap();
    let store = MemoryStore::new();
    let (journal, _) = Journal::spawn_with(Box::new(store.reopen()), read.clone()).unwrap();
    let mut times = Vec::new();
    times.push(journal.append(Lane::Run, vec![ground()]).await.unwrap()[0].at.as_second());
    for (journal, now) in [
        (journal.clone(), 90),
        (journal.clone(), 110),
        (Journal::spawn_with(Box::new(store.reopen()), read).unwrap().0, 50),
    ] {
        clock.store(now, Ordering::SeqCst);
        match journal.append(Lane::Worker, vec![note("x")]).await {
            Ok(entries) => times.push(entries[0].at.as_second()),
            Err(error) => assert!(matches!(error, StoreError::Fenced { .. }), "{error}"),
        }
    }
    assert!(times.is_sorted(), "{times:?}");
}

#[tokio::test]
async fn observers_see_what_is_durable_and_are_told_what_they_lost() {
    let (journal, store) = memory();
    let mut observer = journal.subscribe();
    journal.append(Lane::Run, vec![ground()]).await.unwrap();
    let written = journal.append(Lane::Worker, vec![note("a")]).await.unwrap();
    assert_eq!(observer.recv().await.unwrap().seq, 1);
    assert_eq!(*observer.recv().await.unwrap(), written[0]);

    let many = (0..OBSERVED + 10).map(|_| note("x")).collect();
    journal.append(Lane::Worker, many).await.unwrap();
    assert_eq!(observer.recv().await, Err(RecvError::Lagged(10)));
    assert_eq!(store.reopen().load().unwrap().entries.len(), OBSERVED + 12);
}

#[tokio::test]
async fn a_failed_write_fails_all_that_come_after() {
    let store = MemoryStore::new();
    let (journal, _) = Journal::spawn(Box::new(store.reopen().failing_after(2))).unwrap();
    let mut observer = journal.subscribe();
    journal.append(Lane::Run, vec![ground()]).await.unwrap();
    journal.append(Lane::Worker, vec![note("a")]).await.unwrap();
    for _ in 0..3 {
        assert!(journal.append(Lane::Worker, vec![note("lost")]).await.is_err());
    }
    journal.close().await.unwrap();
    assert_eq!(store.reopen().load().unwrap().entries.len(), 2);
    assert!(observer.recv().await.is_ok() && observer.recv().await.is_ok());
    assert_eq!(observer.recv().await, Err(RecvError::Closed), "what is not durable is not shown");
}

#[tokio::test]
async fn a_later_writer_fences_an_earlier_one() {
    let store = MemoryStore::new();
    let (earlier, _) = Journal::spawn(Box::new(store.reopen())).unwrap();
    earlier.append(Lane::Run, vec![ground()]).await.unwrap();
    let (later, loaded) = Journal::spawn(Box::new(store.reopen())).unwrap();
    assert_eq!(loaded.entries.len(), 1);
    for _ in 0..2 {
        let fenced = earlier.append(Lane::Worker, vec![note("a")]).await;
        assert!(matches!(fenced, Err(StoreError::Fenced { epoch: 2 })), "{fenced:?}");
    }
    later.append(Lane::Worker, vec![note("b")]).await.unwrap();
}

#[tokio::test]
async fn closing_frees_the_lock_once_all_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::spawn(Box::new(FileStore::create(dir.path()).unwrap())).unwrap();
    journal.append(Lane::Run, vec![ground()]).await.unwrap();
    let head = journal.head().await;
    let blob = journal.put_blob(b"output".to_vec()).await.unwrap();
    let other = journal.clone();
    journal.close().await.unwrap();
    assert!(matches!(other.append(Lane::Worker, vec![note("late")]).await, Err(StoreError::Closed)));
    assert_eq!(other.head().await, None);
    let mut store = FileStore::open(dir.path()).unwrap();
    assert_eq!(store.load().unwrap().head(), head.as_ref());
    assert_eq!(crate::Blobs::at(dir.path().join("blobs")).get(&blob).unwrap(), b"output");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_writers_make_one_order() {
    let dir = tempfile::tempdir().unwrap();
    let (journal, _) = Journal::spawn(Box::new(FileStore::create(dir.path()).unwrap())).unwrap();
    journal.append(Lane::Run, vec![ground()]).await.unwrap();
    let writers = Lane::ALL.map(|lane| {
        let journal = journal.clone();
        tokio::spawn(async move {
            for n in 0..20 {
                journal.append(lane, vec![note(&n.to_string()), note("and")]).await.unwrap();
            }
        })
    });
    for writer in writers {
        writer.await.unwrap();
    }
    journal.close().await.unwrap();
    let entries = FileStore::read(dir.path()).unwrap().entries;
    assert_eq!(entries.len(), 161);
    for lane in Lane::ALL {
        assert_eq!(branch(&entries, lane).len(), 41, "{lane}");
    }
}
