//! Both ledgers of a run, turn by turn: a pure function of its entries.
//!
//! A turn should find in the provider's cache all that it shares with the turn before it on its branch. What it did
//! not find was missed: `min(previous prompt, this prompt) − cache_read`. Each miss has one cause, and a price.

mod miss;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, fmt};

use countersign::{
    journal::branch,
    protocol::{
        Body, Entry, EntryId, Lane, ModelRef, Money, Price, ReservationId, Usage,
        entry::{Charge, Prefix, Purpose},
    },
};
use jiff::Timestamp;
use serde::Serialize;

pub(crate) use self::miss::Miss;
use self::miss::{Before, caching_models, cause, extra, missed};

/// Both ledgers of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename = "audit")]
pub(crate) struct Audit {
    /// Each actor that made a call.
    pub(crate) lanes: Vec<LaneAudit>,
    /// All of them together.
    pub(crate) total: Total,
}

/// An actor's calls.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LaneAudit {
    /// The actor.
    pub(crate) lane: Lane,
    /// The turns on its branch.
    pub(crate) turns: Vec<TurnAudit>,
    /// Calls that are no turn on its branch: summaries, calls that failed, turns of other branches.
    pub(crate) others: Vec<Others>,
    /// All its calls together.
    pub(crate) total: Total,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TurnAudit {
    /// Its number in the lane.
    pub(crate) turn: u64,
    /// Its entry's place in the journal.
    pub(crate) seq: u64,
    /// The model.
    pub(crate) model: Option<ModelRef>,
    /// What it used.
    pub(crate) usage: Usage,
    /// The size of its prompt in tokens.
    pub(crate) prompt: u64,
    /// What it should have found in the cache and did not.
    pub(crate) miss: Option<Miss>,
    /// Whether the bytes sent extend those of the lane's last request.
    pub(crate) extends: bool,
    /// What the call cost, failed attempts included; `None` where the price is not known.
    pub(crate) money: Option<Money>,
}

/// Calls that are no turn on the branch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Others {
    /// Which.
    pub(crate) kind: Kind,
    /// How many.
    pub(crate) calls: u64,
    /// What they used and cost.
    pub(crate) total: Total,
}

/// Which calls are no turn on the branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Summaries of the lane's history.
    Summaries,
    /// Calls that were not answered.
    Failed,
    /// Turns of branches that were left, and answers that were lost in a crash.
    Elsewhere,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Summaries => "summaries",
            Self::Failed => "calls that failed",
            Self::Elsewhere => "turns of other branches",
        })
    }
}

/// What calls used and cost together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Total {
    /// The tokens.
    pub(crate) usage: Usage,
    /// What they cost, as far as it is known.
    pub(crate) money: Money,
    /// How many calls have no known price: the money is then too low.
    pub(crate) unpriced: u64,
    /// Tokens that should have been found in the cache and were not.
    pub(crate) missed: u64,
    /// What those cost more than hits, as far as it is known.
    pub(crate) missed_extra: Money,
}

impl Total {
    fn charge(&mut self, charge: &Charge) {
        self.usage += charge.usage;
        self.money += charge.money.unwrap_or_default();
        self.unpriced += u64::from(charge.money.is_none());
    }

    fn miss(&mut self, miss: &Miss) {
        self.missed += miss.tokens;
        self.missed_extra += miss.extra.unwrap_or_default();
    }

    fn add(&mut self, other: &Self) {
        self.usage += other.usage;
        self.money += other.money;
        self.unpriced += other.unpriced;
        self.missed += other.missed;
        self.missed_extra += other.missed_extra;
    }

    /// What it cost; `None` where a price is not known.
    pub(crate) fn known_money(&self) -> Option<Money> {
        (self.unpriced == 0).then_some(self.money)
    }
}

/// A charge, and the turn that it paid for.
struct Call<'a> {
    charge: &'a Charge,
    asked_at: Option<Timestamp>,
    turn: Option<EntryId>,
}

/// Audits a run. `price` says what a model costs, where that is known.
pub(crate) fn audit(entries: &[Entry], price: &dyn Fn(&ModelRef) -> Option<Price>) -> Audit {
    let calls = calls(entries);
    let lanes =
        [Lane::Worker, Lane::Verifier, Lane::Supervisor].map(|lane| audit_lane(entries, lane, &calls, price));
    let lanes: Vec<_> =
        lanes.into_iter().filter(|lane| !lane.turns.is_empty() || !lane.others.is_empty()).collect();
    let mut total = Total::default();
    lanes.iter().for_each(|lane| total.add(&lane.total));
    Audit { lanes, total }
}

