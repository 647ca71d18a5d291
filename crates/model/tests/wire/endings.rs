//! How an answer ends: in order, cut off, without a reason, or in a form that nobody announced.

use countersign_model::decode::{ErrorClass, StreamEnd};
use countersign_protocol::{Api, StopClass};

use crate::support::{anthropic, calls, chat, decode, decode_cut, in_pieces, stream};

const TEXT: &str = r#"{"type":"text","text":""}"#;
const HELLO: &str = r#"{"type":"text_delta","text":"hello"}"#;
const CALL: &str = r#"{"type":"tool_use","id":"t1","name":"write","input":{}}"#;

#[test]
fn a_whole_stream_is_complete() {
    let decoded = decode(Api::AnthropicMessages, &anthropic(TEXT, &[HELLO], "end_turn"));
    assert_eq!((decoded.message.text().as_str(), decoded.stop.class), ("hello", StopClass::End));
    assert!(decoded.complete && decoded.error.is_none());
    assert!(!decoded.executable, "there is nothing to run");
}

#[test]
fn a_stream_without_its_last_event_is_not_an_answer() {
    let whole =
        anthropic(CALL, &[r#"{"type":"input_json_delta","partial_json":"{\"path\":\"a\"}"}"#], "tool_use");
    assert!(decode(Api::AnthropicMessages, &whole).executable);
    for gone in ["message_stop", "message_delta", "content_block_stop"] {
        let cut = &whole[..whole.find(&format!(r#"data: {{"type":"{gone}""#)).unwrap()];
        for decoded in [decode(Api::AnthropicMessages, cut), decode_cut(Api::AnthropicMessages, cut)] {
            assert!(!decoded.complete && !decoded.executable && decoded.error.is_none(), "{gone}");
            assert_eq!(decoded.usage.input_uncached, Some(5), "what was spent is booked");
        }
    }
}

#[test]
fn half_an_event_at_the_end_is_dropped_and_a_whole_one_is_not() {
    let whole = chat(&[r#"{"content":"ab"}"#], "stop");
    let half = &whole[..whole.find(r#""finish_reason":"stop"#).unwrap()];
    let decoded = decode(Api::OpenaiChat, half);
    assert_eq!((decoded.message.text().as_str(), decoded.complete, decoded.error), ("ab", false, None));

    let unclosed = whole.strip_suffix("\n\ndata: [DONE]\n\n").unwrap();
    assert!(decode(Api::OpenaiChat, unclosed).complete, "the last event needs no blank line");
    assert!(!decode_cut(Api::OpenaiChat, unclosed).complete, "but a broken connection may have cut it");
}

#[test]
fn every_stream_can_be_cut_anywhere_and_nothing_runs_before_its_end() {
    let body = chat(
        &[
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"bash","arguments":"{\"command\":\"rm é\"}"}}]}"#,
        ],
        "tool_calls",
    );
    let reason = body.find(r#""finish_reason":"tool_calls""#).unwrap();
    for at in 0..body.len() {
        let decoded = in_pieces(Api::OpenaiChat, None, &[&body.as_bytes()[..at]], StreamEnd::Clean);
        assert!(at > reason || !decoded.executable, "cut at {at}");
    }
}

#[test]
fn a_server_that_gives_no_reason_is_believed_when_it_says_done() {
    for stop in ["null", r#""""#] {
        let chunk =
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"4"}},"finish_reason":{stop}}}]}}"#);
        let done = decode(Api::OpenaiChat, &stream(&[&chunk, "[DONE]"]));
        assert_eq!((done.stop.class, done.stop.raw, done.complete), (StopClass::Missing, None, true));
        assert!(!decode(Api::OpenaiChat, &stream(&[&chunk])).complete);
    }
}

