//! A decoded answer as one JSON object.

use std::time::Duration;

use countersign_protocol::{ArgumentsStatus, Block, ToolCall};
use serde_json::{Map, Value, json};

use super::{ApiError, Decoded, ReportedUsage};

impl Decoded {
    /// The answer as one JSON object: `text`, `reasoning`, `tool_calls`, `stop`, `usage`, `error`, `complete`,
    /// `executable`. A tool call has the id that was sent, or null.
    #[must_use]
    pub fn report(&self) -> Value {
        let reasoning = self.message.blocks.iter().filter_map(|block| match block {
            Block::Reasoning { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let calls =
            self.message.calls().zip(&self.wire_ids).map(|(call, id)| call_report(call, id.as_deref()));
        json!({
            "text": self.message.text(),
            "reasoning": { "text": reasoning.collect::<String>(), "opaque": self.opaque },
            "tool_calls": calls.collect::<Vec<_>>(),
            "stop": { "class": self.stop.class, "raw": self.stop.raw },
            "usage": usage_report(&self.usage),
            "error": self.error.as_ref().map(error_report),
            "complete": self.complete,
            "executable": self.executable,
        })
    }
}

fn call_report(call: &ToolCall, id: Option<&str>) -> Value {
    let status = call.arguments.status;
    let args = if status == ArgumentsStatus::Ok { call.arguments.object() } else { None };
    let mut report = json!({ "id": id, "name": call.name, "args": args, "args_status": status });
    if !matches!(status, ArgumentsStatus::Ok | ArgumentsStatus::Absent) {
        report["args_raw"] = call.arguments.raw.clone().into();
    }
    report
}

/// Null where nothing was reported.
fn usage_report(usage: &ReportedUsage) -> Value {
    if *usage == ReportedUsage::default() {
        return Value::Null;
    }
    let buckets = [
        ("input_uncached", usage.input_uncached),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
        ("cache_write_1h", usage.cache_write_1h),
        ("output", usage.output),
        ("reasoning", usage.reasoning),
        ("prompt_total", usage.prompt_total),
    ];
    let mut report: Map<String, Value> =
        buckets.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    if !usage.billed_elsewhere.is_empty() {
        let passes = usage.billed_elsewhere.iter().map(|pass| {
            json!({
                "kind": pass.kind,
                "model": pass.model,
                "input_uncached": pass.input_uncached,
                "cache_read": pass.cache_read,
                "cache_write": pass.cache_write,
                "output": pass.output,
            })
        });
        report.insert("billed_elsewhere".into(), passes.collect());
    }
    report.into()
}

fn error_report(error: &ApiError) -> Value {
    json!({
        "class": error.class.name(),
        "retryable": error.retryable,
        "midstream": error.midstream,
        "retry_after_s": error.retry_after.map(seconds),
    })
}

/// Whole seconds as an integer, else a fraction.
fn seconds(wait: Duration) -> Value {
    if wait.subsec_nanos() == 0 { wait.as_secs().into() } else { wait.as_secs_f64().into() }
}
