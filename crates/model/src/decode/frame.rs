//! What an event's data is, before any API's own rules.

use countersign_protocol::Api;
use serde_json::value::RawValue;

use super::json::Object;
use super::{ApiError, SseEvent};

/// The data of an event.
pub(super) enum Frame<'a> {
    /// `[DONE]`: nothing comes after it.
    Done,
    /// A JSON object.
    Object(Object<'a>),
    /// An error: one that names itself so, or data that was damaged.
    Error(ApiError),
    /// A sign of life, or a kind of event that this version does not know.
    Nothing,
}

impl<'a> Frame<'a> {
    /// Reads an event.
    pub(super) fn of(api: Api, event: &'a SseEvent) -> Self {
        let data = event.data.trim();
        let is_error = event.name.as_deref() == Some("error");
        if data == "[DONE]" {
            return Self::Done;
        }
        if is_error {
            return Self::Error(match serde_json::from_str::<&RawValue>(data) {
                Ok(value) => ApiError::in_stream(api, value),
                Err(_) => ApiError::unexplained(if data.is_empty() {
                    "the server sent an error without a word"
                } else {
                    data
                }),
            });
        }
        match Object::parse(data) {
            Some(object) => Self::Object(object),
            None if data.starts_with(['{', '[']) => {
                Self::Error(ApiError::bad_body("an event's JSON is damaged", data.as_bytes(), true, true))
            }
            None => Self::Nothing,
        }
    }
}
