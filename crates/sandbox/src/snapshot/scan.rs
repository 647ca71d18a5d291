//! The walk through a folder: every file that a snapshot holds, without following any link.

use std::{
    collections::BTreeMap,
    fs::{self, FileType, Metadata},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use super::{
    Mode, SnapshotError,
    git::failed,
    rules::{Rules, join},
};

/// How long ago the last change of a file must be, for the times to tell a later change from it.
const RACY: Duration = Duration::from_secs(2);

/// What tells that a file's content is the same, without reading it. The change time can't be set back,
/// unlike the modification time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stat {
    device: u64,
    inode: u64,
    mode: u32,
    pub(super) size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stat {
    /// Of a file as it is.
    pub(super) fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            mode: found.mode(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// Whether any change after `now` would show: the last one is long enough ago.
    pub(super) fn settled(&self, now: SystemTime) -> bool {
        let limit = now.checked_sub(RACY).and_then(|limit| limit.duration_since(UNIX_EPOCH).ok());
        limit
            .is_some_and(|limit| i64::try_from(limit.as_secs()).is_ok_and(|seconds| self.changed.0 < seconds))
    }
}

/// A file that the walk found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) mode: Mode,
    pub(super) stat: Stat,
}

/// What the walk found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Files and links by their path.
    pub(super) files: BTreeMap<String, Found>,
    /// What no snapshot can hold, by its path: what it is.
    pub(super) special: BTreeMap<String, &'static str>,
}

/// Walks through a folder. `kept` are files that are taken though they are ignored.
pub(super) fn scan(root: &Path, rules: &Rules, kept: &[String]) -> Result<Scan, SnapshotError> {
    let mut scan = Scan::default();
    let mut open = vec![String::new()];
    while let Some(folder) = open.pop() {
        let on_disk = root.join(&folder);
        for entry in fs::read_dir(&on_disk).map_err(failed("read", &on_disk))? {
            let entry = entry.map_err(failed("read", &on_disk))?;
            if entry.file_name() == ".git" {
                continue;
            }
            let found = entry.metadata().map_err(failed("look at", entry.path()))?;
            let path = join(&folder, &entry.file_name().to_string_lossy());
            if rules.ignores(&path, found.is_dir()) {
                continue;
            }
            check_name(entry.file_name().to_str(), &path)?;
            match found.is_dir() {
                true => open.push(path),
                false => scan.add(path, &found),
            }
        }
    }
    for path in kept {
        if let Some(found) = without_links(root, path).filter(|found| !found.is_dir()) {
            scan.add(path.clone(), &found);
        }
    }
    Ok(scan)
}

/// Refuses names that a tree can't hold, or that another system would take for git's own folder.
fn check_name(name: Option<&str>, path: &str) -> Result<(), SnapshotError> {
    match name {
        None => Err(SnapshotError::NotUtf8 { lossy: path.into() }),
        Some(name) if name.eq_ignore_ascii_case(".git") => Err(SnapshotError::GitLike { path: path.into() }),
        Some(_) => Ok(()),
    }
}

/// What lies at this path, if no folder on the way is a link.
fn without_links(root: &Path, path: &str) -> Option<Metadata> {
    let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
    for folder in folders {
        if !fs::symlink_metadata(root.join(folder)).is_ok_and(|found| found.is_dir()) {
            return None;
        }
    }
    fs::symlink_metadata(root.join(path)).ok()
}

impl Scan {
    fn add(&mut self, path: String, found: &Metadata) {
        const OWNER_EXECUTES: u32 = 0o100;
        let kind = found.file_type();
        let mode = match (kind.is_symlink(), kind.is_file()) {
            (true, _) => Mode::Link,
            (_, true) if found.mode() & OWNER_EXECUTES != 0 => Mode::Executable,
            (_, true) => Mode::File,
            _ => {
                self.special.insert(path, name_of(kind));
                return;
            }
        };
        self.files.insert(path, Found { mode, stat: Stat::of(found) });
    }
}

/// What it is, where it is neither a file, a link nor a folder.
fn name_of(kind: FileType) -> &'static str {
    match (kind.is_fifo(), kind.is_socket()) {
        (true, _) => "named pipe",
        (_, true) => "socket",
        _ => "device",
    }
}
