//! The lock of a run's folder, and the epoch of its writers.
//!
//! The lock is the system's own: it goes with the process that holds it, so that none is ever stale. What is
//! written in its file is for the one who finds it taken. The epoch counts the writers: should two ever
//! write at once (the lock's file was removed, or the file system has no locks), the earlier one sees it.

use std::{
    fs::{File, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    path::Path,
};

use jiff::Timestamp;

use crate::{StoreError, disk, error::Holder};

const LOCK: &str = "lock";
const EPOCH: &str = "epoch";

/// Holds the lock until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    pub(crate) fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(LOCK);
        let mut file = disk::private()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(StoreError::io("opening the lock", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked { path: folder.into(), holder: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(StoreError::io("taking the lock", path)(error)),
        }
        let me = Holder { pid: std::process::id(), boot: boot(), since: Some(Timestamp::now()) };
        let note = serde_json::to_vec(&me).unwrap_or_default();
        let written = file.set_len(0).and_then(|()| file.write_all(&note));
        written.map_err(StoreError::io("writing the lock", path))?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The note, so that the next holder is not taken for this one. The lock by name, since a process that is
        // just being started may still share the file. Either failing harms nobody: the system frees the lock.
        _ = self.file.set_len(0);
        _ = self.file.unlock();
    }
}

/// Who says that they hold it.
fn holder(file: &mut File) -> Holder {
    let mut note = String::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut note));
    let known = read.ok().and_then(|_| serde_json::from_str(&note).ok());
    known.unwrap_or(Holder { pid: 0, boot: String::new(), since: None })
}

/// The machine's present boot, so that a process id can't be taken for one of an earlier boot.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().into()
}

/// The epoch of the last writer that opened the folder; 0 before the first.
pub(crate) fn epoch(folder: &Path) -> Result<u64, StoreError> {
    let path = folder.join(EPOCH);
    match std::fs::read_to_string(&path) {
        Ok(text) => text
            .trim()
            .parse()
            .map_err(|_| StoreError::Invalid(format!("{} holds no number: remove it", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(StoreError::io("reading the epoch", path)(error)),
    }
}

/// Begins the next epoch. The caller holds the lock.
pub(crate) fn next_epoch(folder: &Path) -> Result<u64, StoreError> {
    let next = epoch(folder)? + 1;
    disk::replace(folder, EPOCH, format!("{next}\n").as_bytes())?;
    Ok(next)
}
