//! What actors say to one another. Each actor owns its state; these are the only ways to reach it.

use async_channel::{Receiver, Sender};
use countersign_journal::StoreError;
use countersign_protocol::{
    CheckReport, Claim, ClaimId, Lane, Outcome, Statement, TreeId, Verdict, Vote,
    entry::{Cause, Charge, Reservation},
};
use tokio::sync::oneshot;

use crate::{ledger::Ask, review::Opinion, stall::Did};

/// Why an actor, and with it the run, cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// How the run ends.
    pub outcome: Outcome,
    /// Why, for a person.
    pub reason: String,
}

impl Stop {
    pub(crate) fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, reason: reason.into() }
    }

    /// The other side of a channel is gone, which happens only when the run is ending.
    pub(crate) fn ending() -> Self {
        Self::new(Outcome::Halted, "the run is ending")
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::new(Outcome::Failed, format!("the journal can't be written, so nothing more is done: {error}"))
    }
}

/// Text for an actor's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mail {
    pub(crate) cause: Cause,
    pub(crate) text: String,
}

/// What the supervisor is asked.
pub(crate) enum ToSupervisor {
    /// May this call be made?
    Reserve { ask: Ask, reply: oneshot::Sender<Result<Reservation, Stop>> },
    /// This is what it cost.
    Settle { charge: Charge, reply: oneshot::Sender<Result<(), Stop>> },
    /// A turn's results are persisted: may the actor go on, and what must it be told?
    Gate { lane: Lane, did: Did, reply: oneshot::Sender<Result<Vec<Mail>, Stop>> },
    /// Do you agree that the run ends with this claim about this tree?
    Vote { claim: ClaimId, tree: TreeId },
    /// Something that its own review should know of.
    Note(String),
    /// What its own review makes of the run.
    Reviewed(Result<Opinion, Stop>),
    /// A person asks the run to stop after what is being persisted.
    Halt,
}

/// What the verifier is asked.
pub(crate) struct Examine {
    pub(crate) claim: Claim,
    pub(crate) tree: TreeId,
}

/// What actors tell the run.
pub(crate) enum Report {
    /// The verifier's ground is fixed and the baseline is known.
    GroundLaid,
    /// The worker says that the task is done.
    Claimed { summary: String, evidence: Vec<Statement>, implicit: bool },
    /// The worker says that it cannot go on.
    Blocked { reason: String, needs: String },
    /// The verifier has answered.
    Judged { claim: ClaimId, tree: TreeId, verdict: Verdict, reports: Vec<CheckReport> },
    /// The supervisor has voted.
    Voted(Vote),
    /// An actor cannot go on.
    Stopped(Stop),
}

/// An actor's line to the supervisor.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) lane: Lane,
    pub(crate) supervisor: Sender<ToSupervisor>,
}

impl Desk {
    pub(crate) async fn reserve(&self, ask: Ask) -> Result<Reservation, Stop> {
        self.ask(|reply| ToSupervisor::Reserve { ask, reply }).await?
    }

    pub(crate) async fn settle(&self, charge: Charge) -> Result<(), Stop> {
        self.ask(|reply| ToSupervisor::Settle { charge, reply }).await?
    }

    pub(crate) async fn gate(&self, did: Did) -> Result<Vec<Mail>, Stop> {
        self.ask(|reply| ToSupervisor::Gate { lane: self.lane, did, reply }).await?
    }

    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> ToSupervisor) -> Result<T, Stop> {
        let (reply, answer) = oneshot::channel();
        self.supervisor.send(question(reply)).await.map_err(|_| Stop::ending())?;
        answer.await.map_err(|_| Stop::ending())
    }
}

/// Everything in the box, without waiting.
pub(crate) fn drain<T>(inbox: &Receiver<T>) -> Vec<T> {
    std::iter::from_fn(|| inbox.try_recv().ok()).collect()
}
