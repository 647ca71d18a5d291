//! Starting a run, or going on with one: fixes the ground and hands it to the actors.

use std::path::PathBuf;

use countersign_journal::{FileStore, Journal, StoreError};
use countersign_protocol::{
    Body, Lane, RunId,
    entry::{Ground, Resume},
};
use countersign_sandbox::{SnapshotError, Snapshots};
use countersign_tools::ContextError;
use countersign_verify::PolicyError;

use crate::{
    assignment::{ActorSpec, Assignment, Resumption, RunDir},
    handle::RunHandle,
    launch::Site,
    ledger::Ledger,
    messages::Stop,
    past::Past,
};

/// Why a run can't start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] StoreError),
    /// The workspace.
    #[error("the workspace can't be snapshotted: {0}")]
    Snapshot(#[from] SnapshotError),
    /// The policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A folder.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The policy has a judge and nobody plays it.
    #[error("the policy `{0}` has a judge, but no verifier role with a model was given")]
    NoJudge(String),
    /// The run is over.
    #[error("run {0} is completed: there is nothing to go on with")]
    Completed(RunId),
    /// The journal does not begin with the ground of a run.
    #[error("{} does not begin with the ground of a run", .0.display())]
    NoGround(PathBuf),
    /// The program that goes on with the run lacks checks that it began with, or has others.
    #[error(
        "run {run} was begun by a program with checks of its own ({}): resume it with that program, since without them \
         its claims would be judged by less",
        .checks.join(", ")
    )]
    Checks {
        /// The run.
        run: RunId,
        /// The checks that it began with.
        checks: Vec<String>,
    },
    /// An actor's lane can't be opened.
    #[error("{0}")]
    Lane(String),
}

impl From<Stop> for StartError {
    fn from(stop: Stop) -> Self {
        Self::Lane(stop.reason)
    }
}

/// Starts a run.
///
/// # Errors
/// When its ground can't be laid. Nothing has been spent then.
pub async fn start(assignment: Assignment) -> Result<RunHandle, StartError> {
    if assignment.policy.judge.is_some() && assignment.verifier.is_none() {
        return Err(StartError::NoJudge(assignment.policy.name));
    }
    let run = RunId::new();
    let dir = RunDir::new(&assignment.state_dir, run);
    let (snapshots, base) = Snapshots::create(&dir.snapshots(), &assignment.workspace).await?;
    let site = Site::new(dir, snapshots, base.clone(), &assignment).await?;
    let (journal, loaded) = Journal::spawn(Box::new(FileStore::create(site.dir.path())?))?;
    let events = journal.subscribe();
    let roles = [Some(&assignment.worker), assignment.verifier.as_ref()].into_iter().flatten();
    let mut roles: Vec<_> = roles.map(ActorSpec::role_with_model).collect();
    roles.push(
        assignment
            .reviewer
            .as_ref()
            .map_or_else(|| assignment.supervisor.clone(), ActorSpec::role_with_model),
    );
    let ground = Ground {
        run,
        version: env!("CARGO_PKG_VERSION").into(),
        goal: assignment.goal.clone(),
        workspace: assignment.workspace.clone(),
        roles,
        policy: assignment.policy.clone(),
        policy_dir: assignment.policy_dir.clone(),
        extra_checks: names(&assignment),
        budget: assignment.budget,
        base,
    };
    let mut entries = loaded.entries;
    entries.extend(journal.append(Lane::Run, vec![Body::Run(Box::new(ground.clone()))]).await?);
    site.launch(ground, assignment, journal, events, &entries, Resumption::default()).await
}

/// Goes on with a run from its last durable entry. The assignment's goal, workspace, roles and policy must be those
/// of the run's ground; its budget and models may be other ones.
///
/// # Errors
/// When the run is completed or in use, or its ground can't be laid again.
pub async fn resume(
    run: RunId,
    assignment: Assignment,
    resumption: Resumption,
) -> Result<RunHandle, StartError> {
    let dir = RunDir::new(&assignment.state_dir, run);
    let (journal, loaded) = Journal::spawn(Box::new(FileStore::open(dir.path())?))?;
    let events = journal.subscribe();
    let mut entries = loaded.entries;
    let ground = match entries.first().map(|entry| &entry.body) {
        Some(Body::Run(ground)) => Ground::clone(ground),
        _ => return Err(StartError::NoGround(dir.path().into())),
    };
    if Past::of(&entries).completed {
        return Err(StartError::Completed(run));
    }
    if names(&assignment) != ground.extra_checks {
        return Err(StartError::Checks { run, checks: ground.extra_checks });
    }
    let snapshots = Snapshots::open(&dir.snapshots(), &assignment.workspace).await?;
    let site = Site::new(dir, snapshots, ground.base.clone(), &assignment).await?;
    let models = [Some(&assignment.worker), assignment.verifier.as_ref(), assignment.reviewer.as_ref()];
    let models =
        models.into_iter().flatten().map(|actor| (actor.role.name.clone(), actor.model.spec().model.clone()));
    let resume = Resume {
        version: env!("CARGO_PKG_VERSION").into(),
        budget: assignment.budget,
        models: models.collect(),
    };
    entries.extend(journal.append(Lane::Run, vec![Body::Resume(resume)]).await?);
    // A call that was cut off may have been billed: it counts at its worst case.
    let open = countersign_journal::ledger::spent(&entries).open;
    let lost = open.iter().map(|reservation| {
        Body::Charge(Ledger::worst_charge(reservation, "the run stopped before the answer was settled"))
    });
    let lost: Vec<Body> = lost.collect();
    if !lost.is_empty() {
        entries.extend(journal.append(Lane::Supervisor, lost).await?);
    }
    site.launch(ground, assignment, journal, events, &entries, resumption).await
}

/// The names of the embedder's checks, in order.
fn names(assignment: &Assignment) -> Vec<String> {
    assignment.checks.iter().map(|check| check.name().to_owned()).collect()
}

impl ActorSpec {
    /// The role as it plays in this run: with the model that was chosen.
    fn role_with_model(&self) -> countersign_protocol::Role {
        let mut role = self.role.clone();
        role.model.get_or_insert_with(|| self.model.spec().model.clone());
        role
    }
}
