//! What a good answer comes to, however it is sent, and what a request holds.

use countersign_protocol::{Content, StopClass, ToolResult};
use serde_json::Value;

use super::{
    server::{Act, gzip, response, stream},
    *,
};

#[tokio::test]
async fn both_apis_are_spoken() {
    for (api, pieces) in [(Api::OpenaiChat, CHAT), (Api::AnthropicMessages, ANTHROPIC)] {
        let bench = Bench::new(api, vec![stream(pieces, true)]).await;
        let report = bench.call().await;
        let answer = report.result.unwrap();
        assert_eq!(answer.message.text(), "I look.");
        assert_eq!(answer.message.calls().next().unwrap().arguments.raw, r#"{"command":"ls"}"#);
        assert_eq!(answer.stop.class, StopClass::ToolUse);
        assert!(answer.executable);
        let usage = Usage { input: 100, cache_read: 800, output: 12, ..Usage::default() };
        assert_eq!(answer.usage, usage);
        assert_eq!(report.attempts, [Attempt { usage, error: None }]);
    }
}

#[tokio::test]
async fn the_key_is_in_the_header_that_the_api_wants() {
    for (api, pieces, path, header) in [
        (Api::OpenaiChat, CHAT, "POST /v1/chat/completions ", format!("authorization: Bearer {KEY}")),
        (Api::AnthropicMessages, ANTHROPIC, "POST /v1/messages ", format!("x-api-key: {KEY}")),
    ] {
        let bench = Bench::new(api, vec![stream(pieces, true)]).await;
        bench.call().await.result.unwrap();
        let seen = &bench.server.seen()[0];
        assert!(seen.head.starts_with(path), "{}", seen.head);
        assert!(seen.head.contains(&header));
        assert_eq!(seen.head.matches(KEY).count(), 1);
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        assert_eq!(body["model"], "some-model");
        assert_eq!(body["max_tokens"], OUTPUT_TOKENS);
    }
}

#[tokio::test]
async fn without_a_key_no_header_is_sent() {
    let server = server::Server::start(vec![stream(CHAT, true)]).await;
    let provider = Provider::new("lab", Api::OpenaiChat, &server.address);
    let model = HttpModel::new(&provider, spec(Api::OpenaiChat), None).unwrap();
    call(&model, &CancellationToken::new()).await.result.unwrap();
    assert!(!server.seen()[0].head.contains("authorization"));
}

#[tokio::test]
async fn a_compressed_stream_is_read() {
    let headers = [("content-type", "text/event-stream"), ("content-encoding", "gzip")];
    let reply = response(200, &headers, &gzip(CHAT.concat().as_bytes()));
    let bench = Bench::new(Api::OpenaiChat, vec![reply]).await;
    assert_eq!(bench.call().await.result.unwrap().message.text(), "I look.");
}

#[tokio::test]
async fn an_answer_that_is_not_a_stream_is_read() {
    let body = br#"{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
    let reply = response(200, &[("content-type", "application/json")], body);
    let bench = Bench::new(Api::OpenaiChat, vec![reply]).await;
    let answer = bench.call().await.result.unwrap();
    assert_eq!((answer.message.text().as_str(), answer.usage.input), ("Hello.", 9));
    assert!(answer.executable, "a whole text without calls is whole");
}

#[tokio::test]
async fn nothing_is_waited_for_after_the_last_event() {
    let mut reply = stream(CHAT, false);
    reply.push(Act::Stall);
    let bench = Bench::new(Api::OpenaiChat, vec![reply]).await;
    assert!(bench.call().await.result.unwrap().executable);
}

#[tokio::test]
async fn an_answer_at_its_limit_is_not_executable_whatever_its_reason() {
    let limit =
        CHAT.concat().replace("\"completion_tokens\":12", &format!("\"completion_tokens\":{OUTPUT_TOKENS}"));
    let length = CHAT.concat().replace("tool_calls\"}]", "length\"}]");
    let never_closed = CHAT.concat().replace("\\\"ls\\\"}", "\\\"ls");
    for text in [limit, length, never_closed] {
        assert_ne!(text, CHAT.concat());
        let bench = Bench::new(Api::OpenaiChat, vec![stream(&[&text], true)]).await;
        assert!(!bench.call().await.result.unwrap().executable, "{text}");
    }
}

#[tokio::test]
async fn an_answer_without_usage_is_booked_as_an_upper_bound_and_may_act() {
    let text: String = CHAT.iter().filter(|piece| !piece.contains("usage")).copied().collect();
    let bench = Bench::new(Api::OpenaiChat, vec![stream(&[&text], true)]).await;
    let answer = bench.call().await.result.unwrap();
    assert_eq!(answer.usage, Usage { output: OUTPUT_TOKENS, ..prompt_alone() });
    assert!(answer.executable, "the host's own bound says nothing of the answer's end");
}

#[tokio::test]
async fn each_request_of_a_hundred_turns_extends_the_last_byte_for_byte() {
    for (api, pieces) in [(Api::OpenaiChat, CHAT), (Api::AnthropicMessages, ANTHROPIC)] {
        let bench = Bench::new(api, vec![stream(pieces, true)]).await;
        let mut prompt = prompt(&bench.model);
        for turn in 1..=100 {
            let request = Request { output_tokens: 1_000 - turn, turn, ..request(&prompt) };
            let answer = Model::call(&bench.model, request, &bench.cancel).await.result.unwrap();
            let content = vec![Content::Text { text: format!("result {turn}\n\u{1f980}") }];
            let call = answer.message.calls().next().unwrap();
            let (call, name) = (call.id.clone(), call.name.clone());
            let results = vec![ToolResult { call, name, content, is_error: turn % 7 == 0 }];
            prompt.push(bench.model.encoder(), &Item::Assistant { message: answer.message });
            prompt.push(bench.model.encoder(), &Item::ToolResults { results });
        }
        let mut before = String::new();
        for seen in bench.server.seen() {
            let body =
                String::from_utf8(seen.body).unwrap().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            let now = body[..body.rfind("],\"max_tokens\"").unwrap()].to_owned();
            assert!(now.len() > before.len() && now.starts_with(&before), "{api}");
            before = now;
        }
        assert_eq!(bench.server.count(), 100);
    }
}
