//! Ways to feed a body to a reader.

use countersign_model::decode::{AnswerReader, Decoded, StreamEnd};
use countersign_protocol::Api;

/// A response as tests write it: success, no content type.
pub(crate) fn decode(api: Api, body: &str) -> Decoded {
    in_pieces(api, None, &[body.as_bytes()], StreamEnd::Clean)
}

/// A response whose connection broke.
pub(crate) fn decode_cut(api: Api, body: &str) -> Decoded {
    in_pieces(api, None, &[body.as_bytes()], StreamEnd::Cut("connection reset".into()))
}

/// A response whose body comes in these pieces.
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

/// Writes events: each is a name (may be empty) and JSON.
pub(crate) fn events(list: &[(&str, &str)]) -> String {
    list.iter()
        .map(|(name, data)| match *name {
            "" => format!("data: {data}\n\n"),
            name => format!("event: {name}\ndata: {data}\n\n"),
        })
        .collect()
}
