//! The rules that hold for every API when an answer ends: what its calls are named, and whether they may run.

use std::collections::HashSet;

use countersign_protocol::{
    Api, Arguments, ArgumentsStatus, AssistantMessage, Block, CallId, Replay, Stop, StopClass, ToolCall,
};
use serde_json::value::RawValue;

use super::{ApiError, Decoded, ReportedUsage, json};

/// A part of the message as one API's decoder found it.
pub(super) enum Part {
    /// Visible text, and the JSON that must go back with it.
    Text(String, Option<String>),
    /// Reasoning, and the JSON that must go back with it.
    Reasoning(String, Option<String>),
    /// A tool call.
    Call(DraftCall),
}

/// A tool call as it was sent.
pub(super) struct DraftCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Arguments,
    pub(super) replay: Option<String>,
}

/// How the answer ended.
pub(super) struct Ending {
    pub(super) stop: Stop,
    pub(super) complete: bool,
    pub(super) error: Option<ApiError>,
    pub(super) usage: ReportedUsage,
    /// How many signatures and encrypted parts are in the message.
    pub(super) opaque: u64,
    /// The model's words where it refused, if they are apart from its text.
    pub(super) refusal: Option<String>,
}

impl Ending {
    /// An answer that only an error is known of.
    pub(super) fn failed(error: ApiError) -> Self {
        Self {
            stop: Stop { class: StopClass::Error, raw: None },
            complete: true,
            error: Some(error),
            usage: ReportedUsage::default(),
            opaque: 0,
            refusal: None,
        }
    }
}

/// Puts the answer together.
pub(super) fn conclude(api: Api, parts: Vec<Part>, ending: Ending) -> Decoded {
    let Ending { mut stop, complete, error, usage, opaque, refusal } = ending;
    let replay = |json: Option<String>| json.map(|json| Replay { api, json });
    let mut ids = CallIds::new(&parts);
    let mut wire_ids = Vec::new();
    let blocks = parts.into_iter().map(|part| match part {
        Part::Text(text, json) => Block::Text { text, replay: replay(json) },
        Part::Reasoning(text, json) => Block::Reasoning { text, replay: replay(json) },
        Part::Call(call) => {
            let id = ids.next(call.id.as_deref());
            wire_ids.push(call.id);
            let (name, arguments) = (call.name, call.arguments);
            Block::ToolCall(ToolCall { id, name, arguments, replay: replay(call.replay) })
        }
    });
    let message = AssistantMessage { blocks: blocks.collect() };
    if error.is_some() {
        stop.class = StopClass::Error;
    } else if refusal.is_some() && matches!(stop.class, StopClass::End | StopClass::Missing) {
        stop.class = StopClass::Refusal;
    } else if stop.class == StopClass::End && !wire_ids.is_empty() {
        // Some servers, and all under a forced tool choice, say that they stopped where they ask for tools.
        stop.class = StopClass::ToolUse;
    }
    let executable = complete && runs(stop.class) && !wire_ids.is_empty() && message.calls().all(usable);
    Decoded { message, wire_ids, opaque, stop, usage, error, complete, executable, refusal }
}

/// Whether calls of an answer that stopped so may run. A whole answer without a reason is one of a server that
/// never gives a reason.
const fn runs(class: StopClass) -> bool {
    matches!(class, StopClass::ToolUse | StopClass::Missing)
}

fn usable(call: &ToolCall) -> bool {
    !matches!(call.arguments.status, ArgumentsStatus::Invalid | ArgumentsStatus::NotObject)
}

/// Gives each call of a message an id of its own.
struct CallIds {
    wire: HashSet<String>,
    given: HashSet<String>,
    number: usize,
}

impl CallIds {
    fn new(parts: &[Part]) -> Self {
        let wire = parts.iter().filter_map(|part| match part {
            Part::Call(call) => call.id.clone(),
            _ => None,
        });
        Self { wire: wire.collect(), given: HashSet::new(), number: 0 }
    }

    /// The wire's id; a made one where there is none, or where an earlier call of the message has it.
    fn next(&mut self, wire: Option<&str>) -> CallId {
        self.number += 1;
        if let Some(id) = wire.filter(|id| !id.is_empty() && self.given.insert((*id).to_owned())) {
            return CallId(id.to_owned());
        }
        let mut number = self.number;
        loop {
            let id = format!("call_{number}");
            if !self.wire.contains(&id) && self.given.insert(id.clone()) {
                return CallId(id);
            }
            number += 1;
        }
    }
}

/// The arguments of a call that come as a text in pieces.
#[derive(Debug, Default)]
pub(super) struct ArgumentText {
    text: String,
    /// A text was sent, maybe an empty one.
    sent: bool,
    /// JSON `null` was sent.
    null: bool,
    /// Half a surrogate pair was in it: it can't be what the model meant.
    damaged: bool,
}

impl ArgumentText {
    /// Takes the next piece. A server that sends an object in place of its text is understood too.
    pub(super) fn push(&mut self, piece: &RawValue) {
        if let Some(text) = json::exact_text(piece) {
            self.sent = true;
            self.text.push_str(&text);
        } else if piece.get() == "null" {
            self.null = true;
        } else if let Some(text) = json::text(piece) {
            self.damaged = true;
            self.text.push_str(&text);
        } else {
            self.text.push_str(piece.get());
        }
    }

    /// Forgets what came and takes the whole text.
    pub(super) fn replace(&mut self, whole: &RawValue) {
        *self = Self::default();
        self.push(whole);
    }

    /// Whether nothing, or only empty text, came.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether what came so far is a whole JSON object.
    pub(super) fn is_whole(&self) -> bool {
        self.text.trim_end().ends_with("}")
            && serde_json::from_str::<serde::de::IgnoredAny>(&self.text).is_ok()
    }

    /// The arguments.
    pub(super) fn finish(self) -> Arguments {
        if self.damaged {
            Arguments { status: ArgumentsStatus::Invalid, raw: self.text }
        } else if !self.text.is_empty() || self.sent {
            Arguments::from_text(self.text)
        } else if self.null {
            Arguments { status: ArgumentsStatus::Null, raw: "null".into() }
        } else {
            Arguments::absent()
        }
    }
}

/// Adds a text to the last part where that is text too and nothing must go back with it.
pub(super) fn push_text(parts: &mut Vec<Part>, text: String) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(last, None)) => last.push_str(&text),
        _ => parts.push(Part::Text(text, None)),
    }
}

/// The same for reasoning.
pub(super) fn push_reasoning(parts: &mut Vec<Part>, text: String) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Reasoning(last, None)) => last.push_str(&text),
        _ => parts.push(Part::Reasoning(text, None)),
    }
}
