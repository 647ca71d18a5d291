//! Money as an exact integer, and what a model's tokens cost.
//!
//! The unit is the pico-dollar (10⁻¹² US dollars). One US dollar a million tokens is exactly 10⁶ pico-dollars
//! a token, so every published price is a whole number of them.

use std::{fmt, iter::Sum, ops::AddAssign, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Usage;

const PICO: u128 = 1_000_000_000_000;

/// An amount of money in pico-dollars. As text: US dollars, as `"2.00"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Money(u128);

/// A text that is not an amount of US dollars.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount of US dollars: write digits with at most twelve decimals, as \"2.00\"")]
pub struct InvalidMoney(pub String);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount in pico-dollars.
    #[must_use]
    pub const fn from_pico(pico: u128) -> Self {
        Self(pico)
    }

    /// The amount in pico-dollars.
    #[must_use]
    pub const fn pico(self) -> u128 {
        self.0
    }

    /// The sum; the largest amount where it would overflow.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left; nothing where `other` is more.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// A share of the amount, rounded up. `share` is clamped to 0..=1.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn share(self, share: f64) -> Self {
        let millionths = (share.clamp(0.0, 1.0) * 1e6).ceil() as u128;
        Self(self.0.saturating_mul(millionths).div_ceil(1_000_000))
    }
}

impl fmt::Display for Money {
    /// US dollars without a sign, with at least two decimals and as many as the amount has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:012}", self.0 % PICO);
        let kept = decimals.trim_end_matches('0').len().max(2);
        f.pad(&format!("{}.{}", self.0 / PICO, &decimals[..kept]))
    }
}

impl FromStr for Money {
    type Err = InvalidMoney;

    fn from_str(text: &str) -> Result<Self, InvalidMoney> {
        let invalid = || InvalidMoney(text.into());
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty()
            || !digits(whole)
            || !digits(decimals)
            || decimals.len() > 12
            || text.ends_with('.')
        {
            return Err(invalid());
        }
        let whole: u128 = whole.parse().map_err(|_| invalid())?;
        let decimals: u128 = format!("{decimals:0<12}").parse().map_err(|_| invalid())?;
        whole.checked_mul(PICO).and_then(|pico| pico.checked_add(decimals)).map(Self).ok_or_else(invalid)
    }
}

impl TryFrom<String> for Money {
    type Error = InvalidMoney;

    fn try_from(text: String) -> Result<Self, InvalidMoney> {
        text.parse()
    }
}

impl From<Money> for String {
    fn from(money: Money) -> String {
        money.to_string()
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = self.plus(other);
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Self::plus)
    }
}

/// What a million tokens cost in each bucket, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    /// Prompt tokens that were neither read from nor written to the cache.
    pub input: Money,
    /// Prompt tokens read from the cache. Without it: the input rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Money>,
    /// Prompt tokens written to the cache for the short retention. Without it: the input rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Money>,
    /// Prompt tokens written for one hour. Without it: twice the input rate, as Anthropic bills them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<Money>,
    /// Output tokens, reasoning included.
    pub output: Money,
}

impl Rates {
    /// Rates at which everything is free, as on a server of one's own.
    pub const FREE: Self = Self {
        input: Money::ZERO,
        cache_read: None,
        cache_write: None,
        cache_write_1h: None,
        output: Money::ZERO,
    };

    fn bill(&self, usage: &Usage) -> Money {
        let tokens = |rate: Money, count: u64| Money(rate.0.saturating_mul(count.into()).div_ceil(1_000_000));
        let written_short = usage.cache_write.saturating_sub(usage.cache_write_1h);
        let one_hour = self.cache_write_1h.unwrap_or(Money(self.input.0.saturating_mul(2)));
        tokens(self.input, usage.input)
            .plus(tokens(self.cache_read.unwrap_or(self.input), usage.cache_read))
            .plus(tokens(self.cache_write.unwrap_or(self.input), written_short))
            .plus(tokens(one_hour, usage.cache_write_1h))
            .plus(tokens(self.output, usage.output))
    }

    fn dearest_prompt_rate(&self) -> Money {
        let one_hour = self.cache_write_1h.unwrap_or(Money(self.input.0.saturating_mul(2)));
        [self.input, self.cache_read.unwrap_or_default(), self.cache_write.unwrap_or_default(), one_hour]
            .into_iter()
            .max()
            .unwrap_or_default()
    }
}

