//! What this machine gives: git, and the containment of processes, each tried.

use std::{path::Path, time::Duration};

use countersign::{
    protocol::{Exit, role::SandboxLevel},
    sandbox::{Command, Containment, Sandbox, Streams, best},
};
use tokio_util::sync::CancellationToken;

use crate::finding::Finding;

/// The longest that a trial may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Leaves a process behind that has left its session, and says which.
const STRAY: &str = "setsid sleep 120 >/dev/null 2>&1 </dev/null & echo $!";

/// What the machine gives.
pub(super) async fn machine() -> Vec<Finding> {
    let sandbox = best();
    let mut findings = vec![git(&*sandbox).await, containment(&*sandbox).await];
    findings.push(isolation(sandbox.containment()));
    findings
}

async fn git(sandbox: &dyn Sandbox) -> Finding {
    let next = "install git: snapshots of the workspace are kept with it";
    match output(sandbox, Command::argv(["git", "--version"], Path::new("/"))).await {
        Ok(version) => Finding::holds("git", version),
        Err(error) => Finding::broken("git", format!("it does not run: {error}"), next),
    }
}

/// Whether a process that left its session is dead once its call has returned.
async fn containment(sandbox: &dyn Sandbox) -> Finding {
    let stated = sandbox.containment();
    let next = "mind that tools can leave processes behind: run in a container of your own";
    let pid = match output(sandbox, Command::shell(STRAY, Path::new("/"))).await {
        Ok(pid) => pid,
        Err(error) => {
            let found = format!("no command can be run: {error}");
            return Finding::broken(
                "processes",
                found,
                "mend that: nothing can be checked without running it",
            );
        }
    };
    let outlived = pid.parse::<u32>().is_ok_and(|pid| Path::new(&format!("/proc/{pid}")).exists());
    match (stated.descendants_die, outlived) {
        (true, false) => Finding::holds("processes", format!("{stated} (tried)")),
        (true, true) => {
            let found =
                format!("process {pid} left its session and outlived its call, which must not happen here");
            Finding::broken("processes", found, next)
        }
        (false, _) => Finding::lacking("processes", stated.to_string(), next),
    }
}

/// Which of the levels that a role can ask for this machine gives.
fn isolation(stated: Containment) -> Finding {
    let given = [
        (SandboxLevel::None, true),
        (SandboxLevel::Workspace, stated.writes_limited && stated.network_limited),
        (SandboxLevel::Container, false),
    ];
    let name = |level| match level {
        SandboxLevel::None => "none",
        SandboxLevel::Workspace => "workspace",
        SandboxLevel::Container => "container",
    };
    let list = |wanted| {
        let levels = given.iter().filter(|(_, given)| *given == wanted);
        levels.map(|(level, _)| name(*level)).collect::<Vec<_>>().join(", ")
    };
    let found = format!("levels that a role can have: {}; not to be had: {}", list(true), list(false));
    if list(false).is_empty() {
        return Finding::holds("sandbox", found);
    }
    Finding::lacking(
        "sandbox",
        found,
        "run where a worker may do no harm: in a container or a machine of its own",
    )
}

/// What a command that succeeds writes, without white space around it.
async fn output(sandbox: &dyn Sandbox, command: Command) -> Result<String, String> {
    let command = command.timeout(PATIENCE).streams(Streams::Separate);
    let finished =
        sandbox.run(command, &CancellationToken::new()).await.map_err(|error| error.to_string())?;
    match finished.exit {
        Exit::Code(0) => Ok(String::from_utf8_lossy(&finished.stdout.tail).trim().to_owned()),
        exit => Err(exit.to_string()),
    }
}
