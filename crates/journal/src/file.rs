//! The store in a folder: `journal.jsonl`, with `blobs/`, `lock` and `epoch` beside it.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use countersign_protocol::{BlobId, Entry};
use futures_util::future::BoxFuture;

use crate::{
    Blobs, Commit, Damage, JournalStore, Loaded, StoreError, TornTail,
    chain::Chain,
    disk,
    lock::{self, Lock},
    scan::{Scan, scan},
};

const JOURNAL: &str = "journal.jsonl";
const BLOBS: &str = "blobs";

/// A journal in a folder.
///
/// A commit is one write to the end of the file and one sync. If either fails, the file is cut back to what it
/// was and the store writes nothing more: to go on, the journal is opened anew.
#[derive(Debug)]
pub struct FileStore {
    /// `None` while a call works with it on a thread that may block.
    writer: Option<Box<Writer>>,
}

impl FileStore {
    /// Makes the folder and an empty journal in it, and takes its lock.
    ///
    /// # Errors
    /// Where there is a journal already, or the folder can't be made.
    pub fn create(dir: &Path) -> Result<Self, StoreError> {
        disk::create_folder(dir)?;
        let lock = Lock::take(dir)?;
        let path = dir.join(JOURNAL);
        let made = disk::private().append(true).create_new(true).open(&path);
        let file = made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists(dir.into()),
            _ => StoreError::io("making the journal", &path)(error),
        })?;
        file.sync_all().map_err(StoreError::io("syncing the journal", &path))?;
        disk::create_folder(&dir.join(BLOBS))?;
        disk::sync_folder(dir)?;
        Self::begin(dir, lock, file, Scan::default())
    }

    /// Opens the journal for writing: takes its lock, checks every line, and cuts off a torn end.
    ///
    /// # Errors
    /// Where there is none, another process has it open, or a line is not what was written.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let path = existing(dir)?;
        let lock = Lock::take(dir)?;
        let file = disk::private()
            .append(true)
            .open(&path)
            .map_err(StoreError::io("opening the journal for writing", &path))?;
        let scan = scan(&path, &Blobs::at(dir.join(BLOBS)))?;
        Self::begin(dir, lock, file, scan)
    }

    fn begin(dir: &Path, lock: Lock, mut file: File, mut scan: Scan) -> Result<Self, StoreError> {
        if let Some(damage) = scan.damage.take() {
            return Err(damage.into());
        }
        let path = dir.join(JOURNAL);
        let mut repaired = None;
        if scan.torn > 0 {
            let kept = disk::keep_tail(dir, &mut file, scan.end)?;
            let cut = file.set_len(scan.end).and_then(|()| file.sync_all());
            cut.map_err(StoreError::io("cutting off a torn end", &path))?;
            repaired = Some(TornTail { offset: scan.end, bytes: scan.torn, kept: Some(kept) });
        }
        let epoch = lock::next_epoch(dir)?;
        let hashes = scan.chain.hashes();
        let loaded = Loaded { entries: scan.entries, hashes, epoch, repaired };
        let writer = Writer {
            blobs: Blobs::at(dir.join(BLOBS)),
            dir: dir.into(),
            path,
            file,
            len: scan.end,
            chain: scan.chain,
            epoch,
            failed: None,
            loaded: Some(loaded),
            _lock: lock,
        };
        Ok(Self { writer: Some(Box::new(writer)) })
    }

    /// Reads the journal and changes nothing. Takes no lock, so that a live run can be looked at.
    ///
    /// # Errors
    /// Where there is none, or a line is not what was written.
    pub fn read(dir: &Path) -> Result<Loaded, StoreError> {
        match Self::read_prefix(dir)? {
            (loaded, None) => Ok(loaded),
            (_, Some(damage)) => Err(damage.into()),
        }
    }

    /// Reads as much as is whole: all entries before the first bad line, and what is wrong with that line.
    ///
    /// # Errors
    /// Where there is no journal, or it can't be read at all.
    pub fn read_prefix(dir: &Path) -> Result<(Loaded, Option<Damage>), StoreError> {
        let scan = scan(&existing(dir)?, &Blobs::at(dir.join(BLOBS)))?;
        let torn = TornTail { offset: scan.end, bytes: scan.torn, kept: None };
        let loaded = Loaded {
            entries: scan.entries,
            hashes: scan.chain.hashes(),
            epoch: lock::epoch(dir)?,
            repaired: (scan.torn > 0).then_some(torn),
        };
        Ok((loaded, scan.damage))
    }

    /// Works with the writer on a thread that may block: a sync can take long.
    fn blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Writer) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let abandoned = || StoreError::Poisoned("it was abandoned half-way".into());
        Box::pin(async move {
            let mut writer = self.writer.take().ok_or_else(abandoned)?;
            let work = move || {
                let result = writer.guarded(work);
                (writer, result)
            };
            let (writer, result) = tokio::task::spawn_blocking(work).await.map_err(|_| abandoned())?;
            self.writer = Some(writer);
            result
        })
    }
}

