//! What a journal says of a run so far: where a resumed run takes up.

use std::time::Duration;

use countersign_journal::branch;
use countersign_protocol::{
    Body, CheckReport, Claim, ClaimId, Entry, Lane, Outcome, TreeId, Verdict,
    entry::{Cause, Ground},
};

/// The ground of a run as it is now: with the budget and the models of its last session. `None` where the journal does
/// not begin with one.
#[must_use]
pub fn current_ground(entries: &[Entry]) -> Option<Ground> {
    let Body::Run(ground) = &entries.first()?.body else { return None };
    let mut ground = Ground::clone(ground);
    for entry in entries {
        let Body::Resume(resume) = &entry.body else { continue };
        ground.budget = resume.budget;
        for (name, model) in &resume.models {
            for role in ground.roles.iter_mut().filter(|role| role.name == *name) {
                role.model = Some(model.clone());
            }
        }
    }
    Some(ground)
}

/// What happened so far, on the branch that goes on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Past {
    /// Whether the run was completed: then it is over.
    pub(crate) completed: bool,
    /// The checks' results on the workspace as the task began.
    pub(crate) baseline: Vec<CheckReport>,
    /// How long earlier sessions took.
    pub(crate) elapsed: Duration,
    /// The number of the last claim, of any branch.
    pub(crate) last_claim: u32,
    /// Claims that were refuted, in order.
    pub(crate) refuted: Vec<(ClaimId, TreeId, Verdict)>,
    /// The last claim, where nothing refuted it: it is examined anew.
    pub(crate) pending: Option<Claim>,
    /// Whether this is a later session.
    pub(crate) resumed: bool,
}

impl Past {
    /// Folds a journal.
    pub(crate) fn of(entries: &[Entry]) -> Self {
        let mut past = Self { elapsed: elapsed(entries), ..Self::default() };
        past.resumed = entries.len() > 1;
        past.last_claim = entries.iter().filter_map(claim_number).max().unwrap_or_default();
        // A claim that the worker was told about is answered, also where no verdict says so: the workspace had moved,
        // or a vote was withheld.
        let told = branch(entries, Lane::Worker).into_iter().rev().find_map(|entry| match &entry.body {
            Body::Message { cause: Cause::Refutation, .. } => Some(entry.seq),
            _ => None,
        });
        for entry in branch(entries, Lane::Run) {
            match &entry.body {
                Body::Claim(_) if told > Some(entry.seq) => past.pending = None,
                Body::Baseline { report } => past.baseline.push(report.clone()),
                Body::Claim(claim) => past.pending = Some(claim.clone()),
                Body::Blocked { .. } => past.pending = None,
                Body::Verdict { claim, tree, verdict: verdict @ Verdict::Refuted { .. } } => {
                    past.refuted.push((*claim, tree.clone(), verdict.clone()));
                    past.pending = None;
                }
                Body::Outcome(ended) => past.completed = ended.outcome == Outcome::Completed,
                _ => {}
            }
        }
        past
    }
}

fn claim_number(entry: &Entry) -> Option<u32> {
    match &entry.body {
        Body::Claim(claim) => Some(claim.claim.0),
        _ => None,
    }
}

/// The time that the sessions took: from each one's first entry to its last.
fn elapsed(entries: &[Entry]) -> Duration {
    let mut total = Duration::ZERO;
    let mut began = None;
    let mut last = None;
    for entry in entries {
        if matches!(entry.body, Body::Run(_) | Body::Resume(_)) {
            total += between(began, last);
            began = Some(entry.at);
        }
        // A branch is opened between two sessions.
        if !matches!(entry.body, Body::Branch { .. }) {
            last = Some(entry.at);
        }
    }
    total + between(began, last)
}

fn between(began: Option<jiff::Timestamp>, ended: Option<jiff::Timestamp>) -> Duration {
    let (Some(began), Some(ended)) = (began, ended) else { return Duration::ZERO };
    // A clock that was set back in between took no time.
    Duration::try_from(ended.duration_since(began)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use countersign_protocol::{EntryId, Finding};

    use super::*;

    /// A journal of bodies, each the child of the last one of its lane.
    fn journal(bodies: Vec<(Lane, Body)>) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for (lane, body) in bodies {
            let before = entries.iter().rev().find(|entry| entry.lane == lane).or(entries.first());
            let parent = before.map(|entry| entry.id);
            let (id, seq) = (EntryId::new(), entries.len() as u64 + 1);
            entries.push(Entry { id, parent, lane, seq, at: jiff::Timestamp::UNIX_EPOCH, body });
        }
        entries
    }

    fn claim(number: u32) -> (Lane, Body) {
        let claim =
            Claim { claim: ClaimId(number), summary: "done".into(), evidence: vec![], implicit: false };
        (Lane::Run, Body::Claim(claim))
    }

    fn refuted(number: u32) -> (Lane, Body) {
        let findings = vec![Finding { statement: "no".into(), ..Finding::default() }];
        let verdict = Verdict::Refuted { summary: "no".into(), findings };
        (Lane::Run, Body::Verdict { claim: ClaimId(number), tree: "a".repeat(40).parse().unwrap(), verdict })
    }

    fn told() -> (Lane, Body) {
        (Lane::Worker, Body::Message { cause: Cause::Refutation, text: "no".into() })
    }

    fn begun() -> (Lane, Body) {
        // Which entry is the first does not matter here, only that there is one.
        (Lane::Run, Body::Branch { leaf: None })
    }

    #[test]
    fn a_claim_without_an_answer_is_examined_anew() {
        let past = Past::of(&journal(vec![begun(), claim(1), refuted(1), told(), claim(2)]));
        assert_eq!(past.pending.map(|claim| claim.claim), Some(ClaimId(2)));
        assert_eq!((past.refuted.len(), past.last_claim), (1, 2));
    }

    #[test]
    fn a_claim_that_was_answered_in_any_way_is_not() {
        assert_eq!(Past::of(&journal(vec![begun(), claim(1), refuted(1)])).pending, None);
        assert_eq!(
            Past::of(&journal(vec![begun(), claim(1), told()])).pending,
            None,
            "the workspace had moved"
        );
    }
}
