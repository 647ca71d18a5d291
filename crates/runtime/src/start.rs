//! Starting a run, or going on with one: fixes the ground, opens the lanes, and sets the actors to work.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use async_channel::{Receiver, Sender};
use countersign_journal::{FileStore, Journal, StoreError, branch, ledger::files_known};
use countersign_protocol::{
    Body, Entry, Lane, Policy, RunId, TreeId,
    entry::{Cause, Ground, Resume},
};
use countersign_sandbox::{Sandbox, SnapshotError, Snapshots};
use countersign_tools::{ContextError, ToolContext};
use countersign_verify::{Examiner, PolicyError, Setup};
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::Agent,
    assignment::{ActorSpec, Assignment, Resumption, RunDir},
    clock::SystemClock,
    consensus::{Consensus, Refutation},
    handle::{RunHandle, Stopper},
    history::History,
    ledger::{Before, Ledger},
    messages::{Desk, Examine, Mail, Report, Stop, ToSupervisor},
    part::Part,
    past::Past,
    reviewer::reviewer,
    run::{Actors, Open, Run, returned},
    supervisor::{Review, Supervisor},
    verifier::{Judge, Verifier},
    worker::worker,
};

/// A supervisor with a model looks at the run each time the worker has taken this many turns.
const REVIEW_EVERY: u32 = 10;

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
    NoGround(std::path::PathBuf),
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

impl ActorSpec {
    /// The role as it plays in this run: with the model that was chosen.
    fn role_with_model(&self) -> countersign_protocol::Role {
        let mut role = self.role.clone();
        role.model.get_or_insert_with(|| self.model.spec().model.clone());
        role
    }
}

/// What the actors of a run stand on.
struct Site {
    dir: RunDir,
    sandbox: Arc<dyn Sandbox>,
    snapshots: Arc<Snapshots>,
    base: TreeId,
    examiner: Examiner,
    cancel: CancellationToken,
}

impl Site {
    async fn new(
        dir: RunDir,
        snapshots: Snapshots,
        base: TreeId,
        assignment: &Assignment,
    ) -> Result<Self, StartError> {
        let sandbox = countersign_sandbox::best();
        let snapshots = Arc::new(snapshots);
        let examiner = Examiner::prepare(Setup {
            policy: assignment.policy.clone(),
            policy_dir: assignment.policy_dir.clone(),
            snapshots: snapshots.clone(),
            sandbox: sandbox.clone(),
            base: base.clone(),
            scratch: dir.scratch(),
            blobs: dir.blobs(),
            goal: assignment.goal.clone(),
            extra: assignment.checks.clone(),
        })
        .await?;
        Ok(Self { dir, sandbox, snapshots, base, examiner, cancel: CancellationToken::new() })
    }

    /// Opens the lanes and sets the actors to work.
    async fn launch(
        mut self,
        ground: Ground,
        assignment: Assignment,
        journal: Journal,
        events: broadcast::Receiver<Arc<Entry>>,
        entries: &[Entry],
        resumption: Resumption,
    ) -> Result<RunHandle, StartError> {
        let past = Past::of(entries);
        let has_judge = assignment.policy.judge.is_some();
        let (to_supervisor, asked) = async_channel::unbounded::<ToSupervisor>();
        let (to_worker, mail) = async_channel::unbounded::<Mail>();
        let (to_verifier, claims) = async_channel::unbounded::<Examine>();
        let (report, reports) = async_channel::unbounded::<Report>();
        let (control, controls) = async_channel::unbounded();
        let (begin, begun) = oneshot::channel();
        let lanes = Lanes { site: &self, journal: &journal, entries, to_supervisor: &to_supervisor };

        let work = self.context(&assignment.workspace, &assignment.secrets)?;
        let agent = lanes.agent(Lane::Worker, Part::Worker, assignment.worker, work.clone(), mail).await?;
        for (path, content) in files_known(&branch(entries, Lane::Worker)) {
            if let Some(content) = content {
                agent.context.remember(path, content.clone());
            }
        }
        let first = first_words(&agent.history, &assignment.goal, &assignment.policy, &past, &resumption);
        let judge = match assignment.verifier.filter(|_| has_judge) {
            None => None,
            Some(spec) => {
                let agent = lanes.agent(Lane::Verifier, Part::JUDGE, spec, work.clone(), no_mail()).await?;
                Some(Judge { agent, outputs: self.dir.outputs(), secrets: assignment.secrets })
            }
        };
        let (review, reviewing) = match assignment.reviewer {
            None => (None, None),
            Some(spec) => {
                let (digest, digests) = async_channel::unbounded();
                let every = spec.role.review_every.unwrap_or(REVIEW_EVERY).max(1);
                let part = Part::Reviewer { wrong: 0 };
                let agent = lanes.agent(Lane::Supervisor, part, spec, work, no_mail()).await?;
                (Some(Review::new(digest, every)), Some(reviewer(agent, digests, to_supervisor.clone())))
            }
        };
        if !past.baseline.is_empty() {
            self.examiner.adopt_baseline(past.baseline.clone());
        }
        let supervisor = Supervisor {
            journal: journal.clone(),
            inbox: asked,
            reports: report.clone(),
            ledger: Ledger::new(assignment.budget, has_judge, before(entries)),
            clock: Arc::new(SystemClock::default()),
            earlier: past.elapsed,
            wall: assignment.budget.wall.get(),
            watches: BTreeMap::new(),
            review,
            halted: false,
        };
        let verifier = Verifier {
            inbox: claims,
            reports: report.clone(),
            journal: journal.clone(),
            snapshots: self.snapshots.clone(),
            base: self.base,
            goal: assignment.goal,
            judge,
            cancel: self.cancel.child_token(),
            examiner: self.examiner,
            knows_baseline: !past.baseline.is_empty(),
        };
        let run = Run {
            dir: self.dir,
            containment: self.sandbox.containment(),
            snapshots: self.snapshots,
            consensus: consensus(&assignment.policy, &past, &resumption),
            past,
            begin: Some((begin, first)),
            to_supervisor,
            to_worker: to_worker.clone(),
            to_verifier,
            reports,
            control: controls,
            cancel: self.cancel,
            open: Open::default(),
            journal,
            ground,
        };
        let actors = Actors {
            worker: tokio::spawn(worker(agent, begun, report)),
            verifier: tokio::spawn(verifier.run()),
            reviewer: reviewing.map(tokio::spawn),
            supervisor: tokio::spawn(supervisor.run()),
        };
        let run_id = run.ground.run;
        let outcome = tokio::spawn(run.drive(actors));
        Ok(RunHandle { run: run_id, stopper: Stopper(control), mail: to_worker, events, outcome })
    }

