//! What a model is shown and what it answers, apart from any provider's way to write it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{CallId, ids::InvalidId};

/// A provider's way to write requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// Anthropic Messages.
    AnthropicMessages,
    /// OpenAI Chat Completions, and the many servers that imitate it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Google Gemini `generateContent`.
    Gemini,
}

impl Api {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 4] =
        [Self::AnthropicMessages, Self::OpenaiChat, Self::OpenaiResponses, Self::Gemini];

    /// The name in configuration files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "anthropic-messages",
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Api {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let known = Self::ALL.into_iter().find(|api| api.name() == text);
        known.ok_or_else(|| InvalidId {
            text: text.into(),
            expected: "an API (anthropic-messages, openai-chat, openai-responses, gemini)",
        })
    }
}

/// One step of a lane's history as a model sees it. Each is encoded once, and its bytes never change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "item", rename_all = "snake_case")]
pub enum Item {
    /// Text from the host: the assignment, a notice, a refutation, a person's word.
    User {
        /// The text.
        text: String,
    },
    /// The model's own message.
    Assistant {
        /// The message.
        message: AssistantMessage,
    },
    /// The results of all calls of the message before, in call order.
    ToolResults {
        /// The results.
        results: Vec<ToolResult>,
    },
}

/// What a model answered: its blocks in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// The blocks, in the order in which they were sent.
    pub blocks: Vec<Block>,
}

impl AssistantMessage {
    /// The visible text, blocks joined with nothing.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.blocks.iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// One part of a model's message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "block", rename_all = "snake_case")]
pub enum Block {
    /// Visible text.
    Text {
        /// The text.
        text: String,
        /// What must go back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay>,
    },
    /// The model's reasoning, as far as the provider shows it.
    Reasoning {
        /// The visible part; may be empty.
        text: String,
        /// What must go back unchanged: a signature, an encrypted part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay: Option<Replay>,
    },
    /// A request to run a tool.
    ToolCall(ToolCall),
}

/// The exact wire form of a block, sent back unchanged to the API that made it and to no other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replay {
    /// The API that made it.
    pub api: Api,
    /// The block as it was, or the part of it that must go back: JSON, as text.
    pub json: String,
}

/// A request to run a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What ties it to its result, unique within its message.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: Arguments,
    /// What must go back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
}

/// How the arguments of a call arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentsStatus {
    /// A JSON object.
    Ok,
    /// An empty text: a call without arguments.
    Empty,
    /// The key was not sent: a call without arguments.
    Absent,
    /// JSON `null`: a call without arguments.
    Null,
    /// Not JSON: cut, or never closed.
    Invalid,
    /// JSON, but not an object.
    NotObject,
}

/// The arguments of a call: their text is kept as it was sent, since it goes back byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arguments {
    /// How they arrived.
    pub status: ArgumentsStatus,
    /// The text as it was sent; empty where none was.
    pub raw: String,
}

impl Arguments {
    /// Classifies a text as a provider sent it.
    #[must_use]
    pub fn from_text(raw: impl Into<String>) -> Self {
        let raw = raw.into();
        let status = if raw.trim().is_empty() {
            ArgumentsStatus::Empty
        } else {
            match serde_json::from_str::<Value>(&raw) {
                Ok(Value::Object(_)) => ArgumentsStatus::Ok,
                Ok(Value::Null) => ArgumentsStatus::Null,
                Ok(_) => ArgumentsStatus::NotObject,
                Err(_) => ArgumentsStatus::Invalid,
            }
        };
        Self { status, raw }
    }

    /// Arguments whose key was not sent.
    #[must_use]
    pub const fn absent() -> Self {
        Self { status: ArgumentsStatus::Absent, raw: String::new() }
    }

    /// The object to run with; `None` where the arguments can't be used.
    #[must_use]
    pub fn object(&self) -> Option<Map<String, Value>> {
        match self.status {
            ArgumentsStatus::Ok => serde_json::from_str(&self.raw).ok(),
            ArgumentsStatus::Empty | ArgumentsStatus::Absent | ArgumentsStatus::Null => Some(Map::new()),
            ArgumentsStatus::Invalid | ArgumentsStatus::NotObject => None,
        }
    }

    /// The JSON object that goes back to the provider: the text as it was where it is an object, else `{}`.
    #[must_use]
    pub fn replay(&self) -> &str {
        if self.status == ArgumentsStatus::Ok { &self.raw } else { "{}" }
    }
}

/// A part of a tool's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "content", rename_all = "snake_case")]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Its media type, as `image/png`.
        media_type: String,
        /// Its bytes in base64.
        data: String,
    },
}

/// What a tool call came to. Every call has exactly one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that it answers.
    pub call: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// What the model is shown.
    pub content: Vec<Content>,
    /// Whether the call failed. A host's failure is never content that looks like success.
    pub is_error: bool,
}

impl ToolResult {
    /// The text of the result, parts joined with nothing.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            Content::Text { text } => Some(text.as_str()),
            Content::Image { .. } => None,
        });
        texts.collect()
    }
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does, its limits, and what to do when one call is not enough.
    pub description: String,
    /// The JSON Schema of its arguments, as the exact text that is sent.
    pub schema: String,
}

/// Why a model stopped, in the words that all providers share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopClass {
    /// It had said what it wanted.
    End,
    /// It asks for tools.
    ToolUse,
    /// It reached a limit of output or window.
    Length,
    /// It reached a text at which it was told to stop.
    StopSequence,
    /// The provider paused a long turn, to be continued.
    Pause,
    /// It refused.
    Refusal,
    /// A filter of the provider's cut it.
    ContentFilter,
    /// It wrote a tool call that the provider could not read.
    MalformedToolCall,
    /// The provider has not finished.
    Pending,
    /// The provider failed.
    Error,
    /// The answer ended without a reason.
    Missing,
    /// A reason that this version does not know.
    Unknown,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// In the words that all providers share.
    pub class: StopClass,
    /// In the provider's own word; `None` where it sent none.
    pub raw: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_classified_as_they_arrived() {
        for (raw, status) in [
            (r#"{"path":"a"}"#, ArgumentsStatus::Ok),
            ("", ArgumentsStatus::Empty),
            ("null", ArgumentsStatus::Null),
            (r#"{"path":"a"#, ArgumentsStatus::Invalid),
            ("[1]", ArgumentsStatus::NotObject),
            (r#""{}""#, ArgumentsStatus::NotObject),
        ] {
            assert_eq!(Arguments::from_text(raw).status, status, "{raw}");
        }
    }

    #[test]
    fn arguments_that_cannot_be_used_go_back_as_an_empty_object() {
        let cut = Arguments::from_text(r#"{"path":"a"#);
        assert_eq!((cut.object(), cut.replay()), (None, "{}"));
        assert_eq!(Arguments::absent().object(), Some(Map::new()));
    }
}
