//! The helper's side: it starts the command, and every descendant of it returns here and ends here.
//!
//! The helper is a *child subreaper*: a process whose parent has died becomes its child, whatever session or group
//! it has moved to. So when the helper has no child left, nothing that the command started is alive.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use countersign_protocol::Exit;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{MemfdFlags, memfd_create},
    process::{self, Pid, PidfdFlags, Signal, WaitOptions, WaitStatus},
};

use super::{
    processes,
    wire::{Order, Report, STOP, Step, VERSION},
};

/// How long a command has to end by itself after it was asked to.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// How long the killing may take before what is left is reported.
pub(super) const KILL_LIMIT: Duration = Duration::from_secs(10);

/// How often orphans that ended are taken away while the command runs.
const TICK: Duration = Duration::from_secs(1);

/// How often it is looked whether all have ended, while that is waited for.
const SHORT_TICK: Duration = Duration::from_millis(5);

/// Runs the helper: the socket to the host is stdin, the command's output is stdout and stderr.
pub(super) fn run() -> io::Result<()> {
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let order = Order::decode(&control)?;
    let input = order.stdin.map(|length| memory_file(&control, length)).transpose()?;
    match start(&order, input) {
        Ok(child) => Keeper { control, child, exit: None }.keep(),
        Err((step, error)) => {
            let errno = error.raw_os_error().unwrap_or(0);
            send(&mut control, &Report::Failed { step, errno })
        }
    }
}

fn send(control: &mut UnixStream, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    control.write_all(&line)
}

/// Keeps what comes for stdin in memory, so that nobody must feed a pipe while the command runs.
fn memory_file(control: &UnixStream, length: u64) -> io::Result<File> {
    let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    if io::copy(&mut control.take(length), &mut file)? != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    io::Seek::rewind(&mut file)?;
    Ok(file)
}

fn start(order: &Order, input: Option<File>) -> Result<Pid, (Step, io::Error)> {
    if order.version != VERSION {
        return Err((Step::Version, io::Error::from_raw_os_error(0)));
    }
    contain().map_err(|error| (Step::Contain, error.into()))?;
    std::env::set_current_dir(order.cwd.as_os()).map_err(|error| (Step::Folder, error))?;
    let [program, arguments @ ..] = &order.argv[..] else {
        return Err((Step::Program, io::ErrorKind::InvalidInput.into()));
    };
    let child = Command::new(program.as_os())
        .args(arguments.iter().map(|argument| argument.as_os()))
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name.as_os(), value.as_os())))
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        // Its own group within the helper's session, so that `kill 0` does not hit the helper.
        .process_group(0)
        .spawn()
        .map_err(|error| (Step::Program, error))?;
    // It is waited for by its id, together with the orphans.
    Ok(Pid::from_child(&child))
}

/// Leaves the host's session (and so its terminal), takes in orphans, and closes its memory to others.
fn contain() -> rustix::io::Result<()> {
    // A kernel without process handles is found out before anything runs.
    process::pidfd_open(process::getpid(), PidfdFlags::empty())?;
    process::setsid()?;
    process::set_child_subreaper(Some(process::getpid()))?;
    process::set_dumpable_behavior(process::DumpableBehavior::NotDumpable)
}

/// What came from the host.
enum Word {
    Nothing,
    Stop,
    Gone,
}

struct Keeper {
    control: UnixStream,
    child: Pid,
    /// How the command itself ended, once it has.
    exit: Option<Exit>,
}

impl Keeper {
    /// Waits for the end of the command, then makes it the end of all its descendants, and reports.
    fn keep(mut self) -> io::Result<()> {
        // Whatever goes wrong in the waiting, nothing is left alive.
        let stopped = self.attend().unwrap_or(false);
        let survivors = self.kill_all(Some(Instant::now() + KILL_LIMIT));
        let left = survivors.is_some();
        let exit = self.exit.unwrap_or(Exit::Signal(Signal::KILL.as_raw()));
        let sent = send(&mut self.control, &Report::Ended { exit, stopped, survivors });
        if left {
            self.kill_all(None);
        }
        sent
    }

    /// Waits until the command ends or the host wants it to, or is gone. True: it was told to stop while it ran.
    fn attend(&mut self) -> io::Result<bool> {
        let end = process::pidfd_open(self.child, PidfdFlags::empty())?;
        while !self.reap() && self.exit.is_none() {
            match self.listen(Some(&end), TICK)? {
                Word::Nothing => {}
                Word::Stop => {
                    self.reap();
                    let stopped = self.exit.is_none();
                    self.ask_to_end();
                    return Ok(stopped);
                }
                Word::Gone => break,
            }
        }
        Ok(false)
    }

    /// Takes away the children that have ended. True: there is none left, and so no descendant.
    fn reap(&mut self) -> bool {
        loop {
            match process::wait(WaitOptions::NOHANG) {
                // Once it has ended its id may become an orphan's, so only the first counts.
                Ok(Some((pid, status))) if pid == self.child => self.exit = self.exit.or(exit_of(status)),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    /// Waits for a word from the host, the end of the command, or until the time is over.
    fn listen(&mut self, end: Option<&OwnedFd>, time: Duration) -> io::Result<Word> {
        let mut fds = vec![PollFd::new(&self.control, PollFlags::IN)];
        fds.extend(end.map(|end| PollFd::new(end, PollFlags::IN)));
        let time = Timespec::try_from(time).map_err(io::Error::other)?;
        match poll(&mut fds, Some(&time)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Word::Nothing),
            Err(error) => return Err(error.into()),
        }
        if fds[0].revents().is_empty() {
            return Ok(Word::Nothing);
        }
        let mut word = [0];
        Ok(match self.control.read(&mut word) {
            Ok(1) if word[0] == STOP => Word::Stop,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Word::Nothing,
            _ => Word::Gone,
        })
    }

    /// Asks every process to end, and waits until they have or the grace is over.
    fn ask_to_end(&mut self) {
        // Parents come before their children, so that none ends for want of a child before it is asked.
        for process in processes::descendants(process::getpid()) {
            // One that can't be asked is killed later.
            let _ = process.signal(Signal::TERM);
        }
        let limit = Instant::now() + GRACE;
        while !self.reap() && Instant::now() < limit {
            if !matches!(self.listen(None, SHORT_TICK), Ok(Word::Nothing | Word::Stop)) {
                break;
            }
        }
    }

    /// Kills descendants until there are none. Returns what is left when the time is over, as far as it can be seen.
    fn kill_all(&mut self, limit: Option<Instant>) -> Option<Vec<i32>> {
        let mut seen = Vec::new();
        while !self.reap() {
            // When a parent dies its children come here, so it would be enough to kill one's own, again and again:
            // that is fast enough to outrun a process that forks and ends, forks and ends.
            let children = processes::own_children();
            for child in &children {
                let _ = process::kill_process(*child, Signal::KILL);
            }
            let late = limit.is_some_and(|limit| Instant::now() > limit);
            if children != seen && !late {
                seen = children;
                continue;
            }
            // Nothing new comes up. The killed ones need a moment; and below one that can't be killed, or where the
            // kernel lists no children, others may be found by a look at all processes.
            let found = processes::descendants(process::getpid());
            for process in &found {
                let _ = process.signal(Signal::KILL);
            }
            if late {
                return Some(found.iter().map(|process| process.pid.as_raw_pid()).collect());
            }
            std::thread::sleep(SHORT_TICK);
        }
        None
    }
}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    status.exit_status().map(Exit::Code).or_else(|| status.terminating_signal().map(Exit::Signal))
}
