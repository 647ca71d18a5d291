//! What a provider says went wrong, sorted into classes that decide about a retry.

use std::time::Duration;

use countersign_protocol::Api;
use serde_json::value::RawValue;

use super::json::{self, Object};
use super::retry_after;

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The request is wrong; sent again it stays wrong.
    InvalidRequest,
    /// The key is missing or not accepted.
    Auth,
    /// The key may not do this.
    Forbidden,
    /// No such model or address.
    NotFound,
    /// Too many requests or tokens for the moment.
    RateLimit,
    /// The account has no money or allowance left; waiting does not help.
    Quota,
    /// The provider has no capacity for the moment.
    Overloaded,
    /// The provider failed.
    Server,
    /// The prompt does not fit the model's window.
    ContextOverflow,
    /// The model wrote something that the provider could not read.
    ModelOutput,
    /// The response is not what this API sends.
    BadBody,
}

impl ErrorClass {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::Auth => "auth",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::ContextOverflow => "context_overflow",
            Self::ModelOutput => "model_output",
            Self::BadBody => "bad_body",
        }
    }

    /// Whether the same request may succeed later, unless the server says otherwise.
    const fn retryable(self) -> bool {
        matches!(self, Self::RateLimit | Self::Overloaded | Self::Server | Self::ModelOutput)
    }
}

/// An error that a provider reported, in a response of its own or inside a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// What kind of thing went wrong.
    pub class: ErrorClass,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Whether it came inside a response that had begun well.
    pub midstream: bool,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The provider's own words.
    pub message: String,
}

impl ApiError {
    /// A response that is not what this API sends; the message quotes how it begins.
    pub(super) fn bad_body(what: &str, body: &[u8], retryable: bool, midstream: bool) -> Self {
        let message = match excerpt(body) {
            quote if quote.is_empty() => what.to_owned(),
            quote => format!("{what}: {quote}"),
        };
        Self { class: ErrorClass::BadBody, retryable, midstream, retry_after: None, message }
    }

    /// A body in place of an answer that is not JSON: cut off, where it begins as JSON; else a web page or the like.
    pub(super) fn not_json(body: &[u8]) -> Self {
        let cut = matches!(body.trim_ascii_start().first(), None | Some(b'{' | b'['));
        let what = if cut {
            "the server's JSON is cut off or damaged"
        } else {
            "the server did not answer with JSON"
        };
        Self::bad_body(what, body, cut, false)
    }

    /// An error that came inside a response which had begun well. `value` is the error itself: an object or a text.
    pub(super) fn in_stream(api: Api, value: &RawValue) -> Self {
        Self::reported(api, None, &Report::of(value), true)
    }

    /// An error inside a response which had begun well, of which nothing is said.
    pub(super) fn unexplained(what: &str) -> Self {
        Self {
            class: ErrorClass::Server,
            retryable: true,
            midstream: true,
            retry_after: None,
            message: what.to_owned(),
        }
    }

    /// An error object in place of an answer, under a status that says success.
    pub(super) fn in_body(api: Api, value: &RawValue) -> Self {
        Self::reported(api, None, &Report::of(value), false)
    }

    fn reported(api: Api, status: Option<u16>, report: &Report, midstream: bool) -> Self {
        let class = report.class(api, status);
        let message = report.message.clone();
        Self { class, retryable: class.retryable(), midstream, retry_after: report.retry_after, message }
    }
}

/// Reads an error response: its status, its headers, and its body whatever its form. Header names may be in any case.
#[must_use]
pub fn error_body(api: Api, status: u16, headers: &[(String, String)], body: &[u8]) -> ApiError {
    let text = String::from_utf8_lossy(body);
    let mut report = serde_json::from_str::<&RawValue>(&text).map(Report::of).unwrap_or_default();
    if report.message.is_empty() {
        report.message = match excerpt(body) {
            quote if quote.is_empty() => format!("HTTP status {status} without a body"),
            quote => format!("HTTP status {status}: {quote}"),
        };
    }
    let mut error = ApiError::reported(api, Some(status), &report, false);
    error.retryable = match retry_after::header(headers, "x-should-retry") {
        Some("true") => true,
        Some("false") => false,
        _ => error.retryable || matches!(status, 408 | 409),
    };
    error.retry_after = retry_after::from_headers(headers).or(error.retry_after);
    error
}

/// The start of a body, for a person.
fn excerpt(body: &[u8]) -> String {
    const LIMIT: usize = 300;
    let head = &body[..body.len().min(4 * LIMIT)];
    let text = String::from_utf8_lossy(head);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(LIMIT).collect()
}

/// The parts of an error that matter, wherever a server puts them.
#[derive(Debug, Default)]
struct Report {
    kind: String,
    code: String,
    message: String,
    /// Google's details, as text: they name the quota that was hit.
    details: String,
    retry_after: Option<Duration>,
}

impl Report {
    /// Reads `{"error":{…}}`, `{"error":"…"}`, `{"detail":…}`, `{"message":…}`, a text, or an array of any of these.
    fn of(value: &RawValue) -> Self {
        Self::within(value, 4)
    }

