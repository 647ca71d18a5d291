//! Running a command for evidence: its whole output kept by hash, its end for people.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use countersign_protocol::{BlobId, Evidence};
use countersign_sandbox::{Captured, Command, Sandbox, Streams};
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use crate::text;

/// How much of a stream is read, in bytes. A longer report is not trusted to be whole.
const READ: u64 = 64 * 1024 * 1024;
/// How much of the end of the output is shown, in bytes.
pub(crate) const TAIL: usize = 4 * 1024;

/// A command that has ended, with what it wrote.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) evidence: Evidence,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Both streams are here from start to end.
    pub(crate) whole: bool,
}

/// Where a command's output goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outputs<'a> {
    /// An empty folder for what is thrown away.
    pub(crate) temporary: &'a Path,
    /// Where outputs are kept by their hash.
    pub(crate) blobs: &'a Path,
}

/// Runs a command; `shown` is how a person would type it.
///
/// # Errors
/// Where it can't be started or its output can't be kept: the reason, for a person.
pub(crate) async fn run(
    sandbox: &dyn Sandbox,
    command: Command,
    shown: &str,
    outputs: Outputs<'_>,
    cancel: &CancellationToken,
) -> Result<Ran, String> {
    let separate = command.streams == Streams::Separate;
    let command = command.spill(outputs.temporary.join("output"));
    let finished = sandbox.run(command, cancel).await.map_err(|error| error.to_string())?;
    let (stdout, stdout_whole) = bytes(&finished.stdout).await?;
    let (stderr, stderr_whole) = bytes(&finished.stderr).await?;
    let mut kept = stdout.clone();
    if separate && !stderr.is_empty() {
        kept.extend_from_slice(b"\n--- stderr ---\n");
        kept.extend_from_slice(&stderr);
    }
    let output = keep(outputs.blobs, &kept).map_err(|error| format!("cannot keep the output: {error}"))?;
    let evidence = Evidence {
        command: shown.into(),
        exit: finished.exit,
        took: finished.took.into(),
        output,
        tail: text::tail(&crate::reports::plain(&String::from_utf8_lossy(&kept)), TAIL).into(),
    };
    Ok(Ran {
        evidence,
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
        whole: stdout_whole && stderr_whole,
    })
}

/// A stream's bytes from its file, up to the limit, and whether that is all of them.
async fn bytes(captured: &Captured) -> Result<(Vec<u8>, bool), String> {
    let Some(path) = captured.spilled.as_ref().filter(|_| captured.total > captured.tail.len() as u64) else {
        return Ok((captured.tail.clone(), captured.total == captured.tail.len() as u64));
    };
    let unreadable = |error: std::io::Error| format!("cannot read the output back: {error}");
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(READ).read_to_end(&mut bytes).await.map_err(unreadable)?;
    let whole = bytes.len() as u64 == captured.total;
    Ok((bytes, whole))
}

/// Keeps bytes under their hash.
fn keep(blobs: &Path, bytes: &[u8]) -> std::io::Result<BlobId> {
    let id = BlobId::of(bytes);
    let path: PathBuf = blobs.join(id.as_str());
    if path.exists() {
        return Ok(id);
    }
    std::fs::create_dir_all(blobs)?;
    let mut file = tempfile::NamedTempFile::new_in(blobs)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(id)
}
