//! Commands under a helper process, to which every descendant returns and which outlives none of them.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use countersign_protocol::Exit;
use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};
use tokio_util::sync::CancellationToken;

use super::{
    Command, Containment, Finished, Sandbox, SpawnError,
    prepared::{Captures, Prepared, Writers, label},
    wire::{MARKER, Order, Report, STOP, Step, VERSION},
};

/// The helper as a program of its own.
const HELPER_NAME: &str = "countersign-contain";

/// The running program's own file, also if another has taken its place since.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// How long the helper may take from the order to stop to its report: its grace, its killing, and a margin.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Whether this program's `main` called [`helper_entry`].
static CAN_HELP: AtomicBool = AtomicBool::new(false);

/// The first line of `main` of a program that contains commands.
///
/// If this process was started as the helper, runs the helper and exits; otherwise notes that this program
/// can be its own helper, and returns. Call it before any thread is started.
pub fn helper_entry() {
    if std::env::args_os().nth(1).is_none_or(|argument| argument != MARKER) {
        CAN_HELP.store(true, Ordering::Relaxed);
        return;
    }
    #[cfg(target_os = "linux")]
    let result = super::helper::run();
    #[cfg(not(target_os = "linux"))]
    let result: io::Result<()> = Err(io::ErrorKind::Unsupported.into());
    // The host reads the report; a helper that could not make one has nobody to tell.
    std::process::exit(i32::from(result.is_err()));
}

/// Closes this process's memory and environment, where provider keys lie, to other processes of the same user.
///
/// Call it early in `main` of a program that runs commands. It works on Linux; it does not bind root, and it also keeps
/// debuggers and core dumps away. Elsewhere it does nothing.
pub fn close_to_others() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// Runs each command under a helper process that kills every descendant at the end, and when the host dies.
///
/// Linux only. Not contained: what another process starts for the command (a container engine, cron), and a
/// command that kills its own helper, which is reported as [`SpawnError::HelperLost`].
#[derive(Debug, Clone)]
pub struct Contained {
    helper: PathBuf,
}

impl Contained {
    /// With this program as the helper: one whose `main` starts with [`helper_entry`].
    #[must_use]
    pub fn with_helper(program: impl Into<PathBuf>) -> Self {
        Self { helper: program.into() }
    }

    /// With this very program as the helper, if its `main` called [`helper_entry`]; else with a
    /// `countersign-contain` beside it; `None` where neither is there or the system can't contain so.
    #[must_use]
    pub fn find() -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        if CAN_HELP.load(Ordering::Relaxed) {
            return Some(Self::with_helper(THIS_PROGRAM));
        }
        let program = std::env::current_exe().ok()?;
        let folder = program.parent()?;
        // Cargo puts test programs one folder below the others.
        let above = folder.parent().filter(|_| folder.ends_with("deps"));
        let mut places = [Some(folder), above].into_iter().flatten().map(|place| place.join(HELPER_NAME));
        places.find(|helper| helper.is_file()).map(Self::with_helper)
    }

    fn start(&self, writers: Writers) -> Result<(UnixStream, tokio::process::Child), SpawnError> {
        let failed = |source| SpawnError::Helper { helper: self.helper.clone(), source };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
        ours.set_nonblocking(true).map_err(failed)?;
        let child = tokio::process::Command::new(&self.helper)
            .arg0(HELPER_NAME)
            .arg(MARKER)
            .env_clear()
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(Stdio::from(writers.stdout))
            .stderr(Stdio::from(writers.stderr))
            .spawn()
            .map_err(failed)?;
        Ok((UnixStream::from_std(ours).map_err(failed)?, child))
    }

    async fn contain(&self, command: Command, cancel: &CancellationToken) -> Result<Finished, SpawnError> {
        let began = Instant::now();
        let prepared = Prepared::new(&command)?;
        let (captures, writers) = Captures::start(&command)?;
        let (socket, mut child) = self.start(writers)?;
        let (from, to) = socket.into_split();
        let mut conversation = Conversation { from: BufReader::new(from), to };
        let order = order(&prepared, &command)?;
        let ended = match conversation.hold(&order, &command, cancel).await {
            Ok(ended) => ended,
            Err(detail) => return Err(lost(detail, &mut child, &command).await),
        };
        let (report, why) = ended;
        let (stdout, stderr) = captures.finish().await?;
        match report {
            Report::Failed { step, errno } => Err(refusal(step, errno, &command, &self.helper)),
            Report::Ended { survivors: Some(pids), .. } => {
                Err(SpawnError::Survivors { command: label(&command.program), pids })
            }
            Report::Ended { exit, stopped, survivors: None } => {
                // It exits at once; waiting takes it away.
                let _ = child.wait().await;
                let exit = if stopped { why.unwrap_or(exit) } else { exit };
                Ok(Finished { exit, took: began.elapsed(), stdout, stderr })
            }
        }
    }
}

