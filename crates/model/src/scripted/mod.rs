//! The scripted model: answers from a file of steps, for demonstrations, tests and dry runs without spending.
//!
//! It is named `scripted/PATH`. Its requests are written as those of a provider's model are, so that sizes, prefixes
//! and cache hits are real; only the answers are made up. All keys but `[[step]]` are optional:
//!
//! ```toml
//! context_window = 128000
//! max_output_tokens = 4096
//! price = { input = "3", cache_read = "0.3", cache_write = "3.75", output = "15" }   # without it: free
//! after = "repeat-last"   # when the steps are over: repeat-last | start-over | fail
//! summary = "…"           # the answer where a summary of the history is asked for; without it: a list of the calls
//!
//! [[step]]                # the first turn of the actor
//! text = "I look first."
//! delay = "50ms"          # how long the answer takes
//! [[step.call]]
//! name = "bash"
//! arguments = { command = "ls" }
//!
//! [[step]]                # the second turn: its first request fails, and the next step is what trying again brings
//! error = { status = 529, message = "overloaded" }
//!
//! [[step]]
//! stop = "length"         # end | tool_use | length | refusal; without it: what the step itself says
//! [[step.call]]
//! name = "write"
//! raw = '{"path":"a'      # the arguments' text as it is, for arguments that never close
//! ```
//!
//! The number of the actor's turn alone chooses the step, so that a resumed run goes on where it stopped.

mod script;
mod summary;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use bytes::Bytes;
use countersign_protocol::{
    Api, ArgumentsStatus, AssistantMessage, Block, CallId, ModelRef, Price, Stop, StopClass, ToolCall, Usage,
    entry::Purpose,
};
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use self::script::{Script, Step};
use crate::{
    Answer, Attempt, CallError, CallReport, Encoder, Model, ModelSpec, OpenAiChat, Request, Trouble,
};

/// The API whose requests are written.
const API: Api = Api::OpenaiChat;
/// Bytes that count as one token.
const BYTES_A_TOKEN: usize = 4;
/// How often a failed request is sent again, as with a provider's model.
const MAX_RETRIES: usize = 3;

/// A model that answers from a file of steps.
#[derive(Debug)]
pub struct ScriptedModel {
    spec: ModelSpec,
    encoder: OpenAiChat,
    script: Script,
    /// The last request, for what a perfect cache would have of the next.
    last: Mutex<Bytes>,
}

/// Why a script can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file can't be read.
    #[error("can't read the script {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file is not a script.
    #[error("{}{}: {message}", path.display(), Place(span.as_ref(), text))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
        /// Where in the file, in bytes.
        span: Option<Range<usize>>,
        /// The file's text, for showing the place.
        text: String,
    },
}

/// Shows a place as `:LINE:COLUMN`, both from 1.
struct Place<'a>(Option<&'a Range<usize>>, &'a str);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(before) = self.0.and_then(|span| self.1.get(..span.start)) else { return Ok(()) };
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[line_start..].chars().count() + 1;
        write!(f, ":{}:{column}", before.matches('\n').count() + 1)
    }
}

/// Reads a script.
///
/// # Errors
/// The file can't be read, or is not a script: an unknown key, a wrong type, no step.
pub fn scripted(path: &Path) -> Result<ScriptedModel, ScriptError> {
    let script = Script::read(path)?;
    // The file's own name: where it lies may differ from machine to machine, and the name is a part of the prefix.
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let spec = ModelSpec {
        model: ModelRef { provider: "scripted".into(), model: name },
        api: API,
        context_window: script.context_window,
        max_output_tokens: script.max_output_tokens,
        price: Some(script.price.map_or(Price::FREE, |rates| Price { rates, tiers: Vec::new() })),
    };
    Ok(ScriptedModel { spec, encoder: OpenAiChat::default(), script, last: Mutex::default() })
}

impl Model for ScriptedModel {
    fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    fn encoder(&self) -> &dyn Encoder {
        &self.encoder
    }

    fn call<'a>(&'a self, request: Request<'a>, cancel: &'a CancellationToken) -> BoxFuture<'a, CallReport> {
        Box::pin(self.call(request, cancel))
    }
}

