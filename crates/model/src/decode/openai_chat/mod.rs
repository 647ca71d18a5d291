//! OpenAI Chat Completions, and the many servers that imitate it, each with oddities of its own.

mod calls;
mod reasoning;
mod usage;

use countersign_protocol::{Api, Stop, StopClass};
use serde_json::value::RawValue;

use self::{calls::Calls, reasoning::Reasoning};
use super::draft::{self, Ending, Part};
use super::frame::Frame;
use super::json::{self, Object};
use super::{ApiError, Decoded, ReportedUsage, SseEvent, StreamEnd};

const API: Api = Api::OpenaiChat;

/// What has come of an answer's first choice.
#[derive(Default)]
pub(super) struct Decoder {
    text: String,
    reasoning: Reasoning,
    refusal: String,
    calls: Calls,
    usage: ReportedUsage,
    stop: Option<String>,
    /// What a gateway says that the model's own provider said; it may know of a cut that `stop` hides.
    native_stop: Option<String>,
    error: Option<ApiError>,
    /// Whether `[DONE]` came, or the whole body.
    done: bool,
}

impl super::Decoder for Decoder {
    fn event(&mut self, event: &SseEvent) {
        if self.done {
            return;
        }
        match Frame::of(API, event) {
            Frame::Done => self.done = true,
            Frame::Object(chunk) => {
                if !self.answer(&chunk) && reports_error(&chunk) {
                    self.fail(serde_json::from_str(event.data.trim()).ok());
                }
            }
            Frame::Error(error) => self.error = Some(error),
            Frame::Nothing => {}
        }
    }

    fn body(&mut self, json: &[u8]) {
        let text = String::from_utf8_lossy(json);
        self.done = true;
        let Some(object) = Object::parse(&text) else {
            self.error = Some(ApiError::not_json(json));
            return;
        };
        if !self.answer(&object) {
            self.error = match serde_json::from_str(text.trim()) {
                Ok(value) if reports_error(&object) => Some(ApiError::in_body(API, value)),
                _ => Some(ApiError::bad_body("the server's JSON is no chat completion", json, false, false)),
            };
        }
    }

    fn finish(self: Box<Self>, _end: StreamEnd) -> Decoded {
        let (reasoning, signed) = self.reasoning.finish();
        let (calls, signed_calls) = self.calls.finish();
        let text = Some(Part::Text(self.text, None))
            .filter(|part| !matches!(part, Part::Text(text, _) if text.is_empty()));
        let parts = reasoning.into_iter().chain(text).chain(calls).collect();
        let ending = Ending {
            complete: self.done || self.stop.is_some(),
            stop: Stop {
                class: stop_class(self.stop.as_deref(), self.native_stop.as_deref()),
                raw: self.stop,
            },
            error: self.error,
            usage: self.usage,
            opaque: signed + signed_calls,
            refusal: Some(self.refusal).filter(|text| !text.is_empty()),
        };
        draft::conclude(API, parts, ending)
    }

    fn started(&self) -> bool {
        !(self.text.is_empty()
            && self.refusal.is_empty()
            && self.reasoning.is_empty()
            && self.calls.is_empty())
    }

    fn terminal(&self) -> bool {
        self.done
    }
}

impl Decoder {
    /// Takes a chunk or a whole completion; false where it is neither.
    fn answer(&mut self, object: &Object<'_>) -> bool {
        if let Some(usage) = usage::read(object) {
            self.usage = usage;
        }
        if !object.has("choices") {
            return object.value("usage").is_some() && object.value("error").is_none();
        }
        if let Some(error) = object.value("error") {
            self.fail(Some(error));
        }
        for choice in object.objects("choices") {
            if choice.count("index").unwrap_or(0) == 0 {
                self.choice(&choice);
            }
        }
        true
    }

    fn choice(&mut self, choice: &Object<'_>) {
        // One server sends the whole message so far beside each delta.
        if let Some(delta) = choice.object("delta") {
            self.message(&delta);
            for call in delta.objects("tool_calls") {
                self.calls.delta(&call);
            }
        } else if let Some(message) = choice.object("message") {
            self.message(&message);
            for call in message.objects("tool_calls") {
                self.calls.whole(&call);
            }
        }
        let stop = choice.word("finish_reason");
        if let Some(error) = choice.value("error") {
            self.fail(Some(error));
        } else if stop.as_deref() == Some("error") && self.error.is_none() {
            self.fail(None);
        }
        self.stop = stop.or(self.stop.take());
        self.native_stop = choice.word("native_finish_reason").or(self.native_stop.take());
    }

    fn message(&mut self, message: &Object<'_>) {
        self.reasoning.push(message);
        self.refusal.push_str(&message.text("refusal").unwrap_or_default());
        let Some(content) = message.value("content") else { return };
        if let Some(text) = json::text(content) {
            self.text.push_str(&text);
            return;
        }
        // A list of parts, with the reasoning among them.
        for part in json::items(content).into_iter().filter_map(Object::of) {
            match part.value("thinking") {
                Some(thinking) => self.reasoning.push_thinking(thinking),
                None => self.text.push_str(&part.text("text").unwrap_or_default()),
            }
        }
    }

    fn fail(&mut self, error: Option<&RawValue>) {
        self.error = Some(match error {
            Some(error) => ApiError::in_stream(API, error),
            None => ApiError::unexplained("the server stopped with an error and no word of it"),
        });
    }
}

/// Whether an object without an answer is an error, in any of the shapes that servers use.
fn reports_error(object: &Object<'_>) -> bool {
    let named = object.value("code").is_some() || object.text("object").as_deref() == Some("error");
    ["error", "detail", "errors"].iter().any(|key| object.value(key).is_some())
        || (named && object.value("message").is_some())
}

fn stop_class(raw: Option<&str>, native: Option<&str>) -> StopClass {
    let native_length = native.is_some_and(|native| {
        ["length", "max_tokens", "max_output_tokens"].iter().any(|name| native.eq_ignore_ascii_case(name))
    });
    match raw {
        _ if native_length => StopClass::Length,
        None => StopClass::Missing,
        Some("stop" | "end_turn" | "eos" | "eos_token") => StopClass::End,
        Some("tool_calls" | "function_call" | "tool_use") => StopClass::ToolUse,
        Some("length" | "max_tokens" | "model_length") => StopClass::Length,
        Some("stop_sequence") => StopClass::StopSequence,
        Some("content_filter") => StopClass::ContentFilter,
        Some("refusal") => StopClass::Refusal,
        Some("error" | "insufficient_system_resource") => StopClass::Error,
        Some(_) => StopClass::Unknown,
    }
}
