//! git by its command line, as an object store: no work tree, no one's configuration but ours, no hook or filter.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use countersign_protocol::TreeId;
use tokio::{io::AsyncReadExt, process::Command, task::spawn_blocking};

use super::SnapshotError;

/// How long one git command may take. Only the first snapshot of a large workspace comes near it.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// How much of a command's stderr goes into an error.
const STDERR_LIMIT: u64 = 64 * 1024;

/// How much of a command's stdout is taken into memory.
const OUTPUT_LIMIT: u64 = 1024 * 1024 * 1024;

/// The whole configuration. Nothing else is read: neither the system's, nor the user's, nor the workspace's.
const CONFIG: &str = "\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tsymlinks = true
\tlogallrefupdates = false
\tignorecase = false
\tprecomposeunicode = false
\tprotectHFS = true
\tquotepath = false
\tautocrlf = false
\tfsmonitor = false
\tuntrackedcache = false
\tsplitindex = false
\thooksPath = /dev/null
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tlooseCompression = 1
[pack]
\tcompression = 1
[gc]
\tauto = 0
[maintenance]
\tauto = false
";

/// What makes it a repository whose objects have the longer names. (A later value wins.)
const SHA256: &str = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n";

/// Attributes that win over any others: a file's bytes are its content, and a diff shows them.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding !diff !merge !whitespace\n";

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectFormat {
    Sha1,
    Sha256,
}

/// The private repository.
#[derive(Debug, Clone)]
pub(super) struct Git {
    dir: PathBuf,
}

impl Git {
    /// The repository in this folder, which [`Git::init`] made.
    pub(super) fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The repository's folder.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the repository.
    pub(super) async fn init(dir: PathBuf, format: ObjectFormat) -> Result<Self, SnapshotError> {
        std::fs::create_dir_all(&dir).map_err(failed("create", &dir))?;
        let git = Self::at(dir);
        git.run(&["init", "--quiet", "--bare", "--template="], &[]).await?;
        let info = git.dir.join("info");
        std::fs::create_dir_all(&info).map_err(failed("create", &info))?;
        let config = match format {
            ObjectFormat::Sha1 => CONFIG.to_owned(),
            ObjectFormat::Sha256 => CONFIG.to_owned() + SHA256,
        };
        for (file, text) in [(git.dir.join("config"), config.as_str()), (info.join("attributes"), ATTRIBUTES)]
        {
            std::fs::write(&file, text).map_err(failed("write", &file))?;
        }
        Ok(git)
    }

    /// Runs a command and returns what it wrote to stdout. Any other end than exit 0 is an error.
    pub(super) async fn run(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, SnapshotError> {
        self.run_with(args, None, input).await
    }

    /// The same with this file as its index.
    pub(super) async fn run_with(
        &self,
        args: &[&str],
        index: Option<&Path>,
        input: &[u8],
    ) -> Result<Vec<u8>, SnapshotError> {
        let input = input.to_vec();
        let feed = move |mut to: File| to.write_all(&input).map_err(failed("write to", "git"));
        let drain = |from: File| {
            let mut output = Vec::new();
            from.take(OUTPUT_LIMIT + 1).read_to_end(&mut output).map_err(failed("read from", "git"))?;
            match output.len() as u64 > OUTPUT_LIMIT {
                true => Err(SnapshotError::TooLarge { what: "git's answer".into(), limit: OUTPUT_LIMIT }),
                false => Ok(output),
            }
        };
        self.talk(args, index, feed, drain).await
    }

    /// Runs a command, with one thread to write its stdin and one to read its stdout.
    pub(super) async fn talk<T: Send + 'static>(
        &self,
        args: &[&str],
        index: Option<&Path>,
        feed: impl FnOnce(File) -> Result<(), SnapshotError> + Send + 'static,
        drain: impl FnOnce(File) -> Result<T, SnapshotError> + Send + 'static,
    ) -> Result<T, SnapshotError> {
        let mut child =
            self.command(args, index).spawn().map_err(|source| SnapshotError::NoGit { source })?;
        let stdin = file(child.stdin.take().map(|pipe| pipe.into_owned_fd()))?;
        let stdout = file(child.stdout.take().map(|pipe| pipe.into_owned_fd()))?;
        let stderr = child.stderr.take();
        let feeding = spawn_blocking(move || feed(stdin));
        let draining = spawn_blocking(move || drain(stdout));
        let whole = async {
            let mut message = Vec::new();
            if let Some(mut stderr) = stderr {
                (&mut stderr)
                    .take(STDERR_LIMIT)
                    .read_to_end(&mut message)
                    .await
                    .map_err(failed("read from", "git"))?;
                tokio::io::copy(&mut stderr, &mut tokio::io::sink())
                    .await
                    .map_err(failed("read from", "git"))?;
            }
            let status = child.wait().await.map_err(failed("wait for", "git"))?;
            let fed = feeding.await.map_err(io::Error::other).map_err(failed("write to", "git"))?;
            let drained = draining.await.map_err(io::Error::other).map_err(failed("read from", "git"))?;
            judge(args, status, &message, fed, drained)
        };
        match tokio::time::timeout(TIMEOUT, whole).await {
            Ok(result) => result,
            Err(_) => Err(ended(args, &format!("stopped after {} s", TIMEOUT.as_secs()), &[])),
        }
    }