    fn context(&self, root: &Path, secrets: &[String]) -> Result<ToolContext, ContextError> {
        let context = ToolContext::new(root, &self.dir.outputs(), self.sandbox.clone())?;
        Ok(context.masking(secrets.iter().cloned()))
    }
}

/// What it takes to open a lane.
struct Lanes<'a> {
    site: &'a Site,
    journal: &'a Journal,
    entries: &'a [Entry],
    to_supervisor: &'a Sender<ToSupervisor>,
}

impl Lanes<'_> {
    async fn agent(
        &self,
        lane: Lane,
        part: Part,
        spec: ActorSpec,
        context: ToolContext,
        mail: Receiver<Mail>,
    ) -> Result<Agent, Stop> {
        let tools = spec.tools.definitions();
        let journal = self.journal.clone();
        let history = History::open(journal, lane, self.entries, spec.model, spec.sections, tools).await?;
        Ok(Agent {
            part,
            role: spec.role,
            history,
            tools: spec.tools,
            context,
            desk: Desk { lane, supervisor: self.to_supervisor.clone() },
            mail,
            cancel: self.site.cancel.child_token(),
            was_too_long: false,
            breaks: 0,
        })
    }
}

/// The box of an actor to which nobody writes.
fn no_mail() -> Receiver<Mail> {
    async_channel::bounded(1).1
}

/// The books as the journal has them.
fn before(entries: &[Entry]) -> Before {
    let account = countersign_journal::ledger::spent(entries).total;
    let last = entries.iter().filter_map(|entry| match &entry.body {
        Body::Reservation(reservation) => Some(reservation.reservation),
        _ => None,
    });
    Before { spent: account.spent, unpriced: account.unpriced > 0, last: last.max() }
}

/// The consensus as the journal has it.
fn consensus(policy: &Policy, past: &Past, resumption: &Resumption) -> Consensus {
    let mut consensus = Consensus::new(policy.max_refutations);
    for (claim, tree, verdict) in &past.refuted {
        consensus.remember(*claim, tree, verdict);
    }
    if past.resumed || resumption.steer.is_some() {
        consensus.forgive();
    }
    consensus
}

/// What the worker is told before its first turn of this session.
fn first_words(
    history: &History,
    goal: &str,
    policy: &Policy,
    past: &Past,
    resumption: &Resumption,
) -> Vec<Mail> {
    let mut words = Vec::new();
    if history.is_new() {
        words.push(Mail { cause: Cause::Assignment, text: assignment(goal, policy) });
    } else if let Some(steer) = &resumption.steer {
        words.push(Mail { cause: Cause::Steer, text: format!("The run goes on. A person says: {steer}") });
    } else if !history.awaits_an_answer() {
        let refuted = past.refuted.last().filter(|(claim, ..)| claim.0 == past.last_claim);
        let text = match refuted {
            Some((claim, _, verdict)) => returned(*claim, &Refutation::Verdict(verdict.clone())),
            None => "The run goes on after a stop. Look at where things stand before you go on.".into(),
        };
        words.push(Mail { cause: Cause::Resume, text });
    }
    words
}

/// The task, and what a claim must survive as far as the worker may know it.
fn assignment(goal: &str, policy: &Policy) -> String {
    let mut text = format!(
        "{goal}\n\nWhen it is done, call `done`. Your claim is then examined in a copy of this folder."
    );
    for check in policy.checks.iter().filter(|check| check.overlay.is_none()) {
        if let Some(run) = &check.run {
            text += &format!("\n- `{run}` must succeed.");
        }
    }
    if !policy.protected.is_empty() {
        text += &format!("\n- These paths must stay as they are: {}", policy.protected.join(", "));
    }
    if !policy.scope.is_empty() {
        text += &format!("\n- Only these paths may change: {}", policy.scope.join(", "));
    }
    text
}
