use std::{
    fs,
    process::{Command, Stdio},
};

use countersign_protocol::{Body, Lane, entry::Cause};

use super::*;
use crate::{
    line::BODY_LIMIT,
    testing::{Script, message, note},
};

fn script(notes: usize) -> Script {
    let mut script = Script::new();
    for n in 0..notes {
        script.worker(note(&format!("note {n} ‘é€’")));
    }
    script
}

/// Commits all entries of the script that the store does not have yet, one commit each.
async fn write(store: &mut FileStore, script: &Script) -> Result<(), StoreError> {
    let loaded = store.load()?;
    let mut head = loaded.head().cloned();
    for entry in &script.entries[loaded.entries.len()..] {
        match store.commit(loaded.epoch, head.as_ref(), vec![entry.clone()]).await? {
            Commit::Committed { head: new } => head = Some(new),
            other => panic!("{other:?}"),
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_was_committed_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("runs/one");
    let mut script = script(3);
    script.worker(message(Cause::Steer, &"long ".repeat(BODY_LIMIT)));
    let mut store = FileStore::create(&dir).unwrap();
    write(&mut store, &script).await.unwrap();
    drop(store);

    let read = FileStore::read(&dir).unwrap();
    assert_eq!((read.entries, read.repaired, read.epoch), (script.entries.clone(), None, 1));
    assert_eq!(fs::read_dir(dir.join("blobs")).unwrap().count(), 1, "the long body lies beside it");
    assert!(fs::metadata(dir.join("journal.jsonl")).unwrap().len() < 10_000);

    script.worker(note("after"));
    let mut store = FileStore::open(&dir).unwrap();
    write(&mut store, &script).await.unwrap();
    let again = store.load().unwrap();
    assert_eq!((again.entries, again.epoch), (script.entries, 2));
    assert_eq!(again.hashes[..read.hashes.len()], read.hashes);
}

#[tokio::test]
async fn the_files_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("run");
    drop(FileStore::create(&dir).unwrap());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

#[tokio::test]
async fn a_missing_or_changed_body_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut script = script(1);
    script.worker(message(Cause::Steer, &"x".repeat(BODY_LIMIT)));
    write(&mut FileStore::create(dir.path()).unwrap(), &script).await.unwrap();
    let blob = fs::read_dir(dir.path().join("blobs")).unwrap().next().unwrap().unwrap().path();
    for spoil in [|path: &Path| fs::write(path, "{}"), |path: &Path| fs::remove_file(path)] {
        spoil(&blob).unwrap();
        let (loaded, damage) = FileStore::read_prefix(dir.path()).unwrap();
        assert_eq!((loaded.entries.len(), damage.unwrap().line), (2, 3));
        assert!(matches!(FileStore::open(dir.path()), Err(StoreError::Damaged(_))));
    }
}

#[tokio::test]
async fn a_torn_end_is_cut_off_kept_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let script = script(3);
    write(&mut FileStore::create(dir.path()).unwrap(), &script).await.unwrap();
    let path = dir.path().join("journal.jsonl");
    let whole = fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let inside = last + whole[last..].windows(3).position(|bytes| bytes == "€".as_bytes()).unwrap() + 1;
    for (n, cut) in [last + 1, inside, inside + 1, whole.len() - 1].into_iter().enumerate() {
        fs::write(&path, &whole[..cut]).unwrap();
        let torn = TornTail { offset: last as u64, bytes: (cut - last) as u64, kept: None };
        let read = FileStore::read(dir.path()).unwrap();
        assert_eq!((read.entries.len(), read.repaired), (3, Some(torn.clone())), "reading changes nothing");
        assert_eq!(fs::read(&path).unwrap().len(), cut);

        let mut store = FileStore::open(dir.path()).unwrap();
        let kept = dir.path().join(format!("torn-{}.bin", n + 1));
        let loaded = store.load().unwrap();
        assert_eq!(
            (loaded.entries.len(), loaded.repaired),
            (3, Some(TornTail { kept: Some(kept.clone()), ..torn }))
        );
        assert_eq!(fs::read(kept).unwrap(), whole[last..cut]);

        let head = loaded.hashes.last();
        store.commit(loaded.epoch, head, vec![script.entries[3].clone()]).await.unwrap();
        drop(store);
        assert_eq!(fs::read(&path).unwrap(), whole, "what is appended then does not stand behind garbage");
    }
}