    fn within(value: &RawValue, depth: u8) -> Self {
        if let Some(message) = json::text(value) {
            return Self { message, ..Self::default() };
        }
        let Some(depth) = depth.checked_sub(1) else { return Self::default() };
        let Some(object) = Object::of(value) else {
            return json::items(value).first().map(|first| Self::within(first, depth)).unwrap_or_default();
        };
        let mut report = Self {
            kind: object.word("type").or_else(|| object.word("status")).unwrap_or_default(),
            code: object.value("code").map(word_or_number).unwrap_or_default(),
            message: object.word("message").or_else(|| object.word("msg")).unwrap_or_default(),
            details: object.value("details").map(|raw| raw.get().to_ascii_lowercase()).unwrap_or_default(),
            retry_after: object.array("details").into_iter().find_map(retry_after::from_detail),
        };
        if let Some(inner) = ["error", "detail", "errors"].into_iter().find_map(|key| object.value(key)) {
            report = report.or(Self::within(inner, depth));
        }
        if let Some(raw) = object.object("metadata").and_then(|metadata| metadata.word("raw")) {
            report.message = format!("{}: {}", report.message, excerpt(raw.as_bytes()));
        }
        report
    }

    /// What the inner error says comes first.
    fn or(self, inner: Self) -> Self {
        let pick = |outer: String, inner: String| if inner.is_empty() { outer } else { inner };
        Self {
            kind: pick(self.kind, inner.kind),
            code: pick(self.code, inner.code),
            message: pick(self.message, inner.message),
            details: pick(self.details, inner.details),
            retry_after: inner.retry_after.or(self.retry_after),
        }
    }

    fn class(&self, api: Api, status: Option<u16>) -> ErrorClass {
        let code_status = self.code.parse().ok().filter(|code| (400..600).contains(code));
        let status = status.or(code_status);
        let names = format!("{} {}", self.kind, self.code).to_ascii_lowercase();
        let message = self.message.to_ascii_lowercase();
        let says = |texts: &[&str]| texts.iter().any(|text| names.contains(text) || message.contains(text));
        // A limit of tokens per minute may be worded like one of the window: a 429 is never about the window.
        let too_long = says(TOO_LONG) && !matches!(status, Some(401..=404 | 429 | 500..));
        // Gemini words a limit per minute as "current quota"; only the daily one does not clear by waiting.
        let spent = says(SPENT)
            || self.details.contains("perday")
            || (api != Api::Gemini && says(&["exceeded your current quota"]));
        let overloaded = says(&["overloaded", "at capacity", "slow_down"])
            || (api == Api::Gemini && names.contains("unavailable"));
        match status {
            _ if too_long => ErrorClass::ContextOverflow,
            Some(413) => ErrorClass::ContextOverflow,
            Some(402) => ErrorClass::Quota,
            _ if spent => ErrorClass::Quota,
            _ if says(&["tool_use_failed", "json_validate_failed", "output_parse_failed"]) => {
                ErrorClass::ModelOutput
            }
            Some(529) => ErrorClass::Overloaded,
            None | Some(429 | 500..) if overloaded => ErrorClass::Overloaded,
            Some(400) if says(&["api_key_invalid", "api key not valid"]) => ErrorClass::Auth,
            Some(status) => Self::class_of_status(status),
            None => Self::class_of_names(&names),
        }
    }

    const fn class_of_status(status: u16) -> ErrorClass {
        match status {
            401 => ErrorClass::Auth,
            403 => ErrorClass::Forbidden,
            404 => ErrorClass::NotFound,
            425 | 429 => ErrorClass::RateLimit,
            408 | 500.. => ErrorClass::Server,
            400..500 => ErrorClass::InvalidRequest,
            _ => ErrorClass::BadBody,
        }
    }

    /// Errors inside a stream have no status of their own: the provider's word decides, and without one the
    /// provider failed.
    fn class_of_names(names: &str) -> ErrorClass {
        let classes: [(&[&str], ErrorClass); 5] = [
            (&["rate_limit", "resource_exhausted", "too_many_requests"], ErrorClass::RateLimit),
            (&["authentication", "invalid_api_key", "unauthenticated"], ErrorClass::Auth),
            (&["permission", "forbidden"], ErrorClass::Forbidden),
            (&["not_found"], ErrorClass::NotFound),
            (
                &["invalid_request", "invalid_argument", "failed_precondition", "invalid_prompt"],
                ErrorClass::InvalidRequest,
            ),
        ];
        let found = classes.iter().find(|(words, _)| words.iter().any(|word| names.contains(word)));
        found.map_or(ErrorClass::Server, |(_, class)| *class)
    }
}

fn word_or_number(raw: &RawValue) -> String {
    json::text(raw).unwrap_or_else(|| raw.get().to_owned())
}

/// How servers say that a prompt does not fit.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "context_window_exceeded",
    "request_too_large",
    "prompt is too long",
    "input is too long",
    "maximum context length",
    "maximum prompt length",
    "model's context length",
    "context limit",
    "context size",
    "context window",
    "input token count",
    "prompt token count",
    "too large for model with",
];

/// How servers say that an account has nothing left.
const SPENT: &[&str] = &[
    "insufficient_quota",
    "insufficient_balance",
    "insufficient balance",
    "insufficient credits",
    "credit balance is too low",
    "billing_hard_limit_reached",
    "billing_error",
    "billing_not_active",
    "usage_limit_reached",
];
