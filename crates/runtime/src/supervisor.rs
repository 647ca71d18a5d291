//! The supervisor: grants every model call before it is made, settles it after, sees circles, and has a vote.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_channel::{Receiver, Sender};
use countersign_journal::Journal;
use countersign_protocol::{
    Body, ClaimId, Lane, Outcome, TreeId, Vote,
    entry::{Cause, Charge, Reservation},
};

use crate::{
    clock::Clock,
    digest::Digest,
    ledger::{Ask, Ledger},
    messages::{Mail, Report, Stop, ToSupervisor},
    review::Opinion,
    stall::{Circle, Did, Watch},
};

/// The actor.
pub(crate) struct Supervisor {
    pub(crate) journal: Journal,
    pub(crate) inbox: Receiver<ToSupervisor>,
    pub(crate) reports: Sender<Report>,
    pub(crate) ledger: Ledger,
    pub(crate) clock: Arc<dyn Clock>,
    /// Time used by earlier sessions of the run.
    pub(crate) earlier: Duration,
    /// The longest that the run may take, earlier sessions included.
    pub(crate) wall: Duration,
    pub(crate) watches: BTreeMap<Lane, Watch>,
    pub(crate) review: Option<Review>,
    /// Whether a person asked the run to stop.
    pub(crate) halted: bool,
}

/// The supervisor's own look at the run, by a model.
pub(crate) struct Review {
    reviewer: Sender<String>,
    every: u32,
    turns: u32,
    digest: Digest,
    /// What the worker is told at its next gate.
    notices: Vec<String>,
    /// The vote that waits for a last look.
    voting: Option<(ClaimId, TreeId)>,
    /// Whether the model is looking now.
    looking: bool,
}

impl Supervisor {
    /// Serves until nobody is left who could ask, and gives the books back.
    pub(crate) async fn run(mut self) -> Ledger {
        let time_is_over = tokio::time::sleep(self.wall.saturating_sub(self.elapsed()));
        tokio::pin!(time_is_over);
        let mut over = false;
        loop {
            tokio::select! {
                message = self.inbox.recv() => match message {
                    Ok(message) => self.serve(message).await,
                    Err(_) => return self.ledger,
                },
                () = &mut time_is_over, if !over => {
                    over = true;
                    let reason = format!("wall time: the run's {} s are over", self.wall.as_secs());
                    self.report(Report::Stopped(Stop::new(Outcome::Exhausted, reason))).await;
                }
            }
        }
    }

    async fn serve(&mut self, message: ToSupervisor) {
        // An actor that no longer listens has ended: its answer is for nobody.
        match message {
            ToSupervisor::Reserve { ask, reply } => drop(reply.send(self.reserve(&ask).await)),
            ToSupervisor::Settle { charge, reply } => drop(reply.send(self.settle(charge).await)),
            ToSupervisor::Gate { lane, did, reply } => drop(reply.send(self.gate(lane, &did).await)),
            ToSupervisor::Vote { claim, tree } => self.vote(claim, tree).await,
            ToSupervisor::Note(line) => {
                if let Some(review) = &mut self.review {
                    review.digest.note(&line);
                }
            }
            ToSupervisor::Reviewed(opinion) => self.reviewed(opinion).await,
            ToSupervisor::Halt => self.halted = true,
        }
    }

    fn elapsed(&self) -> Duration {
        self.earlier + self.clock.elapsed()
    }

    async fn reserve(&mut self, ask: &Ask) -> Result<Reservation, Stop> {
        self.may_go_on()?;
        let elapsed = self.elapsed();
        let denied = |denied: crate::ledger::Denied| Stop::new(Outcome::Exhausted, denied.to_string());
        let reservation = self.ledger.reserve(ask, elapsed).map_err(denied)?;
        self.journal.append(Lane::Supervisor, vec![Body::Reservation(reservation.clone())]).await?;
        Ok(reservation)
    }

    async fn settle(&mut self, charge: Charge) -> Result<(), Stop> {
        // What was spent was spent, also where the journal can't be written any more.
        self.ledger.settle(&charge);
        self.journal.append(Lane::Supervisor, vec![Body::Charge(charge)]).await?;
        Ok(())
    }

    async fn gate(&mut self, lane: Lane, did: &Did) -> Result<Vec<Mail>, Stop> {
        let circle = self.watches.entry(lane).or_default().observe(did);
        let mut mail = Vec::new();
        match circle {
            Some(Circle::Stalled(what)) => {
                return Err(Stop::new(Outcome::Stalled, format!("the {lane} goes in circles: {what}")));
            }
            Some(Circle::Notice(what)) => {
                mail.push(Mail { cause: Cause::Stall, text: stall_notice(lane, &what) })
            }
            None => {}
        }
        if lane == Lane::Worker {
            if let Some(percent) = self.ledger.passed() {
                let text = budget_notice(percent, &self.ledger.summary());
                mail.push(Mail { cause: Cause::Budget, text });
            }
            mail.extend(self.look(did).await);
        }
        let notices = mail.iter().map(|mail| Body::Notice { cause: mail.cause, text: mail.text.clone() });
        let notices: Vec<Body> = notices.collect();
        if !notices.is_empty() {
            self.journal.append(Lane::Supervisor, notices).await?;
        }
        self.may_go_on()?;
        Ok(mail)
    }

