//! OpenAI Chat Completions, as the many servers that imitate it read it.

use std::borrow::Cow;

use bytes::Bytes;
use countersign_protocol::{
    Api, AssistantMessage, Block, Content, Item, Replay, ToolCall, ToolResult, entry::Prefix,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Encoder, close, image_bytes, images, json, not_empty, raw, room, separate, system_text, tool_name,
};
use crate::{Fragment, MaxTokensField, ModelSpec, Prompt};

/// The encoder, as the server wants it.
#[derive(Debug, Clone, Copy)]
pub struct OpenAiChat {
    /// The name of the output limit.
    pub limit: MaxTokensField,
    /// Whether the server's own reasoning goes back to it.
    pub replay_reasoning: bool,
    /// Whether the request asks for usage at the end of the stream.
    pub stream_usage: bool,
    /// Whether a message of the assistant stands between the results of tools and the user's next message.
    pub assistant_after_tools: bool,
}

impl Default for OpenAiChat {
    fn default() -> Self {
        Self {
            limit: MaxTokensField::MaxTokens,
            replay_reasoning: true,
            stream_usage: true,
            assistant_after_tools: false,
        }
    }
}

#[derive(Serialize)]
struct Front<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Message<'a>>,
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
    /// Google's signature of the call, behind its imitation of this API.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Box<RawValue>>,
}

/// What must go back with a call.
#[derive(Deserialize)]
struct CallReplay {
    extra_content: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
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
        let system = Some(system_text(prefix)).filter(|text| !text.trim().is_empty());
        let mut front = json(&Front {
            model: &spec.model.model,
            stream: true,
            stream_options: self.stream_usage.then_some(StreamOptions { include_usage: true }),
            tools: tools.collect(),
            messages: system.into_iter().map(|text| Message::new("system", text)).collect(),
        });
        // The messages stay open: `]}` is written when the request is put together.
        front.truncate(front.len() - 2);
        Fragment::plain(front)
    }

    fn item(&self, item: &Item, after_results: bool) -> Fragment {
        let bytes = match item {
            Item::User { text } => {
                let message = Message::new("user", text.clone());
                joined(self.bridge(after_results).into_iter().chain([message]))
            }
            Item::Assistant { message } => assistant(message, self.replay_reasoning),
            Item::ToolResults { results } => self.tool_results(results),
        };
        Fragment { images: images(item), image_bytes: image_bytes(item), ..Fragment::plain(bytes) }
    }

    fn assemble(&self, prompt: &Prompt, tail: Option<&Fragment>, output_tokens: u64) -> Bytes {
        let mut body = room(prompt, tail);
        body.extend_from_slice(&prompt.prefix().bytes);
        for fragment in prompt.items() {
            separate(&mut body);
            body.extend_from_slice(&fragment.bytes);
        }
        close(body, tail, self.limit.name(), output_tokens)
    }
}

fn assistant(message: &AssistantMessage, replay_reasoning: bool) -> Vec<u8> {
    let text = message.text();
    let calls: Vec<Call<'_>> = message.calls().map(call).collect();
    let content = if text.is_empty() && !calls.is_empty() { Text::None } else { Text::One(text) };
    let mut bytes = json(&Message { tool_calls: calls, ..Message::new("assistant", content) });
    // Some servers want their reasoning back, in the fields in which they sent it.
    let reasoning = message.blocks.iter().filter(|_| replay_reasoning).find_map(|block| match block {
        Block::Reasoning { replay: Some(Replay { api: Api::OpenaiChat, json }), .. } => Some(json),
        _ => None,
    });
    let fields = reasoning.and_then(|json| json.trim().strip_prefix('{')?.strip_suffix('}'));
    if let Some(fields) = fields.filter(|fields| !fields.trim().is_empty()) {
        bytes.pop();
        bytes.push(b',');
        bytes.extend_from_slice(fields.as_bytes());
        bytes.push(b'}');
    }
    bytes
}

fn call(call: &ToolCall) -> Call<'_> {
    let replay = call.replay.as_ref().filter(|replay| replay.api == Api::OpenaiChat);
    let replay = replay.and_then(|replay| serde_json::from_str::<CallReplay>(&replay.json).ok());
    Call {
        id: &call.id.0,
        r#type: "function",
        function: Called { name: tool_name(&call.name), arguments: call.arguments.replay() },
        extra_content: replay.and_then(|replay| replay.extra_content),
    }
}

impl OpenAiChat {
    /// One message a result, and after them the pictures, which a tool's message can't hold.
    fn tool_results(&self, results: &[ToolResult]) -> Vec<u8> {
        let texts = results.iter().map(|result| Message {
            tool_call_id: Some(&result.call.0),
            ..Message::new("tool", words(result))
        });
        let pictures = results.iter().flat_map(|result| &result.content).filter_map(|part| match part {
            Content::Image { media_type, data } => {
                let url = format!("data:{media_type};base64,{data}");
                Some(Part::ImageUrl { image_url: ImageUrl { url } })
            }
            Content::Text { .. } => None,
        });
        let pictures: Vec<Part<'_>> = pictures.collect();
        if pictures.is_empty() {
            return joined(texts);
        }
        let label = Part::Text { text: "The pictures of the results above, in order:" };
        let parts = std::iter::once(label).chain(pictures).collect();
        let shown = Message::new("user", Text::Parts(parts));
        joined(texts.chain(self.bridge(true)).chain([shown]))
    }

    /// What stands between the results of tools and the user's next message, where the server wants something there.
    fn bridge(&self, after_results: bool) -> Option<Message<'static>> {
        let wanted = after_results && self.assistant_after_tools;
        wanted.then(|| Message::new("assistant", "I have the results.".to_owned()))
    }
}

fn joined<'a>(messages: impl Iterator<Item = Message<'a>>) -> Vec<u8> {
    messages.map(|message| json(&message)).collect::<Vec<_>>().join(&b',')
}

/// A result's text. Some servers refuse an empty one.
fn words(result: &ToolResult) -> String {
    let text = result.text();
    if text.trim().is_empty() { not_empty(&text).to_owned() } else { text }
}