#[test]
fn what_comes_after_done_is_not_read() {
    let late = stream(&[r#"{"choices":[{"index":0,"delta":{"content":"late"}}]}"#]);
    let decoded = decode(Api::OpenaiChat, &(chat(&[r#"{"content":"kept"}"#], "stop") + &late));
    assert_eq!(decoded.message.text(), "kept");
}

#[test]
fn a_cut_by_length_is_seen_behind_another_reason() {
    let call = r#""message":{"tool_calls":[{"id":"c","function":{"name":"w","arguments":"{\"a\":1}"}}]}"#;
    for (stop, native) in
        [("length", "null"), ("tool_calls", r#""max_output_tokens""#), ("stop", r#""MAX_TOKENS""#)]
    {
        let body = format!(
            r#"{{"choices":[{{"index":0,"finish_reason":"{stop}","native_finish_reason":{native},{call}}}]}}"#
        );
        let decoded = decode(Api::OpenaiChat, &body);
        assert_eq!((decoded.stop.class, decoded.executable), (StopClass::Length, false), "{stop} {native}");
    }
}

#[test]
fn reasons_of_every_api_have_their_class() {
    let anthropic = |stop: &str| format!(r#"{{"type":"message","content":[],"stop_reason":"{stop}"}}"#);
    let gemini = |stop: &str| format!(r#"{{"candidates":[{{"finishReason":"{stop}","index":0}}]}}"#);
    let responses = |stop: &str| match stop.split_once(':') {
        Some((status, why)) => {
            format!(r#"{{"status":"{status}","incomplete_details":{{"reason":"{why}"}},"output":[]}}"#)
        }
        None => format!(r#"{{"status":"{stop}","output":[]}}"#),
    };
    for (body, class) in [
        (anthropic("refusal"), StopClass::Refusal),
        (anthropic("pause_turn"), StopClass::Pause),
        (anthropic("stop_sequence"), StopClass::StopSequence),
        (anthropic("model_context_window_exceeded"), StopClass::Length),
        (anthropic("tomorrow"), StopClass::Unknown),
    ] {
        assert_eq!(decode(Api::AnthropicMessages, &body).stop.class, class, "{body}");
    }
    for (stop, class) in [
        ("MAX_TOKENS", StopClass::Length),
        ("SAFETY", StopClass::ContentFilter),
        ("MALFORMED_FUNCTION_CALL", StopClass::MalformedToolCall),
        ("SOMETHING_NEW", StopClass::Unknown),
    ] {
        let decoded = decode(Api::Gemini, &gemini(stop));
        assert_eq!((decoded.stop.class, decoded.stop.raw.as_deref()), (class, Some(stop)));
    }
    for (stop, class, complete) in [
        ("completed", StopClass::End, true),
        ("incomplete:max_output_tokens", StopClass::Length, true),
        ("incomplete:content_filter", StopClass::ContentFilter, true),
        ("in_progress", StopClass::Pending, false),
    ] {
        let decoded = decode(Api::OpenaiResponses, &responses(stop));
        assert_eq!((decoded.stop.class, decoded.complete), (class, complete), "{stop}");
        assert_eq!(decoded.stop.raw.as_deref(), Some(stop));
    }
}

#[test]
fn a_refusal_is_no_answer_and_its_words_are_kept() {
    let decoded = decode(Api::OpenaiChat, &chat(&[r#"{"refusal":"I "}"#, r#"{"refusal":"won't"}"#], "stop"));
    assert_eq!((decoded.stop.class, decoded.refusal.as_deref()), (StopClass::Refusal, Some("I won't")));
    let item = r#"{"type":"message","content":[{"type":"refusal","refusal":"no"}]}"#;
    let decoded = decode(Api::OpenaiResponses, &format!(r#"{{"status":"completed","output":[{item}]}}"#));
    assert_eq!((decoded.stop.class, decoded.refusal.as_deref()), (StopClass::Refusal, Some("no")));
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#;
    let decoded = decode(Api::Gemini, blocked);
    assert_eq!((decoded.stop.class, decoded.complete), (StopClass::ContentFilter, true));
    assert_eq!(decoded.stop.raw.as_deref(), Some("promptFeedback:SAFETY"));
}

#[test]
fn gemini_ends_without_parts_or_without_a_reason() {
    let first = r#"{"candidates":[{"content":{"parts":[{"text":"half"}]},"index":0}]}"#;
    let last = r#"{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0}]}"#;
    let crlf = |data: &[&str]| stream(data).replace('\n', "\r\n");
    let decoded = decode(Api::Gemini, &crlf(&[first, last]));
    assert_eq!((decoded.message.text().as_str(), decoded.stop.class), ("half", StopClass::End));
    assert!(decoded.complete && !decode(Api::Gemini, &crlf(&[first])).complete);
    let array = format!("[{first},{last}]");
    assert_eq!(decode(Api::Gemini, &array).message, decoded.message, "a stream may be one array");
}

#[test]
fn the_body_is_believed_more_than_its_content_type() {
    let body = chat(&[r#"{"content":"x"}"#], "stop");
    let json = r#"{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"x"}}]}"#;
    for content_type in
        [None, Some("text/event-stream; charset=utf-8"), Some("application/json"), Some("text/plain")]
    {
        for body in
            [&body, &format!("\u{feff}{body}"), &format!(": hi\n\n{body}"), &format!("\n\n{body}"), json]
        {
            let decoded = in_pieces(Api::OpenaiChat, content_type, &[body.as_bytes()], StreamEnd::Clean);
            assert_eq!(decoded.message.text(), "x", "{content_type:?} {body}");
        }
    }
}

#[test]
fn a_page_in_place_of_an_answer_is_quoted() {
    for api in Api::ALL {
        let decoded = decode(api, "<!doctype html>\n<title>Sign in</title>");
        let error = decoded.error.unwrap();
        assert_eq!((error.class, error.retryable, error.midstream), (ErrorClass::BadBody, false, false));
        assert!(error.message.contains("<title>Sign in"), "{}", error.message);
        for (body, retryable) in [("{\"a\":", true), ("", true), ("{\"a\":1}", false), ("7", false)] {
            let error = decode(api, body).error.unwrap();
            assert_eq!((error.class, error.retryable), (ErrorClass::BadBody, retryable), "{api} {body:?}");
        }
        let cut = decode_cut(api, "{\"a\":");
        assert_eq!((cut.error, cut.complete, cut.stop.class), (None, false, StopClass::Missing));
    }
}

#[test]
fn an_event_of_300_kilobytes_is_read_and_one_without_end_is_an_error() {
    let words = "é\\n".repeat(75_000);
    let delta = format!(
        r#"{{"type":"input_json_delta","partial_json":"{{\"content\":\"{}\"}}"}}"#,
        words.replace('\\', "\\\\")
    );
    let decoded = decode(Api::AnthropicMessages, &anthropic(CALL, &[&delta], "tool_use"));
    assert!(decoded.executable);
    assert_eq!(
        decoded.message.calls().next().unwrap().arguments.object().unwrap()["content"],
        "é\n".repeat(75_000)
    );

    let flood = vec![b'x'; 1 << 20];
    let mut pieces: Vec<&[u8]> = vec![b"data: "];
    pieces.extend(std::iter::repeat_n(flood.as_slice(), 33));
    for pieces in [&pieces[..], &pieces[1..]] {
        let decoded = in_pieces(Api::OpenaiChat, Some("text/event-stream"), pieces, StreamEnd::Clean);
        let error = decoded.error.unwrap();
        assert_eq!((error.class, error.retryable, decoded.complete), (ErrorClass::BadBody, false, false));
    }
}

#[test]
fn only_the_first_choice_is_read() {
    let both = r#"{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"}}]}"#;
    let other = r#"{"choices":[{"index":1,"delta":{},"finish_reason":"length"}]}"#;
    let decoded = decode(Api::OpenaiChat, &stream(&[both, other, r#"{"choices":[]}"#, "[DONE]"]));
    assert_eq!((decoded.message.text().as_str(), decoded.stop.class), ("yes", StopClass::Missing));
}

#[test]
fn unknown_events_signs_of_life_and_odd_fields_are_passed_over() {
    let body = String::from(": comment\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\ndata: keep-alive\n\n")
        + r#"data: {"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"lost"}}"#
        + "\n\n"
        + &anthropic(TEXT, &[r#"{"type":"new_delta","x":1}"#, HELLO, "null", "3"], "end_turn")
            .replace(r#""index":0"#, r#""index":0,"new":[{}]"#);
    let decoded = decode(Api::AnthropicMessages, &body);
    assert_eq!((decoded.message.text().as_str(), decoded.complete), ("hello", true));
    assert!(calls(&decoded).is_empty());
}
