//! How requests are written, one module an API. Nothing is shared between them but the trait.

mod anthropic;
mod openai_chat;
#[cfg(test)]
mod tests;

use bytes::Bytes;
use countersign_protocol::{Item, entry::Prefix};
use serde::Serialize;

use crate::{Fragment, ModelSpec, Prompt};

pub use anthropic::AnthropicMessages;
pub use openai_chat::OpenAiChat;

/// Writes requests of one API, in the order in which providers compare them: system prompt, tools, messages, and only
/// then what differs from call to call.
pub trait Encoder: Send + Sync {
    /// The front of every request of a lane. Tools are written in the order in which they are given.
    fn prefix(&self, spec: &ModelSpec, prefix: &Prefix) -> Fragment;

    /// One item of the history.
    fn item(&self, item: &Item) -> Fragment;

    /// The whole request. `tail` is one more item that is not part of the history.
    fn assemble(&self, prompt: &Prompt, tail: Option<&Fragment>, output_tokens: u64) -> Bytes;
}

/// The system prompt: its sections in order.
fn system_text(prefix: &Prefix) -> String {
    prefix.sections.iter().map(|section| section.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// JSON with the keys in the order of the type's fields.
fn json(value: &impl Serialize) -> Vec<u8> {
    // These types hold texts, numbers and checked JSON only, which always have a JSON form.
    serde_json::to_vec(value).unwrap_or_default()
}

/// JSON text that was checked where it came from; an empty object where it is none after all.
fn raw(json: &str) -> Box<serde_json::value::RawValue> {
    serde_json::from_str(json)
        .unwrap_or_else(|_| serde_json::value::RawValue::from_string("{}".into()).unwrap_or_default())
}
