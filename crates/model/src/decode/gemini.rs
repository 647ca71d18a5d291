//! Google Gemini `generateContent`, streamed or whole.

use countersign_protocol::{Api, Arguments, ArgumentsStatus, Stop, StopClass};
use serde_json::value::RawValue;

use super::draft::{self, DraftCall, Ending, Part};
use super::frame::Frame;
use super::json::Object;
use super::{ApiError, Decoded, ReportedUsage, SseEvent, StreamEnd};

const API: Api = Api::Gemini;

/// What has come of an answer. Gemini has no last event of its own: the stream just ends.
#[derive(Default)]
pub(super) struct Decoder {
    parts: Vec<Part>,
    opaque: u64,
    usage: ReportedUsage,
    stop: Option<String>,
    error: Option<ApiError>,
}

impl super::Decoder for Decoder {
    fn event(&mut self, event: &SseEvent) {
        if self.terminal() {
            return;
        }
        match Frame::of(API, event) {
            Frame::Object(object) => self.chunk(&object, true),
            Frame::Error(error) => self.error = Some(error),
            Frame::Done | Frame::Nothing => {}
        }
    }

    fn body(&mut self, json: &[u8]) {
        let text = String::from_utf8_lossy(json);
        if let Some(object) = Object::parse(&text) {
            self.chunk(&object, false);
        } else if let Ok(array) = serde_json::from_str::<Vec<&RawValue>>(&text) {
            // Without `alt=sse` a stream is one JSON array of its chunks.
            for object in array.into_iter().filter_map(Object::of) {
                self.chunk(&object, false);
            }
        } else {
            self.error = Some(ApiError::not_json(json));
            return;
        }
        if self.stop.is_none()
            && self.parts.is_empty()
            && self.error.is_none()
            && self.usage == ReportedUsage::default()
        {
            self.error = Some(ApiError::bad_body("the server's JSON is no answer", json, false, false));
        }
    }

    fn finish(self: Box<Self>, _end: StreamEnd) -> Decoded {
        let whole_error = self.error.as_ref().is_some_and(|error| !error.midstream);
        let ending = Ending {
            complete: self.stop.is_some() || whole_error,
            stop: Stop { class: stop_class(self.stop.as_deref()), raw: self.stop },
            error: self.error,
            usage: self.usage,
            opaque: self.opaque,
            refusal: None,
        };
        draft::conclude(API, self.parts, ending)
    }

    fn started(&self) -> bool {
        !self.parts.is_empty()
    }

    fn terminal(&self) -> bool {
        self.error.is_some()
    }
}

impl Decoder {
    fn chunk(&mut self, chunk: &Object<'_>, midstream: bool) {
        if let Some(error) = chunk.value("error") {
            let read = if midstream { ApiError::in_stream } else { ApiError::in_body };
            self.error = Some(read(API, error));
            return;
        }
        if let Some(report) = chunk.object("usageMetadata") {
            self.report(&report);
        }
        if let Some(reason) = chunk.object("promptFeedback").and_then(|feedback| feedback.word("blockReason"))
        {
            self.stop = Some(format!("{BLOCKED}{reason}"));
        }
        for candidate in chunk.objects("candidates") {
            if candidate.count("index").unwrap_or(0) != 0 {
                continue;
            }
            for part in candidate.object("content").unwrap_or_default().array("parts") {
                self.part(part);
            }
            self.stop = candidate.word("finishReason").or(self.stop.take());
        }
    }

    fn part(&mut self, raw: &RawValue) {
        let Some(part) = Object::of(raw) else { return };
        let signed = part.word("thoughtSignature").is_some();
        self.opaque += u64::from(signed);
        // A signed part goes back as it was and is never joined with another.
        let replay = || signed.then(|| raw.get().to_owned());
        if let Some(call) = part.object("functionCall") {
            self.parts.push(Part::Call(self::call(&call, raw)));
        } else if let Some(text) = part.text("text") {
            let thought = part.value("thought").is_some_and(|raw| raw.get() == "true");
            match (thought, signed) {
                (true, true) => self.parts.push(Part::Reasoning(text, replay())),
                (true, false) => draft::push_reasoning(&mut self.parts, text),
                (false, true) => self.parts.push(Part::Text(text, replay())),
                (false, false) => draft::push_text(&mut self.parts, text),
            }
        } else if signed {
            self.parts.push(Part::Text(String::new(), replay()));
        }
    }

    /// Takes a usage report; the counts are those of the whole answer so far.
    fn report(&mut self, report: &Object<'_>) {
        let prompt = sum(report.count("promptTokenCount"), report.count("toolUsePromptTokenCount"));
        let (answer, thoughts) = (report.count("candidatesTokenCount"), report.count("thoughtsTokenCount"));
        let reported = sum(answer, thoughts);
        // What only the total shows is output too.
        let total =
            report.count("totalTokenCount").zip(prompt).map(|(total, prompt)| total.saturating_sub(prompt));
        let usage = &mut self.usage;
        usage.cache_read = report.count("cachedContentTokenCount").or(usage.cache_read);
        usage.output = reported.max(total).or(usage.output);
        usage.reasoning = thoughts.or(usage.reasoning);
        if prompt.is_some() {
            usage.split_prompt(prompt);
        }
    }
}

/// The sum of what was reported; `None` where nothing was.
fn sum(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (None, None) => None,
        _ => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
    }
}

/// A call keeps its whole part: with its signature, if any, and with the wire's id or without one.
fn call(call: &Object<'_>, part: &RawValue) -> DraftCall {
    // Google's JSON leaves an empty object out.
    let args = call.value("args").map_or("{}", RawValue::get);
    let arguments = Arguments::from_text(args);
    let unusable = matches!(arguments.status, ArgumentsStatus::Invalid | ArgumentsStatus::NotObject);
    DraftCall {
        id: call.word("id"),
        name: call.text("name").unwrap_or_default(),
        arguments,
        replay: (!unusable).then(|| part.get().to_owned()),
    }
}

/// What a blocked prompt's reason begins with.
const BLOCKED: &str = "promptFeedback:";

fn stop_class(raw: Option<&str>) -> StopClass {
    match raw {
        None => StopClass::Missing,
        Some("STOP") => StopClass::End,
        Some("MAX_TOKENS") => StopClass::Length,
        Some(
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" | "MALFORMED_RESPONSE",
        ) => StopClass::MalformedToolCall,
        Some(
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => StopClass::ContentFilter,
        Some(reason) if reason.starts_with(BLOCKED) => StopClass::ContentFilter,
        Some(_) => StopClass::Unknown,
    }
}