impl Sandbox for Contained {
    fn run<'a>(
        &'a self,
        command: Command,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finished, SpawnError>> {
        Box::pin(self.contain(command, cancel))
    }

    fn containment(&self) -> Containment {
        Containment::DESCENDANTS
    }
}

/// The host's side of the socket. When it is dropped the helper kills everything.
struct Conversation {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
}

impl Conversation {
    /// Gives the order, waits for the report, and tells the helper to stop when it is time to.
    /// Returns also why it was told to stop, if it was.
    async fn hold(
        &mut self,
        order: &[u8],
        command: &Command,
        cancel: &CancellationToken,
    ) -> Result<(Report, Option<Exit>), String> {
        // Given whole, also where the run is being stopped: half an order can't be followed by another word.
        within(STOP_LIMIT, self.to.write_all(order)).await?;
        within(STOP_LIMIT, self.to.write_all(command.stdin.as_deref().unwrap_or_default())).await?;
        let mut line = Vec::new();
        let why = tokio::select! {
            read = self.from.read_until(b'\n', &mut line) => {
                read.map_err(|error| error.to_string())?;
                return Ok((parse(&line)?, None));
            }
            () = cancel.cancelled() => Exit::Cancelled,
            () = tokio::time::sleep(command.timeout) => Exit::Timeout,
        };
        within(STOP_LIMIT, self.to.write_all(&[STOP])).await?;
        // A part of the report that was read before is in `line` already.
        within(STOP_LIMIT, self.from.read_until(b'\n', &mut line)).await?;
        Ok((parse(&line)?, Some(why)))
    }
}

async fn within<T>(limit: Duration, talk: impl Future<Output = io::Result<T>>) -> Result<T, String> {
    match tokio::time::timeout(limit, talk).await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(format!("silent for {} s", limit.as_secs())),
    }
}

fn parse(line: &[u8]) -> Result<Report, String> {
    if line.is_empty() {
        return Err("it ended without a report".into());
    }
    serde_json::from_slice(line).map_err(|error| format!("its report can't be read: {error}"))
}

fn order(prepared: &Prepared, command: &Command) -> Result<Vec<u8>, SpawnError> {
    let order = Order {
        version: VERSION.into(),
        argv: prepared.argv.iter().cloned().map(Into::into).collect(),
        cwd: prepared.cwd.clone().into_os_string().into(),
        environment: prepared.environment.iter().map(|(n, v)| (n.clone().into(), v.clone().into())).collect(),
        stdin: command.stdin.as_ref().map(|bytes| bytes.len() as u64),
    };
    order.encode().map_err(|source| SpawnError::Program { program: label(&command.program), source })
}

fn refusal(step: Step, errno: i32, command: &Command, helper: &Path) -> SpawnError {
    let source = io::Error::from_raw_os_error(errno);
    match step {
        Step::Program => {
            let argv = Prepared::new(command).map(|prepared| prepared.argv).unwrap_or_default();
            let program = argv.first().map(|program| program.to_string_lossy().into_owned());
            SpawnError::Program { program: program.unwrap_or_default(), source }
        }
        Step::Folder => SpawnError::Folder { cwd: command.cwd.clone(), source },
        Step::Contain => SpawnError::Helper { helper: helper.into(), source },
        Step::Version => {
            SpawnError::Helper { helper: helper.into(), source: io::Error::other("it is of another version") }
        }
    }
}

/// The helper is gone or silent: kills what can be found, and says that nothing is certain.
async fn lost(detail: String, child: &mut tokio::process::Child, command: &Command) -> SpawnError {
    #[cfg(target_os = "linux")]
    if let Some(leader) = child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
        for process in super::processes::session(leader) {
            let _ = process.signal(rustix::process::Signal::KILL);
        }
    }
    let _ = child.start_kill();
    let status = child.wait().await.map_or_else(|error| error.to_string(), |status| status.to_string());
    SpawnError::HelperLost { detail: format!("{detail}; {status}"), command: label(&command.program) }
}
