//! What a journal says was spent, claimed and decided: folds over entries.

use std::collections::BTreeMap;

use countersign_protocol::{
    Claim, Entry, Lane,
    budget::Spent,
    entry::{Ended, Reservation},
};

/// One account of the books.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// What was used. An open reservation counts at its worst case, and marks the usage as estimated.
    pub spent: Spent,
    /// How many reservations have no charge: calls that were cut off, or are in flight.
    pub open: u64,
    /// How many calls have no known price: the money is then too low.
    pub unpriced: u64,
}

/// The books of a run. Everything in the journal counts, other branches too, since it was really spent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// All actors.
    pub total: Account,
    /// Each actor.
    pub lanes: BTreeMap<Lane, Account>,
    /// The reservations without a charge.
    pub open: Vec<Reservation>,
}

/// The books.
#[must_use]
pub fn spent(_entries: &[Entry]) -> Ledger {
    unimplemented!()
}

/// How many claims were refuted.
#[must_use]
pub fn refutations(_entries: &[Entry]) -> u32 {
    unimplemented!()
}

/// The claims, in order.
pub fn claims(_entries: &[Entry]) -> Vec<&Claim> {
    unimplemented!()
}

/// How the run ended; `None` while it has not, or once it was resumed.
#[must_use]
pub fn outcome(_entries: &[Entry]) -> Option<&Ended> {
    unimplemented!()
}
