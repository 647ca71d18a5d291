//! Errors: in a response of their own, inside a stream, and what each means for a retry.

use std::time::Duration;

use countersign_model::decode::{ApiError, ErrorClass, decode_recorded, error_body};
use countersign_protocol::{Api, StopClass};

use crate::support::{anthropic, chat, decode, stream};

fn http(api: Api, status: u16, body: &str) -> ApiError {
    error_body(api, status, &[], body.as_bytes())
}

#[test]
fn each_status_and_word_has_its_class() {
    use ErrorClass as E;
    let chat = Api::OpenaiChat;
    for (api, status, body, class) in [
        (chat, 400, r#"{"error":{"message":"bad","code":"forty"}}"#, E::InvalidRequest),
        (chat, 401, r#"{"error":{"message":"who?"}}"#, E::Auth),
        (chat, 402, r#"{"error":"pay"}"#, E::Quota),
        (chat, 403, r#"{"error":{"message":"no","type":"invalid_request_error"}}"#, E::Forbidden),
        (chat, 404, r#"{"detail":"Not Found"}"#, E::NotFound),
        (chat, 408, "", E::Server),
        (chat, 413, "payload too large", E::ContextOverflow),
        (chat, 422, r#"{"detail":[{"msg":"field required"}]}"#, E::InvalidRequest),
        (chat, 429, r#"{"error":{"message":"slow down"}}"#, E::RateLimit),
        (chat, 429, r#"{"error":{"message":"You exceeded your current quota"}}"#, E::Quota),
        (chat, 429, r#"{"error":{"message":"no","code":"insufficient_quota"}}"#, E::Quota),
        (chat, 500, "", E::Server),
        (chat, 503, "", E::Server),
        (chat, 503, r#"{"error":{"message":"The model is overloaded"}}"#, E::Overloaded),
        (chat, 400, r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#, E::ContextOverflow),
        (
            chat,
            400,
            r#"{"error":{"code":400,"message":"x","type":"exceed_context_size_error"}}"#,
            E::ContextOverflow,
        ),
        (chat, 400, r#"{"error":{"message":"x","code":"tool_use_failed"}}"#, E::ModelOutput),
        (
            Api::AnthropicMessages,
            529,
            r#"{"type":"error","error":{"type":"overloaded_error"}}"#,
            E::Overloaded,
        ),
        (
            Api::AnthropicMessages,
            400,
            r#"{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            E::ContextOverflow,
        ),
        (Api::AnthropicMessages, 400, r#"{"error":{"message":"Your credit balance is too low"}}"#, E::Quota),
        (
            Api::Gemini,
            400,
            r#"[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]"#,
            E::InvalidRequest,
        ),
        (Api::Gemini, 400, r#"{"error":{"message":"API key not valid. Pass a valid one."}}"#, E::Auth),
        (Api::Gemini, 503, r#"{"error":{"message":"busy","status":"UNAVAILABLE"}}"#, E::Overloaded),
        (
            Api::OpenaiResponses,
            400,
            r#"{"code":"invalid-argument","error":"Model not found"}"#,
            E::InvalidRequest,
        ),
    ] {
        let error = http(api, status, body);
        let retryable = matches!(class, E::RateLimit | E::Overloaded | E::Server | E::ModelOutput);
        assert_eq!((error.class, error.retryable), (class, retryable), "{status} {body}");
        assert!(!error.midstream && !error.message.is_empty());
    }
}

#[test]
fn the_message_is_found_wherever_it_is() {
    for (body, message) in [
        (r#"{"error":{"message":"deep"}}"#, "deep"),
        (r#"{"error":"flat"}"#, "flat"),
        (r#"{"detail":"detail"}"#, "detail"),
        (r#"{"detail":[{"msg":"listed"}]}"#, "listed"),
        (r#"{"object":"error","message":"top","code":400}"#, "top"),
        (r#"[{"error":{"message":"array"}}]"#, "array"),
        (r#""text""#, "text"),
        ("<h1>Bad\n gateway</h1>", "HTTP status 400: <h1>Bad gateway</h1>"),
        ("", "HTTP status 400 without a body"),
        (r#"{"error":{"message":"outer","metadata":{"raw":"inner words"}}}"#, "outer: inner words"),
    ] {
        assert_eq!(http(Api::OpenaiChat, 400, body).message, message);
    }
}

#[test]
fn google_words_a_limit_per_minute_as_a_quota() {
    let body = |id: &str| {
        format!(
            r#"{{"error":{{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":
            [{{"violations":[{{"quotaId":"{id}"}}]}},{{"@type":"RetryInfo","retryDelay":"34.5s"}}]}}}}"#
        )
    };
    let minute = http(Api::Gemini, 429, &body("RequestsPerMinute"));
    assert_eq!(
        (minute.class, minute.retry_after),
        (ErrorClass::RateLimit, Some(Duration::from_millis(34_500)))
    );
    assert_eq!(http(Api::Gemini, 429, &body("RequestsPerDay")).class, ErrorClass::Quota);
}

#[test]
fn the_server_may_say_itself_whether_to_retry() {
    let says = |status, value: &str| {
        let headers = [("X-Should-Retry".to_owned(), value.to_owned())];
        error_body(Api::AnthropicMessages, status, &headers, b"").retryable
    };
    assert!(!says(500, "false") && says(400, "true") && says(500, "maybe") && !says(400, ""));
    assert!(http(Api::OpenaiChat, 409, "").retryable);
}

#[test]
fn an_error_response_is_whole_and_nothing_of_it_runs() {
    let headers = [("retry-after".to_owned(), "7".to_owned())];
    let decoded = decode_recorded(Api::OpenaiChat, 429, None, &headers, b"");
    assert_eq!((decoded.complete, decoded.executable, decoded.stop.class), (true, false, StopClass::Error));
    let report = decoded.report();
    assert_eq!(report["error"]["retry_after_s"], 7);
    assert_eq!(report["usage"], serde_json::Value::Null);
}

#[test]
fn errors_inside_a_stream_keep_what_came_before() {
    let start = r#"{"type":"tool_use","id":"t","name":"bash","input":{}}"#;
    let whole = anthropic(start, &[r#"{"type":"input_json_delta","partial_json":"{\"comm"}"#], "tool_use");
    let before = &whole[..whole.find(r#"data: {"type":"content_block_stop"#).unwrap()];
    for (event, class) in [
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
            ErrorClass::Overloaded,
        ),
        (
            "data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"x\"}}",
            ErrorClass::Server,
        ),
        ("event: error", ErrorClass::Server),
        ("event: error\nid: 1", ErrorClass::Server),
        ("data: {\"type\":\"content_block_delta\",", ErrorClass::BadBody),
    ] {
        let decoded = decode(Api::AnthropicMessages, &format!("{before}{event}\n\n"));
        let error = decoded.error.clone().unwrap();
        assert_eq!((error.class, error.retryable, error.midstream), (class, true, true), "{event}");
        assert_eq!(
            (decoded.stop.class, decoded.executable, decoded.complete),
            (StopClass::Error, false, false)
        );
        assert_eq!((decoded.message.calls().count(), decoded.usage.input_uncached), (1, Some(5)));
    }
}

#[test]
fn chat_servers_put_errors_into_streams_in_many_ways() {
    use ErrorClass as E;
    for (chunk, class, retryable) in [
        (r#"{"error":{"message":"used up","code":402}}"#, E::Quota, false),
        (
            r#"{"error":{"message":"bad gateway","code":502},"choices":[{"index":0,"delta":{}}]}"#,
            E::Server,
            true,
        ),
        (r#"{"error":"words alone"}"#, E::Server, true),
        (r#"{"detail":"words alone"}"#, E::Server, true),
        (
            r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
            E::InvalidRequest,
            false,
        ),
        (r#"{"error":{"message":"bad","code":"rate_limit_exceeded"}}"#, E::RateLimit, true),
        (
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"error","error":{"code":502}}]}"#,
            E::Server,
            true,
        ),
        (r#"{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}"#, E::Server, true),
    ] {
        let body = stream(&[r#"{"choices":[{"index":0,"delta":{"content":"so far"}}]}"#, chunk, "[DONE]"]);
        let decoded = decode(Api::OpenaiChat, &body);
        let error = decoded.error.clone().unwrap_or_else(|| panic!("{chunk} is an error"));
        assert_eq!((error.class, error.retryable, error.midstream), (class, retryable, true), "{chunk}");
        assert_eq!((decoded.message.text().as_str(), decoded.stop.class), ("so far", StopClass::Error));
    }
    let fine = chat(&[r#"{"content":"x"}"#], "stop").replace(r#"{"choices""#, r#"{"error":null,"choices""#);
    assert_eq!(decode(Api::OpenaiChat, &fine).error, None);
}

#[test]
fn an_error_in_place_of_a_whole_answer_is_not_midstream() {
    for api in Api::ALL {
        let error = decode(api, r#"{"error":{"message":"slow","code":429}}"#).error.unwrap();
        assert_eq!((error.class, error.midstream), (ErrorClass::RateLimit, false), "{api}");
    }
}

#[test]
fn a_failed_response_is_an_error() {
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"oops"}}}"#;
    let bare = r#"{"type":"error","code":"rate_limit_exceeded","message":"oops"}"#;
    for (event, class) in [(failed, ErrorClass::Server), (bare, ErrorClass::RateLimit)] {
        let error = decode(Api::OpenaiResponses, &stream(&[event])).error.unwrap();
        assert_eq!((error.class, error.message.as_str(), error.midstream), (class, "oops", true));
    }
    let error =
        decode(Api::Gemini, &stream(&[r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"m"}}"#]))
            .error;
    assert_eq!(error.unwrap().class, ErrorClass::Overloaded);
}
