//! The system's processes as `/proc` shows them: who descends from whom, and a signal that hits no other.

use std::{collections::HashMap, fs};

use rustix::{
    io,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

/// A process as it was seen once. Its id may be another's by now; the time of its start tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    /// Its id.
    pub(super) pid: Pid,
    parent: i32,
    session: i32,
    started: u64,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(pid, &stat)
    }

    /// Reads proc_pid_stat(5). The name, in parentheses, may itself hold blanks and parentheses.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
        Some(Self {
            pid: Pid::from_raw(pid)?,
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    /// Sends it a signal, unless it has ended: a process that got its id since is not hit.
    pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
        let handle = match pidfd_open(self.pid, PidfdFlags::empty()) {
            Err(io::Errno::SRCH) => return Ok(()),
            handle => handle?,
        };
        let same = Self::read(self.pid.as_raw_pid()).is_some_and(|now| now.started == self.started);
        match if same { pidfd_send_signal(&handle, signal) } else { Ok(()) } {
            Err(io::Errno::SRCH) => Ok(()),
            result => result,
        }
    }
}

fn all() -> Vec<Process> {
    let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
    folder.flatten().filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// The children of this process, which has one thread. Empty also where the kernel does not list them.
///
/// Far faster than a look at all processes, and it needs no second look: only this process can free their ids.
pub(super) fn own_children() -> Vec<Pid> {
    let me = rustix::process::getpid();
    let list = fs::read_to_string(format!("/proc/self/task/{me}/children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// All that descend from this process, parents before children, as far as one look can tell: others may be starting.
pub(super) fn descendants(root: Pid) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut open = vec![root.as_raw_pid()];
    while let Some(parent) = open.pop() {
        // Taken out, so that a torn look with a circle in it ends.
        for child in children.remove(&parent).unwrap_or_default() {
            open.push(child.pid.as_raw_pid());
            found.push(child);
        }
    }
    found
}

/// All in the session that this process leads, or led.
pub(super) fn session(leader: Pid) -> Vec<Process> {
    all().into_iter().filter(|process| process.session == leader.as_raw_pid()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_hides_no_field() {
        let stat = "42 (a ) R 1 (b) S 7 42 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 1234 5 6";
        let process = Process::parse(42, stat).unwrap();
        assert_eq!((process.parent, process.session, process.started), (7, 9, 1234));
    }

    #[test]
    fn a_child_is_found_and_a_stale_sighting_hits_nobody() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let me = rustix::process::getpid();
        let seen = descendants(me).into_iter().find(|process| process.pid == pid).unwrap();
        Process { started: seen.started + 1, ..seen }.signal(Signal::KILL).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "a process with another start time was hit");
        seen.signal(Signal::KILL).unwrap();
        child.wait().unwrap();
        seen.signal(Signal::KILL).unwrap();
    }
}