    fn command(&self, args: &[&str], index: Option<&Path>) -> Command {
        let mut command = Command::new("git");
        // Its own group: an interrupt from the terminal is for us to act on.
        command.args(args).current_dir(&self.dir).env_clear().process_group(0).kill_on_drop(true);
        for name in ["PATH", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", &self.dir)
            .env("GIT_DIR", &self.dir)
            .env("GIT_INDEX_FILE", index.unwrap_or(&self.dir.join("no-index")))
            .envs([
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_SYSTEM", "/dev/null"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_ATTR_NOSYSTEM", "1"),
                ("GIT_NO_REPLACE_OBJECTS", "1"),
                ("GIT_LITERAL_PATHSPECS", "1"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("LC_ALL", "C"),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// What counts of what went wrong: our own failure to feed or drain, unless it only followed from git's.
fn judge<T>(
    args: &[&str],
    status: ExitStatus,
    stderr: &[u8],
    fed: Result<(), SnapshotError>,
    drained: Result<T, SnapshotError>,
) -> Result<T, SnapshotError> {
    const SIGPIPE: i32 = 13;
    match (fed, drained) {
        (Err(own), _) if !is_broken_pipe(&own) => Err(own),
        (_, Err(own)) if status.success() || status.signal() == Some(SIGPIPE) => Err(own),
        _ if !status.success() => Err(ended(args, &status.to_string(), stderr)),
        (Err(own), _) => Err(own),
        (Ok(()), drained) => drained,
    }
}

fn is_broken_pipe(error: &SnapshotError) -> bool {
    matches!(error, SnapshotError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}

fn ended(args: &[&str], exit: &str, stderr: &[u8]) -> SnapshotError {
    let stderr = String::from_utf8_lossy(stderr).trim().to_owned();
    SnapshotError::Git { command: args.join(" "), exit: exit.into(), stderr }
}

fn file(pipe: Option<io::Result<OwnedFd>>) -> Result<File, SnapshotError> {
    let pipe = pipe.unwrap_or_else(|| Err(io::Error::other("no pipe")));
    pipe.map(File::from).map_err(failed("open a pipe to", "git"))
}

/// An error about a file or folder, for `map_err`.
pub(super) fn failed(
    action: &'static str,
    path: impl AsRef<Path>,
) -> impl FnOnce(io::Error) -> SnapshotError {
    move |source| SnapshotError::Io { action, path: path.as_ref().into(), source }
}

/// An answer that was not understood.
pub(super) fn strange(command: &str, detail: impl Into<String>) -> SnapshotError {
    SnapshotError::Answer { command: command.into(), detail: detail.into() }
}

/// The one tree id that a command answered with.
pub(super) fn tree_id(command: &str, output: &[u8]) -> Result<TreeId, SnapshotError> {
    let text = String::from_utf8_lossy(output);
    text.trim_end().parse().map_err(|error| strange(command, format!("{error}")))
}
