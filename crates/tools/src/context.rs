//! What tools work on: the workspace's root, the process boundary, and what the agent has seen of each file.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use countersign_protocol::{BlobId, Content};
use countersign_sandbox::Sandbox;

use crate::{ToolOutput, locks::Locks, mask::Mask, paths};

/// What tools work on. A clone is the same agent in the same place: it shares locks and memory.
#[derive(Clone)]
pub struct ToolContext {
    /// The workspace, or a copy of it, as a canonical path. Tools other than `bash` stay inside it.
    pub root: PathBuf,
    /// The process boundary.
    pub sandbox: Arc<dyn Sandbox>,
    /// Where the whole output of a command goes when it is too long to show. Files in it may be read.
    pub outputs: PathBuf,
    /// Whether `write` and `edit` may change files.
    pub writable: bool,
    pub(crate) mask: Mask,
    pub(crate) locks: Arc<Locks>,
    seen: Arc<Mutex<HashMap<PathBuf, BlobId>>>,
}

/// A folder that tools need is not there or can't be made.
#[derive(Debug, thiserror::Error)]
#[error("{what} `{}` can't be used: {source}", path.display())]
pub struct ContextError {
    what: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl ToolContext {
    /// Tools that work in `root`. `outputs` is created if absent, for this user alone; it must lie outside `root`.
    ///
    /// # Errors
    /// Where `root` is no folder, or `outputs` can't be made.
    pub fn new(root: &Path, outputs: &Path, sandbox: Arc<dyn Sandbox>) -> Result<Self, ContextError> {
        let outputs_error =
            |source| ContextError { what: "the folder for outputs", path: outputs.into(), source };
        let canonical = |path: &Path| path.canonicalize();
        let root_real = canonical(root)
            .and_then(|real| if real.is_dir() { Ok(real) } else { Err(io::ErrorKind::NotADirectory.into()) })
            .map_err(|source| ContextError { what: "the workspace", path: root.into(), source })?;
        private_folder(outputs).map_err(outputs_error)?;
        Ok(Self {
            root: root_real,
            sandbox,
            outputs: canonical(outputs).map_err(outputs_error)?,
            writable: true,
            mask: Mask::default(),
            locks: Arc::default(),
            seen: Arc::default(),
        })
    }

    /// The same place, where `write` and `edit` change nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.writable = false;
        self
    }

    /// The same place, with these secret values, such as providers' keys, masked in all that a tool gives back.
    /// Values shorter than [`SHORTEST_SECRET`](crate::SHORTEST_SECRET) are left alone.
    #[must_use]
    pub fn masking(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.mask.add(secrets);
        self
    }

    /// A text without the known secrets: for what is journaled or shown besides the results, such as arguments.
    #[must_use]
    pub fn masked(&self, text: String) -> String {
        self.mask.text(text)
    }

    /// An output without the known secrets.
    pub(crate) fn masked_output(&self, mut output: ToolOutput) -> ToolOutput {
        for part in &mut output.content {
            if let Content::Text { text } = part {
                *text = self.masked(std::mem::take(text));
            }
        }
        output
    }

    /// Tells that the agent knows the file (relative to the workspace) with this content, as after a resume.
    /// An edit of a file whose content is another one is refused until it has been read again.
    pub fn remember(&self, path: &str, content: BlobId) {
        if let Ok(place) = paths::resolve(self, path, paths::Access::Read) {
            self.saw(&place.real, content);
        }
    }

    pub(crate) fn saw(&self, real: &Path, content: BlobId) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(real.to_owned(), content);
    }

    /// The content that the agent last saw of a file, where it has seen it.
    pub(crate) fn last_seen(&self, real: &Path) -> Option<BlobId> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(real).cloned()
    }
}

impl std::fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolContext")
            .field("root", &self.root)
            .field("outputs", &self.outputs)
            .field("writable", &self.writable)
            .finish_non_exhaustive()
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}
