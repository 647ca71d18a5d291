//! Anthropic Messages, and the gateways that imitate it.

use countersign_protocol::{Api, Arguments, ArgumentsStatus, Stop, StopClass};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::draft::{self, ArgumentText, DraftCall, Ending, Part};
use super::frame::Frame;
use super::json::Object;
use super::{ApiError, Decoded, Pass, ReportedUsage, SseEvent, StreamEnd};

const API: Api = Api::AnthropicMessages;

/// What has come of an answer.
#[derive(Default)]
pub(super) struct Decoder {
    blocks: Vec<Block>,
    usage: ReportedUsage,
    stop: Option<String>,
    error: Option<ApiError>,
    /// Whether the last event came, or the whole body.
    done: bool,
}

/// A content block: how it began, and what its deltas added.
#[derive(Default)]
struct Block {
    index: Option<u64>,
    kind: String,
    /// The block as it began, as JSON.
    start: String,
    /// Text, thinking, or the content of a compaction.
    text: String,
    signature: String,
    input: ArgumentText,
    closed: bool,
}

impl super::Decoder for Decoder {
    fn event(&mut self, event: &SseEvent) {
        if self.terminal() {
            return;
        }
        match Frame::of(API, event) {
            Frame::Object(object) => {
                let kind = object.word("type").or_else(|| event.name.clone()).unwrap_or_default();
                self.object(&kind, &object);
            }
            Frame::Error(error) => self.error = Some(error),
            Frame::Done | Frame::Nothing => {}
        }
    }

    fn body(&mut self, json: &[u8]) {
        let text = String::from_utf8_lossy(json);
        let Some(message) = Object::parse(&text) else {
            self.error = Some(ApiError::not_json(json));
            return;
        };
        if let Some(error) = message.value("error") {
            self.error = Some(ApiError::in_body(API, error));
        } else if message.value("content").is_some() || message.value("stop_reason").is_some() {
            self.message(&message);
            self.stop = message.word("stop_reason");
            self.done = true;
        } else {
            self.error = Some(ApiError::bad_body("the server's JSON is no message", json, false, false));
        }
    }

    fn finish(self: Box<Self>, _end: StreamEnd) -> Decoded {
        let whole_error = self.error.as_ref().is_some_and(|error| !error.midstream);
        let mut opaque = 0;
        let parts = self.blocks.into_iter().filter_map(|block| block.part(self.done, &mut opaque)).collect();
        let ending = Ending {
            stop: Stop { class: stop_class(self.stop.as_deref()), raw: self.stop },
            complete: self.done || whole_error,
            error: self.error,
            usage: self.usage,
            opaque,
            refusal: None,
        };
        draft::conclude(API, parts, ending)
    }

    fn started(&self) -> bool {
        self.blocks.iter().any(|block| block.kind != "text" || !block.text.is_empty())
    }

    fn terminal(&self) -> bool {
        self.done || self.error.is_some()
    }
}

impl Decoder {
    fn object(&mut self, kind: &str, object: &Object<'_>) {
        match kind {
            "message_start" => {
                if let Some(message) = object.object("message") {
                    self.message(&message);
                }
            }
            "content_block_start" => {
                if let Some(start) = object.value("content_block") {
                    self.blocks.push(Block::begin(object.count("index"), start));
                }
            }
            "content_block_delta" => {
                if let Some(delta) = object.object("delta") {
                    self.delta(object.count("index"), &delta);
                }
            }
            "content_block_stop" => {
                if let Some(block) = self.block(object.count("index")) {
                    block.closed = true;
                }
            }
            "message_delta" => {
                let delta = object.object("delta").unwrap_or_default();
                self.stop = delta.word("stop_reason").or(self.stop.take());
                self.report(object);
            }
            "message_stop" => self.done = true,
            "error" => {
                let error = object.value("error").map(|error| ApiError::in_stream(API, error));
                self.error =
                    error.or_else(|| Some(ApiError::unexplained("the server sent an error without a word")));
            }
            _ => {}
        }
    }

    /// Takes the blocks and the usage of a message: of a whole one, or of one that begins.
    fn message(&mut self, message: &Object<'_>) {
        let blocks = message.array("content").into_iter().map(|start| Block::begin(None, start));
        self.blocks.extend(blocks);
        self.report(message);
    }

    fn block(&mut self, index: Option<u64>) -> Option<&mut Block> {
        match index {
            Some(_) => self.blocks.iter_mut().rev().find(|block| block.index == index),
            None => self.blocks.last_mut(),
        }
    }

    fn delta(&mut self, index: Option<u64>, delta: &Object<'_>) {
        let kind = delta.text("type").unwrap_or_default();
        let Some(block) = self.block(index) else { return };
        match kind.as_str() {
            "text_delta" => block.text.push_str(&delta.text("text").unwrap_or_default()),
            "thinking_delta" => block.text.push_str(&delta.text("thinking").unwrap_or_default()),
            "compaction_delta" => block.text.push_str(&delta.text("content").unwrap_or_default()),
            "signature_delta" => block.signature.push_str(&delta.text("signature").unwrap_or_default()),
            "input_json_delta" => {
                if let Some(piece) = delta.value("partial_json") {
                    block.input.push(piece);
                }
            }
            _ => {}
        }
    }