#[tokio::test]
async fn a_bad_line_stops_the_opening_but_not_the_reading_before_it() {
    let dir = tempfile::tempdir().unwrap();
    write(&mut FileStore::create(dir.path()).unwrap(), &script(3)).await.unwrap();
    let path = dir.path().join("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let spoilt = text.replace("note 1", "note 7");
    fs::write(&path, &spoilt).unwrap();
    let error = FileStore::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("can still be read: 2"), "{error}");
    assert!(FileStore::read(dir.path()).is_err());
    let (loaded, damage) = FileStore::read_prefix(dir.path()).unwrap();
    assert_eq!((loaded.entries.len(), damage.unwrap().line), (2, 3));
    assert_eq!(fs::read_to_string(&path).unwrap(), spoilt, "nothing was cut off");
}

#[tokio::test]
async fn a_commit_is_idempotent_and_expects_its_head() {
    let dir = tempfile::tempdir().unwrap();
    let script = script(3);
    let mut store = FileStore::create(dir.path()).unwrap();
    let first = vec![script.entries[0].clone()];
    let rest = script.entries[1..].to_vec();
    let Commit::Committed { head } = store.commit(1, None, first.clone()).await.unwrap() else { panic!() };
    let conflict = store.commit(1, None, rest.clone()).await.unwrap();
    assert_eq!(conflict, Commit::Conflict { head: Some(head.clone()) });
    assert_eq!(store.commit(1, None, first).await.unwrap(), Commit::Already { head: head.clone() });
    let Commit::Committed { head } = store.commit(1, Some(&head), rest.clone()).await.unwrap() else {
        panic!()
    };
    assert_eq!(store.commit(1, Some(&head), rest).await.unwrap(), Commit::Already { head });
    assert_eq!(FileStore::read(dir.path()).unwrap().entries, script.entries);
}

#[tokio::test]
async fn a_batch_that_does_not_fit_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let script = script(3);
    let mut store = FileStore::create(dir.path()).unwrap();
    let second = store.commit(1, None, vec![script.entries[1].clone()]).await;
    assert!(matches!(second, Err(StoreError::Invalid(_))), "the first entry is the ground");
    assert!(matches!(store.commit(1, None, vec![]).await, Err(StoreError::Invalid(_))));
    write(&mut store, &Script { entries: script.entries[..2].to_vec() }).await.unwrap();
    let head = FileStore::read(dir.path()).unwrap().head().cloned();
    let gap = vec![script.entries[2].clone(), script.entries[1].clone()];
    assert!(matches!(store.commit(1, head.as_ref(), gap).await, Err(StoreError::Invalid(_))));
    let rest = script.entries[2..].to_vec();
    assert!(matches!(store.commit(1, head.as_ref(), rest).await, Ok(Commit::Committed { .. })));
    assert_eq!(FileStore::read(dir.path()).unwrap().entries, script.entries);
}

#[tokio::test]
async fn an_earlier_writer_is_fenced() {
    let dir = tempfile::tempdir().unwrap();
    let script = script(2);
    let mut earlier = FileStore::create(dir.path()).unwrap();
    write(&mut earlier, &Script { entries: script.entries[..2].to_vec() }).await.unwrap();
    fs::remove_file(dir.path().join("lock")).unwrap();
    let mut later = FileStore::open(dir.path()).unwrap();
    let loaded = later.load().unwrap();
    let batch = vec![script.entries[2].clone()];
    let fenced = earlier.commit(1, loaded.head(), batch.clone()).await.unwrap();
    assert_eq!(fenced, Commit::Fenced { epoch: 2 });
    assert_eq!(later.commit(1, loaded.head(), batch.clone()).await.unwrap(), Commit::Fenced { epoch: 2 });
    assert!(matches!(later.commit(2, loaded.head(), batch).await.unwrap(), Commit::Committed { .. }));
    assert_eq!(FileStore::read(dir.path()).unwrap().entries, script.entries);
}

