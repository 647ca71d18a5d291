//! When a run ends, as a pure state machine: events in, commands out.
//!
//! `Completed` has one way in: the votes of worker, verifier and supervisor name the open claim and its one
//! snapshot, and after all three the live workspace still has that tree. Every event carries the claim and the
//! tree that it is about, so a message that is late, doubled or about something else changes nothing.

use std::collections::BTreeMap;

use countersign_protocol::{Claim, ClaimId, Lane, Outcome, TreeId, Verdict, Vote};

/// After this many refutations for the same reason the run ends as stalled.
pub const SAME_REASON_LIMIT: u32 = 3;

/// What the run has learned.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The worker says that the task is done.
    Claimed(Claim),
    /// The workspace was snapshotted for a claim.
    Snapshot {
        /// The claim.
        claim: ClaimId,
        /// Its content.
        tree: TreeId,
    },
    /// The workspace can't be snapshotted for a claim, because of something in it.
    Unreadable {
        /// The claim.
        claim: ClaimId,
        /// What is in the way.
        reason: String,
    },
    /// The verifier has answered.
    Judged {
        /// The claim.
        claim: ClaimId,
        /// The snapshot.
        tree: TreeId,
        /// The answer.
        verdict: Verdict,
    },
    /// The supervisor has voted.
    Voted(Vote),
    /// The live workspace has this content, looked at after the votes on a claim.
    Live {
        /// The claim.
        claim: ClaimId,
        /// The content.
        tree: TreeId,
    },
    /// Something other than agreement ends the run.
    Stopped {
        /// How.
        outcome: Outcome,
        /// Why.
        reason: String,
    },
}

/// What the run must do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Stop the worker's processes and snapshot the workspace.
    TakeSnapshot(ClaimId),
    /// Ask the verifier.
    Examine {
        /// The claim.
        claim: Claim,
        /// The snapshot.
        tree: TreeId,
    },
    /// Ask the supervisor for its vote.
    AskSupervisor {
        /// The claim.
        claim: ClaimId,
        /// The snapshot.
        tree: TreeId,
    },
    /// Look once more what the live workspace holds.
    CompareLive {
        /// The claim.
        claim: ClaimId,
    },
    /// Tell the worker why its claim does not stand; the run goes on.
    ReturnToWorker {
        /// The claim.
        claim: ClaimId,
        /// Why.
        refutation: Refutation,
    },
    /// End the run.
    End {
        /// How.
        outcome: Outcome,
        /// Why.
        reason: String,
        /// What was agreed on, for a completed run; else the last claim's snapshot.
        agreed: Option<(ClaimId, TreeId)>,
    },
}

/// Why a claim does not stand.
#[derive(Debug, Clone, PartialEq)]
pub enum Refutation {
    /// The verifier refuted it.
    Verdict(Verdict),
    /// It is about the same bytes as a claim that was refuted before, so it was not judged again.
    SameTree {
        /// The earlier claim.
        earlier: ClaimId,
        /// The answer to it.
        verdict: Verdict,
    },
    /// The workspace holds something that can't be snapshotted.
    Unreadable(String),
    /// The workspace changed after the claim.
    WorkspaceMoved,
    /// The supervisor withholds its vote.
    Withheld(String),
}

impl Refutation {
    /// What makes two refutations the same.
    fn reason(&self) -> String {
        match self {
            Self::Verdict(verdict) | Self::SameTree { verdict, .. } => match verdict {
                Verdict::Refuted { summary, findings } if findings.is_empty() => first_line(summary).into(),
                Verdict::Refuted { findings, .. } => {
                    let mut statements: Vec<&str> =
                        findings.iter().map(|f| first_line(&f.statement)).collect();
                    statements.sort_unstable();
                    statements.join("; ")
                }
                Verdict::Accepted { summary, .. } => summary.clone(),
                Verdict::Inconclusive { reason, .. } => reason.clone(),
            },
            Self::WorkspaceMoved => "the workspace changed after the claim".into(),
            Self::Unreadable(reason) | Self::Withheld(reason) => reason.clone(),
        }
    }
}

