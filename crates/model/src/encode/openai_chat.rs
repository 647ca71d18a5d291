//! OpenAI Chat Completions, as the many servers that imitate it read it.

use bytes::Bytes;
use countersign_protocol::{Api, AssistantMessage, Block, Content, Item, Replay, ToolResult, entry::Prefix};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Encoder, json, raw, system_text};
use crate::{Fragment, ModelSpec, Prompt};

/// The encoder.
#[derive(Debug, Clone, Copy)]
pub struct OpenAiChat {
    /// The name of the output limit: `max_tokens`, or `max_completion_tokens` as OpenAI itself wants it.
    pub limit_field: &'static str,
}

impl Default for OpenAiChat {
    fn default() -> Self {
        Self { limit_field: "max_tokens" }
    }
}

#[derive(Serialize)]
struct Front<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: [Message<'a>; 1],
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Box<RawValue>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Text<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: impl Into<Text<'a>>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Text<'a> {
    One(String),
    Parts(Vec<Part<'a>>),
    None,
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::One(text)
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl Encoder for OpenAiChat {
    fn prefix(&self, spec: &ModelSpec, prefix: &Prefix) -> Fragment {
        let tools = prefix.tools.iter().map(|tool| Tool {
            r#type: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: raw(&tool.schema),
            },
        });
        let mut front = json(&Front {
            model: &spec.model.model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            tools: tools.collect(),
            messages: [Message::new("system", system_text(prefix))],
        });
        // The messages stay open: `]}` is written when the request is put together.
        front.truncate(front.len() - 2);
        Fragment::plain(front)
    }

    fn item(&self, item: &Item) -> Fragment {
        Fragment::plain(match item {
            Item::User { text } => json(&Message::new("user", text.clone())),
            Item::Assistant { message } => assistant(message),
            Item::ToolResults { results } => tool_results(results),
        })
    }

    fn assemble(&self, prompt: &Prompt, tail: Option<&Fragment>, output_tokens: u64) -> Bytes {
        let mut body = Vec::with_capacity(prompt.bytes() as usize + 64);
        body.extend_from_slice(&prompt.prefix().bytes);
        for fragment in prompt.items().iter().chain(tail) {
            body.push(b',');
            body.extend_from_slice(&fragment.bytes);
        }
        body.extend_from_slice(format!("],\"{}\":{output_tokens}}}", self.limit_field).as_bytes());
        body.into()
    }
}

fn assistant(message: &AssistantMessage) -> Vec<u8> {
    let text = message.text();
    let calls: Vec<Call<'_>> = message
        .calls()
        .map(|call| Call {
            id: &call.id.0,
            r#type: "function",
            function: Called { name: &call.name, arguments: call.arguments.replay() },
        })
        .collect();
    let content = if text.is_empty() && !calls.is_empty() { Text::None } else { Text::One(text) };
    let mut bytes = json(&Message { tool_calls: calls, ..Message::new("assistant", content) });
    // Some servers want their reasoning back, in the fields in which they sent it.
    for block in &message.blocks {
        if let Block::Reasoning { replay: Some(Replay { api: Api::OpenaiChat, json }), .. } = block
            && let Some(fields) = json.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
            && !fields.trim().is_empty()
        {
            bytes.pop();
            bytes.push(b',');
            bytes.extend_from_slice(fields.as_bytes());
            bytes.push(b'}');
        }
    }
    bytes
}

/// One message a result, and after them the pictures, which a tool's message can't hold.
fn tool_results(results: &[ToolResult]) -> Vec<u8> {
    let mut messages: Vec<Message<'_>> = results
        .iter()
        .map(|result| Message { tool_call_id: Some(&result.call.0), ..Message::new("tool", result.text()) })
        .collect();
    let pictures = results.iter().flat_map(|result| &result.content).filter_map(|part| match part {
        Content::Image { media_type, data } => {
            Some(Part::ImageUrl { image_url: ImageUrl { url: format!("data:{media_type};base64,{data}") } })
        }
        Content::Text { .. } => None,
    });
    let pictures: Vec<Part<'_>> = pictures.collect();
    if !pictures.is_empty() {
        let label = Part::Text { text: "The pictures of the results above, in order:" };
        let parts = std::iter::once(label).chain(pictures).collect();
        messages.push(Message::new("user", Text::Parts(parts)));
    }
    messages.iter().map(json).collect::<Vec<_>>().join(&b',')
}
