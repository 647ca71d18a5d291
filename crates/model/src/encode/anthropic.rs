//! Anthropic Messages, with the cache breakpoints that this API wants to be told.

use std::borrow::Cow;

use bytes::Bytes;
use countersign_protocol::{Api, AssistantMessage, Block, Content, Item, Replay, ToolResult, entry::Prefix};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Encoder, close, image_bytes, images, json, not_empty, plain_id, raw, room, separate, system_text,
    tool_name,
};
use crate::{Fragment, ModelSpec, Prompt};

/// What is put in where the provider shall keep everything before.
const MARKER: &str = r#","cache_control":{"type":"ephemeral"}"#;
/// The encoder.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnthropicMessages;

#[derive(Serialize)]
struct Front<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[Part<'a>; 1]>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Box<RawValue>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Known(Known<'a>),
    /// A block that goes back as it came.
    Replayed(Box<RawValue>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Known<'a> {
    Text { text: &'a str },
    Image { source: Source<'a> },
    ToolUse { id: Cow<'a, str>, name: Cow<'a, str>, input: Box<RawValue> },
    ToolResult { tool_use_id: Cow<'a, str>, content: Vec<Part<'a>>, is_error: bool },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

impl Encoder for AnthropicMessages {
    fn prefix(&self, spec: &ModelSpec, prefix: &Prefix) -> Fragment {
        let system = system_text(prefix);
        let tools = prefix.tools.iter().map(|tool| Tool {
            name: &tool.name,
            description: &tool.description,
            input_schema: raw(&tool.schema),
        });
        let mut front = json(&Front {
            model: &spec.model.model,
            stream: true,
            tools: tools.collect(),
            system: (!system.trim().is_empty()).then(|| [text(&system)]),
        });
        front.truncate(front.len() - 1);
        // Into the system block, or else into the last tool: behind it, tools and system prompt are kept as one.
        let marker_at = front.ends_with(b"}]").then(|| front.len() - 2);
        front.extend_from_slice(br#","messages":["#);
        Fragment { bytes: front.into(), marker_at, images: 0, image_bytes: 0 }
    }

    fn item(&self, item: &Item, _after_results: bool) -> Fragment {
        let message = match item {
            Item::User { text: words } => Message { role: "user", content: vec![text(words)] },
            Item::Assistant { message } => Message { role: "assistant", content: assistant(message) },
            Item::ToolResults { results } => {
                Message { role: "user", content: results.iter().map(tool_result).collect() }
            }
        };
        let markable = !matches!(message.content.last(), Some(Part::Replayed(_)) | None);
        let bytes = json(&message);
        // Before the brackets that close the last block, the blocks and the message: `}]}`.
        let marker_at = markable.then_some(bytes.len() - 3);
        Fragment { bytes: bytes.into(), marker_at, images: images(item), image_bytes: image_bytes(item) }
    }

    fn assemble(&self, prompt: &Prompt, tail: Option<&Fragment>, output_tokens: u64) -> Bytes {
        let mut body = room(prompt, tail);
        put(&mut body, prompt.prefix(), true);
        for (number, fragment) in (1..).zip(prompt.items()) {
            separate(&mut body);
            // At the end of the history, where the next request looks for it, and where the last request had its end:
            // a lookup goes back only some blocks from a marker (Anthropic, prompt caching), and a turn may have more.
            put(&mut body, fragment, number == prompt.len() || number == prompt.asked());
        }
        close(body, tail, "max_tokens", output_tokens)
    }
}

fn put(body: &mut Vec<u8>, fragment: &Fragment, marked: bool) {
    match fragment.marker_at.filter(|_| marked) {
        Some(at) => {
            body.extend_from_slice(&fragment.bytes[..at]);
            body.extend_from_slice(MARKER.as_bytes());
            body.extend_from_slice(&fragment.bytes[at..]);
        }
        None => body.extend_from_slice(&fragment.bytes),
    }
}

/// A text block. The API refuses an empty one.
fn text(text: &str) -> Part<'_> {
    Part::Known(Known::Text { text: not_empty(text) })
}

fn assistant(message: &AssistantMessage) -> Vec<Part<'_>> {
    let parts = message.blocks.iter().filter_map(|block| match block {
        Block::Text { text: words, .. } => (!words.trim().is_empty()).then(|| text(words)),
        Block::Reasoning { replay: Some(Replay { api: Api::AnthropicMessages, json }), .. } => {
            Some(Part::Replayed(raw(json)))
        }
        Block::Reasoning { .. } => None,
        Block::ToolCall(call) => Some(Part::Known(Known::ToolUse {
            id: plain_id(&call.id.0),
            name: tool_name(&call.name),
            input: raw(call.arguments.replay()),
        })),
    });
    let parts: Vec<Part<'_>> = parts.collect();
    if parts.is_empty() { vec![text("")] } else { parts }
}

fn tool_result(result: &ToolResult) -> Part<'_> {
    let content = result.content.iter().map(|part| match part {
        Content::Text { text: words } => text(words),
        Content::Image { media_type, data } => {
            Part::Known(Known::Image { source: Source { r#type: "base64", media_type, data } })
        }
    });
    Part::Known(Known::ToolResult {
        tool_use_id: plain_id(&result.call.0),
        content: content.collect(),
        is_error: result.is_error,
    })
}
