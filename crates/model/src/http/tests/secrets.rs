//! The key is in a header and nowhere else.

use super::{
    server::{response, stream},
    *,
};

#[tokio::test]
async fn the_key_is_in_no_error_and_in_no_debug_output() {
    let echo = format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}"}}}}"#);
    let page = format!("<html>{KEY}</html>");
    let event = format!("data: {{\"error\":{{\"message\":\"{KEY} is blocked\"}}}}\n\n");
    let refusal = CHAT[0].replace("I look.", KEY) + &CHAT[3].replace("tool_calls", "content_filter");
    let replies = [
        response(401, &[], echo.as_bytes()),
        response(200, &[], page.as_bytes()),
        response(302, &[("location", KEY)], b""),
        stream(&[&event], true),
        stream(&[&refusal], true),
        vec![],
    ];
    for reply in replies {
        let bench =
            Bench::with(Api::OpenaiChat, vec![reply], |provider| provider.max_retries = Some(0)).await;
        let report = bench.call().await;
        let error = report.result.clone().unwrap_err();
        for text in [error.to_string(), format!("{report:?}"), format!("{:?}", bench.model)] {
            assert!(!text.contains(KEY), "{text}");
        }
    }
}