impl ScriptedModel {
    async fn call(&self, request: Request<'_>, cancel: &CancellationToken) -> CallReport {
        if cancel.is_cancelled() {
            return CallReport { attempts: Vec::new(), result: Err(CallError::Cancelled) };
        }
        let tail = request.tail.map(|item| self.encoder.item(item, request.prompt.after_results()));
        let body = self.encoder.assemble(request.prompt, tail.as_ref(), request.output_tokens);
        let prompt = self.prompt_usage(&body);
        if request.purpose == Purpose::Summary {
            let text = self.script.summary.clone().unwrap_or_else(|| summary::of(&body));
            let message = AssistantMessage { blocks: vec![Block::Text { text, replay: None }] };
            return report(Vec::new(), self.answer(message, StopClass::End, prompt, request.output_tokens));
        }
        let steps = match self.script.turn(request.turn) {
            Ok(steps) => steps,
            Err(message) => {
                let error = CallError::Script(self.trouble(None, message));
                return CallReport { attempts: Vec::new(), result: Err(error) };
            }
        };
        let mut failed = Vec::new();
        for step in steps.iter().take(MAX_RETRIES + 1) {
            if let Some(delay) = step.delay {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return CallReport { attempts: failed, result: Err(CallError::Cancelled) },
                    () = tokio::time::sleep(delay.get()) => {}
                }
            }
            match self.step(step, &request, prompt) {
                Tried::Answered(answer) => return report(failed, answer),
                Tried::Failed(attempt) => failed.push(attempt),
            }
        }
        // A turn has at least one step, and each that does not answer fails.
        let error = failed.last().and_then(|attempt| attempt.error.clone()).unwrap_or(CallError::Cancelled);
        CallReport { attempts: failed, result: Err(error) }
    }

    fn step(&self, step: &Step, request: &Request<'_>, prompt: Usage) -> Tried {
        if let Some(scripted) = &step.error {
            let error = scripted.read();
            let error = CallError::reported(error.class, self.trouble(Some(scripted.status), error.message));
            return Tried::Failed(Attempt { usage: Usage::default(), error: Some(error) });
        }
        let message = message(step, request.turn);
        let asks = message.calls().next().is_some();
        let own = if asks { StopClass::ToolUse } else { StopClass::End };
        let class = step.stop.map_or(own, |stop| stop.class());
        let refusal = (class == StopClass::Refusal).then(|| message.text());
        let answer = self.answer(message, class, prompt, request.output_tokens);
        match refusal {
            Some(words) => {
                let error = Some(CallError::Refused(self.trouble(None, words)));
                Tried::Failed(Attempt { usage: answer.usage, error })
            }
            None => Tried::Answered(answer),
        }
    }

    /// An answer, cut where it reaches the request's limit.
    fn answer(&self, message: AssistantMessage, class: StopClass, prompt: Usage, limit: u64) -> Answer {
        let output = (size(&message).div_ceil(BYTES_A_TOKEN) as u64).max(1);
        let cut = output >= limit;
        let class = if cut { StopClass::Length } else { class };
        let usable = message.calls().all(|call| {
            !matches!(call.arguments.status, ArgumentsStatus::Invalid | ArgumentsStatus::NotObject)
        });
        let asks = message.calls().next().is_some();
        let whole = class == if asks { StopClass::ToolUse } else { StopClass::End };
        Answer {
            message,
            stop: Stop { class, raw: None },
            usage: Usage { output: output.min(limit), ..prompt },
            executable: whole && usable,
        }
    }

    /// The size of a request, and what a perfect cache would have of it: all that it has in common with the last.
    fn prompt_usage(&self, body: &Bytes) -> Usage {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let common =
            std::iter::zip(body.iter(), last.iter()).take_while(|(now, before)| now == before).count();
        *last = body.clone();
        let (prompt, cache_read) = (body.len() / BYTES_A_TOKEN, common / BYTES_A_TOKEN);
        Usage { input: (prompt - cache_read) as u64, cache_read: cache_read as u64, ..Usage::default() }
    }

    fn trouble(&self, status: Option<u16>, message: String) -> Trouble {
        Trouble { provider: self.spec.model.to_string(), status, message }
    }
}

/// What a step comes to.
enum Tried {
    Answered(Answer),
    Failed(Attempt),
}

fn report(mut attempts: Vec<Attempt>, answer: Answer) -> CallReport {
    attempts.push(Attempt { usage: answer.usage, error: None });
    CallReport { attempts, result: Ok(answer) }
}

fn message(step: &Step, turn: u64) -> AssistantMessage {
    let text = step.text.iter().map(|text| Block::Text { text: text.clone(), replay: None });
    let calls = (1..).zip(&step.calls).map(|(number, call)| {
        Block::ToolCall(ToolCall {
            id: CallId(format!("call_{turn}_{number}")),
            name: call.name.clone(),
            arguments: call.arguments(),
            replay: None,
        })
    });
    AssistantMessage { blocks: text.chain(calls).collect() }
}

/// The bytes that a model would have written.
fn size(message: &AssistantMessage) -> usize {
    let calls: usize = message.calls().map(|call| call.name.len() + call.arguments.raw.len()).sum();
    message.text().len() + calls
}
