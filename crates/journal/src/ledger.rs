//! What a journal says was spent, claimed and decided: folds over entries.
//!
//! Everything in a journal counts, other branches too: it was really spent.

use std::collections::{BTreeMap, HashSet};

use countersign_protocol::{
    BlobId, Body, Claim, Entry, Lane, Usage, Verdict,
    budget::Spent,
    entry::{Charge, Ended, Reservation},
};

/// One account of the books.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// What was used. An open reservation counts at its worst case, and marks the usage as estimated.
    pub spent: Spent,
    /// How many reservations have no charge: calls that were cut off, or are in flight.
    pub open: u64,
    /// How many calls have no known price, so that the money is too low.
    pub unpriced: u64,
}

/// The books of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// All actors.
    pub total: Account,
    /// Each actor that made a call.
    pub lanes: BTreeMap<Lane, Account>,
    /// The reservations without a charge.
    pub open: Vec<Reservation>,
}

/// The books.
#[must_use]
pub fn spent(entries: &[Entry]) -> Ledger {
    let charges = entries.iter().filter_map(|entry| match &entry.body {
        Body::Charge(charge) => Some(charge),
        _ => None,
    });
    let settled: HashSet<_> = charges.clone().map(|charge| charge.reservation).collect();
    let open = entries.iter().filter_map(|entry| match &entry.body {
        Body::Reservation(one) if !settled.contains(&one.reservation) => Some(one.clone()),
        _ => None,
    });
    let mut ledger = Ledger { open: open.collect(), ..Ledger::default() };
    for charge in charges {
        ledger.total.charge(charge);
        ledger.lanes.entry(charge.actor).or_default().charge(charge);
    }
    for reservation in &ledger.open {
        ledger.total.reserve(reservation);
        ledger.lanes.entry(reservation.actor).or_default().reserve(reservation);
    }
    ledger
}

impl Account {
    fn charge(&mut self, charge: &Charge) {
        self.spent.usage += charge.usage;
        self.spent.money += charge.money.unwrap_or_default();
        self.spent.turns += u64::from(charge.answered);
        self.unpriced += u64::from(charge.money.is_none());
    }

    fn reserve(&mut self, reservation: &Reservation) {
        self.spent.usage += Usage {
            input: reservation.prompt_tokens,
            output: reservation.output_tokens,
            estimated: true,
            ..Usage::default()
        };
        self.spent.money += reservation.money.unwrap_or_default();
        self.open += 1;
        self.unpriced += u64::from(reservation.money.is_none());
    }
}

/// How many claims were refuted.
#[must_use]
pub fn refutations(entries: &[Entry]) -> u32 {
    let refuted =
        |entry: &&Entry| matches!(&entry.body, Body::Verdict { verdict: Verdict::Refuted { .. }, .. });
    entries.iter().filter(refuted).count().try_into().unwrap_or(u32::MAX)
}

/// The claims, in order.
pub fn claims(entries: &[Entry]) -> impl Iterator<Item = &Claim> {
    entries.iter().filter_map(|entry| match &entry.body {
        Body::Claim(claim) => Some(claim),
        _ => None,
    })
}

/// The content that each file had when a result on the path last named it; `None` where it was gone then.
///
/// It says which files the lane's model knows, also after a compaction, and whether they have changed since.
#[must_use]
pub fn files_known<'a>(path: &[&'a Entry]) -> BTreeMap<&'a str, Option<&'a BlobId>> {
    let outcomes = path.iter().filter_map(|entry| match &entry.body {
        Body::ToolResult(outcome) if !outcome.is_error => Some(outcome),
        _ => None,
    });
    outcomes.flat_map(|one| &one.files).map(|file| (file.path.as_str(), file.content.as_ref())).collect()
}

/// How the run ended; `None` while it has not, or once it was resumed.
#[must_use]
pub fn outcome(entries: &[Entry]) -> Option<&Ended> {
    let last = entries.iter().rev().find_map(|entry| match &entry.body {
        Body::Outcome(ended) => Some(Some(&**ended)),
        Body::Resume(_) => Some(None),
        _ => None,
    });
    last.flatten()
}

#[cfg(test)]
mod tests {
    use countersign_protocol::{
        ClaimId, Money, Outcome, ReservationId,
        budget::Budget,
        entry::{FileAction, FileTouch, Purpose, Resume, ToolOutcome},
    };

    use super::*;
    use crate::testing::{Script, outcome as outcome_of};

