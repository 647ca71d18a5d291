//! Decoders: what a provider sent, event by event or as one body, becomes one [`Decoded`].
//!
//! [`AnswerReader`] takes the bytes of a response as they come, [`error_body`] one whose status says failure, and
//! [`decode_recorded`] a whole recorded one; all three end in the same code.
//!
//! What a block's [`Replay`](countersign_protocol::Replay) holds:
//!
//! | API | block | JSON |
//! | --- | --- | --- |
//! | Anthropic | reasoning | the whole content block: signed thinking, sealed thinking, a block of a server's own tool |
//! | Chat | reasoning | an object of the message's fields: `reasoning_content`, `reasoning_details`, … |
//! | Chat | tool call | an object of the call's fields: `extra_content` |
//! | Responses | reasoning | the whole output item |
//! | Responses | text | the whole output item, where it has a `phase` |
//! | Gemini | text, reasoning | the whole part, where it is signed |
//! | Gemini | tool call | the whole part: with its id, if one was sent, and its signature |

mod answer;
mod anthropic_messages;
mod draft;
mod error;
mod frame;
mod gemini;
mod json;
mod openai_chat;
mod openai_responses;
mod report;
mod retry_after;
pub mod sse;
mod usage;

use countersign_protocol::{Api, AssistantMessage, Stop};

pub use answer::AnswerReader;
pub use error::{ApiError, ErrorClass, error_body};
pub use sse::SseEvent;
pub use usage::{Pass, ReportedUsage};

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
    /// The model's words where it refused, if the provider sends them apart from the text.
    pub refusal: Option<String>,
}

/// A fresh decoder for one answer of this API.
#[must_use]
pub fn decoder(api: Api) -> Box<dyn Decoder> {
    match api {
        Api::AnthropicMessages => Box::<anthropic_messages::Decoder>::default(),
        Api::OpenaiChat => Box::<openai_chat::Decoder>::default(),
        Api::OpenaiResponses => Box::<openai_responses::Decoder>::default(),
        Api::Gemini => Box::<gemini::Decoder>::default(),
    }
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
    if !(200..300).contains(&status) {
        let error = error_body(api, status, headers, body);
        return draft::conclude(api, Vec::new(), draft::Ending::failed(error));
    }
    let mut reader = AnswerReader::new(api, content_type);
    reader.push(body);
    reader.finish(StreamEnd::Clean)
}
