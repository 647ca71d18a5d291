//! What goes wrong for good: each failure has its type, and none looks like an answer.

use countersign_protocol::Span;

use super::{
    server::{Act, response, stream},
    *,
};
use crate::Trouble;

fn trouble(error: &CallError) -> &Trouble {
    match error {
        CallError::Auth(trouble)
        | CallError::Quota(trouble)
        | CallError::RateLimit(trouble)
        | CallError::Overloaded(trouble)
        | CallError::ContextTooLong(trouble)
        | CallError::BadRequest(trouble)
        | CallError::Refused(trouble)
        | CallError::Network(trouble)
        | CallError::Protocol(trouble)
        | CallError::Script(trouble) => trouble,
        CallError::Cancelled => panic!("the call was cancelled"),
    }
}

#[tokio::test]
async fn what_waiting_does_not_mend_is_tried_once() {
    type IsRight = fn(&CallError) -> bool;
    let cases: [(u16, &str, IsRight); 7] = [
        (401, r#"{"error":{"message":"no such key"}}"#, |e| matches!(e, CallError::Auth(_))),
        (403, r#"{"error":{"message":"not yours"}}"#, |e| matches!(e, CallError::Auth(_))),
        (402, r#"{"error":{"message":"pay"}}"#, |e| matches!(e, CallError::Quota(_))),
        (429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#, |e| {
            matches!(e, CallError::Quota(_))
        }),
        (400, r#"{"error":{"message":"bad schema"}}"#, |e| matches!(e, CallError::BadRequest(_))),
        (404, r#"{"error":{"message":"no such model"}}"#, |e| matches!(e, CallError::BadRequest(_))),
        (400, r#"{"error":{"type":"exceed_context_size_error","message":"too long"}}"#, |e| {
            matches!(e, CallError::ContextTooLong(_))
        }),
    ];
    for (status, body, is_right) in cases {
        let reply = response(status, &[("content-type", "application/json")], body.as_bytes());
        let bench = Bench::new(Api::OpenaiChat, vec![reply]).await;
        let report = bench.call().await;
        let error = report.result.unwrap_err();
        assert!(is_right(&error), "{status} {body}: {error:?}");
        assert_eq!(trouble(&error).status, Some(status));
        assert_eq!((bench.server.count(), report.attempts.len()), (1, 1), "{status} {body}");
        assert_eq!(report.attempts[0].usage, Usage::default());
        assert!(!error.retryable());
    }
}

#[tokio::test]
async fn a_page_in_place_of_an_answer_is_quoted() {
    let page = b"<!doctype html><title>Sign in to the hotel's network</title>";
    let bench =
        Bench::new(Api::OpenaiChat, vec![response(200, &[("content-type", "text/html")], page)]).await;
    let error = bench.call().await.result.unwrap_err();
    assert!(matches!(error, CallError::Protocol(_)), "{error:?}");
    assert!(error.to_string().contains("Sign in to the hotel"), "{error}");
    assert_eq!(bench.server.count(), 1);
}

#[tokio::test]
async fn an_empty_response_is_no_answer() {
    for (content_type, chunked) in [("application/json", false), ("text/event-stream", true)] {
        let reply = match chunked {
            true => stream(&[], true),
            false => response(200, &[("content-type", content_type)], b""),
        };
        let bench = Bench::new(Api::OpenaiChat, vec![reply]).await;
        let error = bench.call().await.result.unwrap_err();
        assert!(matches!(error, CallError::Protocol(_) | CallError::Network(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = server::Server::start(vec![stream(CHAT, true)]).await;
    let reply = response(307, &[("location", &other.address)], b"");
    let bench = Bench::new(Api::OpenaiChat, vec![reply]).await;
    let error = bench.call().await.result.unwrap_err();
    assert!(matches!(error, CallError::Protocol(_)), "{error:?}");
    assert_eq!((bench.server.count(), other.count()), (1, 0));
}

#[tokio::test]
async fn a_stream_that_breaks_off_in_the_middle_is_no_answer_and_is_not_tried_again() {
    for (api, pieces) in [(Api::OpenaiChat, &CHAT[..2]), (Api::AnthropicMessages, &ANTHROPIC[..4])] {
        for orderly in [false, true] {
            let bench = Bench::new(api, vec![stream(pieces, orderly)]).await;
            let report = bench.call().await;
            let error = report.result.unwrap_err();
            assert!(matches!(error, CallError::Network(_)), "{api} {orderly}: {error:?}");
            assert!(error.to_string().contains("in the middle"), "{error}");
            assert_eq!((bench.server.count(), report.attempts.len()), (1, 1), "{api} {orderly}");
            let usage = report.attempts[0].usage;
            assert!(usage.estimated && usage.output == OUTPUT_TOKENS, "{usage:?}");
        }
    }
}

#[tokio::test]
async fn silence_ends_a_call() {
    let mut after_content = stream(&CHAT[..1], false);
    after_content.push(Act::Stall);
    for reply in [vec![Act::Stall], after_content] {
        let bench = Bench::with(Api::OpenaiChat, vec![reply], |provider| {
            provider.idle_timeout = Some(Span::from(Duration::from_millis(150)));
            provider.max_retries = Some(1);
        })
        .await;
        let error = bench.call().await.result.unwrap_err();
        assert!(matches!(error, CallError::Network(_)), "{error:?}");
        assert!(error.to_string().contains("silent"), "{error}");
        assert_eq!(bench.server.count(), 1, "the provider may have billed it");
    }
}

#[tokio::test]
async fn a_response_without_end_is_cut() {
    let mut reply = stream(&[], false);
    let event = format!("data: {{\"choices\":[],\"padding\":\"{}\"}}\n\n", "x".repeat(500_000));
    reply.push(Act::Flood(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()));
    let bench = Bench::new(Api::OpenaiChat, vec![reply]).await;
    let error = bench.call().await.result.unwrap_err();
    assert!(matches!(error, CallError::Protocol(_)), "{error:?}");
    assert!(error.to_string().contains("larger than"), "{error}");
    assert_eq!(bench.server.count(), 1);
}

#[tokio::test]
async fn an_error_within_a_stream_is_an_error() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let pieces: Vec<&str> = ANTHROPIC[..4].iter().copied().chain([error]).collect();
    let bench = Bench::new(Api::AnthropicMessages, vec![stream(&pieces, true)]).await;
    let report = bench.call().await;
    let error = report.result.unwrap_err();
    assert!(matches!(error, CallError::Overloaded(_)), "{error:?}");
    assert_eq!(bench.server.count(), 1, "content has come: another try would be another answer");
}

#[tokio::test]
async fn a_refusal_is_no_answer() {
    let text = CHAT[0].replace("I look.", "I will not.")
        + &CHAT[3].replace("tool_calls", "content_filter")
        + CHAT[4]
        + CHAT[5];
    let bench = Bench::new(Api::OpenaiChat, vec![stream(&[&text], true)]).await;
    let report = bench.call().await;
    let error = report.result.unwrap_err();
    assert!(matches!(error, CallError::Refused(_)), "{error:?}");
    assert!(error.to_string().contains("I will not"), "{error}");
    assert_eq!(report.attempts[0].usage.output, 12, "it is billed all the same");
}

#[test]
fn a_model_that_cannot_be_called_is_said_before_the_first_call() {
    let mut provider = Provider::new("lab", Api::OpenaiChat, "http://127.0.0.1:1/v1");
    provider.api_key_env = Some("COUNTERSIGN_TEST_KEY_THAT_IS_NOT_SET".into());
    let error = connect(&provider, spec(Api::OpenaiChat)).unwrap_err();
    assert!(error.to_string().contains("COUNTERSIGN_TEST_KEY_THAT_IS_NOT_SET"), "{error}");
    for api in [Api::OpenaiResponses, Api::Gemini] {
        let provider = Provider::new("lab", api, "http://127.0.0.1:1/v1");
        let error = connect(&provider, spec(api)).unwrap_err();
        assert!(error.to_string().contains("not yet spoken"), "{error}");
    }
    let provider = Provider::new("lab", Api::OpenaiChat, "127.0.0.1:1");
    assert!(matches!(connect(&provider, spec(Api::OpenaiChat)), Err(ConnectError::BaseUrl { .. })));
}
