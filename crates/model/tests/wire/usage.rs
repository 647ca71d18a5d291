//! Usage, under all the names that servers give it.

use countersign_model::decode::ReportedUsage;
use countersign_protocol::Api;
use serde_json::json;

use crate::support::{decode, stream};

fn chat(usage: &str) -> ReportedUsage {
    let body = format!(r#"{{"choices":[{{"finish_reason":"stop","message":{{"content":"x"}}}}],{usage}}}"#);
    decode(Api::OpenaiChat, &body).usage
}

#[test]
fn what_was_not_reported_stays_apart_from_zero() {
    assert_eq!(chat(r#""usage":null"#), ReportedUsage::default());
    let usage = chat(r#""usage":{"prompt_tokens":10,"completion_tokens":0}"#);
    assert_eq!((usage.cache_read, usage.output, usage.prompt_total), (None, Some(0), Some(10)));
    let body = r#"{"choices":[{"finish_reason":"stop","message":{"content":"x"}}]}"#;
    assert!(decode(Api::OpenaiChat, body).report()["usage"].is_null());
}

#[test]
fn cached_tokens_go_by_many_names() {
    for cached in [
        r#""prompt_tokens_details":{"cached_tokens":4}"#,
        r#""input_tokens_details":{"cached_tokens":4}"#,
        r#""prompt_cache_hit_tokens":4"#,
        r#""cache_read_input_tokens":4"#,
        r#""cached_tokens":4"#,
        r#""num_cached_tokens":4"#,
    ] {
        let usage = chat(&format!(r#""usage":{{"prompt_tokens":10,"completion_tokens":1,{cached}}}"#));
        assert_eq!((usage.cache_read, usage.input_uncached), (Some(4), Some(6)), "{cached}");
    }
    let usage = chat(r#""usage":{"prompt_tokens":10,"completion_tokens":1},"timings":{"cache_n":4}"#);
    assert_eq!((usage.cache_read, usage.input_uncached), (Some(4), Some(6)));
}

#[test]
fn buckets_that_overlap_leave_the_prompt_its_size() {
    let details = r#""prompt_tokens_details":{"cached_tokens":990,"cache_write_tokens":990}"#;
    let usage = chat(&format!(r#""usage":{{"prompt_tokens":1000,"completion_tokens":1,{details}}}"#));
    assert_eq!((usage.input_uncached, usage.prompt_total), (Some(10), Some(1000)));
}

#[test]
fn hidden_reasoning_is_output() {
    let usage = chat(r#""usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":50}"#);
    assert_eq!(usage.output, Some(40));
    let gemini = r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,
        "candidatesTokenCount":2,"thoughtsTokenCount":3,"totalTokenCount":15}}"#;
    let usage = decode(Api::Gemini, gemini).usage;
    assert_eq!((usage.input_uncached, usage.output, usage.reasoning), (Some(6), Some(5), Some(3)));
}

#[test]
fn the_last_report_of_a_stream_counts() {
    let chunk =
        |usage: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}}}}],"usage":{usage}}}"#);
    let first = chunk(r#"{"prompt_tokens":9,"completion_tokens":1}"#);
    let last = chunk(r#"{"prompt_tokens":9,"completion_tokens":5}"#);
    let decoded =
        decode(Api::OpenaiChat, &stream(&[&first, &chunk("null"), &last, &chunk("null"), "[DONE]"]));
    assert_eq!(decoded.usage.output, Some(5));
    let own = r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":7,"completion_tokens":3}}}"#;
    assert_eq!(decode(Api::OpenaiChat, &stream(&[own])).usage.prompt_total, Some(7));
}

fn anthropic(start: &str, end: &str) -> ReportedUsage {
    let start = format!(r#"{{"type":"message_start","message":{{"usage":{start}}}}}"#);
    let end = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{end}}}"#);
    decode(Api::AnthropicMessages, &stream(&[&start, &end, r#"{"type":"message_stop"}"#])).usage
}

#[test]
fn the_end_of_an_anthropic_stream_overrides_its_start() {
    let start = r#"{"input_tokens":2479,"cache_read_input_tokens":7,"output_tokens":6,
        "cache_creation_input_tokens":30,"cache_creation":{"ephemeral_1h_input_tokens":20}}"#;
    let usage =
        anthropic(start, r#"{"input_tokens":404500,"cache_read_input_tokens":0,"output_tokens":943}"#);
    assert_eq!((usage.input_uncached, usage.cache_read, usage.output), (Some(404_500), Some(0), Some(943)));
    assert_eq!(
        (usage.cache_write, usage.cache_write_1h, usage.prompt_total),
        (Some(30), Some(20), Some(404_530))
    );
    let usage = anthropic(start, r#"{"output_tokens":5}"#);
    assert_eq!((usage.prompt_total, usage.output), (Some(2516), Some(5)));
    let usage = anthropic(start, r#"{"input_tokens":0,"output_tokens":5}"#);
    assert_eq!(usage.prompt_total, Some(2516), "no prompt is empty");
    let usage = anthropic(
        r#"{"input_tokens":0,"cache_read_input_tokens":null}"#,
        r#"{"input_tokens":32,"output_tokens":5}"#,
    );
    assert_eq!((usage.prompt_total, usage.cache_read), (Some(32), None));
}

#[test]
fn passes_beside_the_message_are_billed_too() {
    let end = r#"{"input_tokens":181,"output_tokens":8,"iterations":[
        {"type":"compaction","input_tokens":100,"cache_read_input_tokens":50,"output_tokens":83},
        {"type":"message","input_tokens":181,"output_tokens":8}]}"#;
    let usage = anthropic(r#"{"input_tokens":100}"#, end);
    assert_eq!((usage.prompt_total, usage.billed_elsewhere.len()), (Some(181), 1));
    let settled = usage.to_usage().unwrap();
    assert_eq!((settled.input, settled.cache_read, settled.output), (281, 50, 91));
    let body = format!(r#"{{"content":[],"stop_reason":"end_turn","usage":{end}}}"#);
    let report = decode(Api::AnthropicMessages, &body).report();
    assert_eq!(report["usage"]["billed_elsewhere"][0]["kind"], json!("compaction"));
}

#[test]
fn responses_split_their_prompt() {
    let body = r#"{"status":"completed","output":[],"usage":{"input_tokens":100,"output_tokens":9,
        "input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"output_tokens_details":{"reasoning_tokens":4}}}"#;
    let usage = decode(Api::OpenaiResponses, body).usage;
    assert_eq!((usage.input_uncached, usage.cache_read, usage.cache_write), (Some(10), Some(60), Some(30)));
    assert_eq!((usage.output, usage.reasoning, usage.cache_write_1h), (Some(9), Some(4), None));
}
