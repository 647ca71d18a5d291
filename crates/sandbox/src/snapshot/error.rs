//! Why a snapshot could not be taken or used. Each of them means: there is no tree id.

use std::{io, path::PathBuf};

/// Why a snapshot could not be taken or used. Each of them means: there is no tree id.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// git can't be started.
    #[error("cannot start git: {source}; install git 2.30 or newer, or put it on PATH")]
    NoGit {
        /// What the system said.
        source: io::Error,
    },
    /// A git command failed.
    #[error("`git {command}` failed ({exit}): {stderr}")]
    Git {
        /// Its arguments.
        command: String,
        /// How it ended.
        exit: String,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// A git command answered with something that can't be understood.
    #[error("`git {command}` answered in an unknown way: {detail}")]
    Answer {
        /// Its arguments.
        command: String,
        /// What was not understood.
        detail: String,
    },
    /// A file or folder can't be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was to be done.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A path that is not UTF-8.
    #[error("the path `{lossy}` is not UTF-8; rename it")]
    NotUtf8 {
        /// The path, with what is not UTF-8 replaced.
        lossy: String,
    },
    /// A file that is neither a file, a link nor a folder.
    #[error("`{path}` is a {kind}, which no snapshot can hold; remove it, or let the base ignore it")]
    SpecialFile {
        /// Its path from the workspace's root.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// A path that git would take for its own folder.
    #[error("`{path}` could be taken for git's own folder; rename it")]
    GitLike {
        /// Its path from the workspace's root.
        path: String,
    },
    /// A file changed while it was being read.
    #[error("`{path}` changed while the snapshot was taken; end what writes to it, then take it again")]
    Changing {
        /// Its path from the workspace's root.
        path: String,
    },
    /// The store is inside the workspace, in reach of the worker.
    #[error("the store {} is inside the workspace; choose a state folder outside of it", store.display())]
    StoreInside {
        /// The store.
        store: PathBuf,
    },
    /// The store is already there.
    #[error("{} already holds snapshots; open it, or choose another folder", store.display())]
    StoreExists {
        /// The store.
        store: PathBuf,
    },
    /// The store is not there, or not whole.
    #[error("{} holds no usable snapshots: {detail}", store.display())]
    NotAStore {
        /// The store.
        store: PathBuf,
        /// What is missing or wrong.
        detail: String,
    },
    /// The folder to write to is not empty.
    #[error("{} is not empty; snapshots are only written into new folders", folder.display())]
    NotEmpty {
        /// The folder.
        folder: PathBuf,
    },
    /// More than can be handled.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// What is too large.
        what: String,
        /// The limit in bytes.
        limit: u64,
    },
}

impl SnapshotError {
    /// Whether something in the folder is at fault, which whoever works there can mend.
    #[must_use]
    pub const fn is_in_the_folder(&self) -> bool {
        matches!(
            self,
            Self::NotUtf8 { .. } | Self::SpecialFile { .. } | Self::GitLike { .. } | Self::Changing { .. }
        )
    }
}
