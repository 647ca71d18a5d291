//! What to run: the program, its folder, environment, input and limits.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// How long a command may take where nobody said otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// How many bytes of the end of each stream are kept in memory where nobody said otherwise.
pub const DEFAULT_KEEP: usize = 256 * 1024;

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A line for `bash -c`, or for `sh -c` where there is no bash.
    Shell(String),
    /// A program and its arguments, passed on as they are.
    Argv(Vec<String>),
}

/// Where the two output streams go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Streams {
    /// Into one, in the order of writing, as on a terminal.
    #[default]
    Merged,
    /// Each into its own.
    Separate,
}

/// A command with everything it gets, and its limits.
#[derive(Debug, Clone)]
pub struct Command {
    /// What to start.
    pub program: Program,
    /// The folder it starts in. It must exist.
    pub cwd: PathBuf,
    /// Variables added to the scrubbed environment. A later one of the same name wins.
    pub env: Vec<(String, String)>,
    /// What it can read from stdin; `None` is `/dev/null`.
    pub stdin: Option<Vec<u8>>,
    /// After this time it is stopped.
    pub timeout: Duration,
    /// Where the two output streams go.
    pub streams: Streams,
    /// How many bytes of the end of each stream are kept in memory.
    pub keep: usize,
    /// A file for the whole output, up to [`super::SPILL_LIMIT`]; stderr has its own beside it, with `.stderr`
    /// at the end of its name, where streams are separate.
    pub spill: Option<PathBuf>,
}

impl Command {
    /// A shell line with the default limits.
    #[must_use]
    pub fn shell(text: impl Into<String>, cwd: impl AsRef<Path>) -> Self {
        Self::new(Program::Shell(text.into()), cwd.as_ref())
    }

    /// A program and its arguments with the default limits.
    #[must_use]
    pub fn argv<S: Into<String>>(argv: impl IntoIterator<Item = S>, cwd: impl AsRef<Path>) -> Self {
        Self::new(Program::Argv(argv.into_iter().map(Into::into).collect()), cwd.as_ref())
    }

    fn new(program: Program, cwd: &Path) -> Self {
        Self {
            program,
            cwd: cwd.into(),
            env: Vec::new(),
            stdin: None,
            timeout: DEFAULT_TIMEOUT,
            streams: Streams::default(),
            keep: DEFAULT_KEEP,
            spill: None,
        }
    }

    /// Adds a variable to the scrubbed environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Gives it these bytes on stdin.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Sets the time after which it is stopped.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Says where the two output streams go.
    #[must_use]
    pub const fn streams(mut self, streams: Streams) -> Self {
        self.streams = streams;
        self
    }

    /// Sets how many bytes of the end of each stream are kept in memory.
    #[must_use]
    pub const fn keep(mut self, bytes: usize) -> Self {
        self.keep = bytes;
        self
    }

    /// Names a file for the whole output.
    #[must_use]
    pub fn spill(mut self, file: impl Into<PathBuf>) -> Self {
        self.spill = Some(file.into());
        self
    }
}
