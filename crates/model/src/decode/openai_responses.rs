//! OpenAI Responses, and the servers that imitate it.

use std::collections::BTreeMap;

use countersign_protocol::{Api, Stop, StopClass};
use serde_json::value::RawValue;

use super::draft::{self, ArgumentText, DraftCall, Ending, Part};
use super::frame::Frame;
use super::json::Object;
use super::{ApiError, Decoded, ReportedUsage, SseEvent, StreamEnd};

const API: Api = Api::OpenaiResponses;

/// What has come of an answer.
#[derive(Default)]
pub(super) struct Decoder {
    /// The output items by their position.
    items: BTreeMap<u64, Item>,
    usage: ReportedUsage,
    status: Option<String>,
    /// Why it is incomplete.
    reason: Option<String>,
    error: Option<ApiError>,
    /// Whether the last event came, or the whole body.
    done: bool,
}

/// An output item: as it was sent whole, or as far as its deltas came.
#[derive(Default)]
struct Item {
    id: Option<String>,
    /// The newest whole form, as JSON.
    json: String,
    /// Whether `json` is the item as it ended.
    ended: bool,
    text: String,
    refusal: String,
    summary: String,
    reasoning: String,
    arguments: ArgumentText,
}

impl super::Decoder for Decoder {
    fn event(&mut self, event: &SseEvent) {
        if self.terminal() {
            return;
        }
        match Frame::of(API, event) {
            Frame::Object(object) => {
                let kind = object.word("type").or_else(|| event.name.clone()).unwrap_or_default();
                if kind == "error" {
                    let whole = || serde_json::from_str(event.data.trim()).ok();
                    self.error =
                        object.value("error").or_else(whole).map(|error| ApiError::in_stream(API, error));
                } else {
                    self.object(&kind, &object);
                }
            }
            Frame::Error(error) => self.error = Some(error),
            Frame::Done | Frame::Nothing => {}
        }
    }

    fn body(&mut self, json: &[u8]) {
        let text = String::from_utf8_lossy(json);
        let Some(response) = Object::parse(&text) else {
            self.error = Some(ApiError::not_json(json));
            return;
        };
        if response.value("output").is_some() || response.value("status").is_some() {
            self.end(&response, false);
        } else {
            self.error = match response.value("error") {
                Some(error) => Some(ApiError::in_body(API, error)),
                None => Some(ApiError::bad_body("the server's JSON is no response", json, false, false)),
            };
        }
    }

    fn finish(self: Box<Self>, _end: StreamEnd) -> Decoded {
        let whole_error = self.error.as_ref().is_some_and(|error| !error.midstream);
        let mut message = Message::default();
        for item in self.items.into_values() {
            item.add_to(&mut message);
        }
        let class = stop_class(self.status.as_deref(), self.reason.as_deref());
        let raw = match (self.status, self.reason) {
            (Some(status), Some(reason)) => Some(format!("{status}:{reason}")),
            (status, _) => status,
        };
        let ending = Ending {
            complete: self.done && class != StopClass::Pending || whole_error,
            stop: Stop { class, raw },
            error: self.error,
            usage: self.usage,
            opaque: message.opaque,
            refusal: Some(message.refusal).filter(|text| !text.is_empty()),
        };
        draft::conclude(API, message.parts, ending)
    }

    fn started(&self) -> bool {
        self.items.values().any(Item::started)
    }

    fn terminal(&self) -> bool {
        self.done || self.error.is_some()
    }
}

impl Decoder {
    fn object(&mut self, kind: &str, object: &Object<'_>) {
        match kind {
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.end(&object.object("response").unwrap_or_default(), true);
                let status = || kind.strip_prefix("response.").map(str::to_owned);
                self.status = self.status.take().or_else(status);
            }
            "response.output_item.added" | "response.output_item.done" => {
                if let Some(json) = object.value("item") {
                    let ended = kind.ends_with("done");
                    let id = Object::of(json).and_then(|item| item.word("id"));
                    self.item(object, id).set(json, ended);
                }
            }
            _ => {
                let id = object.word("item_id");
                // Other events repeat what these say, or are of tools that the server runs itself.
                if let Some(kind) = kind.strip_prefix("response.").filter(|kind| Item::knows(kind)) {
                    self.item(object, id).delta(kind, object);
                }
            }
        }
    }

    /// The item that an event is about: by its position, else by its id; a new one where neither is known.
    fn item(&mut self, event: &Object<'_>, id: Option<String>) -> &mut Item {
        let known = || self.items.iter().find(|(_, item)| id.is_some() && item.id == id).map(|(at, _)| *at);
        let next = || self.items.last_key_value().map_or(0, |(at, _)| at.saturating_add(1));
        let at = event.count("output_index").or_else(known).unwrap_or_else(next);
        let item = self.items.entry(at).or_default();
        item.id = item.id.take().or(id);
        item
    }

    /// Takes a response as it ended. Its output may be empty though items came: then the items stand.
    fn end(&mut self, response: &Object<'_>, midstream: bool) {
        self.done = true;
        self.status = response.word("status");
        self.reason = response.object("incomplete_details").and_then(|details| details.word("reason"));
        for (at, json) in response.array("output").into_iter().enumerate() {
            let item = self.items.entry(at as u64).or_default();
            if !item.ended {
                item.set(json, true);
            }
        }
        if let Some(report) = response.object("usage") {
            self.usage = usage(&report);
        }
        if let Some(error) = response.value("error") {
            let read = if midstream { ApiError::in_stream } else { ApiError::in_body };
            self.error = Some(read(API, error));
        } else if self.status.as_deref() == Some("failed") {
            self.error = Some(ApiError::unexplained("the response failed without a word"));
        }
    }
}

