//! Reasoning, which every server puts into a field of its own name, and some into several at once.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::draft::Part;
use super::super::json::{self, Object};

/// The fields that hold reasoning as plain text. Where a chunk has several, they say the same.
const FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The reasoning of a message.
#[derive(Default)]
pub(super) struct Reasoning {
    text: String,
    /// The field that it came in, and goes back in.
    field: Option<&'static str>,
    /// OpenRouter's list of parts, text and encrypted, which goes back as it was.
    details: Vec<Map<String, Value>>,
    /// Copilot's encrypted form.
    sealed: Option<String>,
}

impl Reasoning {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.details.is_empty() && self.sealed.is_none()
    }

    /// Takes the reasoning of a message, or of a part of one.
    pub(super) fn push(&mut self, message: &Object<'_>) {
        let details = message.array("reasoning_details").into_iter();
        let details: Vec<Map<String, Value>> =
            details.filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect();
        if let Some((field, text)) = FIELDS.iter().find_map(|field| Some((*field, message.word(field)?))) {
            self.field.get_or_insert(field);
            self.text.push_str(&text);
        } else {
            let texts =
                details.iter().filter_map(|detail| string(detail, "text").or(string(detail, "summary")));
            self.text.extend(texts);
        }
        for detail in details {
            self.push_detail(detail);
        }
        self.sealed = message.word("reasoning_opaque").or(self.sealed.take());
    }

    /// Takes a part of a content list: its text, or a list of texts.
    pub(super) fn push_thinking(&mut self, thinking: &RawValue) {
        match json::text(thinking) {
            Some(text) => self.text.push_str(&text),
            None => {
                let texts = json::items(thinking).into_iter().filter_map(Object::of);
                self.text.extend(texts.filter_map(|part| part.text("text")));
            }
        }
    }

    /// Joins a fragment of readable reasoning with the one before; an encrypted part always stands alone.
    fn push_detail(&mut self, detail: Map<String, Value>) {
        let same = |last: &&mut Map<String, Value>| {
            last.get("type") == detail.get("type") && last.get("index") == detail.get("index")
        };
        let readable = detail.contains_key("text") || detail.contains_key("summary");
        let Some(last) = self.details.last_mut().filter(same).filter(|_| readable) else {
            self.details.push(detail);
            return;
        };
        for (key, value) in detail {
            match (last.get_mut(&key), value) {
                (_, Value::Null) => {}
                (Some(Value::String(text)), Value::String(more)) if key == "text" || key == "summary" => {
                    text.push_str(&more);
                }
                (_, value) => {
                    last.insert(key, value);
                }
            }
        }
    }

    /// The reasoning as a part of the message, and how many signatures and encrypted parts it holds. What goes back
    /// is the fields of the message that it came in.
    pub(super) fn finish(self) -> (Option<Part>, u64) {
        if self.is_empty() {
            return (None, 0);
        }
        let sealed = |detail: &&Map<String, Value>| {
            ["data", "signature"].iter().any(|key| string(detail, key).is_some_and(|text| !text.is_empty()))
        };
        let opaque = self.details.iter().filter(sealed).count() as u64 + u64::from(self.sealed.is_some());
        let mut fields = Map::new();
        if let Some(field) = self.field {
            fields.insert(field.into(), self.text.clone().into());
        }
        if !self.details.is_empty() {
            fields.insert("reasoning_details".into(), self.details.into_iter().map(Value::Object).collect());
        }
        if let Some(sealed) = self.sealed {
            fields.insert("reasoning_opaque".into(), sealed.into());
        }
        let replay = (!fields.is_empty()).then(|| Value::Object(fields).to_string());
        (Some(Part::Reasoning(self.text, replay)), opaque)
    }
}

fn string<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    map.get(key).and_then(Value::as_str)
}