#[tokio::test]
async fn nothing_is_written_behind_what_someone_else_wrote() {
    type Meddle = fn(&Path) -> io::Result<()>;
    let append: Meddle = |path| fs::OpenOptions::new().append(true).open(path)?.write_all(b"{\"id\":");
    let replace: Meddle = |path| {
        let copy = fs::read(path)?;
        fs::remove_file(path)?;
        fs::write(path, copy)
    };
    let remove: Meddle = |path| fs::remove_file(path);
    for meddle in [append, replace, remove] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal.jsonl");
        let script = script(1);
        let mut store = FileStore::create(dir.path()).unwrap();
        write(&mut store, &Script { entries: script.entries[..1].to_vec() }).await.unwrap();
        let head = FileStore::read(dir.path()).unwrap().head().cloned();
        meddle(&path).unwrap();
        let before = fs::read(&path).ok();
        let batch = vec![script.entries[1].clone()];
        let first = store.commit(1, head.as_ref(), batch.clone()).await;
        assert!(matches!(first, Err(StoreError::Meddled(_))), "{first:?}");
        let second = store.commit(1, head.as_ref(), batch).await;
        assert!(matches!(second, Err(StoreError::Poisoned(_))), "{second:?}");
        assert_eq!(fs::read(&path).ok(), before);
    }
}

#[test]
fn a_journal_is_made_once_and_opened_where_there_is_one() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(FileStore::open(dir.path()), Err(StoreError::Missing(_))));
    assert!(matches!(FileStore::read(dir.path()), Err(StoreError::Missing(_))));
    drop(FileStore::create(dir.path()).unwrap());
    assert!(matches!(FileStore::create(dir.path()), Err(StoreError::Exists(_))));
}

#[test]
fn a_second_opener_is_told_who_holds_it() {
    let dir = tempfile::tempdir().unwrap();
    let held = FileStore::create(dir.path()).unwrap();
    let error = FileStore::open(dir.path()).unwrap_err();
    let StoreError::Locked { holder, .. } = &error else { panic!("{error}") };
    assert_eq!(holder.pid, std::process::id());
    assert!(holder.since.is_some());
    assert!(error.to_string().contains(&format!("process {} since 20", holder.pid)), "{error}");
    drop(held);
    FileStore::open(dir.path()).unwrap();
}

/// What this same test program does where it is started as another process.
const CHILD: &str = "COUNTERSIGN_JOURNAL_TEST_FOLDER";

