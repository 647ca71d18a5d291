//! How requests are written, one module an API. Nothing is shared between them but the trait.

mod anthropic;
mod openai_chat;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt::Write as _};

use bytes::Bytes;
use countersign_protocol::{Content, Item, entry::Prefix};
use serde::Serialize;

use crate::{Fragment, ModelSpec, Prompt};

pub use anthropic::AnthropicMessages;
pub use openai_chat::OpenAiChat;

/// Writes requests of one API, in the order in which providers compare them: system prompt, tools, messages, and only
/// then what differs from call to call.
pub trait Encoder: Send + Sync {
    /// The front of every request of a lane. Tools are written in the order in which they are given.
    fn prefix(&self, spec: &ModelSpec, prefix: &Prefix) -> Fragment;

    /// One item of the history. `after_results`: it follows the results of tools, which some servers care about.
    fn item(&self, item: &Item, after_results: bool) -> Fragment;

    /// The whole request. `tail` is one more item that is not part of the history.
    fn assemble(&self, prompt: &Prompt, tail: Option<&Fragment>, output_tokens: u64) -> Bytes;
}

/// The system prompt: its sections in order.
fn system_text(prefix: &Prefix) -> String {
    prefix.sections.iter().map(|section| section.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

/// A text that may not be empty, for APIs and servers that refuse one.
fn not_empty(text: &str) -> &str {
    if text.trim().is_empty() { "(empty)" } else { text }
}

/// A tool's name as providers take it. A model that invents a tool may write anything, and what it wrote goes back.
fn tool_name(name: &str) -> Cow<'_, str> {
    const LIMIT: usize = 64;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.len() <= LIMIT && name.chars().all(allowed) {
        return name.into();
    }
    let name: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).take(LIMIT).collect();
    if name.is_empty() { "unnamed".into() } else { name.into() }
}

/// A call's id of which nothing is left but letters, digits, `_` and `-`. Ids that differ stay different.
fn plain_id(id: &str) -> Cow<'_, str> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !id.is_empty() && id.bytes().all(allowed) {
        return id.into();
    }
    let mut plain = String::from("id_");
    for byte in id.bytes() {
        match allowed(byte) {
            true => plain.push(byte.into()),
            // Writing into a string does not fail.
            false => drop(write!(plain, "_{byte:02x}")),
        }
    }
    plain.into()
}

/// The request's last messages, and behind them what differs from call to call.
fn close(mut body: Vec<u8>, tail: Option<&Fragment>, limit: &str, output_tokens: u64) -> Bytes {
    if let Some(tail) = tail {
        separate(&mut body);
        body.extend_from_slice(&tail.bytes);
    }
    body.extend_from_slice(format!("],\"{limit}\":{output_tokens}}}").as_bytes());
    body.into()
}

/// A comma between two messages.
fn separate(body: &mut Vec<u8>) {
    if body.last() != Some(&b'[') {
        body.push(b',');
    }
}

/// Room for a whole request.
fn room(prompt: &Prompt, tail: Option<&Fragment>) -> Vec<u8> {
    let bytes = prompt.bytes() + tail.map_or(0, |tail| tail.bytes.len() as u64) + 512;
    Vec::with_capacity(usize::try_from(bytes).unwrap_or_default())
}

/// The bytes of an item's pictures, which say nothing of how many tokens they take.
fn image_bytes(item: &Item) -> u64 {
    let Item::ToolResults { results } = item else { return 0 };
    let contents = results.iter().flat_map(|result| &result.content);
    let sizes = contents.filter_map(|content| match content {
        Content::Image { data, .. } => Some(data.len() as u64),
        Content::Text { .. } => None,
    });
    sizes.sum()
}

/// How many pictures an item holds.
fn images(item: &Item) -> u64 {
    let Item::ToolResults { results } = item else { return 0 };
    let parts = results.iter().flat_map(|result| &result.content);
    parts.filter(|part| matches!(part, Content::Image { .. })).count() as u64
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
