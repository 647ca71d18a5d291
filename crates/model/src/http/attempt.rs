//! One request and its response, read to the end or as far as it came, and what is booked for it.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use countersign_protocol::{StopClass, Usage};
use reqwest::{Response, header::CONTENT_TYPE};
use tokio_util::sync::CancellationToken;

use super::target::Target;
use crate::{
    Answer, CallError, Request, Trouble,
    decode::{AnswerReader, ApiError, Decoded, ErrorClass, StreamEnd, error_body},
};

/// More than any answer of a model; what is larger is something else.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;
/// As much of an error response as is read.
const MAX_ERROR_BYTES: usize = 1024 * 1024;

/// What became of one request.
pub(super) struct Tried {
    pub(super) usage: Usage,
    pub(super) result: Result<Answer, Failure>,
}

/// Why a request failed.
pub(super) struct Failure {
    pub(super) error: CallError,
    /// Whether it may be sent again: the error may pass, and nothing of an answer has come.
    pub(super) again: bool,
    /// How long the provider asks to wait.
    pub(super) retry_after: Option<Duration>,
}

impl Failure {
    fn of(error: CallError, again: bool) -> Self {
        Self { error, again, retry_after: None }
    }
}

/// How the reading of a response ended.
enum End {
    Clean,
    Cut(String),
    TooLarge,
    Cancelled,
}

impl Target {
    /// Sends one request and reads its response.
    pub(super) async fn attempt(
        &self,
        body: Bytes,
        request: &Request<'_>,
        cancel: &CancellationToken,
    ) -> Tried {
        let sent = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            sent = self.post().body(body).send() => Some(sent),
        };
        match sent {
            None => {
                Tried { usage: prompt_alone(request), result: Err(Failure::of(CallError::Cancelled, false)) }
            }
            Some(Err(error)) => {
                // Without a connection nothing was sent; else the provider may bill what it was sent.
                let usage = if error.is_connect() { Usage::default() } else { prompt_alone(request) };
                let message = format!("no response from {}: {}", self.address(), words(error));
                let error = CallError::Network(self.trouble(None, &message));
                Tried { usage, result: Err(Failure::of(error, true)) }
            }
            Some(Ok(response)) if response.status().is_success() => {
                self.read(response, request, cancel).await
            }
            Some(Ok(response)) => {
                Tried { usage: Usage::default(), result: Err(self.refused(response, cancel).await) }
            }
        }
    }

    /// A response whose status says failure. Providers do not bill it.
    async fn refused(&self, mut response: Response, cancel: &CancellationToken) -> Failure {
        let status = response.status();
        if status.is_redirection() {
            let message = "the server redirects elsewhere, and the key must not follow";
            return Failure::of(CallError::Protocol(self.trouble(Some(status.as_u16()), message)), false);
        }
        let headers: Vec<(String, String)> = response
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .collect();
        let mut body = Vec::new();
        while body.len() < MAX_ERROR_BYTES {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Failure::of(CallError::Cancelled, false),
                // What came before the connection broke is enough for an error.
                chunk = response.chunk() => match chunk {
                    Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                    Ok(None) | Err(_) => break,
                },
            }
        }
        self.reported(Some(status.as_u16()), &error_body(self.api, status.as_u16(), &headers, &body), false)
    }

    /// A response whose status says success.
    async fn read(&self, mut response: Response, request: &Request<'_>, cancel: &CancellationToken) -> Tried {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mut reader = AnswerReader::new(self.api, content_type);
        let mut received = 0;
        let end = loop {
            if reader.terminal() {
                break End::Clean;
            }
            let chunk = tokio::select! {
                biased;
                () = cancel.cancelled() => break End::Cancelled,
                chunk = response.chunk() => chunk,
            };
            match chunk {
                Ok(Some(bytes)) => {
                    received += bytes.len();
                    if received > MAX_RESPONSE_BYTES {
                        break End::TooLarge;
                    }
                    reader.push(&bytes);
                }
                Ok(None) => break End::Clean,
                Err(error) => break End::Cut(words(error)),
            }
        };
        let started = reader.started();
        let decoded = reader.finish(match &end {
            End::Clean => StreamEnd::Clean,
            End::Cut(reason) => StreamEnd::Cut(reason.clone()),
            End::TooLarge => StreamEnd::Cut("the response is too large".into()),
            End::Cancelled => StreamEnd::Cut("the call was stopped".into()),
        });
        let usage = booked(&decoded, started, request);
        let result = self.answer(decoded, usage, started, end, request);
        Tried { usage, result }
    }

    /// What a response comes to.
    fn answer(
        &self,
        decoded: Decoded,
        usage: Usage,
        started: bool,
        end: End,
        request: &Request<'_>,
    ) -> Result<Answer, Failure> {
        if let Some(error) = &decoded.error {
            return Err(self.reported(None, error, started));
        }
        let cut = |message: &str| {
            let place = if started { "in the middle" } else { "before it began" };
            let message = format!("the answer broke off {place}: {message}");
            Failure::of(CallError::Network(self.trouble(None, &message)), !started)
        };
        match end {
            _ if decoded.complete => {}
            End::Clean => return Err(cut("the server ended it without its last event")),
            End::Cut(reason) => return Err(cut(&reason)),
            End::Cancelled => return Err(Failure::of(CallError::Cancelled, false)),
            End::TooLarge => {
                let message = format!("the response is larger than {MAX_RESPONSE_BYTES} bytes");
                return Err(Failure::of(CallError::Protocol(self.trouble(None, &message)), false));
            }
        }
        if matches!(decoded.stop.class, StopClass::Refusal | StopClass::ContentFilter) {
            let words = decoded.refusal.unwrap_or_else(|| decoded.message.text());
            let message = if words.trim().is_empty() { "no reason was given" } else { words.trim() };
            return Err(Failure::of(CallError::Refused(self.trouble(None, message)), false));
        }
        // Some servers relabel a length stop; only what the server itself counts tells, not the host's own bound.
        let at_limit = decoded.usage.output.is_some_and(|output| output >= request.output_tokens);
        let executable = is_whole(&decoded) && !at_limit;
        Ok(Answer { message: decoded.message, stop: decoded.stop, usage, executable })
    }

    fn reported(&self, status: Option<u16>, error: &ApiError, started: bool) -> Failure {
        let mut message = error.message.clone();
        if let Some(wait) = error.retry_after {
            message = format!("{message} (it asks to wait {} s)", wait.as_secs_f64().ceil());
        }
        Failure {
            error: CallError::reported(error.class, self.trouble(status, &message)),
            again: error.retryable && !started,
            retry_after: error.retry_after,
        }
    }

    fn trouble(&self, status: Option<u16>, message: &str) -> Trouble {
        Trouble { provider: self.provider.clone(), status, message: self.without_key(message) }
    }
}

