//! Commands in a session of their own, without a helper: the fallback.

use std::{
    io,
    os::unix::process::ExitStatusExt,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use countersign_protocol::Exit;
use futures_util::future::BoxFuture;
use rustix::process::{Pid, Signal};
use tokio::{io::AsyncWriteExt, process::Child};
use tokio_util::sync::CancellationToken;

use super::{
    Command, Containment, Finished, Sandbox, SpawnError,
    prepared::{Captures, Prepared, Writers},
};

/// How long a command has to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(1);

/// Runs each command in a session and process group of its own, and kills what can be found of it at the end.
///
/// What left the session and lost its parent is not found, and nothing dies with the host: see [`Containment`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessGroup {
    _private: (),
}

impl ProcessGroup {
    /// The fallback.
    #[must_use]
    pub const fn new() -> Self {
        Self { _private: () }
    }
}

impl Sandbox for ProcessGroup {
    fn run<'a>(
        &'a self,
        command: Command,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finished, SpawnError>> {
        Box::pin(run(command, cancel))
    }

    fn containment(&self) -> Containment {
        Containment::PROCESS_GROUP
    }
}

async fn run(command: Command, cancel: &CancellationToken) -> Result<Finished, SpawnError> {
    let began = Instant::now();
    let prepared = Prepared::new(&command)?;
    let (captures, writers) = Captures::start(&command)?;
    let mut child = start(&prepared, &command, writers)?;
    let group = Group::of(&child);
    let input = child.stdin.take().zip(command.stdin);
    // A task of its own: the command may end without reading all, or never read.
    let feeding = input.map(|(mut pipe, bytes)| tokio::spawn(async move { pipe.write_all(&bytes).await }));
    let exit = tokio::select! {
        status = child.wait() => exit_of(status),
        () = cancel.cancelled() => group.stop(&mut child, Exit::Cancelled).await,
        () = tokio::time::sleep(command.timeout) => group.stop(&mut child, Exit::Timeout).await,
    };
    drop(group);
    if let Some(feeding) = feeding {
        feeding.abort();
    }
    let (stdout, stderr) = captures.finish().await?;
    let exit = exit.map_err(|source| SpawnError::Output { file: None, source })?;
    Ok(Finished { exit, took: began.elapsed(), stdout, stderr })
}

fn start(prepared: &Prepared, command: &Command, writers: Writers) -> Result<Child, SpawnError> {
    let [program, arguments @ ..] = &prepared.argv[..] else {
        return Err(SpawnError::Invalid("it is empty"));
    };
    let mut process = tokio::process::Command::new(program);
    process
        .args(arguments)
        .current_dir(&prepared.cwd)
        .env_clear()
        .envs(&prepared.environment)
        .stdin(if command.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::from(writers.stdout))
        .stderr(Stdio::from(writers.stderr));
    leave_session(&mut process);
    let program = || program.to_string_lossy().into_owned();
    process.spawn().map_err(|source| SpawnError::Program { program: program(), source })
}

/// Lets the command start as the leader of a new session, without the host's terminal.
#[allow(unsafe_code)] // The standard library has no stable way to ask for a new session.
fn leave_session(process: &mut tokio::process::Command) {
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; this makes one system call,
    // allocates nothing and takes no lock.
    unsafe {
        process.pre_exec(|| rustix::process::setsid().map(drop).map_err(io::Error::from));
    }
}

/// The command's process group. When it is dropped, what can be found of the command is killed.
struct Group {
    leader: Option<Pid>,
}

impl Group {
    fn of(child: &Child) -> Self {
        Self { leader: child.id().and_then(|id| Pid::from_raw(id.cast_signed())) }
    }

    /// Asks the command to end, and kills it when the grace is over.
    async fn stop(&self, child: &mut Child, why: Exit) -> io::Result<Exit> {
        if let Ok(Some(status)) = child.try_wait() {
            return exit_of(Ok(status));
        }
        // The command before its children: else it may end because they did, before it hears that it should clean up.
        if let Some(leader) = self.leader {
            let _ = rustix::process::kill_process(leader, Signal::TERM);
        }
        self.signal(Signal::TERM);
        if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
            self.signal(Signal::KILL);
            child.start_kill()?;
            child.wait().await?;
        }
        Ok(why)
    }

    fn signal(&self, signal: Signal) {
        let Some(leader) = self.leader else { return };
        // Errors mean that there is nobody (left) to hit, or that we may not: this is best effort.
        #[cfg(target_os = "linux")]
        for process in super::processes::descendants(leader).iter().chain(&super::processes::session(leader))
        {
            let _ = process.signal(signal);
        }
        let _ = rustix::process::kill_process_group(leader, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

fn exit_of(status: io::Result<ExitStatus>) -> io::Result<Exit> {
    let status = status?;
    // A process has ended by an exit or by a signal; -1 can't be, and is no success.
    Ok(status.code().map(Exit::Code).or_else(|| status.signal().map(Exit::Signal)).unwrap_or(Exit::Code(-1)))
}
