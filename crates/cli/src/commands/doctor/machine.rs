//! What this machine gives: git, snapshots and the containment of processes, each tried.

use countersign::sandbox::{
    Containment, Sandbox, best,
    doctor::{descendants_die, git_version, snapshots_work},
};

use crate::finding::Finding;

/// What the machine gives.
pub(super) async fn machine() -> Vec<Finding> {
    let sandbox = best();
    vec![git().await, snapshots().await, processes(&*sandbox).await, isolation(sandbox.containment())]
}

async fn git() -> Finding {
    match git_version().await {
        Ok(version) => Finding::holds("git", format!("version {version}")),
        Err(error) => Finding::broken("git", error.to_string(), "install git: snapshots are kept with it"),
    }
}

async fn snapshots() -> Finding {
    match snapshots_work().await {
        Ok(()) => Finding::holds("snapshots", "a folder can be snapshotted and read back (tried)"),
        Err(error) => {
            Finding::broken("snapshots", error.to_string(), "mend git, or the folder for temporary files")
        }
    }
}

/// Whether a process that left its session is dead once its call has returned.
async fn processes(sandbox: &dyn Sandbox) -> Finding {
    let stated = sandbox.containment();
    match (stated.descendants_die, descendants_die(sandbox).await) {
        (true, Ok(true)) => Finding::holds("processes", format!("{stated} (tried)")),
        (true, Ok(false)) => Finding::broken(
            "processes",
            "a process that left its session outlived its call, which must not happen here",
            "please report this, with the version of your system",
        ),
        (false, Ok(_)) => Finding::lacking(
            "processes",
            stated.to_string(),
            "tools can leave processes behind: run in a container of your own",
        ),
        (_, Err(error)) => Finding::broken(
            "processes",
            error.to_string(),
            "mend that: no check and no tool works without running commands",
        ),
    }
}

/// Which of the levels that a role can ask for this machine gives.
fn isolation(stated: Containment) -> Finding {
    // A level is given where all that it promises is: `container` promises more than any containment here states.
    let workspace = stated.writes_limited && stated.network_limited;
    let (given, not) =
        if workspace { ("none, workspace", "container") } else { ("none", "workspace, container") };
    Finding::lacking(
        "sandbox",
        format!("levels that a role can have: {given}; not to be had: {not}"),
        "run where a worker can do no harm, as in a container or a machine of its own",
    )
}