fn existing(dir: &Path) -> Result<PathBuf, StoreError> {
    let path = dir.join(JOURNAL);
    if path.is_file() { Ok(path) } else { Err(StoreError::Missing(dir.into())) }
}

impl JournalStore for FileStore {
    fn commit<'a>(
        &'a mut self,
        epoch: u64,
        expected: Option<&'a BlobId>,
        batch: Vec<Entry>,
    ) -> BoxFuture<'a, Result<Commit, StoreError>> {
        let expected = expected.cloned();
        self.blocking(move |writer| writer.commit(epoch, expected.as_ref(), &batch))
    }

    fn load(&mut self) -> Result<Loaded, StoreError> {
        let writer = self.writer.as_mut().ok_or(StoreError::Closed)?;
        if let Some(loaded) = writer.loaded.take() {
            return Ok(loaded);
        }
        let again = Self::read(&writer.dir)?;
        Ok(Loaded { epoch: writer.epoch, ..again })
    }

    fn put_blob(&mut self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, StoreError>> {
        self.blocking(move |writer| writer.blobs.put(&bytes))
    }
}

/// What writes, all of it blocking.
#[derive(Debug)]
struct Writer {
    dir: PathBuf,
    path: PathBuf,
    file: File,
    /// The file's length: everything up to here is durable.
    len: u64,
    chain: Chain,
    blobs: Blobs,
    epoch: u64,
    /// Why nothing more may be written.
    failed: Option<String>,
    /// What opening has read, until it is asked for.
    loaded: Option<Loaded>,
    _lock: Lock,
}

impl Writer {
    /// Does something that writes, unless an earlier write failed; if this one does, it is the last.
    fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if let Some(why) = &self.failed {
            return Err(StoreError::Poisoned(why.clone()));
        }
        let result = work(self);
        if let Err(error) = &result
            && !matches!(error, StoreError::Invalid(_) | StoreError::Encode { .. })
        {
            self.failed = Some(error.to_string());
        }
        result
    }

    fn commit(
        &mut self,
        epoch: u64,
        expected: Option<&BlobId>,
        batch: &[Entry],
    ) -> Result<Commit, StoreError> {
        let last = lock::epoch(&self.dir)?.max(self.epoch);
        if epoch < last {
            return Ok(Commit::Fenced { epoch: last });
        }
        if let Some(answer) = self.chain.answer(expected, batch)? {
            return Ok(answer);
        }
        self.check_file()?;
        let encoded = self.chain.extend(batch)?;
        let mut bytes = Vec::with_capacity(encoded.iter().map(|one| one.line.len()).sum());
        for one in encoded {
            if let Some(body) = one.blob {
                self.blobs.put(&body)?;
            }
            bytes.extend_from_slice(&one.line);
        }
        self.write(&bytes)?;
        let head = self.chain.head().ok_or(StoreError::Closed)?;
        Ok(Commit::Committed { head })
    }

    /// Refuses to write behind anything that this writer has not written itself.
    fn check_file(&self) -> Result<(), StoreError> {
        let failed = StoreError::io("looking at the journal", &self.path);
        let ours = self.file.metadata().map_err(failed)?;
        let named = std::fs::metadata(&self.path);
        let same = named.is_ok_and(|named| same_file(&named, &ours));
        if same && ours.len() == self.len { Ok(()) } else { Err(StoreError::Meddled(self.path.clone())) }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Should this fail too, opening finds a torn end and cuts it off.
            if let Err(left) = self.file.set_len(self.len).and_then(|()| self.file.sync_all()) {
                tracing::warn!(path = %self.path.display(), error = %left, "a torn end could not be cut off");
            }
            return Err(StoreError::io("writing to the journal", &self.path)(error));
        }
        self.len += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(unix)]
fn same_file(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn same_file(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    one.len() == other.len()
}

#[cfg(test)]
mod tests;
