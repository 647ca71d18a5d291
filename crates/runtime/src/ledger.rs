//! The budget as pure arithmetic: every call's worst case is set aside before it is made, and settled after.

use std::{collections::BTreeMap, fmt, time::Duration};

use countersign_protocol::{
    Budget, Lane, Money, Price, ReservationId, Spent, Usage,
    entry::{Charge, Purpose, Reservation},
};

/// An answer smaller than this is of no use: a call that can't have as much is not made.
pub const LEAST_OUTPUT_TOKENS: u64 = 256;

/// The worker is told when it has used these percentages of what it may use.
pub const NOTICE_AT_PERCENT: [u64; 3] = [50, 80, 95];

/// A judge needs at least this many turns: one to look, one to answer.
const LEAST_TURNS_TO_JUDGE: u64 = 2;

/// A call that an actor wants to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Whose call it is.
    pub actor: Lane,
    /// What it is for.
    pub purpose: Purpose,
    /// The most that its prompt can hold, in tokens.
    pub prompt_tokens: u64,
    /// The output limit that the actor would like, in tokens.
    pub output_tokens: u64,
    /// What the model costs; `None` where it is not known.
    pub price: Option<Price>,
}

/// A part of the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    /// US dollars.
    Money,
    /// Tokens.
    Tokens,
    /// Answered model calls.
    Turns,
    /// Time.
    Wall,
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Money => "money",
            Self::Tokens => "tokens",
            Self::Turns => "turns",
            Self::Wall => "wall time",
        })
    }
}

/// Why a call is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    /// The part of the budget that it does not fit.
    pub bucket: Bucket,
    /// What that part holds in all.
    pub cap: String,
    /// What has been used of it, reservations in flight included.
    pub used: String,
    /// What is held back for verification.
    pub held_back: Option<String>,
    /// What the call would need at worst.
    pub needed: String,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {} used", self.bucket, self.used, self.cap)?;
        if let Some(held_back) = &self.held_back {
            write!(f, ", {held_back} held back for verification")?;
        }
        write!(f, "; the next call needs up to {}", self.needed)
    }
}

/// The books of a run.
#[derive(Debug, Clone)]
pub struct Ledger {
    budget: Budget,
    has_judge: bool,
    spent: Spent,
    by_actor: BTreeMap<Lane, Spent>,
    in_flight: BTreeMap<ReservationId, Reservation>,
    next: u64,
    noticed: u64,
    /// Whether something was spent whose price is not known.
    unpriced: bool,
}

/// What the journal says of earlier sessions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    /// What was spent.
    pub spent: Spent,
    /// Whether a part of it has no known price.
    pub unpriced: bool,
    /// The last reservation.
    pub last: Option<ReservationId>,
}

impl Ledger {
    /// The books of a run with this budget, after what was spent in earlier sessions.
    #[must_use]
    pub fn new(budget: Budget, has_judge: bool, before: Before) -> Self {
        let mut ledger = Self {
            budget,
            has_judge,
            spent: before.spent,
            by_actor: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            next: before.last.map_or(1, |last| last.0 + 1),
            noticed: 0,
            unpriced: before.unpriced,
        };
        ledger.noticed = ledger.percent_used();
        ledger
    }

    /// What was spent, in all.
    #[must_use]
    pub const fn spent(&self) -> &Spent {
        &self.spent
    }

    /// What was spent in money; `None` where a part of it has no known price.
    #[must_use]
    pub fn money(&self) -> Option<Money> {
        (!self.unpriced).then_some(self.spent.money)
    }

    /// What each actor spent since these books were opened.
    #[must_use]
    pub const fn by_actor(&self) -> &BTreeMap<Lane, Spent> {
        &self.by_actor
    }

