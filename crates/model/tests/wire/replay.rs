//! What must go back to the provider unchanged, and what a person sees of it.

use countersign_protocol::{Api, Block};
use serde_json::{Value, json};

use crate::support::{anthropic, chat, decode, stream};

/// A block's kind, its text or name, and the JSON that goes back with it.
type Shown = (&'static str, String, Option<Value>);

/// The blocks of a message, and how many parts of it are sealed.
fn blocks(api: Api, body: &str) -> (Vec<Shown>, u64) {
    let decoded = decode(api, body);
    let blocks = decoded.message.blocks.into_iter().map(|block| {
        let (kind, text, replay) = match block {
            Block::Text { text, replay } => ("text", text, replay),
            Block::Reasoning { text, replay } => ("reasoning", text, replay),
            Block::ToolCall(call) => ("call", call.name, call.replay),
        };
        assert!(replay.as_ref().is_none_or(|replay| replay.api == api));
        (kind, text, replay.map(|replay| serde_json::from_str(&replay.json).unwrap()))
    });
    (blocks.collect(), decoded.opaque)
}

#[test]
fn thinking_goes_back_with_its_signature() {
    let start = r#"{"type":"thinking","thinking":"","signature":""}"#;
    let think = r#"{"type":"thinking_delta","thinking":"hm"}"#;
    let deltas = [
        think,
        r#"{"type":"signature_delta","signature":"QU"}"#,
        r#"{"type":"signature_delta","signature":"JD"}"#,
    ];
    let signed = json!({ "type": "thinking", "thinking": "hm", "signature": "QUJD" });
    let expected = (vec![("reasoning", "hm".to_owned(), Some(signed.clone()))], 1);
    assert_eq!(blocks(Api::AnthropicMessages, &anthropic(start, &deltas, "end_turn")), expected);
    let whole = format!(r#"{{"content":[{signed}],"stop_reason":"end_turn"}}"#);
    assert_eq!(blocks(Api::AnthropicMessages, &whole), expected);

    let unsigned = blocks(Api::AnthropicMessages, &anthropic(start, &[think], "end_turn"));
    assert_eq!(
        unsigned,
        (vec![("reasoning", "hm".to_owned(), None)], 0),
        "without a signature it would be refused"
    );
}

#[test]
fn sealed_blocks_go_back_whole() {
    let sealed = r#"{"type":"redacted_thinking","data":"UkVE"}"#;
    let expected = (vec![("reasoning", String::new(), serde_json::from_str(sealed).ok())], 1);
    assert_eq!(blocks(Api::AnthropicMessages, &anthropic(sealed, &[], "end_turn")), expected);

    let search = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#;
    let query = r#"{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}"#;
    let (blocks, opaque) = blocks(Api::AnthropicMessages, &anthropic(search, &[query], "pause_turn"));
    assert_eq!(opaque, 0);
    assert_eq!(blocks[0].2.as_ref().unwrap()["input"], json!({ "query": "x" }));
}

#[test]
fn chat_reasoning_goes_back_in_the_field_it_came_in() {
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        let body = chat(
            &[&format!(r#"{{"{field}":"th"}}"#), &format!(r#"{{"{field}":"ink","content":"x"}}"#)],
            "stop",
        );
        let expected = vec![
            ("reasoning", "think".to_owned(), Some(json!({ field: "think" }))),
            ("text", "x".to_owned(), None),
        ];
        assert_eq!(blocks(Api::OpenaiChat, &body), (expected, 0));
    }
}

#[test]
fn reasoning_that_is_sent_in_several_fields_is_kept_once() {
    let delta = |text: &str, more: &str| {
        format!(
            r#"{{"reasoning":"{text}","reasoning_content":"{text}","reasoning_details":[{{"type":"reasoning.text","text":"{text}","index":0{more}}}]}}"#
        )
    };
    let sealed = r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"RU5D","index":1}]}"#;
    let body = chat(&[&delta("th", ""), &delta("ink", r#","signature":"S""#), sealed], "stop");
    let (found, opaque) = blocks(Api::OpenaiChat, &body);
    let details = json!([
        { "type": "reasoning.text", "text": "think", "index": 0, "signature": "S" },
        { "type": "reasoning.encrypted", "data": "RU5D", "index": 1 },
    ]);
    assert_eq!((found[0].1.as_str(), opaque), ("think", 2));
    assert_eq!(found[0].2.as_ref().unwrap()["reasoning_details"], details);

    let details_only =
        chat(&[r#"{"reasoning_details":[{"type":"reasoning.summary","summary":"s"}]}"#], "stop");
    assert_eq!(blocks(Api::OpenaiChat, &details_only).0[0].1, "s");
}

#[test]
fn a_content_list_holds_reasoning_and_text() {
    let content =
        r#"[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"4"}]"#;
    let body = chat(&[&format!(r#"{{"content":{content}}}"#), r#"{"content":"2"}"#], "stop");
    let expected = vec![("reasoning", "hm".to_owned(), None), ("text", "42".to_owned(), None)];
    assert_eq!(blocks(Api::OpenaiChat, &body), (expected, 0));
}

#[test]
fn think_tags_in_the_text_are_text() {
    let body = chat(&[r#"{"content":"<thi"}"#, r#"{"content":"nk>a</think>b"}"#], "stop");
    assert_eq!(blocks(Api::OpenaiChat, &body).0, [("text", "<think>a</think>b".to_owned(), None)]);
}

#[test]
fn a_chat_call_keeps_googles_signature() {
    let extra = json!({ "google": { "thought_signature": "S" } });
    let call = format!(
        r#"{{"index":0,"id":"","extra_content":{extra},"function":{{"name":"r","arguments":"{{}}"}}}}"#
    );
    let body = chat(&[&format!(r#"{{"tool_calls":[{call}]}}"#)], "tool_calls");
    let expected = vec![("call", "r".to_owned(), Some(json!({ "extra_content": extra })))];
    assert_eq!(blocks(Api::OpenaiChat, &body), (expected, 1));
}

#[test]
fn reasoning_items_go_back_whole() {
    let item = json!({ "type": "reasoning", "id": "rs", "summary": [{ "type": "summary_text", "text": "short" }],
        "content": [{ "type": "reasoning_text", "text": "long" }], "encrypted_content": "ENC" });
    let message = json!({ "type": "message", "phase": "final_answer", "content": [{ "type": "output_text", "text": "x" }] });
    let body = format!(r#"{{"status":"completed","output":[{item},{message}]}}"#);
    let expected =
        vec![("reasoning", "short".to_owned(), Some(item)), ("text", "x".to_owned(), Some(message))];
    assert_eq!(blocks(Api::OpenaiResponses, &body), (expected, 1));

    let deltas = [
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","item_id":"rs","output_index":0,"delta":"sh"}"#,
        r#"{"type":"response.output_text.delta","item_id":"m","output_index":1,"delta":"x"}"#,
    ];
    let cut = blocks(Api::OpenaiResponses, &stream(&deltas));
    let expected = vec![("reasoning", "sh".to_owned(), None), ("text", "x".to_owned(), None)];
    assert_eq!(cut, (expected, 0), "half an item does not go back");
}

#[test]
fn gemini_parts_keep_their_signatures_and_are_not_joined() {
    let part = |text: &str, more: &str| format!(r#"{{"text":"{text}"{more}}}"#);
    let call = r#"{"functionCall":{"name":"f","args":{"a": 1}},"thoughtSignature":"C"}"#;
    let parts = [
        part("th", r#","thought":true"#),
        part("ink", r#","thought":true"#),
        part("a", ""),
        part("b", ""),
        part("c", r#","thoughtSignature":"T""#),
        call.to_owned(),
        part("", r#","thoughtSignature":"E""#),
    ];
    let chunk = |part: &String| format!(r#"{{"candidates":[{{"content":{{"parts":[{part}]}},"index":0}}]}}"#);
    let mut chunks: Vec<String> = parts.iter().map(chunk).collect();
    chunks.push(r#"{"candidates":[{"finishReason":"STOP","index":0}]}"#.into());
    let body = stream(&chunks.iter().map(String::as_str).collect::<Vec<_>>());
    let whole = |json: &str| serde_json::from_str(json).ok();
    let expected = vec![
        ("reasoning", "think".to_owned(), None),
        ("text", "ab".to_owned(), None),
        ("text", "c".to_owned(), whole(&parts[4])),
        ("call", "f".to_owned(), whole(call)),
        ("text", String::new(), whole(&parts[6])),
    ];
    assert_eq!(blocks(Api::Gemini, &body), (expected, 3));
}