/// What a statement says: the lines after it are output, which differs from run to run (times, paths) though nothing else
/// does.
fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// The worker works.
    Working,
    /// A claim waits for its snapshot.
    Claimed(Claim),
    /// The verifier examines.
    Examining(Ballot),
    /// The verifier has accepted; the supervisor is asked.
    Voting(Ballot),
    /// All three agree; the live workspace is compared.
    Comparing(Ballot),
    /// The run has ended.
    Ended,
}

/// What is voted on: one claim about one tree.
#[derive(Debug, Clone, PartialEq)]
struct Ballot {
    claim: Claim,
    tree: TreeId,
}

impl Ballot {
    fn is_about(&self, claim: ClaimId, tree: &TreeId) -> bool {
        self.claim.claim == claim && self.tree == *tree
    }
}

/// The state machine.
#[derive(Debug, Clone)]
pub struct Consensus {
    max_refutations: u32,
    phase: Phase,
    /// The newest claim: an older one, or the same again, is stale.
    newest: Option<ClaimId>,
    refutations: u32,
    refuted: BTreeMap<TreeId, (ClaimId, Verdict)>,
    reasons: BTreeMap<String, u32>,
    last_tree: Option<TreeId>,
}

impl Consensus {
    /// A run that begins.
    #[must_use]
    pub fn new(max_refutations: u32) -> Self {
        Self {
            max_refutations,
            phase: Phase::Working,
            newest: None,
            refutations: 0,
            refuted: BTreeMap::new(),
            reasons: BTreeMap::new(),
            last_tree: None,
        }
    }

    /// How many claims did not stand.
    #[must_use]
    pub const fn refutations(&self) -> u32 {
        self.refutations
    }

