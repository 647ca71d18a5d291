//! Setting the actors to work: opens their lanes, joins them by channels, and lets them run.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, path::Path, sync::Arc};

use async_channel::{Receiver, Sender};
use countersign_journal::{Journal, branch, ledger::files_known};
use countersign_protocol::{Body, Entry, Lane, Outcome, Policy, TreeId, entry::Ground};
use countersign_sandbox::{Sandbox, Snapshots};
use countersign_tools::ToolContext;
use countersign_verify::{Examiner, Setup};
use futures_util::FutureExt;
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{
    agent::Agent,
    assignment::{ActorSpec, Assignment, Resumption, RunDir},
    clock::SystemClock,
    consensus::Consensus,
    handle::{RunHandle, Stopper},
    history::History,
    ledger::{Before, Ledger},
    messages::{Desk, Examine, Mail, Report, Stop, ToSupervisor},
    part::Part,
    past::Past,
    reviewer::reviewer,
    run::{Actors, Open, Run},
    start::StartError,
    supervisor::{Review, Supervisor},
    verifier::{Judge, Verifier},
    words::first_words,
    worker::worker,
};

/// A supervisor with a model looks at the run each time the worker has taken this many turns.
const REVIEW_EVERY: u32 = 10;

/// What the actors of a run stand on.
pub(crate) struct Site {
    pub(crate) dir: RunDir,
    sandbox: Arc<dyn Sandbox>,
    snapshots: Arc<Snapshots>,
    base: TreeId,
    examiner: Examiner,
    cancel: CancellationToken,
}

impl Site {
    pub(crate) async fn new(
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
    pub(crate) async fn launch(
        mut self,
        ground: Ground,
        assignment: Assignment,
        journal: Journal,
        events: broadcast::Receiver<Arc<Entry>>,
        entries: &[Entry],
        resumption: Resumption,
    ) -> Result<RunHandle, StartError> {
        let mut past = Past::of(entries);
        if resumption.steer.is_some() {
            // A person's word comes first: the worker reads it and claims anew.
            past.pending = None;
        }
        let has_judge = assignment.policy.judge.is_some();
        let (to_supervisor, asked) = async_channel::unbounded::<ToSupervisor>();
        let (to_worker, mail) = async_channel::unbounded::<Mail>();
        let (to_verifier, claims) = async_channel::unbounded::<Examine>();
        let (report, reports) = async_channel::unbounded::<Report>();
        let (control, controls) = async_channel::unbounded();
        let (begin, begun) = oneshot::channel();
        let lanes = Lanes {
            site: &self,
            journal: &journal,
            entries,
            to_supervisor: &to_supervisor,
            workspace: &assignment.workspace,
            secrets: &assignment.secrets,
        };
        let agent = lanes.worker(assignment.worker, mail).await?;
        let first = first_words(&agent.history, &assignment.goal, &assignment.policy, &past, &resumption);
        let judge = lanes.judge(assignment.verifier.filter(|_| has_judge)).await?;
        let (review, reviewing) = lanes.review(assignment.reviewer).await?.unzip();
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
            halted: false,
            journal,
            ground,
        };
        let actors = Actors {
            worker: tokio::spawn(watched(worker(agent, begun, report.clone()), report.clone())),
            verifier: tokio::spawn(watched(verifier.run(), report.clone())),
            reviewer: reviewing.map(|reviewer| tokio::spawn(watched(reviewer, report.clone()))),
            supervisor: tokio::spawn(supervisor.run()),
        };
        let run_id = run.ground.run;
        let outcome = tokio::spawn(run.drive(actors));
        Ok(RunHandle { run: run_id, stopper: Stopper(control), mail: to_worker, events, outcome })
    }
}

/// What it takes to open lanes.
struct Lanes<'a> {
    site: &'a Site,
    journal: &'a Journal,
    entries: &'a [Entry],
    to_supervisor: &'a Sender<ToSupervisor>,
    workspace: &'a Path,
    secrets: &'a [String],
}

impl Lanes<'_> {
    /// The worker, which still knows the files that it saw in earlier sessions.
    async fn worker(&self, spec: ActorSpec, mail: Receiver<Mail>) -> Result<Agent, StartError> {
        let agent = self.agent(Lane::Worker, Part::Worker, spec, mail).await?;
        for (path, content) in files_known(&branch(self.entries, Lane::Worker)) {
            if let Some(content) = content {
                agent.context.remember(path, content.clone());
            }
        }
        Ok(agent)
    }

    /// The judge. Its tools enter a copy at each examination.
    async fn judge(&self, spec: Option<ActorSpec>) -> Result<Option<Judge>, StartError> {
        let Some(spec) = spec else { return Ok(None) };
        let agent = self.agent(Lane::Verifier, Part::JUDGE, spec, no_mail()).await?;
        Ok(Some(Judge { agent, outputs: self.site.dir.outputs(), secrets: self.secrets.to_vec() }))
    }

    /// The supervisor's review, and the task that thinks for it.
    async fn review(
        &self,
        spec: Option<ActorSpec>,
    ) -> Result<Option<(Review, impl Future<Output = ()> + Send + 'static)>, StartError> {
        let Some(spec) = spec else { return Ok(None) };
        let (digest, digests) = async_channel::unbounded();
        let every = spec.role.review_every.unwrap_or(REVIEW_EVERY).max(1);
        let agent = self.agent(Lane::Supervisor, Part::Reviewer { wrong: 0 }, spec, no_mail()).await?;
        Ok(Some((Review::new(digest, every), reviewer(agent, digests, self.to_supervisor.clone()))))
    }

    async fn agent(
        &self,
        lane: Lane,
        part: Part,
        spec: ActorSpec,
        mail: Receiver<Mail>,
    ) -> Result<Agent, StartError> {
        let context = ToolContext::new(self.workspace, &self.site.dir.outputs(), self.site.sandbox.clone())?;
        let tools = spec.tools.definitions();
        let journal = self.journal.clone();
        let history = History::open(journal, lane, self.entries, spec.model, spec.sections, tools).await?;
        Ok(Agent {
            part,
            role: spec.role,
            history,
            tools: spec.tools,
            context: context.masking(self.secrets.iter().cloned()),
            desk: Desk { lane, supervisor: self.to_supervisor.clone() },
            mail,
            cancel: self.site.cancel.child_token(),
            was_too_long: false,
            breaks: 0,
        })
    }
}

/// An actor whose panic ends the run: a check, a tool or a model of an embedder's may panic.
async fn watched(actor: impl Future<Output = ()>, reports: Sender<Report>) {
    if AssertUnwindSafe(actor).catch_unwind().await.is_err() {
        let stop = Stop::new(Outcome::Failed, "an actor panicked; its message is on stderr");
        // Nobody listens any more only when the run has ended.
        let _ = reports.send(Report::Stopped(stop)).await;
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
