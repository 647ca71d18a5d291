//! Why a command could not be run, or its end could not be made certain.

use std::{io, path::PathBuf};

/// Why a command could not be run, or its end could not be made certain. Never the command's own failure.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The folder to start in can't be used.
    #[error("cannot start in {}: {source}; name a folder that exists", cwd.display())]
    Folder {
        /// The folder.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program can't be started.
    #[error("cannot start `{program}`: {source}")]
    Program {
        /// The program as given.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The command is empty, or a part of it holds what no process can get.
    #[error("not a command: {0}")]
    Invalid(&'static str),
    /// The helper that contains commands can't be started.
    #[error("cannot start the containing helper {}: {source}", helper.display())]
    Helper {
        /// The helper's program.
        helper: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The helper ended or fell silent before it said how the command ended, so nothing is certain.
    #[error("the containing helper was lost ({detail}); processes of `{command}` may still run")]
    HelperLost {
        /// What was seen.
        detail: String,
        /// The command.
        command: String,
    },
    /// Processes could not be killed.
    #[error("processes of `{command}` could not be killed: {pids:?}; look at them before going on")]
    Survivors {
        /// The command.
        command: String,
        /// Their process ids.
        pids: Vec<i32>,
    },
    /// The output can't be read or written to its file.
    #[error("cannot keep the output{}: {source}", file.as_ref().map(|f| format!(" in {}", f.display())).unwrap_or_default())]
    Output {
        /// The file, where it is about one.
        file: Option<PathBuf>,
        /// What the system said.
        source: io::Error,
    },
}