    /// Whether the worker is at work: no claim is open and the run has not ended.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.phase == Phase::Working
    }

    /// Takes in what a resumed run's journal says of a claim that was answered, so that it is counted and known.
    pub fn remember(&mut self, claim: ClaimId, tree: &TreeId, verdict: &Verdict) {
        self.newest = self.newest.max(Some(claim));
        self.last_tree = Some(tree.clone());
        if matches!(verdict, Verdict::Refuted { .. }) {
            self.count(&Refutation::Verdict(verdict.clone()));
            self.refuted.insert(tree.clone(), (claim, verdict.clone()));
        }
    }

    /// Takes in what a person's answer changes on a resumed run: reasons begin to count anew, and with
    /// `max_refutations` used up the run may be refuted as often again.
    pub fn forgive(&mut self) {
        self.reasons.clear();
        if self.refutations >= self.max_refutations {
            self.max_refutations += self.refutations;
        }
    }

    /// Takes in an event and says what to do. An event about anything but the open claim and its snapshot is
    /// stale and does nothing.
    #[must_use]
    pub fn step(&mut self, event: Event) -> Vec<Command> {
        match event {
            Event::Claimed(claim) => self.claimed(claim),
            Event::Snapshot { claim, tree } => self.snapshot(claim, tree),
            Event::Unreadable { claim, reason } => self.unreadable(claim, reason),
            Event::Judged { claim, tree, verdict } => self.judged(claim, &tree, verdict),
            Event::Voted(vote) => self.voted(&vote),
            Event::Live { claim, tree } => self.live(claim, &tree),
            Event::Stopped { outcome, reason } => self.stopped(outcome, reason),
        }
    }

    fn claimed(&mut self, claim: Claim) -> Vec<Command> {
        if self.phase != Phase::Working || self.newest.is_some_and(|newest| claim.claim <= newest) {
            return Vec::new();
        }
        let id = claim.claim;
        self.newest = Some(id);
        self.phase = Phase::Claimed(claim);
        vec![Command::TakeSnapshot(id)]
    }

    fn snapshot(&mut self, id: ClaimId, tree: TreeId) -> Vec<Command> {
        let claim = match &self.phase {
            Phase::Claimed(claim) if claim.claim == id => claim.clone(),
            _ => return Vec::new(),
        };
        self.last_tree = Some(tree.clone());
        if let Some((earlier, verdict)) = self.refuted.get(&tree).cloned() {
            return self.refute(id, Refutation::SameTree { earlier, verdict });
        }
        self.phase = Phase::Examining(Ballot { claim: claim.clone(), tree: tree.clone() });
        vec![Command::Examine { claim, tree }]
    }

    fn unreadable(&mut self, id: ClaimId, reason: String) -> Vec<Command> {
        match &self.phase {
            Phase::Claimed(claim) if claim.claim == id => self.refute(id, Refutation::Unreadable(reason)),
            _ => Vec::new(),
        }
    }

    fn judged(&mut self, id: ClaimId, tree: &TreeId, verdict: Verdict) -> Vec<Command> {
        let ballot = match &self.phase {
            Phase::Examining(ballot) if ballot.is_about(id, tree) => ballot.clone(),
            _ => return Vec::new(),
        };
        match verdict {
            Verdict::Accepted { .. } => {
                self.phase = Phase::Voting(ballot);
                vec![Command::AskSupervisor { claim: id, tree: tree.clone() }]
            }
            Verdict::Refuted { .. } => {
                self.refuted.insert(tree.clone(), (id, verdict.clone()));
                self.refute(id, Refutation::Verdict(verdict))
            }
            Verdict::Inconclusive { reason, needs } => {
                self.end(Outcome::Blocked, format!("the claim could not be judged: {reason}; {needs}"), None)
            }
        }
    }

    fn voted(&mut self, vote: &Vote) -> Vec<Command> {
        let ballot = match &self.phase {
            Phase::Voting(ballot)
                if vote.actor == Lane::Supervisor && ballot.is_about(vote.claim, &vote.tree) =>
            {
                ballot.clone()
            }
            _ => return Vec::new(),
        };
        if !vote.agree {
            return self.refute(vote.claim, Refutation::Withheld(vote.reason.clone()));
        }
        self.phase = Phase::Comparing(ballot);
        vec![Command::CompareLive { claim: vote.claim }]
    }

    fn live(&mut self, id: ClaimId, tree: &TreeId) -> Vec<Command> {
        let ballot = match &self.phase {
            Phase::Comparing(ballot) if ballot.claim.claim == id => ballot.clone(),
            _ => return Vec::new(),
        };
        if ballot.tree != *tree {
            return self.refute(id, Refutation::WorkspaceMoved);
        }
        let reason = "worker, verifier and supervisor agree about the same claim and the same bytes".into();
        self.end(Outcome::Completed, reason, Some((id, ballot.tree)))
    }

    fn stopped(&mut self, outcome: Outcome, reason: String) -> Vec<Command> {
        // Agreement is the only way to `completed`, whoever says otherwise.
        let outcome = if outcome == Outcome::Completed { Outcome::Failed } else { outcome };
        self.end(outcome, reason, None)
    }

    fn refute(&mut self, claim: ClaimId, refutation: Refutation) -> Vec<Command> {
        let same = self.count(&refutation);
        if self.refutations >= self.max_refutations {
            let reason = format!("{} claims were refuted: {}", self.refutations, refutation.reason());
            return self.end(Outcome::Refused, reason, None);
        }
        if same >= SAME_REASON_LIMIT {
            let reason = format!("{same} claims were refuted for the same reason: {}", refutation.reason());
            return self.end(Outcome::Stalled, reason, None);
        }
        self.phase = Phase::Working;
        vec![Command::ReturnToWorker { claim, refutation }]
    }

    fn count(&mut self, refutation: &Refutation) -> u32 {
        self.refutations += 1;
        let same = self.reasons.entry(refutation.reason()).or_default();
        *same += 1;
        *same
    }

    fn end(&mut self, outcome: Outcome, reason: String, agreed: Option<(ClaimId, TreeId)>) -> Vec<Command> {
        if self.phase == Phase::Ended {
            return Vec::new();
        }
        self.phase = Phase::Ended;
        let agreed = agreed.or_else(|| Some((self.newest?, self.last_tree.clone()?)));
        vec![Command::End { outcome, reason, agreed }]
    }
}

#[cfg(test)]
mod tests;
