//! The seam for models: what one is, what it is asked, and what a call came to.

use countersign_protocol::{Api, AssistantMessage, Item, ModelRef, Price, Stop, Usage, entry::Purpose};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{CallError, Encoder, Prompt};

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSpec {
    /// Its name in configuration and journal.
    pub model: ModelRef,
    /// How it is spoken to.
    pub api: Api,
    /// The most that prompt and answer can hold together, in tokens.
    pub context_window: u64,
    /// The most that an answer can hold, in tokens.
    pub max_output_tokens: u64,
    /// What it costs; `None` where it is not known, which is not zero.
    pub price: Option<Price>,
}

/// Something that answers a history.
pub trait Model: Send + Sync {
    /// What is known of it.
    fn spec(&self) -> &ModelSpec;

    /// How its requests are written.
    fn encoder(&self) -> &dyn Encoder;

    /// Makes one call. Whatever becomes of it, each attempt is in the report with what it used.
    fn call<'a>(&'a self, request: Request<'a>, cancel: &'a CancellationToken) -> BoxFuture<'a, CallReport>;
}

/// What a model is asked.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The prefix and the history, as bytes.
    pub prompt: &'a Prompt,
    /// One more item at the end that is not part of the history, such as the question for a summary.
    pub tail: Option<&'a Item>,
    /// The most that the prompt can hold, in tokens: what was reserved for it, and what is booked where a provider
    /// may have billed and reports nothing.
    pub prompt_tokens: u64,
    /// The most that the answer may hold, in tokens: what was reserved for it.
    pub output_tokens: u64,
    /// The number of the turn in its lane, from 1.
    pub turn: u64,
    /// What the call is for.
    pub purpose: Purpose,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub struct CallReport {
    /// Every request that was sent, the failed ones too, in order.
    pub attempts: Vec<Attempt>,
    /// The answer.
    pub result: Result<Answer, CallError>,
}

/// One request and what it used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// What it used, as reported, or the host's upper bound, marked as an estimate.
    pub usage: Usage,
    /// Why it failed, where it did.
    pub error: Option<CallError>,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The message.
    pub message: AssistantMessage,
    /// Why it stopped.
    pub stop: Stop,
    /// What it used.
    pub usage: Usage,
    /// Whether it arrived whole: otherwise none of its calls may run, and it claims nothing.
    pub executable: bool,
}