    /// Whether every reservation is settled.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether nothing was overrun: a provider that bills more than it was allowed to use can do that.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.budget.money.is_none_or(|cap| self.spent.money <= cap)
            && self.budget.tokens.is_none_or(|cap| self.spent.usage.total() <= cap)
            && self.spent.turns <= self.budget.turns
    }

    /// What is set aside and not yet settled.
    pub fn open(&self) -> impl Iterator<Item = &Reservation> {
        self.in_flight.values()
    }

    /// Sets aside a call's worst case, or says what it does not fit. The output limit shrinks to what fits.
    ///
    /// # Errors
    /// When not even [`LEAST_OUTPUT_TOKENS`] of output fit.
    pub fn reserve(&mut self, ask: &Ask, elapsed: Duration) -> Result<Reservation, Denied> {
        let wall = self.budget.wall.get();
        if elapsed >= wall {
            return Err(Denied {
                bucket: Bucket::Wall,
                cap: self.budget.wall.to_string(),
                used: format!("{} s", elapsed.as_secs()),
                held_back: None,
                needed: "time".into(),
            });
        }
        // The verifier alone may use the share that is held back.
        let held_back = if ask.actor == Lane::Verifier { HeldBack::default() } else { self.held_back() };
        self.fit_turns(held_back.turns)?;
        let least = LEAST_OUTPUT_TOKENS.min(ask.output_tokens);
        let by_tokens = self.fit_tokens(ask, least, held_back.tokens)?;
        let output_tokens = self.fit_money(ask, least, by_tokens, held_back.money)?;
        let reservation = Reservation {
            reservation: ReservationId(self.next),
            actor: ask.actor,
            purpose: ask.purpose,
            prompt_tokens: ask.prompt_tokens,
            output_tokens,
            money: ask.price.as_ref().map(|price| price.worst_case(ask.prompt_tokens, output_tokens)),
        };
        self.next += 1;
        self.in_flight.insert(reservation.reservation, reservation.clone());
        Ok(reservation)
    }

    /// Settles a reservation to its real price. A charge for a reservation that is not open counts as well:
    /// money that was spent was spent.
    pub fn settle(&mut self, charge: &Charge) {
        self.in_flight.remove(&charge.reservation);
        self.unpriced |= charge.money.is_none() && charge.usage.total() > 0;
        for spent in [&mut self.spent, self.by_actor.entry(charge.actor).or_default()] {
            spent.usage += charge.usage;
            spent.money += charge.money.unwrap_or_default();
            spent.turns += u64::from(charge.answered);
        }
    }

    /// The charge for a call whose real price will never be known: its worst case, marked as an estimate.
    #[must_use]
    pub fn worst_charge(reservation: &Reservation, why: &str) -> Charge {
        let usage = Usage {
            input: reservation.prompt_tokens,
            output: reservation.output_tokens,
            estimated: true,
            ..Usage::default()
        };
        Charge {
            reservation: reservation.reservation,
            actor: reservation.actor,
            purpose: reservation.purpose,
            answered: false,
            attempts: 1,
            usage,
            money: reservation.money,
            error: Some(why.into()),
        }
    }

    /// The next of [`NOTICE_AT_PERCENT`] that was passed since this was last asked.
    pub fn passed(&mut self) -> Option<u64> {
        let percent = self.percent_used();
        let passed =
            NOTICE_AT_PERCENT.into_iter().rev().find(|mark| *mark <= percent && *mark > self.noticed)?;
        self.noticed = passed;
        Some(passed)
    }

    /// What has been used of the budget, for a person or the worker.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut parts = vec![format!("{} of {} turns", self.spent.turns, self.budget.turns)];
        if let Some(tokens) = self.budget.tokens {
            parts.push(format!("{} of {tokens} tokens", self.spent.usage.total()));
        }
        if let Some(money) = self.budget.money {
            parts.push(format!("${} of ${money}", self.spent.money));
        }
        parts.join(", ")
    }

    /// The fullest bucket, as a percentage of what the worker may use.
    fn percent_used(&self) -> u64 {
        let held_back = self.held_back();
        let percent = |used: u128, cap: u128| (used * 100).checked_div(cap).unwrap_or(100);
        let turns = percent(self.spent.turns.into(), (self.budget.turns - held_back.turns).into());
        let tokens = self
            .budget
            .tokens
            .map(|cap| percent(self.spent.usage.total().into(), (cap - held_back.tokens).into()));
        let money =
            self.budget.money.map(|cap| percent(self.spent.money.pico(), cap.minus(held_back.money).pico()));
        let fullest = [Some(turns), tokens, money].into_iter().flatten().max().unwrap_or_default();
        u64::try_from(fullest).unwrap_or(u64::MAX)
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn held_back(&self) -> HeldBack {
        if !self.has_judge {
            return HeldBack::default();
        }
        let share = self.budget.verification_share.clamp(0.0, 1.0);
        let of = |cap: u64| ((cap as f64 * share).ceil() as u64).min(cap);
        HeldBack {
            money: self.budget.money.map_or(Money::ZERO, |cap| cap.share(share)),
            tokens: self.budget.tokens.map_or(0, of),
            turns: of(self.budget.turns).max(LEAST_TURNS_TO_JUDGE).min(self.budget.turns.saturating_sub(1)),
        }
    }

    fn fit_turns(&self, held_back: u64) -> Result<(), Denied> {
        let used = self.spent.turns + self.in_flight.len() as u64;
        if used + held_back < self.budget.turns {
            return Ok(());
        }
        Err(Denied {
            bucket: Bucket::Turns,
            cap: self.budget.turns.to_string(),
            used: used.to_string(),
            held_back: (held_back > 0).then(|| held_back.to_string()),
            needed: "1".into(),
        })
    }

    fn fit_tokens(&self, ask: &Ask, least: u64, held_back: u64) -> Result<u64, Denied> {
        let Some(cap) = self.budget.tokens else { return Ok(ask.output_tokens) };
        let in_flight: u64 = self.in_flight.values().map(|r| r.prompt_tokens + r.output_tokens).sum();
        let used = self.spent.usage.total() + in_flight;
        let room = cap.saturating_sub(used).saturating_sub(held_back).saturating_sub(ask.prompt_tokens);
        if room >= least {
            return Ok(room.min(ask.output_tokens));
        }
        Err(Denied {
            bucket: Bucket::Tokens,
            cap: cap.to_string(),
            used: used.to_string(),
            held_back: (held_back > 0).then(|| held_back.to_string()),
            needed: (ask.prompt_tokens + least).to_string(),
        })
    }

    fn fit_money(&self, ask: &Ask, least: u64, most: u64, held_back: Money) -> Result<u64, Denied> {
        let Some(cap) = self.budget.money else { return Ok(most) };
        let used = self.spent.money.plus(self.in_flight.values().filter_map(|r| r.money).sum());
        let room = cap.minus(used).minus(held_back);
        let fits = |output: u64| {
            ask.price.as_ref().is_some_and(|price| price.worst_case(ask.prompt_tokens, output) <= room)
        };
        if fits(most) {
            return Ok(most);
        }
        if !fits(least) {
            let worst = ask.price.as_ref().map(|price| price.worst_case(ask.prompt_tokens, least));
            return Err(Denied {
                bucket: Bucket::Money,
                cap: format!("${cap}"),
                used: format!("${used}"),
                held_back: (held_back > Money::ZERO).then(|| format!("${held_back}")),
                needed: worst.map_or_else(|| "an unknown price".into(), |worst| format!("${worst}")),
            });
        }
        // The largest output that fits lies between the two: found by halving.
        let (mut fitting, mut too_much) = (least, most);
        while too_much - fitting > 1 {
            let middle = fitting + (too_much - fitting) / 2;
            if fits(middle) { fitting = middle } else { too_much = middle }
        }
        Ok(fitting)
    }
}

