//! What a turn should have found in the provider's cache and did not: how much, why, and what it cost.

use std::{fmt, time::Duration};

use countersign::protocol::{
    Body, Entry, ModelRef, Money, Price, Usage,
    entry::{Prefix, Turn},
};
use jiff::Timestamp;
use serde::Serialize;

/// Fewer missed tokens than this say nothing: providers cache in blocks.
const NOISE_FLOOR: u64 = 1_024;

/// How long providers keep a cache entry that is not used, unless one hour was paid for.
const SHORT_RETENTION: Duration = Duration::from_secs(5 * 60);
/// How long they keep one for which one hour was paid.
const LONG_RETENTION: Duration = Duration::from_secs(60 * 60);

/// What a turn should have found in the cache and did not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Miss {
    /// How many tokens.
    pub(crate) tokens: u64,
    /// Why.
    #[serde(flatten)]
    pub(crate) cause: Cause,
    /// What it cost more than a hit; `None` where the price is not known.
    pub(crate) extra: Option<Money>,
}

/// Why a turn did not find in the cache what it should have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub(crate) enum Cause {
    /// Another model answered, and each has its own cache.
    ModelChanged,
    /// The front of the request is another one.
    PrefixChanged {
        /// What of it.
        sections: Vec<String>,
    },
    /// The history was summarised.
    Compaction,
    /// The bytes sent do not extend the last ones, and no entry says why: our own doing.
    Broken,
    /// The provider no longer keeps what was not asked for in this time.
    Expired {
        /// The time between the calls, in seconds.
        idle_seconds: u64,
    },
    /// The model's provider reports no cache at all.
    NoCache,
    /// The bytes sent extend the last ones in time: the provider's doing.
    Unexplained,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ModelChanged => f.write_str("model changed"),
            Self::PrefixChanged { sections } => write!(f, "prefix changed: {}", sections.join(", ")),
            Self::Compaction => f.write_str("compaction"),
            Self::Broken => f.write_str("our request does not extend the last one"),
            Self::Expired { idle_seconds } => {
                write!(
                    f,
                    "time to live passed: {} idle",
                    crate::text::took(Duration::from_secs(*idle_seconds))
                )
            }
            Self::NoCache => f.write_str("the provider reports no cache"),
            Self::Unexplained => f.write_str("unexplained: our bytes extend the last ones"),
        }
    }
}

/// What is known of the turn before.
pub(super) struct Before<'a> {
    pub(super) usage: Usage,
    pub(super) prefix: Option<&'a Prefix>,
    pub(super) prefix_hash: &'a str,
    pub(super) at: Timestamp,
}

/// The models of which any turn reports a cache.
pub(super) fn caching_models<'a>(path: &[&'a Entry]) -> Vec<&'a ModelRef> {
    let mut prefix = None;
    let mut models = Vec::new();
    for entry in path {
        match &entry.body {
            Body::Prefix(new) => prefix = Some(&new.model),
            Body::Turn(turn) if turn.usage.cache_read + turn.usage.cache_write > 0 => models.extend(prefix),
            _ => {}
        }
    }
    models
}

/// The tokens that should have been found in the cache and were not, where they are more than noise. Where the
/// provider reported nothing, nothing can be said.
pub(super) fn missed(before: &Before<'_>, turn: &Turn) -> Option<u64> {
    if before.usage.estimated || turn.usage.estimated {
        return None;
    }
    let shared = before.usage.prompt_total().min(turn.usage.prompt_total());
    let missed = shared.saturating_sub(turn.usage.cache_read);
    (missed > NOISE_FLOOR).then_some(missed)
}

pub(super) fn cause(
    before: &Before<'_>,
    turn: &Turn,
    prefix: Option<&Prefix>,
    compacted: bool,
    asked_at: Timestamp,
    caching: bool,
) -> Cause {
    if let (Some(old), Some(new)) = (before.prefix, prefix) {
        if old.model != new.model {
            return Cause::ModelChanged;
        }
        let sections = changed_sections(old, new);
        if !sections.is_empty() {
            return Cause::PrefixChanged { sections };
        }
    }
    if compacted {
        return Cause::Compaction;
    }
    if !turn.sent.extends || turn.sent.prefix.as_str() != before.prefix_hash {
        return Cause::Broken;
    }
    let idle = Duration::try_from(asked_at.duration_since(before.at)).unwrap_or_default();
    let kept = if before.usage.cache_write_1h > 0 { LONG_RETENTION } else { SHORT_RETENTION };
    match (idle > kept, caching) {
        (true, true) => Cause::Expired { idle_seconds: idle.as_secs() },
        (_, false) => Cause::NoCache,
        (false, true) => Cause::Unexplained,
    }
}

/// The names of the sections that are other ones, new or gone; `tools` where those are.
fn changed_sections(old: &Prefix, new: &Prefix) -> Vec<String> {
    let has = |prefix: &Prefix, section| prefix.sections.contains(section);
    let gone = old.sections.iter().filter(|section| !has(new, section));
    let came = new.sections.iter().filter(|section| !has(old, section));
    let mut names: Vec<_> = came.chain(gone).map(|section| section.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    let order =
        |prefix: &Prefix| prefix.sections.iter().map(|section| section.name.clone()).collect::<Vec<_>>();
    if names.is_empty() && order(old) != order(new) {
        names.push("order of sections".into());
    }
    if old.tools != new.tools {
        names.push("tools".into());
    }
    names
}

/// What the missed tokens cost more than if they had been found.
pub(super) fn extra(price: &Price, usage: Usage, missed: u64) -> Money {
    let from_input = missed.min(usage.input);
    let from_write = (missed - from_input).min(usage.cache_write);
    let found = Usage {
        input: usage.input - from_input,
        cache_read: usage.cache_read + from_input + from_write,
        cache_write: usage.cache_write - from_write,
        cache_write_1h: usage.cache_write_1h.saturating_sub(from_write),
        ..usage
    };
    price.bill(&usage).minus(price.bill(&found))
}
