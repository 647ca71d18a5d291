//! Tool calls, in all the forms in which servers send them.

use std::collections::HashSet;

use countersign_protocol::{Api, ArgumentsStatus as S, StopClass};
use serde_json::json;

use crate::support::{anthropic, calls, chat, decode, stream};

/// Chat deltas with one fragment of a call each.
fn fragments(list: &[&str]) -> String {
    let deltas: Vec<String> = list.iter().map(|call| format!(r#"{{"tool_calls":[{call}]}}"#)).collect();
    chat(&deltas.iter().map(String::as_str).collect::<Vec<_>>(), "tool_calls")
}

#[test]
fn index_and_id_tell_the_calls_apart_in_every_way() {
    let read = |id: &str, path: &str, index: &str| {
        format!(r#"{{{index}"id":"{id}","function":{{"name":"read","arguments":"{{\"p\":\"{path}\"}}"}}}}"#)
    };
    for (a, b) in [
        (read("a", "1", r#""index":0,"#), read("b", "2", r#""index":1,"#)),
        (read("a", "1", r#""index":4,"#), read("b", "2", r#""index":2,"#)),
        (read("a", "1", ""), read("b", "2", "")),
        (read("a", "1", r#""index":null,"#), read("b", "2", r#""index":null,"#)),
        (read("a", "1", r#""index":0,"#), read("b", "2", r#""index":0,"#)),
    ] {
        let decoded = decode(Api::OpenaiChat, &fragments(&[&a, &b]));
        let expected =
            [(Some("a"), "read", S::Ok, r#"{"p":"1"}"#), (Some("b"), "read", S::Ok, r#"{"p":"2"}"#)];
        assert_eq!(calls(&decoded), expected, "{a} {b}");
        assert!(decoded.executable);
    }
    // Without ids a name after whole arguments begins a call.
    for (a, b) in [
        (read("", "1", r#""index":0,"#), read("", "2", r#""index":0,"#)),
        (read("", "1", ""), read("", "2", "")),
    ] {
        assert_eq!(calls(&decode(Api::OpenaiChat, &fragments(&[&a, &b]))).len(), 2, "{a} {b}");
    }
}

#[test]
fn fragments_find_their_call() {
    let interleaved = fragments(&[
        r#"{"index":0,"id":"a","function":{"name":"r","arguments":"{\"p\""}}"#,
        r#"{"index":1,"id":"b","function":{"name":"w","arguments":""}}"#,
        r#"{"index":0,"function":{"arguments":":1}"}}"#,
        r#"{"index":1,"function":{"arguments":"{\"p\":2}"}}"#,
    ]);
    let expected = [(Some("a"), "r", S::Ok, r#"{"p":1}"#), (Some("b"), "w", S::Ok, r#"{"p":2}"#)];
    assert_eq!(calls(&decode(Api::OpenaiChat, &interleaved)), expected);

    let one = [(Some("a"), "read", S::Ok, r#"{"p":1}"#)];
    let repeated = fragments(&[
        r#"{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}"#,
        r#"{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}"#,
    ]);
    assert_eq!(calls(&decode(Api::OpenaiChat, &repeated)), one);
    let without_index = fragments(&[
        r#"{"id":"a","function":{"name":"re","arguments":null}}"#,
        r#"{"function":{"name":"ad","arguments":"{\"p\":"}}"#,
        r#"{"function":{"arguments":"1}"}}"#,
    ]);
    assert_eq!(calls(&decode(Api::OpenaiChat, &without_index)), one);
}

#[test]
fn a_call_without_arguments_comes_in_many_forms() {
    for (function, status, raw) in [
        (r#"{"name":"ls","arguments":"{}"}"#, S::Ok, "{}"),
        (r#"{"name":"ls","arguments":""}"#, S::Empty, ""),
        (r#"{"name":"ls","arguments":"null"}"#, S::Null, "null"),
        (r#"{"name":"ls","arguments":null}"#, S::Null, "null"),
        (r#"{"name":"ls"}"#, S::Absent, ""),
        (r#"{"name":"ls","arguments":{"a":[1]}}"#, S::Ok, r#"{"a":[1]}"#),
    ] {
        let streamed = fragments(&[&format!(r#"{{"index":0,"id":"a","function":{function}}}"#)]);
        let whole = format!(
            r#"{{"choices":[{{"finish_reason":"stop","message":{{"tool_calls":[{{"id":"a","function":{function}}}]}}}}]}}"#
        );
        for body in [streamed, whole] {
            let decoded = decode(Api::OpenaiChat, &body);
            assert_eq!(calls(&decoded), [(Some("a"), "ls", status, raw)], "{body}");
            assert_eq!((decoded.executable, decoded.stop.class), (true, StopClass::ToolUse));
        }
    }
}

#[test]
fn one_call_that_cannot_be_read_stops_them_all() {
    let good = r#"{"index":0,"id":"a","function":{"name":"r","arguments":"{}"}}"#;
    let deep = format!(r#"{{\"x\":{}"#, "[".repeat(2000));
    let deep_closed = format!(r#"{deep}{}}}"#, "]".repeat(2000));
    for (arguments, status) in [
        (r#"{\"path\":\"a"#, S::Invalid),
        (r#"{\"a\":1,}"#, S::Invalid),
        (r#"{\"a\":\"\\ud83d\"}"#, S::Invalid),
        (r#"{\"a\":\"\ud83d\"}"#, S::Invalid),
        (&deep, S::Invalid),
        (&deep_closed, S::Invalid),
        (r#"[1]"#, S::NotObject),
        (r#"\"{\\\"a\\\":1}\""#, S::NotObject),
    ] {
        let bad = format!(r#"{{"index":1,"id":"b","function":{{"name":"w","arguments":"{arguments}"}}}}"#);
        let decoded = decode(Api::OpenaiChat, &fragments(&[good, &bad]));
        let statuses: Vec<_> = decoded.message.calls().map(|call| call.arguments.status).collect();
        assert_eq!((statuses, decoded.executable), (vec![S::Ok, status], false), "{arguments:.40}");
    }
}

#[test]
fn nested_text_control_characters_and_big_numbers_stay_as_they_are() {
    let raw = r#"{"edits":"[{\"a\":1}]","nul":"\u0000","n":12345678901234567890123, "f":1.10}"#;
    let as_text = serde_json::to_string(raw).unwrap();
    let bodies = [
        (
            Api::OpenaiChat,
            fragments(&[&format!(r#"{{"id":"a","function":{{"name":"e","arguments":{as_text}}}}}"#)]),
        ),
        (
            Api::AnthropicMessages,
            format!(
                r#"{{"content":[{{"type":"tool_use","id":"a","name":"e","input":{raw}}}],"stop_reason":"tool_use"}}"#
            ),
        ),
        (
            Api::OpenaiResponses,
            format!(
                r#"{{"status":"completed","output":[{{"type":"function_call","call_id":"a","name":"e","arguments":{as_text}}}]}}"#
            ),
        ),
        (
            Api::Gemini,
            format!(
                r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"id":"a","name":"e","args":{raw}}}}}]}},"finishReason":"STOP"}}]}}"#
            ),
        ),
    ];
    for (api, body) in bodies {
        let decoded = decode(api, &body);
        assert_eq!(calls(&decoded), [(Some("a"), "e", S::Ok, raw)], "{api}");
        assert!(decoded.executable, "{api}");
    }
}

#[test]
fn deep_or_damaged_objects_spoil_only_their_call() {
    let deep = format!(r#"{{"x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for args in [deep.as_str(), r#"{"x":"\udc00"}"#] {
        let anthropic = format!(
            r#"{{"content":[{{"type":"text","text":"hi"}},{{"type":"tool_use","id":"a","name":"e","input":{args}}}],"stop_reason":"tool_use"}}"#
        );
        let gemini = format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"hi"}},{{"functionCall":{{"name":"e","args":{args}}}}}]}},"finishReason":"STOP"}}]}}"#
        );
        for (api, body) in [(Api::AnthropicMessages, anthropic), (Api::Gemini, gemini)] {
            let decoded = decode(api, &body);
            assert_eq!(decoded.message.text(), "hi");
            let call = decoded.message.calls().next().unwrap();
            assert_eq!((call.arguments.status, decoded.executable), (S::Invalid, false), "{api}");
            assert_eq!(call.replay, None, "what can't be read does not go back");
        }
    }
}

#[test]
fn each_call_of_a_message_has_an_id_of_its_own() {
    let call = |id: &str| format!(r#"{{{id}"function":{{"name":"r","arguments":"{{}}"}}}}"#);
    let list = [
        call(r#""id":"x","#),
        call(r#""id":"x","#),
        call(r#""id":"","#),
        call(""),
        call(r#""id":"call_2","#),
        call(r#""id":null,"#),
    ];
    let body = format!(
        r#"{{"choices":[{{"finish_reason":"tool_calls","message":{{"tool_calls":[{}]}}}}]}}"#,
        list.join(",")
    );
    let decoded = decode(Api::OpenaiChat, &body);
    let wire = [Some("x"), Some("x"), None, None, Some("call_2"), None].map(|id| id.map(str::to_owned));
    assert_eq!(decoded.wire_ids, wire);
    let ids: Vec<_> = decoded.message.calls().map(|call| call.id.0.as_str()).collect();
    assert_eq!((ids[0], ids[4]), ("x", "call_2"), "the wire's own ids stay");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 6, "{ids:?}");
    assert_eq!(decoded.report()["tool_calls"][2]["id"], json!(null));
}

#[test]
fn anthropic_input_comes_in_deltas_in_the_start_or_not_at_all() {
    let start = |input: &str| format!(r#"{{"type":"tool_use","id":"t","name":"ls"{input}}}"#);
    let delta = r#"{"type":"input_json_delta","partial_json":"{\"p\":1}"}"#;
    let empty = r#"{"type":"input_json_delta","partial_json":""}"#;
    for (input, deltas, status, raw) in [
        (r#","input":{}"#, &[empty, delta][..], S::Ok, r#"{"p":1}"#),
        (r#","input":{}"#, &[empty], S::Ok, "{}"),
        (r#","input":{"p": 2}"#, &[], S::Ok, r#"{"p": 2}"#),
        ("", &[delta], S::Ok, r#"{"p":1}"#),
        ("", &[], S::Absent, ""),
    ] {
        let decoded = decode(Api::AnthropicMessages, &anthropic(&start(input), deltas, "tool_use"));
        assert_eq!(calls(&decoded), [(Some("t"), "ls", status, raw)], "{input} {deltas:?}");
        assert!(decoded.executable);
    }
}

#[test]
fn a_response_repeats_its_calls_and_each_is_one() {
    let item = r#"{"type":"function_call","id":"f","call_id":"c","name":"r","arguments":"{\"p\":1}"}"#;
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"r","arguments":""}}"#;
    let delta = r#"{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"{\"p\":1}"}"#;
    let done = r#"{"type":"response.function_call_arguments.done","item_id":"f","output_index":0,"arguments":"{\"p\":1}"}"#;
    let item_done = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#);
    let end = |output: &str| {
        format!(r#"{{"type":"response.completed","response":{{"status":"completed","output":[{output}]}}}}"#)
    };
    let (full, empty) = (end(item), end(""));
    for events in [
        &[added, delta, done, &item_done, &full][..],
        &[added, done, &item_done, &empty],
        &[added, delta, &empty],
        &[added, &full],
        &[&item_done, &empty],
        &[&full],
    ] {
        let decoded = decode(Api::OpenaiResponses, &stream(events));
        assert_eq!(calls(&decoded), [(Some("c"), "r", S::Ok, r#"{"p":1}"#)], "{events:?}");
        assert_eq!((decoded.stop.class, decoded.executable), (StopClass::ToolUse, true));
    }
    let cut = decode(Api::OpenaiResponses, &stream(&[added, delta]));
    assert_eq!((cut.message.calls().count(), cut.complete, cut.executable), (1, false, false));
}

#[test]
fn gemini_leaves_empty_arguments_and_ids_out() {
    let body =
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"ls"}}]},"finishReason":"STOP"}]}"#;
    let decoded = decode(Api::Gemini, &stream(&[body]));
    assert_eq!(calls(&decoded), [(None, "ls", S::Ok, "{}")]);
    assert!(decoded.executable);
    let unexpected = body.replace("STOP", "UNEXPECTED_TOOL_CALL");
    assert!(!decode(Api::Gemini, &unexpected).executable);
}