fn child(test: &str, dir: &Path, shell: &str) -> Command {
    let mut command = Command::new("sh");
    let exe = std::env::current_exe().unwrap();
    command.args(["-c", &format!("{shell} exec \"$0\" \"$@\"")]).arg(exe);
    command.args(["--exact", &format!("file::tests::{test}"), "--ignored", "--quiet"]).env(CHILD, dir);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits until it ends well.
fn end(child: std::process::Child) {
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// The folder to work in; `None` where nobody has started this program as another process.
fn child_dir() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

#[tokio::test]
async fn two_processes_do_not_write_one_journal() {
    let dir = tempfile::tempdir().unwrap();
    drop(FileStore::create(dir.path()).unwrap());
    let both = [(); 2].map(|()| child("appends_a_hundred", dir.path(), "").spawn().unwrap());
    both.into_iter().for_each(end);
    let loaded = FileStore::read(dir.path()).unwrap();
    assert_eq!((loaded.entries.len(), loaded.repaired), (201, None));
}

#[tokio::test]
#[ignore = "runs as a process of another test"]
async fn appends_a_hundred() {
    let Some(dir) = child_dir() else { return };
    let mut store = loop {
        match FileStore::open(&dir) {
            Ok(store) => break store,
            Err(StoreError::Locked { .. }) => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    };
    let mut script = Script { entries: store.load().unwrap().entries };
    if script.entries.is_empty() {
        script = Script::new();
    }
    for n in 0..100 {
        script.add(Lane::Worker, note(&n.to_string()));
    }
    write(&mut store, &script).await.unwrap();
}

#[tokio::test]
async fn a_lock_goes_with_its_process() {
    let dir = tempfile::tempdir().unwrap();
    let script = script(1);
    write(&mut FileStore::create(dir.path()).unwrap(), &script).await.unwrap();
    let mut holder = child("holds_for_ever", dir.path(), "").spawn().unwrap();
    let pid = loop {
        match FileStore::open(dir.path()) {
            Err(StoreError::Locked { holder, .. }) if holder.pid != 0 => break holder.pid,
            Err(error @ StoreError::Io { .. }) => panic!("{error}"),
            _ => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
        }
    };
    assert_eq!(pid, holder.id());
    assert_eq!(FileStore::read(dir.path()).unwrap().entries, script.entries, "a live run can be read");
    holder.kill().unwrap();
    holder.wait().unwrap();
    FileStore::open(dir.path()).unwrap();
}

#[test]
#[ignore = "runs as a process of another test"]
fn holds_for_ever() {
    let Some(dir) = child_dir() else { return };
    let _store = loop {
        if let Ok(store) = FileStore::open(&dir) {
            break store;
        }
    };
    // Until the other process kills this one, or is itself gone.
    let _ = io::Read::read(&mut io::stdin(), &mut [0]);
}

#[test]
fn a_full_disk_ends_the_writing_and_tears_nothing() {
    let dir = tempfile::tempdir().unwrap();
    drop(FileStore::create(dir.path()).unwrap());
    // A limit on a file's length fails a write half-way, just as a full disk does.
    end(child("writes_until_it_fails", dir.path(), "trap '' XFSZ; ulimit -f 20;").spawn().unwrap());
    let loaded = FileStore::read(dir.path()).unwrap();
    assert!(loaded.entries.len() > 1);
    assert_eq!(loaded.repaired, None);
}

#[tokio::test]
#[ignore = "runs as a process of another test"]
async fn writes_until_it_fails() {
    let Some(dir) = child_dir() else { return };
    let mut store = FileStore::open(&dir).unwrap();
    let mut script = Script::new();
    let (mut head, mut written) = (None, 0);
    let error = loop {
        match store.commit(2, head.as_ref(), script.entries[written..].to_vec()).await {
            Ok(Commit::Committed { head: new }) => head = Some(new),
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
        written = script.entries.len();
        assert!(written < 1000, "the limit does not work");
        (0..3).for_each(|n| _ = script.add(Lane::Worker, note(&n.to_string())));
    };
    assert!(
        matches!(&error, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::FileTooLarge),
        "{error}"
    );
    let again = store.commit(2, head.as_ref(), script.entries[written..].to_vec()).await;
    assert!(matches!(again, Err(StoreError::Poisoned(_))), "{again:?}");
    assert!(matches!(store.put_blob(vec![1]).await, Err(StoreError::Poisoned(_))));
    let read = FileStore::read(&dir).unwrap();
    assert_eq!((read.entries.as_slice(), read.repaired), (&script.entries[..written], None));
    drop(store);
    let mut store = FileStore::open(&dir).unwrap();
    assert!(matches!(script.entries[0].body, Body::Run(_)));
    assert_eq!(store.load().unwrap().entries, script.entries[..written]);
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    use io::BufRead;
    let dir = tempfile::tempdir().unwrap();
    drop(FileStore::create(dir.path()).unwrap());
    let mut acknowledged = 0;
    for lines in [3, 7, 20] {
        let mut writer = child("writes_and_says_so", dir.path(), "").spawn().unwrap();
        let said = io::BufReader::new(writer.stderr.take().unwrap()).lines();
        let numbers = said.filter_map(|line| line.unwrap().parse::<usize>().ok());
        acknowledged = numbers.take(lines).last().expect("it has written");
        writer.kill().unwrap();
        writer.wait().unwrap();
        let entries = FileStore::open(dir.path()).unwrap().load().unwrap().entries;
        assert!(entries.len() >= acknowledged, "{} of {acknowledged}", entries.len());
        assert_eq!(entries.len() % 3, 1, "commits are whole");
    }
    assert!(acknowledged > 60);
}

#[tokio::test]
#[ignore = "runs as a process of another test"]
async fn writes_and_says_so() {
    let Some(dir) = child_dir() else { return };
    let mut store = FileStore::open(&dir).unwrap();
    let Loaded { entries, hashes, epoch, .. } = store.load().unwrap();
    let (mut script, mut head, mut written) = (Script { entries }, hashes.last().cloned(), hashes.len());
    if written == 0 {
        script = Script::new();
    }
    loop {
        if written > 0 {
            (0..3).for_each(|n| _ = script.add(Lane::Worker, note(&n.to_string())));
        }
        let batch = script.entries[written..].to_vec();
        let Ok(Commit::Committed { head: new }) = store.commit(epoch, head.as_ref(), batch).await else {
            panic!()
        };
        (head, written) = (Some(new), script.entries.len());
        // The test harness keeps what macros print to itself.
        writeln!(io::stderr(), "{written}").unwrap();
    }
}
