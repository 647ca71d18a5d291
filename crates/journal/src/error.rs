//! What can go wrong with a journal: what, where, and what to do about it.

use std::{io, path::PathBuf};

use countersign_protocol::BlobId;
use jiff::Timestamp;

/// A journal could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused something.
    #[error("{path}: {doing}: {source}", path = path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process has the journal open for writing.
    #[error("{path} is in use by {holder}: end that run, or wait for it", path = path.display())]
    Locked {
        /// The run's folder.
        path: PathBuf,
        /// Who holds it.
        holder: Holder,
    },
    /// There is a journal where a new one was to be made.
    #[error("{} already holds a journal: resume that run, or choose another folder", .0.display())]
    Exists(PathBuf),
    /// There is no journal.
    #[error("{} holds no journal", .0.display())]
    Missing(PathBuf),
    /// A line that is not the last one is not what was written.
    #[error(transparent)]
    Damaged(Box<Damage>),
    /// A writer that came later has taken the journal over.
    #[error("a later writer (epoch {epoch}) has taken the journal over: this one may write no more")]
    Fenced {
        /// The later writer's epoch.
        epoch: u64,
    },
    /// The journal's last entry is not the one that the writer knows.
    #[error("the journal has moved on to {head:?}: open it anew")]
    Conflict {
        /// The hash of the last entry.
        head: Option<BlobId>,
    },
    /// An earlier write failed. Nothing is written any more, so that nothing follows a torn line.
    #[error("an earlier write failed ({0}): nothing more is written; mend the cause and resume the run")]
    Poisoned(String),
    /// The batch does not fit the journal: a bug of the caller's.
    #[error("the entries do not fit the journal: {0}")]
    Invalid(String),
    /// An entry has no JSON form, e.g. a path that is not UTF-8.
    #[error("an entry of type `{kind}` can't be written as JSON: {source}")]
    Encode {
        /// The entry's type.
        kind: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// A body that lies beside the journal is missing or changed.
    #[error("{path}: {reason}", path = path.display())]
    Blob {
        /// Where it should lie.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The journal's file is not as this writer left it, though the writer holds the lock.
    #[error("{} was changed, moved or removed by someone else: nothing more is written to it", .0.display())]
    Meddled(PathBuf),
    /// The journal was closed.
    #[error("the journal is closed")]
    Closed,
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}

impl From<Damage> for StoreError {
    fn from(damage: Damage) -> Self {
        Self::Damaged(Box::new(damage))
    }
}

/// Who holds a journal's lock.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Holder {
    /// The process; 0 where it is not known.
    pub pid: u32,
    /// The boot of the machine that it runs on.
    pub boot: String,
    /// Since when; `None` where it is not known.
    pub since: Option<Timestamp>,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.since {
            Some(since) => write!(f, "process {} since {since:.0}", self.pid),
            None => f.write_str("another process, which has not yet said who it is"),
        }
    }
}

/// A line that is not what was written. It and all after it are not read; what is before it can be.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path}, line {line}: {wrong}. Nothing was changed; entries before it that can still be read: {readable}",
    path = path.display()
)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// Where the line begins in the file, in bytes.
    pub offset: u64,
    /// What is wrong with it.
    pub wrong: Wrong,
    /// The entries before it that can be read: those of whole commits.
    pub readable: u64,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// It holds NUL bytes, as a block that was never written does.
    #[error("it holds {0} NUL bytes")]
    Nul(usize),
    /// It is longer than any line that is written.
    #[error("it is longer than {0} bytes, which no line of a journal is")]
    TooLong(usize),
    /// It does not end with a hash.
    #[error("it does not end with a hash")]
    NoHash,
    /// Its bytes are not those that its hash was made of.
    #[error("its bytes are not those that its hash stands for")]
    Changed,
    /// It names another line before it: one is missing, added or moved.
    #[error("it does not follow the line before it: a line is missing, added or moved")]
    Unlinked,
    /// Its place in its commit does not follow from the line before.
    #[error("it is not the next line of its commit")]
    Batch,
    /// It is not the JSON that every line has.
    #[error("it can't be read as an entry: {0}")]
    Unparsable(serde_json::Error),
    /// It is what was written, but nothing that this version knows.
    #[error("this version can't read it ({0}): a later version may have written it")]
    Unreadable(serde_json::Error),
    /// It is whole, but has no place in the tree.
    #[error("{0}")]
    Misplaced(String),
    /// Its body lies beside the journal and can't be had.
    #[error("its body can't be had: {0}")]
    Body(String),
}
