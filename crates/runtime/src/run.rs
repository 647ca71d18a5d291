//! The run itself: hears what the actors say, feeds it to the consensus, and does what that asks.

use std::{collections::VecDeque, path::PathBuf, sync::Arc, time::Duration};

use async_channel::{Receiver, Sender};
use countersign_journal::Journal;
use countersign_protocol::{
    BlobId, Body, CheckReport, Claim, ClaimId, Lane, Money, Outcome, Spent, TreeId, Verdict, Vote,
    entry::{Cause, Ended, Ground},
};
use countersign_sandbox::{Containment, SnapshotError, Snapshots};
use countersign_verify::{Bill, Certificate, Predicate};
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use crate::{
    assignment::RunDir,
    consensus::{Command, Consensus, Event, Refutation},
    handle::Control,
    ledger::Ledger,
    messages::{Examine, Mail, Report, Stop, ToSupervisor},
    past::Past,
    words::returned,
    worker::Begin,
};

/// Why a run ends that a person stopped.
const HALTED: &str = "a person stopped the run";
/// How long an actor may take to persist and end once the run does.
const GRACE: Duration = Duration::from_secs(15);

/// The actors' tasks.
pub(crate) struct Actors {
    pub(crate) worker: JoinHandle<()>,
    pub(crate) verifier: JoinHandle<()>,
    pub(crate) reviewer: Option<JoinHandle<()>>,
    pub(crate) supervisor: JoinHandle<Ledger>,
}

/// What the run knows and whom it can reach.
pub(crate) struct Run {
    pub(crate) dir: RunDir,
    pub(crate) ground: Ground,
    pub(crate) containment: Containment,
    pub(crate) snapshots: Arc<Snapshots>,
    pub(crate) journal: Journal,
    pub(crate) consensus: Consensus,
    pub(crate) past: Past,
    /// What the worker begins with, once the ground is laid.
    pub(crate) begin: Option<(oneshot::Sender<Begin>, Vec<Mail>)>,
    pub(crate) to_supervisor: Sender<ToSupervisor>,
    pub(crate) to_worker: Sender<Mail>,
    pub(crate) to_verifier: Sender<Examine>,
    pub(crate) reports: Receiver<Report>,
    pub(crate) control: Receiver<Control>,
    pub(crate) cancel: CancellationToken,
    /// What the open claim rests on.
    pub(crate) open: Open,
    /// Whether a person asked the run to stop.
    pub(crate) halted: bool,
}

/// What the open claim rests on, for its certificate.
#[derive(Debug, Clone, Default)]
pub(crate) struct Open {
    claim: Option<Claim>,
    tree: Option<TreeId>,
    reports: Vec<CheckReport>,
    verdict: Option<Verdict>,
    votes: Vec<Vote>,
}

/// How the run ends.
struct End {
    outcome: Outcome,
    reason: String,
    agreed: Option<(ClaimId, TreeId)>,
}

impl Run {
    /// Drives the run to its outcome.
    pub(crate) async fn drive(mut self, actors: Actors) -> Ended {
        let mut events = VecDeque::new();
        loop {
            while let Some(event) = events.pop_front() {
                for command in self.consensus.step(event) {
                    match self.perform(command).await {
                        Ok(Next::Heard(event)) => events.extend(event),
                        Ok(Next::End(end)) => return self.finish(end, actors).await,
                        Err(stop) => events.push_back(stopped(stop)),
                    }
                }
            }
            let heard = tokio::select! {
                biased;
                control = self.control.recv() => self.controlled(control.unwrap_or(Control::HaltNow)).await,
                report = self.reports.recv() => self.hear(report).await,
            };
            match heard {
                Ok(heard) => events.extend(heard),
                Err(stop) => events.push_back(stopped(stop)),
            }
        }
    }

    /// A person's stop. The worker's turn is let to its end; an examination is not, since it can be done anew.
    async fn controlled(&mut self, control: Control) -> Result<Option<Event>, Stop> {
        if control == Control::HaltNow || !self.consensus.is_working() || self.begin.is_some() {
            return Err(Stop::new(Outcome::Halted, HALTED));
        }
        self.halted = true;
        // The supervisor ends only after this.
        let _ = self.to_supervisor.send(ToSupervisor::Halt).await;
        Ok(None)
    }

