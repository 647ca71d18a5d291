//! A summary without a model: what the messages of a request say and call, a line each.

use bytes::Bytes;
use serde::Deserialize;

/// The longest a line may be, in characters.
const LINE_CHARS: usize = 160;
/// The most lines; the newest are kept.
const LINES: usize = 60;

#[derive(Deserialize)]
struct Body {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: serde_json::Value,
    #[serde(default)]
    tool_calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    arguments: String,
}

/// A summary of the messages in a request.
pub(super) fn of(body: &Bytes) -> String {
    // The request was written by us and holds messages.
    let messages = serde_json::from_slice::<Body>(body).map(|body| body.messages).unwrap_or_default();
    let mut lines = Vec::new();
    for message in messages.iter().filter(|message| message.role == "assistant") {
        if let Some(text) = message.content.as_str().filter(|text| !text.trim().is_empty()) {
            lines.push(format!("- said: {}", line(text)));
        }
        for Call { function } in &message.tool_calls {
            lines.push(format!("- called {} {}", function.name, line(&function.arguments)));
        }
    }
    let kept = &lines[lines.len().saturating_sub(LINES)..];
    format!("What was done so far:\n{}", kept.join("\n"))
}

fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LINE_CHARS).collect()
}