/// Whether an answer arrived whole: its calls may run, or, where it has none, its text is all of it.
fn is_whole(decoded: &Decoded) -> bool {
    let without_calls = decoded.message.calls().next().is_none();
    let ended = matches!(decoded.stop.class, StopClass::End | StopClass::StopSequence | StopClass::Missing);
    decoded.executable || (without_calls && decoded.complete && ended)
}

/// What a response is booked with: what the provider reports, and where it may have billed without a report, no less
/// than it can have billed.
fn booked(decoded: &Decoded, started: bool, request: &Request<'_>) -> Usage {
    let has_content = started || !decoded.message.blocks.is_empty();
    match decoded.usage.to_usage() {
        // Where a stream breaks off, the count of the output is that of its beginning.
        Some(usage) if !decoded.complete && has_content => {
            Usage { output: usage.output.max(request.output_tokens), estimated: true, ..usage }
        }
        Some(usage) => usage,
        None if has_content => Usage { output: request.output_tokens, ..prompt_alone(request) },
        None if decoded.error.as_ref().is_some_and(|error| error.class != ErrorClass::BadBody) => {
            Usage::default()
        }
        None => prompt_alone(request),
    }
}

/// The upper bound for a request that was sent and of whose answer nothing came.
fn prompt_alone(request: &Request<'_>) -> Usage {
    Usage { input: request.prompt_tokens, estimated: true, ..Usage::default() }
}

/// An error with its causes, without the URL.
fn words(error: reqwest::Error) -> String {
    if error.is_timeout() && !error.is_connect() {
        return "the server was silent for too long".into();
    }
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = error.source();
    }
    words
}