    /// Makes what an actor says durable, and says what it means for the consensus.
    async fn hear(
        &mut self,
        report: Result<Report, async_channel::RecvError>,
    ) -> Result<Option<Event>, Stop> {
        match report.map_err(|_| Stop::new(Outcome::Failed, "every actor ended without a word"))? {
            Report::GroundLaid => self.ground_laid(),
            Report::Claimed { summary, evidence, implicit } => {
                self.past.last_claim += 1;
                let claim = Claim { claim: ClaimId(self.past.last_claim), summary, evidence, implicit };
                self.journal.append(Lane::Run, vec![Body::Claim(claim.clone())]).await?;
                if self.halted {
                    return Err(Stop::new(Outcome::Halted, HALTED));
                }
                self.note(format!("The worker claims that the task is done: {}", claim.summary)).await;
                Ok(Some(Event::Claimed(claim)))
            }
            Report::Blocked { reason, needs } => {
                let body = Body::Blocked { reason: reason.clone(), needs: needs.clone() };
                self.journal.append(Lane::Run, vec![body]).await?;
                Err(Stop::new(Outcome::Blocked, format!("{reason}; it needs: {needs}")))
            }
            Report::Judged { claim, tree, verdict, reports } => {
                if matches!(verdict, Verdict::Accepted { .. }) {
                    self.vote(Lane::Verifier, claim, &tree, "nothing refuted the claim").await?;
                }
                self.open.reports = reports;
                self.open.verdict = Some(verdict.clone());
                Ok(Some(Event::Judged { claim, tree, verdict }))
            }
            Report::Voted(vote) => {
                self.journal.append(Lane::Run, vec![Body::Vote(vote.clone())]).await?;
                self.open.votes.push(vote.clone());
                Ok(Some(Event::Voted(vote)))
            }
            Report::Stopped(stop) => Err(stop),
        }
    }

    /// The baseline is known: the worker may begin, or a claim that was not answered is examined anew.
    fn ground_laid(&mut self) -> Result<Option<Event>, Stop> {
        let Some((begin, first)) = self.begin.take() else { return Ok(None) };
        let pending = self.past.pending.take();
        let what = if pending.is_some() { Begin::AwaitVerdict } else { Begin::Work(first) };
        begin.send(what).map_err(|_| Stop::new(Outcome::Failed, "the worker ended before it began"))?;
        Ok(pending.map(Event::Claimed))
    }

    /// Does what the consensus asks.
    async fn perform(&mut self, command: Command) -> Result<Next, Stop> {
        let next = match command {
            Command::TakeSnapshot(claim) => {
                let tree = match self.snapshots.take().await {
                    Ok(tree) => tree,
                    Err(error) if error.is_in_the_folder() => {
                        return Ok(Next::Heard(Some(Event::Unreadable { claim, reason: error.to_string() })));
                    }
                    Err(error) => return Err(no_snapshot(&error)),
                };
                let body = Body::Snapshot { claim, tree: tree.clone() };
                self.journal.append(Lane::Run, vec![body]).await?;
                self.open = Open { tree: Some(tree.clone()), ..Open::default() };
                Some(Event::Snapshot { claim, tree })
            }
            Command::Examine { claim, tree } => {
                self.vote(Lane::Worker, claim.claim, &tree, "its claim").await?;
                self.open.claim = Some(claim.clone());
                let _ = self.to_verifier.send(Examine { claim, tree }).await;
                None
            }
            Command::AskSupervisor { claim, tree } => {
                let _ = self.to_supervisor.send(ToSupervisor::Vote { claim, tree }).await;
                None
            }
            Command::CompareLive { claim } => {
                let tree = self.snapshots.take().await.map_err(|error| no_snapshot(&error))?;
                Some(Event::Live { claim, tree })
            }
            Command::ReturnToWorker { claim, refutation } => {
                self.note(format!("Claim {claim} does not stand.")).await;
                if let (Refutation::SameTree { verdict, .. }, Some(tree)) = (&refutation, &self.open.tree) {
                    // What was not examined again is answered all the same, and counted on resume.
                    let body = Body::Verdict { claim, tree: tree.clone(), verdict: verdict.clone() };
                    self.journal.append(Lane::Run, vec![body]).await?;
                }
                let text = returned(claim, &refutation);
                let _ = self.to_worker.send(Mail { cause: Cause::Refutation, text }).await;
                None
            }
            Command::End { outcome, reason, agreed } => {
                return Ok(Next::End(End { outcome, reason, agreed }));
            }
        };
        Ok(Next::Heard(next))
    }

