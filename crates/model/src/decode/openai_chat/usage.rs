//! Usage under the names that servers give it.

use super::super::ReportedUsage;
use super::super::json::Object;

/// The usage of a chunk or a whole completion; `None` where it reports none.
pub(super) fn read(holder: &Object<'_>) -> Option<ReportedUsage> {
    let report = holder
        .object("usage")
        .or_else(|| holder.object("x_groq").and_then(|own| own.object("usage")))
        .or_else(|| holder.objects("choices").first().and_then(|choice| choice.object("usage")))?;
    let first = |keys: &[&str]| keys.iter().find_map(|key| report.count(key));
    let prompt = first(&["prompt_tokens", "input_tokens"]);
    let answer = first(&["completion_tokens", "output_tokens"]);
    if prompt.is_none() && answer.is_none() {
        return None;
    }
    let of_prompt = details(&report, &["prompt_tokens_details", "input_tokens_details"]);
    let of_answer = details(&report, &["completion_tokens_details", "output_tokens_details"]);
    let cached = || {
        first(&["cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens"])
    };
    let reused = || holder.object("timings").and_then(|timings| timings.count("cache_n"));
    // Some servers show their hidden reasoning in the total only.
    let hidden = first(&["total_tokens"]).zip(prompt).map(|(total, prompt)| total.saturating_sub(prompt));
    let mut usage = ReportedUsage {
        cache_read: of_prompt.count("cached_tokens").or_else(cached).or_else(reused),
        cache_write: of_prompt
            .count("cache_write_tokens")
            .or_else(|| report.count("cache_creation_input_tokens")),
        cache_write_1h: details(&report, &["cache_creation"]).count("ephemeral_1h_input_tokens"),
        output: answer.max(hidden),
        reasoning: of_answer.count("reasoning_tokens").or_else(|| report.count("reasoning_tokens")),
        ..ReportedUsage::default()
    };
    usage.split_prompt(prompt);
    Some(usage)
}

fn details<'a>(report: &Object<'a>, keys: &[&str]) -> Object<'a> {
    keys.iter().find_map(|key| report.object(key)).unwrap_or_default()
}
