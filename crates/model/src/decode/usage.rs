//! Usage as a provider reported it.

use countersign_protocol::Usage;

/// Usage as a provider reported it: `None` is "not reported", which is not zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportedUsage {
    /// Prompt tokens that were neither read from nor written to the cache.
    pub input_uncached: Option<u64>,
    /// Prompt tokens read from the cache.
    pub cache_read: Option<u64>,
    /// Prompt tokens written to the cache, those for one hour included.
    pub cache_write: Option<u64>,
    /// The part of `cache_write` that is kept for one hour.
    pub cache_write_1h: Option<u64>,
    /// Output tokens, reasoning included.
    pub output: Option<u64>,
    /// The part of `output` that was reasoning.
    pub reasoning: Option<u64>,
    /// The size of the prompt. Not always the sum of the buckets: some gateways let them overlap.
    pub prompt_total: Option<u64>,
    /// What is billed and left out of the numbers above: further passes, other models.
    pub billed_elsewhere: Vec<Pass>,
}

/// A pass over the model, or over another one, that the main numbers leave out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// What it was for, in the provider's word.
    pub kind: String,
    /// The model, where it is another one.
    pub model: Option<String>,
    /// Prompt tokens that were neither read from nor written to the cache.
    pub input_uncached: u64,
    /// Prompt tokens read from the cache.
    pub cache_read: u64,
    /// Prompt tokens written to the cache.
    pub cache_write: u64,
    /// Output tokens.
    pub output: u64,
}

impl ReportedUsage {
    /// The usage to settle, with what is billed elsewhere added, so that it is never less than the bill; `None` where
    /// the prompt or the output was not reported.
    #[must_use]
    pub fn to_usage(&self) -> Option<Usage> {
        let (cache_read, cache_write) = (self.cache_read.unwrap_or(0), self.cache_write.unwrap_or(0));
        let rest = |total: u64| total.saturating_sub(cache_read).saturating_sub(cache_write);
        let mut usage = Usage {
            input: self.input_uncached.or_else(|| self.prompt_total.map(rest))?,
            cache_read,
            cache_write,
            cache_write_1h: self.cache_write_1h.unwrap_or(0).min(cache_write),
            output: self.output?,
            reasoning: self.reasoning.unwrap_or(0).min(self.output?),
            estimated: false,
        };
        for pass in &self.billed_elsewhere {
            usage += Usage {
                input: pass.input_uncached,
                cache_read: pass.cache_read,
                cache_write: pass.cache_write,
                output: pass.output,
                ..Usage::default()
            };
        }
        Some(usage)
    }

    /// Splits a prompt of `total` tokens into its buckets, for APIs that report the cached ones as parts of it.
    pub(super) fn split_prompt(&mut self, total: Option<u64>) {
        self.prompt_total = total;
        self.input_uncached = total.map(|total| {
            let (read, write) = (self.cache_read.unwrap_or(0), self.cache_write.unwrap_or(0));
            // Some gateways count the same tokens as read and as written.
            let cached = read.checked_add(write).filter(|sum| *sum <= total).unwrap_or(read.max(write));
            total.saturating_sub(cached)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(total: u64, read: u64, write: u64) -> ReportedUsage {
        let mut usage =
            ReportedUsage { cache_read: Some(read), cache_write: Some(write), ..ReportedUsage::default() };
        usage.split_prompt(Some(total));
        usage
    }

    #[test]
    fn overlapping_buckets_never_make_the_input_negative() {
        assert_eq!(prompt(1000, 900, 50).input_uncached, Some(50));
        assert_eq!(prompt(1000, 990, 990).input_uncached, Some(10));
        assert_eq!(prompt(10, 990, 20).input_uncached, Some(0));
        assert_eq!(prompt(10, u64::MAX, u64::MAX).input_uncached, Some(0));
    }

    #[test]
    fn what_was_not_reported_is_not_zero() {
        assert_eq!(ReportedUsage::default().to_usage(), None);
        assert_eq!(prompt(10, 0, 0).to_usage(), None, "the output is missing");
        let usage = ReportedUsage { output: Some(3), ..prompt(10, 4, 0) }.to_usage().unwrap();
        assert_eq!((usage.input, usage.cache_read, usage.output), (6, 4, 3));
    }

    #[test]
    fn passes_that_are_billed_elsewhere_are_added() {
        let pass = Pass { input_uncached: 100, cache_read: 50, output: 7, ..Pass::default() };
        let usage = ReportedUsage { output: Some(3), billed_elsewhere: vec![pass], ..prompt(10, 4, 0) };
        let usage = usage.to_usage().unwrap();
        assert_eq!((usage.input, usage.cache_read, usage.output), (106, 54, 10));
    }
}