/// Ties charges to turns. A charge is written before its turn; where the turn never came, a later charge stands
/// before the next turn and takes its place.
fn calls(entries: &[Entry]) -> Vec<Call<'_>> {
    let mut calls: Vec<Call<'_>> = Vec::new();
    let mut asked: BTreeMap<ReservationId, Timestamp> = BTreeMap::new();
    let mut waiting: BTreeMap<Lane, usize> = BTreeMap::new();
    for entry in entries {
        match &entry.body {
            Body::Reservation(reservation) => {
                asked.insert(reservation.reservation, entry.at);
            }
            Body::Charge(charge) => {
                if charge.answered && charge.purpose != Purpose::Summary {
                    waiting.insert(charge.actor, calls.len());
                }
                let asked_at = asked.get(&charge.reservation).copied();
                calls.push(Call { charge, asked_at, turn: None });
            }
            Body::Turn(_) => {
                if let Some(call) = waiting.remove(&entry.lane) {
                    calls[call].turn = Some(entry.id);
                }
            }
            _ => {}
        }
    }
    calls
}

fn audit_lane(
    entries: &[Entry],
    lane: Lane,
    calls: &[Call<'_>],
    price: &dyn Fn(&ModelRef) -> Option<Price>,
) -> LaneAudit {
    let calls: Vec<_> = calls.iter().filter(|call| call.charge.actor == lane).collect();
    let turns = audit_turns(&branch(entries, lane), &calls, price);
    let mut total = Total::default();
    let mut others: BTreeMap<Kind, (u64, Total)> = BTreeMap::new();
    for call in &calls {
        total.charge(call.charge);
        if let Some(kind) = kind(call, &turns, entries) {
            let (count, total) = others.entry(kind).or_default();
            *count += 1;
            total.charge(call.charge);
        }
    }
    turns.iter().filter_map(|turn| turn.miss.as_ref()).for_each(|miss| total.miss(miss));
    let others = others.into_iter().map(|(kind, (calls, total))| Others { kind, calls, total });
    LaneAudit { lane, turns, others: others.collect(), total }
}

/// What kind of call it is, where it is no turn on the branch.
fn kind(call: &Call<'_>, turns: &[TurnAudit], entries: &[Entry]) -> Option<Kind> {
    if call.charge.purpose == Purpose::Summary {
        return Some(Kind::Summaries);
    }
    if !call.charge.answered {
        return Some(Kind::Failed);
    }
    let seq = call.turn.and_then(|turn| entries.iter().find(|entry| entry.id == turn)).map(|entry| entry.seq);
    let on_branch = seq.is_some_and(|seq| turns.iter().any(|turn| turn.seq == seq));
    (!on_branch).then_some(Kind::Elsewhere)
}

fn audit_turns(
    path: &[&Entry],
    calls: &[&Call<'_>],
    price: &dyn Fn(&ModelRef) -> Option<Price>,
) -> Vec<TurnAudit> {
    let caching = caching_models(path);
    let mut turns = Vec::new();
    let mut prefix: Option<&Prefix> = None;
    let mut before: Option<Before<'_>> = None;
    let mut compacted = false;
    for entry in path {
        match &entry.body {
            Body::Prefix(new) => prefix = Some(new),
            Body::Compaction(_) => compacted = true,
            Body::Turn(turn) => {
                let call = calls.iter().find(|call| call.turn == Some(entry.id));
                let model = prefix.map(|prefix| prefix.model.clone());
                let missed = before.as_ref().and_then(|before| missed(before, turn));
                let miss = missed.zip(before.as_ref()).map(|(tokens, before)| {
                    let asked_at = call.and_then(|call| call.asked_at).unwrap_or(entry.at);
                    let cached = model.as_ref().is_some_and(|model| caching.contains(&model));
                    let cause = cause(before, turn, prefix, compacted, asked_at, cached);
                    let price = model.as_ref().and_then(price);
                    Miss { tokens, cause, extra: price.map(|price| extra(&price, turn.usage, tokens)) }
                });
                turns.push(TurnAudit {
                    turn: turn.turn,
                    seq: entry.seq,
                    model,
                    usage: turn.usage,
                    prompt: turn.usage.prompt_total(),
                    miss,
                    extends: turn.sent.extends,
                    money: call.and_then(|call| call.charge.money),
                });
                let prefix_hash = turn.sent.prefix.as_str();
                before = Some(Before { usage: turn.usage, prefix, prefix_hash, at: entry.at });
                compacted = false;
            }
            _ => {}
        }
    }
    turns
}