    fn may_go_on(&self) -> Result<(), Stop> {
        if self.halted {
            return Err(Stop::new(Outcome::Halted, "a person stopped the run"));
        }
        Ok(())
    }

    /// Feeds the supervisor's own review, and brings what it had to say.
    async fn look(&mut self, did: &Did) -> Vec<Mail> {
        let Some(review) = &mut self.review else { return Vec::new() };
        review.digest.turn(did);
        review.turns += 1;
        if review.turns >= review.every && !review.looking {
            review.turns = 0;
            review.look("").await;
        }
        review.notices.drain(..).map(|text| Mail { cause: Cause::Review, text }).collect()
    }

    async fn reviewed(&mut self, opinion: Result<Opinion, Stop>) {
        let Some(review) = &mut self.review else { return };
        review.looking = false;
        let Some((claim, tree)) = review.voting.clone() else {
            match opinion {
                Ok(Opinion::Notice(text) | Opinion::Withhold(text)) => review.notices.push(text),
                Ok(Opinion::Continue) => {}
                Err(stop) => tracing::warn!(reason = stop.reason, "the supervisor's review failed"),
            }
            return;
        };
        if !review.digest.is_empty() {
            // This was the answer to an earlier look: the claim is not yet in it.
            return review.look(LAST_LOOK).await;
        }
        review.voting = None;
        match opinion {
            Ok(Opinion::Continue | Opinion::Notice(_)) => self.vote_by_rules(claim, tree).await,
            Ok(Opinion::Withhold(reason)) => {
                self.report(Report::Voted(Vote {
                    actor: Lane::Supervisor,
                    claim,
                    tree,
                    agree: false,
                    reason,
                }))
                .await;
            }
            Err(stop) => {
                let reason =
                    format!("the supervisor's model could not be asked for its vote: {}", stop.reason);
                let outcome = if stop.outcome == Outcome::Failed { Outcome::Blocked } else { stop.outcome };
                self.report(Report::Stopped(Stop::new(outcome, reason))).await;
            }
        }
    }

    async fn vote(&mut self, claim: ClaimId, tree: TreeId) {
        match &mut self.review {
            None => self.vote_by_rules(claim, tree).await,
            Some(review) => {
                review.digest.note(&format!("The verifier accepted claim {claim}; your vote is asked for."));
                review.voting = Some((claim, tree));
                if !review.looking {
                    review.look(LAST_LOOK).await;
                }
            }
        }
    }

    /// The books are settled, nothing is in flight, the budget holds and nobody goes in circles.
    async fn vote_by_rules(&self, claim: ClaimId, tree: TreeId) {
        let stalled = self.watches.get(&Lane::Worker).and_then(Watch::stalled);
        let against = if let Some(what) = stalled {
            Some(format!("the worker goes in circles: {what}"))
        } else if !self.ledger.is_settled() {
            Some("a model call is not settled".to_owned())
        } else if !self.ledger.is_within() || self.elapsed() >= self.wall {
            Some("the budget is overrun".to_owned())
        } else {
            None
        };
        let agree = against.is_none();
        let reason = against.unwrap_or_else(|| format!("the books are settled: {}", self.ledger.summary()));
        self.report(Report::Voted(Vote { actor: Lane::Supervisor, claim, tree, agree, reason })).await;
    }

    async fn report(&self, report: Report) {
        // Nobody listens any more only when the run has ended.
        let _ = self.reports.send(report).await;
    }
}

/// What the model is told when its answer decides the vote.
const LAST_LOOK: &str = "This is the last look: the run ends as completed unless you WITHHOLD.";

impl Review {
    /// A supervisor whose model looks each time the worker has taken so many turns.
    pub(crate) fn new(reviewer: Sender<String>, every: u32) -> Self {
        Self {
            reviewer,
            every,
            turns: 0,
            digest: Digest::default(),
            notices: Vec::new(),
            voting: None,
            looking: false,
        }
    }

    async fn look(&mut self, note: &str) {
        self.looking = true;
        let _ = self.reviewer.send(self.digest.take(note)).await;
    }
}

fn stall_notice(lane: Lane, what: &str) -> String {
    let way_out = match lane {
        Lane::Worker => "If the task can't be done as it stands, call `blocked`.",
        _ => "If you have seen enough, answer what you were asked.",
    };
    format!(
        "You go in circles: {what}. Doing it again will not change the result. Take another path: read the error, look \
         at other files, try another approach. {way_out}"
    )
}

fn budget_notice(percent: u64, summary: &str) -> String {
    let advice = match percent {
        95.. => "Finish now: claim what is done with `done`, or say with `blocked` what is missing.",
        80.. => "Do what matters most first, and leave enough to check your work.",
        _ => "Plan the rest accordingly.",
    };
    format!("{percent} percent of what you may use is used ({summary}). {advice}")
}
