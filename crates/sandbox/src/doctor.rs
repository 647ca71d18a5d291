//! Facts about this machine, found by trying: whether containment holds, and whether git can keep snapshots.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tokio_util::sync::CancellationToken;

use crate::{Command, Sandbox, SnapshotError, Snapshots, SpawnError};

/// Why a fact could not be found.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// The command to try with can't be run.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The command to try with did something else.
    #[error("the trial command answered `{output}`; it needs `setsid` and `sleep` on PATH")]
    Unclear {
        /// What it wrote.
        output: String,
    },
    /// The snapshot to try with differs from what was put in.
    #[error("a file came back from a snapshot with other content")]
    Changed,
    /// The snapshot to try with failed.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// No folder to try in.
    #[error("cannot make a folder to try in: {0}")]
    Folder(#[from] std::io::Error),
}

/// Whether what a command leaves behind in a session of its own is dead when the call returns.
///
/// Starts such a process and looks. One that survives is ended here.
pub async fn descendants_die(sandbox: &dyn Sandbox) -> Result<bool, DoctorError> {
    // `head` ends at the first line, which says that the sleeper has begun, and where.
    let line = "(setsid sh -c 'echo $$; exec sleep 300' &) | head -n 1";
    let command = Command::shell(line, std::env::temp_dir()).timeout(Duration::from_secs(30));
    let finished = sandbox.run(command, &CancellationToken::new()).await?;
    let output = String::from_utf8_lossy(&finished.stdout.tail).trim().to_owned();
    let Some(sleeper) = output.parse().ok().and_then(Pid::from_raw) else {
        return Err(DoctorError::Unclear { output });
    };
    let dead = test_kill_process(sleeper).is_err();
    if !dead {
        // It was alive a moment ago; if it has ended since, all the better.
        let _ = kill_process(sleeper, Signal::KILL);
    }
    Ok(dead)
}

/// The version of the git on PATH, as it says itself: `2.47.3`.
pub async fn git_version() -> Result<String, SnapshotError> {
    let output = tokio::process::Command::new("git").arg("--version").kill_on_drop(true).output().await;
    let output = output.map_err(|source| SnapshotError::NoGit { source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim().strip_prefix("git version ") {
        Some(version) if output.status.success() => Ok(version.into()),
        _ => Err(SnapshotError::Answer { command: "--version".into(), detail: text.trim().into() }),
    }
}

/// Takes a snapshot of a small folder, changes it, and reads both back.
pub async fn snapshots_work() -> Result<(), DoctorError> {
    let folder = tempfile::tempdir()?;
    let workspace = folder.path().join("workspace");
    std::fs::create_dir(&workspace)?;
    std::fs::write(workspace.join("file"), "before")?;
    let (snapshots, before) = Snapshots::create(&folder.path().join("store"), &workspace).await?;
    std::fs::write(workspace.join("file"), "behind")?;
    let after = snapshots.take().await?;
    for (tree, content) in [(before, "before"), (after, "behind")] {
        if snapshots.read(&tree, "file").await?.as_deref() != Some(content.as_bytes()) {
            return Err(DoctorError::Changed);
        }
    }
    Ok(())
}
