//! Decoders: what a provider sent, event by event or as one body, becomes one [`Decoded`].

mod error;
pub mod sse;

use std::time::Duration;

use countersign_protocol::{Api, AssistantMessage, Stop, Usage};
use serde_json::Value;

pub use error::{ApiError, ErrorClass, error_body};
pub use sse::SseEvent;

/// Turns the events of one answer, or its whole body, into a [`Decoded`]. Made by [`decoder`], used once.
pub trait Decoder: Send {
    /// Takes the next event of a stream.
    fn event(&mut self, event: &SseEvent);
    /// Takes the whole body of an answer that is not a stream.
    fn body(&mut self, json: &[u8]);
    /// Ends the answer.
    fn finish(self: Box<Self>, end: StreamEnd) -> Decoded;
    /// Whether any content of the answer has come: text, reasoning, a call. A retry after this is a new answer.
    fn started(&self) -> bool;
    /// Whether the answer's last event has come, so that nothing more needs to be read.
    fn terminal(&self) -> bool;
}

/// How the bytes of an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEnd {
    /// The server closed the stream in order.
    Clean,
    /// The connection broke or was given up, and why.
    Cut(String),
}

/// One answer, decoded as far as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The message, its blocks in wire order.
    pub message: AssistantMessage,
    /// The id of each tool call as it was sent, in the message's order; `None` where none was.
    pub wire_ids: Vec<Option<String>>,
    /// How many signatures or encrypted parts must go back unchanged.
    pub opaque: u64,
    /// Why the model stopped.
    pub stop: Stop,
    /// What the provider says that the call used.
    pub usage: ReportedUsage,
    /// What the provider says went wrong.
    pub error: Option<ApiError>,
    /// Whether the answer came to its end; an error response is whole too.
    pub complete: bool,
    /// Whether the host may run the calls as they stand.
    pub executable: bool,
}

/// Usage as a provider reported it: `None` is "not reported", which is not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReportedUsage {
    /// Prompt tokens that were neither read from nor written to the cache.
    pub input_uncached: Option<u64>,
    /// Prompt tokens read from the cache.
    pub cache_read: Option<u64>,
    /// Prompt tokens written to the cache, those for one hour included.
    pub cache_write: Option<u64>,
    /// The part of `cache_write` that is kept for one hour.
    pub cache_write_1h: Option<u64>,
    /// Output tokens, reasoning included.
    pub output: Option<u64>,
    /// The part of `output` that was reasoning.
    pub reasoning: Option<u64>,
    /// The size of the prompt. Not always the sum of the buckets: some gateways let them overlap.
    pub prompt_total: Option<u64>,
    /// Tokens that are billed and that the numbers above leave out: further passes, other models.
    pub billed_elsewhere: Option<u64>,
}

impl ReportedUsage {
    /// The usage to settle; `None` where prompt or output was not reported.
    #[must_use]
    pub fn to_usage(&self) -> Option<Usage> {
        unimplemented!()
    }
}

/// A fresh decoder for one answer of this API.
#[must_use]
pub fn decoder(api: Api) -> Box<dyn Decoder> {
    let _ = api;
    unimplemented!()
}

/// Decodes a recorded response by the code path of a live call: a stream, a JSON body or an error.
#[must_use]
pub fn decode_recorded(
    api: Api,
    status: u16,
    content_type: Option<&str>,
    headers: &[(String, String)],
    body: &[u8],
) -> Decoded {
    let _ = (api, status, content_type, headers, body, Duration::ZERO);
    unimplemented!()
}

impl Decoded {
    /// The answer as one JSON object, as `countersign decode` prints it.
    #[must_use]
    pub fn report(&self) -> Value {
        unimplemented!()
    }
}
