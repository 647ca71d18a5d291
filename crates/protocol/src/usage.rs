//! What a call used, in the four buckets that providers bill.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens of one or more calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to the cache.
    pub input: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache, those for one hour included.
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for one hour.
    pub cache_write_1h: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// The part of `output` that was reasoning.
    pub reasoning: u64,
    /// True where the provider reported nothing and the numbers are the host's upper bound.
    pub estimated: bool,
}

impl Usage {
    /// The size of the prompt: the same number fills the window and picks the price tier.
    #[must_use]
    pub const fn prompt_total(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// All tokens, in and out.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.prompt_total().saturating_add(self.output)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.estimated = self.estimated || other.estimated;
    }
}