    fn reservation(n: u64, actor: Lane, money: Option<u128>) -> Body {
        Body::Reservation(Reservation {
            reservation: ReservationId(n),
            actor,
            purpose: Purpose::Turn,
            prompt_tokens: 1000,
            output_tokens: 100,
            money: money.map(Money::from_pico),
        })
    }

    fn charge(n: u64, actor: Lane, answered: bool, money: Option<u128>) -> Body {
        Body::Charge(Charge {
            reservation: ReservationId(n),
            actor,
            purpose: Purpose::Turn,
            answered,
            attempts: 1,
            usage: Usage { input: 10, output: 1, ..Usage::default() },
            money: money.map(Money::from_pico),
            error: None,
        })
    }

    #[test]
    fn a_call_that_was_cut_off_counts_at_its_worst_case() {
        let mut script = Script::new();
        script.add(Lane::Supervisor, reservation(1, Lane::Worker, Some(500)));
        script.add(Lane::Supervisor, charge(1, Lane::Worker, true, Some(7)));
        script.add(Lane::Supervisor, reservation(2, Lane::Verifier, Some(500)));
        let ledger = spent(&script.entries);
        assert_eq!(ledger.total.spent.money, Money::from_pico(507));
        assert_eq!((ledger.total.spent.turns, ledger.total.open), (1, 1));
        assert_eq!((ledger.total.spent.usage.total(), ledger.total.spent.usage.estimated), (1111, true));
        assert_eq!(ledger.lanes[&Lane::Worker].spent.usage.total(), 11);
        assert!(!ledger.lanes[&Lane::Worker].spent.usage.estimated);
        assert_eq!(ledger.lanes[&Lane::Verifier].spent.money, Money::from_pico(500));
        assert_eq!(ledger.open.len(), 1);
    }

    #[test]
    fn failed_calls_and_left_branches_were_spent_too() {
        let mut script = Script::new();
        let root = script.entries[0].id;
        script.worker(charge(1, Lane::Worker, false, Some(7)));
        script.worker(Body::Branch { leaf: Some(root) });
        script.worker(charge(2, Lane::Worker, true, None));
        let Account { spent, open, unpriced } = spent(&script.entries).total;
        assert_eq!((spent.money, spent.turns, open, unpriced), (Money::from_pico(7), 1, 0, 1));
        assert_eq!(spent.usage.total(), 22);
    }

    #[test]
    fn a_resumed_run_has_not_ended() {
        let mut script = Script::new();
        assert_eq!(outcome(&script.entries), None);
        let ended = Ended {
            outcome: Outcome::Halted,
            reason: "a person".into(),
            tree: None,
            turns: 0,
            refutations: 0,
            usage: Usage::default(),
            money: None,
            certificate: None,
        };
        script.add(Lane::Run, Body::Outcome(Box::new(ended.clone())));
        assert_eq!(outcome(&script.entries), Some(&ended));
        let resume = Resume { version: "0".into(), budget: Budget::default(), models: Vec::new() };
        script.add(Lane::Run, Body::Resume(resume));
        assert_eq!(outcome(&script.entries), None);
    }

    #[test]
    fn of_each_file_the_last_content_is_known() {
        let mut script = Script::new();
        let contents = [Some(BlobId::of(b"1")), Some(BlobId::of(b"2")), None];
        for (path, content) in [("a", 0), ("b", 0), ("a", 1), ("b", 2)] {
            let file =
                FileTouch { path: path.into(), action: FileAction::Read, content: contents[content].clone() };
            let outcome = ToolOutcome { files: vec![file], ..outcome_of("c", "") };
            script.worker(Body::ToolResult(Box::new(outcome)));
        }
        let known = files_known(&script.path()).into_iter().collect::<Vec<_>>();
        assert_eq!(known, [("a", contents[1].as_ref()), ("b", None)]);
    }

    #[test]
    fn claims_and_refutations_are_counted() {
        let mut script = Script::new();
        for n in 1..=2 {
            let claim =
                Claim { claim: ClaimId(n), summary: String::new(), evidence: vec![], implicit: false };
            script.worker(Body::Claim(claim));
            let verdict = match n {
                1 => Verdict::Refuted { summary: String::new(), findings: vec![] },
                _ => Verdict::Inconclusive { reason: String::new(), needs: String::new() },
            };
            let tree = "a".repeat(40).parse().unwrap();
            script.add(Lane::Verifier, Body::Verdict { claim: ClaimId(n), tree, verdict });
        }
        assert_eq!((claims(&script.entries).count(), refutations(&script.entries)), (2, 1));
    }
}