/// What the worker may not touch, so that its last claim can be judged.
#[derive(Debug, Clone, Copy, Default)]
struct HeldBack {
    money: Money,
    tokens: u64,
    turns: u64,
}

#[cfg(test)]
mod tests {
    use countersign_protocol::{Rates, Span};
    use proptest::prelude::*;

    use super::*;

    fn price() -> Price {
        let dollars = |text: &str| text.parse::<Money>().unwrap();
        Price {
            rates: Rates {
                input: dollars("3"),
                cache_read: Some(dollars("0.3")),
                cache_write: Some(dollars("3.75")),
                cache_write_1h: None,
                output: dollars("15"),
            },
            tiers: vec![],
        }
    }

    fn budget() -> Budget {
        Budget {
            money: Some("1.00".parse().unwrap()),
            tokens: Some(100_000),
            turns: 10,
            wall: Span::from_secs(60),
            verification_share: 0.2,
        }
    }

    fn ledger(budget: Budget, has_judge: bool) -> Ledger {
        Ledger::new(budget, has_judge, Before::default())
    }

    fn ask(actor: Lane, prompt_tokens: u64, output_tokens: u64) -> Ask {
        Ask { actor, purpose: Purpose::Turn, prompt_tokens, output_tokens, price: Some(price()) }
    }

    fn charge(reservation: &Reservation, usage: Usage) -> Charge {
        Charge {
            reservation: reservation.reservation,
            actor: reservation.actor,
            purpose: reservation.purpose,
            answered: true,
            attempts: 1,
            usage,
            money: Some(price().bill(&usage)),
            error: None,
        }
    }

    #[test]
    fn the_third_of_three_actors_is_refused_when_the_cap_is_reached() {
        let mut books = ledger(Budget { money: None, tokens: Some(1_000), ..budget() }, false);
        let actors = [Lane::Worker, Lane::Verifier, Lane::Supervisor];
        let granted = actors.map(|actor| books.reserve(&ask(actor, 100, 300), Duration::ZERO));
        assert_eq!(granted.iter().filter(|grant| grant.is_ok()).count(), 2);
        assert!(granted[2].as_ref().is_err_and(|denied| denied.bucket == Bucket::Tokens));
    }

