//! Models behind an HTTP server: the address, the key, and when a failed request is sent again.

mod attempt;
mod target;
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use countersign_protocol::Api;
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use self::{
    attempt::{Failure, Tried},
    target::Target,
};
use crate::{
    AnthropicMessages, Attempt, CallError, CallReport, ConnectError, Encoder, MaxTokensField, Model,
    ModelSpec, OpenAiChat, Provider, Request,
};

/// The wait before the first retry; it doubles from one to the next.
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// The longest wait that the host chooses by itself.
const LONGEST_DELAY: Duration = Duration::from_secs(30);
/// The longest wait that a provider may ask for. A call that would wait longer fails at once, so that somebody hears
/// of it.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(60);

/// A provider's model.
pub struct HttpModel {
    spec: ModelSpec,
    encoder: Box<dyn Encoder>,
    target: Target,
    max_retries: u32,
    first_delay: Duration,
}

/// Makes a model ready to be called. The key is read from the variable that the provider names.
///
/// # Errors
/// The key is missing or malformed, the base URL is not one, or the API is not spoken by this version.
pub fn connect(provider: &Provider, spec: ModelSpec) -> Result<HttpModel, ConnectError> {
    let key = match &provider.api_key_env {
        None => None,
        Some(variable) => match std::env::var(variable) {
            Ok(key) if !key.trim().is_empty() => Some(SecretString::from(key.trim())),
            _ => {
                let (provider, variable) = (provider.name.clone(), variable.clone());
                return Err(ConnectError::KeyMissing { provider, variable });
            }
        },
    };
    HttpModel::new(provider, spec, key)
}

impl HttpModel {
    /// Makes a model ready to be called, with a key that the caller holds.
    ///
    /// # Errors
    /// The key is malformed, the base URL is not one, or the API is not spoken by this version.
    pub fn new(
        provider: &Provider,
        spec: ModelSpec,
        key: Option<SecretString>,
    ) -> Result<Self, ConnectError> {
        let target = Target::new(provider, key)?;
        let encoder: Box<dyn Encoder> = match provider.api {
            Api::AnthropicMessages => Box::new(AnthropicMessages),
            Api::OpenaiChat => Box::new(OpenAiChat {
                limit: provider.max_tokens_field.unwrap_or(limit_field(target.host())),
                replay_reasoning: provider.replay_reasoning.unwrap_or(true),
                stream_usage: provider.stream_usage.unwrap_or(true),
                assistant_after_tools: provider.assistant_after_tools.unwrap_or(false),
            }),
            api @ (Api::OpenaiResponses | Api::Gemini) => {
                return Err(ConnectError::ApiNotSpoken { provider: provider.name.clone(), api });
            }
        };
        Ok(Self { spec, encoder, target, max_retries: provider.max_retries(), first_delay: FIRST_DELAY })
    }

    async fn call(&self, request: Request<'_>, cancel: &CancellationToken) -> CallReport {
        let tail = request.tail.map(|item| self.encoder.item(item, request.prompt.after_results()));
        let body = self.encoder.assemble(request.prompt, tail.as_ref(), request.output_tokens);
        let mut delays = self.delays();
        let mut attempts = Vec::new();
        while !cancel.is_cancelled() {
            let Tried { usage, result } = self.target.attempt(body.clone(), &request, cancel).await;
            let failure = match result {
                Ok(answer) => {
                    attempts.push(Attempt { usage, error: None });
                    return CallReport { attempts, result: Ok(answer) };
                }
                Err(failure) => failure,
            };
            attempts.push(Attempt { usage, error: Some(failure.error.clone()) });
            // What was reserved covers one request that is billed: after one that may have been, the caller must
            // reserve anew.
            let free = usage.total() == 0;
            let Some(delay) = delay(&failure, &mut delays).filter(|_| free) else {
                return CallReport { attempts, result: Err(failure.error) };
            };
            tracing::debug!(error = %failure.error, ?delay, "the request is sent again");
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = cancel.cancelled() => {}
            }
        }
        CallReport { attempts, result: Err(CallError::Cancelled) }
    }

    fn delays(&self) -> ExponentialBackoff {
        ExponentialBuilder::new()
            .with_min_delay(self.first_delay)
            .with_max_delay(LONGEST_DELAY)
            .with_max_times(self.max_retries as usize)
            .with_jitter()
            .build()
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("spec", &self.spec)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl Model for HttpModel {
    fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    fn encoder(&self) -> &dyn Encoder {
        self.encoder.as_ref()
    }

    fn call<'a>(&'a self, request: Request<'a>, cancel: &'a CancellationToken) -> BoxFuture<'a, CallReport> {
        Box::pin(self.call(request, cancel))
    }
}

/// How long to wait before the request is sent again; `None` where it is not.
fn delay(failure: &Failure, delays: &mut ExponentialBackoff) -> Option<Duration> {
    if !failure.again {
        return None;
    }
    let own = delays.next()?;
    match failure.retry_after {
        Some(asked) if asked > LONGEST_RETRY_AFTER => None,
        // A little later than asked, and not all callers at once.
        Some(asked) => Some(asked + own / 10),
        None => Some(own),
    }
}

/// OpenAI's newer models take no `max_tokens`; the servers that imitate it know no other.
fn limit_field(host: &str) -> MaxTokensField {
    if host == "openai.com" || host.ends_with(".openai.com") {
        MaxTokensField::MaxCompletionTokens
    } else {
        MaxTokensField::MaxTokens
    }
}
