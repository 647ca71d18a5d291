//! One response's body, in pieces: finds out whether it is a stream or one JSON value, and hands it to the decoder.

use countersign_protocol::Api;

use super::sse::{BYTE_ORDER_MARK, EventTooLarge, MAX_EVENT_BYTES, SseEvent, SseReader};
use super::{ApiError, Decoded, Decoder, StreamEnd, decoder, draft::Ending};

/// Reads the body of a response with a status that says success. Where its bytes are cut makes no difference.
pub struct AnswerReader {
    decoder: Box<dyn Decoder>,
    framing: Framing,
    too_large: Option<EventTooLarge>,
}

/// How the body is written.
enum Framing {
    /// Too little has come to tell.
    Unknown { seen: Vec<u8>, says_stream: bool },
    /// Server-sent events.
    Events(Box<SseReader>),
    /// One JSON value, or something that is no answer at all.
    Body(Vec<u8>),
}

impl AnswerReader {
    /// A reader for one response. The body itself is believed more than the content type, which may be absent
    /// or wrong.
    #[must_use]
    pub fn new(api: Api, content_type: Option<&str>) -> Self {
        let says_stream = content_type.is_some_and(|text| text.to_ascii_lowercase().contains("event-stream"));
        let framing = Framing::Unknown { seen: Vec::new(), says_stream };
        Self { decoder: decoder(api), framing, too_large: None }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.too_large.is_some() {
            return;
        }
        let result = match &mut self.framing {
            Framing::Unknown { seen, says_stream } => {
                seen.extend_from_slice(bytes);
                let Some(stream) = is_stream(seen, *says_stream) else { return };
                let seen = std::mem::take(seen);
                self.framing =
                    if stream { Framing::Events(Box::default()) } else { Framing::Body(Vec::new()) };
                return self.push(&seen);
            }
            Framing::Events(reader) => reader.push(bytes),
            Framing::Body(body) if body.len() + bytes.len() > MAX_EVENT_BYTES => {
                Err(EventTooLarge { limit: MAX_EVENT_BYTES })
            }
            Framing::Body(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
        };
        if let Framing::Events(reader) = &mut self.framing {
            while let Some(event) = reader.next_event() {
                self.decoder.event(&event);
            }
        }
        self.too_large = result.err();
    }

    /// Whether any content of the answer has come: text, reasoning, a call.
    #[must_use]
    pub fn started(&self) -> bool {
        self.decoder.started()
    }

    /// Whether nothing more needs to be read: the answer's last event has come, or it can't be read on.
    #[must_use]
    pub fn terminal(&self) -> bool {
        self.decoder.terminal() || self.too_large.is_some()
    }

    /// Ends the answer.
    #[must_use]
    pub fn finish(mut self, end: StreamEnd) -> Decoded {
        let clean = end == StreamEnd::Clean;
        let midstream = matches!(self.framing, Framing::Events(_));
        match &mut self.framing {
            Framing::Events(reader) if clean && self.too_large.is_none() => {
                if let Some(event) = reader.finish().filter(is_whole) {
                    self.decoder.event(&event);
                }
            }
            // A stream that ended before it began is a cut one.
            Framing::Unknown { says_stream: true, .. } | Framing::Events(_) => {}
            Framing::Unknown { seen: body, .. } | Framing::Body(body) => {
                // What is left of a broken connection's JSON says nothing.
                if self.too_large.is_none() && (clean || is_json(&String::from_utf8_lossy(body))) {
                    self.decoder.body(body);
                }
            }
        }
        let mut decoded = self.decoder.finish(end);
        if let Some(too_large) = self.too_large {
            let error = ApiError::bad_body(&too_large.to_string(), b"", false, midstream);
            let Ending { stop, error, .. } = Ending::failed(error);
            decoded = Decoded { stop, error, complete: false, executable: false, ..decoded };
        }
        decoded
    }
}

/// Whether an event without a blank line after it came whole.
fn is_whole(event: &SseEvent) -> bool {
    event.data.is_empty() || event.data.trim() == "[DONE]" || is_json(&event.data)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether the body is a stream, by how it begins; `None` where that is too little to tell. What is before its first
/// word, some servers' sign of life, is taken away.
fn is_stream(seen: &mut Vec<u8>, says_stream: bool) -> Option<bool> {
    const FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    let mut start = seen.trim_ascii_start();
    while let Some(rest) = start.strip_prefix(BYTE_ORDER_MARK) {
        start = rest.trim_ascii_start();
    }
    seen.drain(..seen.len() - start.len());
    match seen.first()? {
        b'{' | b'[' | b'<' => Some(false),
        _ if BYTE_ORDER_MARK.starts_with(seen) => None,
        _ if says_stream || FIELDS.iter().any(|field| seen.starts_with(field)) => Some(true),
        _ if FIELDS.iter().any(|field| field.starts_with(seen)) => None,
        _ => Some(false),
    }
}