    async fn vote(&mut self, actor: Lane, claim: ClaimId, tree: &TreeId, reason: &str) -> Result<(), Stop> {
        let vote = Vote { actor, claim, tree: tree.clone(), agree: true, reason: reason.into() };
        self.journal.append(Lane::Run, vec![Body::Vote(vote.clone())]).await?;
        self.open.votes.push(vote);
        Ok(())
    }

    async fn note(&self, line: String) {
        let _ = self.to_supervisor.send(ToSupervisor::Note(line)).await;
    }

    /// Stops every actor, settles the books, certifies a completed run, and writes the outcome.
    async fn finish(mut self, mut end: End, actors: Actors) -> Ended {
        self.cancel.cancel();
        let refutations = self.consensus.refutations();
        // A worker that was never begun wakes up and ends.
        self.begin = None;
        for mut task in [Some(actors.worker), Some(actors.verifier), actors.reviewer].into_iter().flatten() {
            // A model or a check of an embedder may be deaf to the cancellation.
            if tokio::time::timeout(GRACE, &mut task).await.is_err() {
                task.abort();
                tracing::warn!("an actor did not end when it was told to, and was dropped");
            }
        }
        // Nobody is left who could ask the supervisor anything.
        self.to_supervisor.close();
        let (spent, money) = match actors.supervisor.await {
            Ok(books) => (*books.spent(), books.money()),
            Err(error) => {
                end.failed(format!("the supervisor failed, which is a bug: {error}"));
                (Spent::default(), None)
            }
        };
        let certificate = match self.certify(&end, spent, money).await {
            Ok(path) => path,
            Err(error) => {
                end.failed(format!("the certificate can't be written: {error}"));
                None
            }
        };
        let ended = Ended {
            outcome: end.outcome,
            reason: end.reason,
            tree: end.agreed.map(|(_, tree)| tree),
            turns: spent.turns,
            refutations,
            usage: spent.usage,
            money,
            certificate,
        };
        self.write(ended).await
    }

    /// The certificate of a completed run.
    async fn certify(
        &self,
        end: &End,
        spent: Spent,
        money: Option<Money>,
    ) -> Result<Option<PathBuf>, String> {
        let (Outcome::Completed, Some((_, tree))) = (end.outcome, &end.agreed) else { return Ok(None) };
        let (Some(claim), Some(verdict), Some(journal_head)) =
            (self.open.claim.clone(), self.open.verdict.clone(), self.journal.head().await)
        else {
            return Err("what was agreed on is not known any more, which is a bug".into());
        };
        let policy = serde_json::to_vec(&self.ground.policy).map_err(|error| error.to_string())?;
        let predicate = Predicate {
            run: self.ground.run,
            goal: self.ground.goal.clone(),
            base: self.ground.base.clone(),
            claim,
            checks: self.open.reports.clone(),
            verdict,
            votes: self.open.votes.clone(),
            bill: Bill { money, spent },
            policy: BlobId::of(&policy),
            journal_head,
            containment: self.containment,
            version: env!("CARGO_PKG_VERSION").into(),
            issued: jiff::Timestamp::now(),
        };
        let path = self.dir.certificate();
        let certificate = Certificate::issue(&self.ground.workspace, tree.clone(), predicate);
        certificate.write(&path).map_err(|error| error.to_string())?;
        Ok(Some(path))
    }

    /// The last entry. Where it can't be written, the run has failed, whatever it was.
    async fn write(self, mut ended: Ended) -> Ended {
        let written = self.journal.append(Lane::Run, vec![Body::Outcome(Box::new(ended.clone()))]).await;
        if let Err(error) = written {
            let stop = Stop::from(error);
            tracing::error!(outcome = %ended.outcome, reason = stop.reason, "the outcome could not be written");
            // A certificate without the outcome that it certifies must not stay.
            if let Some(certificate) = ended.certificate.take() {
                let _ = std::fs::remove_file(certificate);
            }
            (ended.outcome, ended.reason) = (stop.outcome, stop.reason);
        }
        if let Err(error) = self.journal.close().await {
            tracing::warn!(%error, "the journal was not closed cleanly");
        }
        ended
    }
}

fn no_snapshot(error: &SnapshotError) -> Stop {
    Stop::new(Outcome::Failed, format!("the workspace can't be snapshotted: {error}"))
}

/// What follows from a command.
enum Next {
    Heard(Option<Event>),
    End(End),
}

impl End {
    fn failed(&mut self, reason: String) {
        (self.outcome, self.reason) = (Outcome::Failed, reason);
    }
}

fn stopped(stop: Stop) -> Event {
    Event::Stopped { outcome: stop.outcome, reason: stop.reason }
}