    #[test]
    fn a_refusal_names_the_bucket_the_cap_and_the_value() {
        let mut books = ledger(Budget { turns: 1, ..budget() }, false);
        let granted = books.reserve(&ask(Lane::Worker, 10, 300), Duration::ZERO).unwrap();
        books.settle(&charge(&granted, Usage { input: 10, output: 20, ..Usage::default() }));
        let denied = books.reserve(&ask(Lane::Worker, 10, 300), Duration::ZERO).unwrap_err();
        assert_eq!(denied.to_string(), "turns: 1 of 1 used; the next call needs up to 1");
        let late = books.reserve(&ask(Lane::Worker, 10, 300), Duration::from_secs(60)).unwrap_err();
        assert_eq!(late.bucket, Bucket::Wall);
    }

    #[test]
    fn the_worker_cannot_touch_what_is_held_back_and_the_verifier_can() {
        let mut books = ledger(Budget { money: None, tokens: None, turns: 5, ..budget() }, true);
        let mut granted = 0;
        while books.reserve(&ask(Lane::Worker, 10, 300), Duration::ZERO).is_ok() {
            granted += 1;
        }
        assert_eq!(granted, 3, "two of five turns are held back for the judge");
        assert!(books.reserve(&ask(Lane::Supervisor, 10, 300), Duration::ZERO).is_err());
        assert!(books.reserve(&ask(Lane::Verifier, 10, 300), Duration::ZERO).is_ok());
        assert!(books.reserve(&ask(Lane::Verifier, 10, 300), Duration::ZERO).is_ok());
        assert!(books.reserve(&ask(Lane::Verifier, 10, 300), Duration::ZERO).is_err());
    }

    #[test]
    fn the_output_limit_shrinks_to_what_the_money_buys() {
        let mut books = ledger(Budget { money: Some("0.02".parse().unwrap()), ..budget() }, false);
        let granted = books.reserve(&ask(Lane::Worker, 1_000, 8_192), Duration::ZERO).unwrap();
        assert!(granted.output_tokens < 8_192 && granted.output_tokens >= LEAST_OUTPUT_TOKENS);
        assert!(granted.money.unwrap() <= "0.02".parse().unwrap());
    }

    #[test]
    fn an_unknown_price_never_fits_a_money_budget() {
        let mut books = ledger(budget(), false);
        let unknown = Ask { price: None, ..ask(Lane::Worker, 10, 300) };
        assert!(books.reserve(&unknown, Duration::ZERO).is_err_and(|denied| denied.bucket == Bucket::Money));
    }

    #[test]
    fn each_mark_is_told_once() {
        let mut books = ledger(Budget { money: None, tokens: None, turns: 10, ..budget() }, false);
        let mut told = Vec::new();
        for _ in 0..10 {
            let granted = books.reserve(&ask(Lane::Worker, 10, 300), Duration::ZERO).unwrap();
            books.settle(&charge(&granted, Usage::default()));
            told.extend(books.passed());
        }
        assert_eq!(told, NOTICE_AT_PERCENT);
    }

    proptest! {
        /// However calls of all actors interleave, whatever they really use within their reservation:
        /// no bucket is ever overrun, and a judge's first call fits after the worker's last.
        #[test]
        fn no_bucket_is_ever_overrun(
            steps in prop::collection::vec((0usize..3, 1u64..9_000, 256u64..5_000, 0.0f64..1.0, any::<bool>()), 1..80),
            share in 0.1f64..0.9,
        ) {
            let budget = Budget { verification_share: share, ..budget() };
            let mut books = ledger(budget, true);
            let mut open: Vec<Reservation> = Vec::new();
            let actors = [Lane::Worker, Lane::Verifier, Lane::Supervisor];
            for (actor, prompt, output, used, settle) in steps {
                if let Ok(granted) = books.reserve(&ask(actors[actor], prompt, output), Duration::ZERO) {
                    prop_assert!(granted.output_tokens <= output);
                    open.push(granted);
                }
                if settle && let Some(reservation) = open.pop() {
                    let part = |n: u64| (n as f64 * used) as u64;
                    let written = part(reservation.prompt_tokens);
                    let usage = Usage {
                        cache_write: written, cache_write_1h: written / 2, output: part(reservation.output_tokens),
                        ..Usage::default()
                    };
                    books.settle(&charge(&reservation, usage));
                }
                let in_flight: Money = books.open().filter_map(|r| r.money).sum();
                prop_assert!(books.spent().money.plus(in_flight) <= budget.money.unwrap());
                prop_assert!(books.spent().usage.total() <= budget.tokens.unwrap());
                prop_assert!(books.spent().turns <= budget.turns);
            }
        }
    }
}
