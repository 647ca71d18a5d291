//! What is tried again, how often, when, and what each try is booked with.

use super::{
    server::{Act, response, stream},
    *,
};

fn failure(status: u16, retry_after: &str) -> Vec<Act> {
    let headers = [("content-type", "application/json"), ("retry-after", retry_after)];
    response(status, &headers, br#"{"error":{"type":"some_error","message":"not now"}}"#)
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        for api in [Api::OpenaiChat, Api::AnthropicMessages] {
            let pieces = if api == Api::OpenaiChat { CHAT } else { ANTHROPIC };
            let replies = vec![failure(status, "0"), failure(status, "abc"), stream(pieces, true)];
            let bench = Bench::new(api, replies).await;
            let report = bench.call().await;
            assert_eq!(report.result.unwrap().message.text(), "I look.", "{status}");
            assert_eq!((bench.server.count(), report.attempts.len()), (3, 3), "{status}");
            for attempt in &report.attempts[..2] {
                assert_eq!(attempt.usage, Usage::default());
                assert!(attempt.error.is_some());
            }
        }
    }
}

#[tokio::test]
async fn there_is_one_owner_of_retries() {
    for max_retries in [0, 1, 4] {
        let bench = Bench::with(Api::OpenaiChat, vec![failure(429, "0")], |provider| {
            provider.max_retries = Some(max_retries);
        })
        .await;
        let report = bench.call().await;
        assert!(matches!(report.result, Err(CallError::RateLimit(_))));
        let expected = 1 + max_retries as usize;
        assert_eq!((bench.server.count(), report.attempts.len()), (expected, expected));
    }
}

#[tokio::test]
async fn a_provider_that_asks_for_too_long_a_wait_is_not_waited_for() {
    for asked in ["3600", "Fri, 31 Dec 2100 00:00:00 GMT"] {
        let bench = Bench::new(Api::OpenaiChat, vec![failure(429, asked)]).await;
        let error = bench.call().await.result.unwrap_err();
        assert!(error.to_string().contains("asks to wait"), "{error}");
        assert_eq!(bench.server.count(), 1);
    }
}

#[test]
fn the_wait_that_a_provider_asks_for_is_kept() {
    let provider = Provider::new("lab", Api::OpenaiChat, "http://127.0.0.1:1");
    let model = HttpModel::new(&provider, spec(Api::OpenaiChat), None).unwrap();
    let failure = |again, seconds: Option<u64>| Failure {
        error: CallError::Cancelled,
        again,
        retry_after: seconds.map(Duration::from_secs),
    };
    for _ in 0..50 {
        let asked = delay(&failure(true, Some(7)), &mut model.delays()).unwrap();
        assert!((7_000..7_200).contains(&asked.as_millis()), "{asked:?}");
        let own = delay(&failure(true, None), &mut model.delays()).unwrap();
        assert!((500..=1_000).contains(&own.as_millis()), "{own:?}");
    }
    assert_eq!(delay(&failure(true, Some(61)), &mut model.delays()), None);
    assert_eq!(delay(&failure(false, Some(1)), &mut model.delays()), None);
    assert_eq!(model.delays().count(), 3);
}

#[tokio::test]
async fn nobody_at_the_address_costs_nothing() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let model = model(&Provider::new("lab", Api::OpenaiChat, &address));
    let report = call(&model, &CancellationToken::new()).await;
    let error = report.result.unwrap_err();
    assert!(matches!(error, CallError::Network(_)), "{error:?}");
    assert!(error.to_string().contains(&address), "{error}");
    assert_eq!(report.attempts.len(), 4);
    assert!(report.attempts.iter().all(|attempt| attempt.usage == Usage::default()));
}

#[tokio::test]
async fn what_may_have_been_billed_is_booked_and_left_to_the_caller_who_must_reserve_anew() {
    let closed = vec![];
    let headers_alone = stream(&[], false);
    let keep_alive = stream(&[": ping\n\n"], false);
    for reply in [closed, headers_alone, keep_alive] {
        let bench = Bench::new(Api::OpenaiChat, vec![reply, stream(CHAT, true)]).await;
        let report = bench.call().await;
        assert!(report.result.unwrap_err().retryable());
        assert_eq!(bench.server.count(), 1);
        assert_eq!(report.attempts[0].usage, prompt_alone(), "the provider may have billed the prompt");
        assert!(bench.call().await.result.is_ok());
    }
}

#[tokio::test]
async fn a_stream_that_dies_at_its_start_is_booked_as_it_reported() {
    let replies = vec![stream(&ANTHROPIC[..1], false), stream(ANTHROPIC, true)];
    let bench = Bench::new(Api::AnthropicMessages, replies).await;
    let report = bench.call().await;
    assert!(report.result.unwrap_err().retryable());
    let usage = report.attempts[0].usage;
    assert_eq!((usage.prompt_total(), usage.estimated), (900, false));
    assert!(bench.call().await.result.is_ok());
}

#[tokio::test]
async fn overload_within_a_stream_is_tried_again_while_nothing_has_come() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let bench =
        Bench::new(Api::AnthropicMessages, vec![stream(&[error], true), stream(ANTHROPIC, true)]).await;
    let report = bench.call().await;
    assert!(report.result.is_ok());
    assert!(matches!(report.attempts[0].error, Some(CallError::Overloaded(_))));
}

#[tokio::test]
async fn cancelling_ends_a_call_at_once() {
    let mut stalled = stream(&CHAT[..1], false);
    stalled.push(Act::Stall);
    for (reply, attempts) in [(failure(429, "50"), 1), (vec![Act::Stall], 1), (stalled, 1)] {
        let bench = Bench::new(Api::OpenaiChat, vec![reply]).await;
        let stop = async {
            bench.server.request().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            bench.cancel.cancel();
        };
        let (report, ()) = tokio::join!(bench.call(), stop);
        assert_eq!(report.result, Err(CallError::Cancelled));
        assert_eq!((bench.server.count(), report.attempts.len()), (1, attempts));
    }
    let bench = Bench::new(Api::OpenaiChat, vec![stream(CHAT, true)]).await;
    bench.cancel.cancel();
    let report = bench.call().await;
    assert_eq!(
        (report.result, report.attempts.len(), bench.server.count()),
        (Err(CallError::Cancelled), 0, 0)
    );
}

#[tokio::test]
async fn what_was_sent_before_a_cancel_is_booked() {
    let mut stalled = stream(&CHAT[..1], false);
    stalled.push(Act::Stall);
    let bench = Bench::new(Api::OpenaiChat, vec![stalled]).await;
    let stop = async {
        bench.server.request().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        bench.cancel.cancel();
    };
    let (report, ()) = tokio::join!(bench.call(), stop);
    let usage = report.attempts[0].usage;
    assert!(usage.estimated && usage.input == PROMPT_TOKENS, "{usage:?}");
}