/// Other rates for large prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceTier {
    /// The tier holds when the prompt is larger than this many tokens.
    pub above: u64,
    /// What it costs then.
    #[serde(flatten)]
    pub rates: Rates,
}

/// What a model costs. The highest tier that the prompt exceeds prices the whole request, cached part included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// The rates below every tier.
    #[serde(flatten)]
    pub rates: Rates,
    /// Rates for larger prompts, in any order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

impl Price {
    /// The price of a model that costs nothing.
    pub const FREE: Self = Self { rates: Rates::FREE, tiers: Vec::new() };

    /// The rates for a prompt of this many tokens.
    #[must_use]
    pub fn rates_for(&self, prompt_tokens: u64) -> &Rates {
        let exceeded = self.tiers.iter().filter(|tier| prompt_tokens > tier.above);
        exceeded.max_by_key(|tier| tier.above).map_or(&self.rates, |tier| &tier.rates)
    }

    /// What this usage costs.
    #[must_use]
    pub fn bill(&self, usage: &Usage) -> Money {
        self.rates_for(usage.prompt_total()).bill(usage)
    }

    /// The most that a call can cost whose prompt and output are at most this large.
    #[must_use]
    pub fn worst_case(&self, prompt_tokens: u64, output_tokens: u64) -> Money {
        let reachable = self.tiers.iter().filter(|tier| prompt_tokens > tier.above).map(|tier| &tier.rates);
        let worst = |rates: &Rates| {
            let prompt =
                rates.dearest_prompt_rate().0.saturating_mul(prompt_tokens.into()).div_ceil(1_000_000);
            let output = rates.output.0.saturating_mul(output_tokens.into()).div_ceil(1_000_000);
            // Each of the five buckets is rounded up by itself in a bill.
            let rounding = if prompt == 0 && output == 0 { 0 } else { 4 };
            Money(prompt.saturating_add(output).saturating_add(rounding))
        };
        std::iter::once(&self.rates).chain(reachable).map(worst).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dollars(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn sonnet() -> Price {
        let base = Rates {
            input: dollars("3"),
            cache_read: Some(dollars("0.3")),
            cache_write: Some(dollars("3.75")),
            cache_write_1h: None,
            output: dollars("15"),
        };
        let long =
            Rates { input: dollars("6"), cache_read: Some(dollars("0.6")), output: dollars("22.5"), ..base };
        Price { rates: base, tiers: vec![PriceTier { above: 200_000, rates: long }] }
    }

    #[test]
    fn the_tier_is_chosen_by_the_whole_prompt_and_only_when_exceeded() {
        let at = Usage { input: 1_000, cache_read: 199_000, ..Usage::default() };
        let over = Usage { input: 1_001, ..at };
        assert_eq!(sonnet().bill(&at), dollars("0.0627"));
        assert_eq!(sonnet().bill(&over), dollars("0.125406"));
    }

    #[test]
    fn one_hour_writes_cost_twice_the_input_rate() {
        let usage = Usage { cache_write: 1_000_000, cache_write_1h: 400_000, ..Usage::default() };
        let price = Price { tiers: vec![], ..sonnet() };
        assert_eq!(price.bill(&usage), dollars("4.65"));
    }

    #[test]
    fn amounts_that_are_not_dollars_are_refused() {
        for text in ["", ".5", "1.", "-1", "1e3", "$2", "1.0000000000001", "1,5"] {
            assert!(text.parse::<Money>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn text_round_trips(pico in 0..u128::MAX / 2) {
            prop_assert_eq!(dollars(&Money(pico).to_string()), Money(pico));
        }

        #[test]
        fn no_bill_exceeds_the_worst_case(
            input in 0u64..400_000, read in 0u64..400_000, short in 0u64..400_000, hour in 0u64..400_000, output in 0u64..100_000,
        ) {
            let usage = Usage {
                input, cache_read: read, cache_write: short + hour, cache_write_1h: hour, output, ..Usage::default()
            };
            prop_assert!(sonnet().bill(&usage) <= sonnet().worst_case(usage.prompt_total(), output));
        }
    }
}