fn usage(report: &Object<'_>) -> ReportedUsage {
    let of_prompt = report.object("input_tokens_details").unwrap_or_default();
    let of_answer = report.object("output_tokens_details").unwrap_or_default();
    let mut usage = ReportedUsage {
        cache_read: of_prompt.count("cached_tokens"),
        cache_write: of_prompt.count("cache_write_tokens"),
        output: report.count("output_tokens"),
        reasoning: of_answer.count("reasoning_tokens"),
        ..ReportedUsage::default()
    };
    usage.split_prompt(report.count("input_tokens"));
    usage
}

/// The message that the items make up.
#[derive(Default)]
struct Message {
    parts: Vec<Part>,
    opaque: u64,
    refusal: String,
}

impl Item {
    fn set(&mut self, json: &RawValue, ended: bool) {
        self.json = json.get().to_owned();
        self.ended = ended;
    }

    /// Whether a delta of this name adds to an item.
    fn knows(delta: &str) -> bool {
        matches!(
            delta,
            "output_text.delta"
                | "refusal.delta"
                | "reasoning_summary_text.delta"
                | "reasoning_text.delta"
                | "function_call_arguments.delta"
                | "function_call_arguments.done"
        )
    }

    fn delta(&mut self, kind: &str, event: &Object<'_>) {
        let text = || event.text("delta").unwrap_or_default();
        match kind {
            "output_text.delta" => self.text.push_str(&text()),
            "refusal.delta" => self.refusal.push_str(&text()),
            "reasoning_summary_text.delta" => self.summary.push_str(&text()),
            "reasoning_text.delta" => self.reasoning.push_str(&text()),
            "function_call_arguments.delta" => {
                if let Some(piece) = event.any("delta") {
                    self.arguments.push(piece);
                }
            }
            "function_call_arguments.done" => {
                if let Some(whole) = event.value("arguments") {
                    self.arguments.replace(whole);
                }
            }
            _ => {}
        }
    }

    fn started(&self) -> bool {
        let texts = [&self.text, &self.refusal, &self.summary, &self.reasoning];
        let call = || Object::parse(&self.json).is_some_and(|item| kind(&item) == "function_call");
        self.ended || texts.iter().any(|text| !text.is_empty()) || !self.arguments.is_empty() || call()
    }

    fn add_to(mut self, message: &mut Message) {
        let json = std::mem::take(&mut self.json);
        let item = Object::parse(&json).unwrap_or_default();
        match kind(&item).as_str() {
            "function_call" => message.parts.push(Part::Call(self.call(&item))),
            "reasoning" => {
                let sealed = item.word("encrypted_content").is_some();
                message.opaque += u64::from(sealed);
                let texts =
                    |key: &str| item.objects(key).iter().filter_map(|part| part.text("text")).collect();
                let text = if self.ended {
                    Some(texts("summary"))
                        .filter(|text: &String| !text.is_empty())
                        .unwrap_or_else(|| texts("content"))
                } else if self.summary.is_empty() {
                    self.reasoning
                } else {
                    self.summary
                };
                let replay = self.ended.then(|| json.clone());
                if !text.is_empty() || replay.is_some() {
                    message.parts.push(Part::Reasoning(text, replay));
                }
            }
            "message" | "" => {
                let (mut text, mut refusal) = (self.text, self.refusal);
                if self.ended {
                    let content = item.objects("content");
                    text = content.iter().filter_map(|part| part.text("text")).collect();
                    refusal = content.iter().filter_map(|part| part.text("refusal")).collect();
                }
                message.refusal.push_str(&refusal);
                // The phase tells a last answer from a word on the way; it must go back with its message.
                let replay = (self.ended && item.value("phase").is_some()).then(|| json.clone());
                if !text.is_empty() {
                    message.parts.push(Part::Text(text, replay));
                }
            }
            _ => {}
        }
    }

    fn call(mut self, item: &Object<'_>) -> DraftCall {
        if let Some(whole) = item
            .any("arguments")
            .filter(|whole| self.arguments.is_empty() || (self.ended && whole.get() != "\"\""))
        {
            self.arguments.replace(whole);
        }
        DraftCall {
            id: item.word("call_id"),
            name: item.text("name").unwrap_or_default(),
            arguments: self.arguments.finish(),
            replay: None,
        }
    }
}

fn kind(item: &Object<'_>) -> String {
    item.text("type").unwrap_or_default()
}

fn stop_class(status: Option<&str>, reason: Option<&str>) -> StopClass {
    match (status, reason) {
        (None, _) => StopClass::Missing,
        (Some("completed"), _) => StopClass::End,
        (Some("incomplete"), Some("max_output_tokens" | "max_tokens")) => StopClass::Length,
        (Some("incomplete"), Some("content_filter")) => StopClass::ContentFilter,
        (Some("incomplete"), None) => StopClass::Length,
        (Some("failed" | "cancelled"), _) => StopClass::Error,
        (Some("queued" | "in_progress"), _) => StopClass::Pending,
        (Some(_), _) => StopClass::Unknown,
    }
}
