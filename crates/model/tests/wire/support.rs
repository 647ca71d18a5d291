//! Ways to write a response and to feed it to a reader.

use countersign_model::decode::{AnswerReader, Decoded, StreamEnd};
use countersign_protocol::{Api, ArgumentsStatus};

/// Decodes a body that came whole, without a content type.
pub(crate) fn decode(api: Api, body: &str) -> Decoded {
    in_pieces(api, None, &[body.as_bytes()], StreamEnd::Clean)
}

/// Decodes a body whose connection broke.
pub(crate) fn decode_cut(api: Api, body: &str) -> Decoded {
    in_pieces(api, None, &[body.as_bytes()], StreamEnd::Cut("connection reset".into()))
}

/// Decodes a body that comes in these pieces.
pub(crate) fn in_pieces(api: Api, content_type: Option<&str>, pieces: &[&[u8]], end: StreamEnd) -> Decoded {
    let mut reader = AnswerReader::new(api, content_type);
    for piece in pieces {
        reader.push(piece);
    }
    reader.finish(end)
}

/// Cuts bytes at these places, in any order.
pub(crate) fn cut_at(bytes: &[u8], mut places: Vec<usize>) -> Vec<&[u8]> {
    places.retain(|at| *at < bytes.len());
    places.sort_unstable();
    places.dedup();
    let mut pieces = Vec::new();
    let mut from = 0;
    for at in places.into_iter().chain([bytes.len()]) {
        pieces.push(&bytes[from..at]);
        from = at;
    }
    pieces
}

/// A stream whose events have data only; line breaks in it are for the reader of the test.
pub(crate) fn stream(data: &[&str]) -> String {
    data.iter().map(|data| format!("data: {}\n\n", data.replace('\n', ""))).collect()
}

/// A chat stream of these deltas, with a reason to stop and `[DONE]`.
pub(crate) fn chat(deltas: &[&str], stop: &str) -> String {
    let chunk =
        |delta: &&str| format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#);
    let mut data: Vec<String> = deltas.iter().map(chunk).collect();
    data.push(format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{stop}"}}]}}"#));
    data.push("[DONE]".into());
    stream(&data.iter().map(String::as_str).collect::<Vec<_>>())
}

/// An Anthropic stream of one block: how it begins and its deltas, with a reason to stop.
pub(crate) fn anthropic(start: &str, deltas: &[&str], stop: &str) -> String {
    let delta = |delta: &&str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
    let mut data = vec![
        r#"{"type":"message_start","message":{"content":[],"usage":{"input_tokens":5,"output_tokens":1}}}"#
            .to_owned(),
        format!(r#"{{"type":"content_block_start","index":0,"content_block":{start}}}"#),
    ];
    data.extend(deltas.iter().map(delta));
    data.push(r#"{"type":"content_block_stop","index":0}"#.into());
    data.push(format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}"}},"usage":{{"output_tokens":9}}}}"#
    ));
    data.push(r#"{"type":"message_stop"}"#.into());
    stream(&data.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The calls as wire id, name, status and raw arguments.
pub(crate) fn calls(decoded: &Decoded) -> Vec<(Option<&str>, &str, ArgumentsStatus, &str)> {
    let ids = decoded.wire_ids.iter().map(Option::as_deref);
    let calls = decoded.message.calls().zip(ids);
    calls
        .map(|(call, id)| (id, call.name.as_str(), call.arguments.status, call.arguments.raw.as_str()))
        .collect()
}