    /// Takes a usage report. A later one replaces an earlier one field by field, down to zero too: after a
    /// server-side compaction the prompt is another one. Only a report that leaves the whole prompt at zero says
    /// nothing about it.
    fn report(&mut self, holder: &Object<'_>) {
        let Some(report) = holder.object("usage") else { return };
        let usage = &mut self.usage;
        let replace = |old: &mut Option<u64>, new: Option<u64>| *old = new.or(*old);
        let (input, read) = (report.count("input_tokens"), report.count("cache_read_input_tokens"));
        let write = report.count("cache_creation_input_tokens");
        if usage.prompt_total.is_none() || [input, read, write].iter().flatten().any(|count| *count > 0) {
            replace(&mut usage.input_uncached, input);
            replace(&mut usage.cache_read, read);
            replace(&mut usage.cache_write, write);
        }
        let details = report.object("cache_creation").unwrap_or_default();
        replace(&mut usage.cache_write_1h, details.count("ephemeral_1h_input_tokens"));
        replace(&mut usage.output, report.count("output_tokens"));
        let details = report.object("output_tokens_details").unwrap_or_default();
        replace(&mut usage.reasoning, details.count("thinking_tokens"));
        let prompt = [usage.input_uncached, usage.cache_read, usage.cache_write];
        usage.prompt_total = prompt.into_iter().flatten().reduce(u64::saturating_add);
        let passes: Vec<_> = report.objects("iterations").iter().filter_map(pass).collect();
        if !passes.is_empty() {
            usage.billed_elsewhere = passes;
        }
    }
}

/// A pass that the main numbers leave out: all but those over the message itself.
fn pass(iteration: &Object<'_>) -> Option<Pass> {
    let kind = iteration.word("type").filter(|kind| kind != "message")?;
    let count = |key| iteration.count(key).unwrap_or(0);
    Some(Pass {
        kind,
        model: iteration.word("model"),
        input_uncached: count("input_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        output: count("output_tokens"),
    })
}

impl Block {
    fn begin(index: Option<u64>, start: &RawValue) -> Self {
        let object = Object::of(start).unwrap_or_default();
        let text = object.text("text").or_else(|| object.text("thinking")).unwrap_or_default();
        Self {
            index,
            kind: object.text("type").unwrap_or_default(),
            start: start.get().to_owned(),
            text,
            signature: object.text("signature").unwrap_or_default(),
            ..Self::default()
        }
    }

    /// The block as a part of the message; `whole`: the message came to its end.
    fn part(self, whole: bool, opaque: &mut u64) -> Option<Part> {
        match self.kind.as_str() {
            "text" if self.text.is_empty() => None,
            "text" => Some(Part::Text(self.text, None)),
            "thinking" => {
                let signed = !self.signature.is_empty();
                *opaque += u64::from(signed);
                let block = json!({ "type": "thinking", "thinking": self.text, "signature": self.signature });
                Some(Part::Reasoning(self.text, signed.then(|| block.to_string())))
            }
            "redacted_thinking" => {
                *opaque += 1;
                Some(Part::Reasoning(String::new(), Some(self.start)))
            }
            "tool_use" => Some(Part::Call(self.call(whole))),
            _ => self.foreign(whole).map(|json| Part::Reasoning(String::new(), Some(json))),
        }
    }

    fn call(self, whole: bool) -> DraftCall {
        let start = Object::parse(&self.start).unwrap_or_default();
        let arguments = if !self.input.is_empty() {
            self.input.finish()
        } else if !(whole || self.closed) {
            Arguments { status: ArgumentsStatus::Invalid, raw: String::new() }
        } else {
            // An object as it stands; a text, as some imitators send it, is what it says.
            let mut input = self.input;
            if let Some(start) = start.any("input") {
                input.replace(start);
            }
            input.finish()
        };
        DraftCall {
            id: start.word("id"),
            name: start.text("name").unwrap_or_default(),
            arguments,
            replay: None,
        }
    }

    /// A block of a server's own tools, which must go back as it was; `None` where it did not come whole.
    fn foreign(self, whole: bool) -> Option<String> {
        if !(whole || self.closed) || self.kind.is_empty() {
            return None;
        }
        if self.input.is_empty() && self.kind != "compaction" {
            return Some(self.start);
        }
        let mut block: Value = serde_json::from_str(&self.start).ok()?;
        if self.kind == "compaction" {
            block["content"] = self.text.into();
        } else {
            block["input"] = self.input.finish().object()?.into();
        }
        Some(block.to_string())
    }
}

fn stop_class(raw: Option<&str>) -> StopClass {
    match raw {
        None => StopClass::Missing,
        Some("end_turn") => StopClass::End,
        Some("tool_use") => StopClass::ToolUse,
        Some("max_tokens" | "model_context_window_exceeded") => StopClass::Length,
        Some("stop_sequence") => StopClass::StopSequence,
        Some("pause_turn" | "compaction") => StopClass::Pause,
        Some("refusal") => StopClass::Refusal,
        Some(_) => StopClass::Unknown,
    }
}
