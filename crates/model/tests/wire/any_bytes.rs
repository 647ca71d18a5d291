//! Whatever the bytes are and wherever they are cut: the same answer, and never a panic.

use countersign_model::decode::{StreamEnd, decode_recorded, error_body};
use countersign_protocol::Api;
use proptest::prelude::*;

use crate::support::{cut_at, in_pieces};

/// Pieces of streams, whole ones and broken ones, of all APIs.
const TOKENS: [&str; 24] = [
    "data: ",
    "event: error\n",
    "event: message_start\n",
    "\n\n",
    "\r\n\r\n",
    "\r",
    ": comment\n",
    "[DONE]",
    "\u{feff}",
    r#"{"choices":[{"index":0,"delta":{"content":"é😀"}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"r","arguments":"{\"a\":"}}]}}]}"#,
    r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":18446744073709551615,"completion_tokens":1e300,"total_tokens":-1}}"#,
    r#"{"error":{"message":"x","code":502}}"#,
    r#"{"type":"message_start","message":{"usage":{"input_tokens":18446744073709551615,"cache_read_input_tokens":9}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"p\":\"\ud83d"}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"iterations":[{"type":"x"}]}}"#,
    r#"{"type":"message_stop"}"#,
    r#"{"type":"response.output_text.delta","output_index":18446744073709551615,"delta":"x"}"#,
    r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"c","arguments":"{}"}}"#,
    r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"message"}]}}"#,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}},{"text":"t"}]},"finishReason":"STOP"}]}"#,
    r#"{"usageMetadata":{"promptTokenCount":1,"toolUsePromptTokenCount":18446744073709551615}}"#,
];

fn body() -> impl Strategy<Value = Vec<u8>> {
    let tokens = proptest::collection::vec(proptest::sample::select(&TOKENS[..]), 0..30);
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    prop_oneof![3 => tokens.prop_map(|tokens| tokens.concat().into_bytes()), 1 => bytes]
}

proptest! {
    #[test]
    fn any_cut_decodes_to_the_same(
        body in body(),
        places in proptest::collection::vec(0usize..3000, 0..40),
        api in proptest::sample::select(&Api::ALL[..]),
        says_stream: bool,
        clean: bool,
    ) {
        let content_type = says_stream.then_some("text/event-stream");
        let end = || if clean { StreamEnd::Clean } else { StreamEnd::Cut("reset".into()) };
        let whole = in_pieces(api, content_type, &[&body], end());
        let pieces = cut_at(&body, places);
        prop_assert_eq!(&in_pieces(api, content_type, &pieces, end()), &whole);
        let bytewise: Vec<&[u8]> = body.chunks(1).collect();
        prop_assert_eq!(&in_pieces(api, content_type, &bytewise, end()), &whole);
        let ids: std::collections::HashSet<_> = whole.message.calls().map(|call| &call.id).collect();
        prop_assert_eq!(ids.len(), whole.message.calls().count());
        prop_assert!(!whole.executable || (whole.complete && whole.error.is_none()));
        prop_assert!(whole.report().is_object());
        prop_assert!(whole.usage.to_usage().is_none_or(|usage| usage.reasoning <= usage.output));
    }

    #[test]
    fn any_error_body_is_read(
        body in body(),
        status in 0u16..1000,
        wait in ".{0,12}",
        api in proptest::sample::select(&Api::ALL[..]),
    ) {
        let headers = [("retry-after".to_owned(), wait.clone()), ("retry-after-ms".to_owned(), wait)];
        prop_assert!(!error_body(api, status, &headers, &body).message.is_empty());
        prop_assert!(decode_recorded(api, status, None, &headers, &body).report().is_object());
    }
}
