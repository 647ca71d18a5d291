//! Runs the calls of a message: at the same time where they don't touch the same thing, in call order where they do.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use countersign_protocol::{CallId, Content, entry::ToolOutcome};
use serde_json::Value;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    Effect, Planned, Tool, ToolContext, ToolOutput, Toolset,
    limits::{MAX_BYTES, MAX_KIB},
    locks::Ticket,
    text,
    toolset::What,
};

/// How long a running call may go on after a cancellation, to end by itself and say how.
const GRACE: Duration = Duration::from_secs(5);

const NOT_STARTED: &str = "Cancelled before it ran: nothing was done.";
const NOT_RUN_HERE: &str = "Not run: this call only counts alone.";
const INTERRUPTED: &str = "Interrupted, effect unknown: look before you repeat it.";

/// Runs the calls of a message. Every call gets exactly one result, in call order, also after a cancellation and
/// where a tool panics. Dropping the future stops what still runs.
pub async fn execute(
    batch: Vec<Planned>,
    tools: &Toolset,
    context: &ToolContext,
    cancel: &CancellationToken,
) -> Vec<ToolOutcome> {
    let context = Arc::new(context.clone());
    let one_by_one = batch.iter().any(|planned| tool_of(planned, tools).is_some_and(|tool| tool.exclusive()));
    let mut started: Vec<Started> = Vec::with_capacity(batch.len());
    // The last call that may change anything: what a later call touches is known only when it has ended.
    let mut barrier: Option<usize> = None;
    for planned in batch {
        if one_by_one && let Some(last) = started.last_mut() {
            last.end(cancel).await;
        }
        let tool = tool_of(&planned, tools);
        let running = match (planned.ready, tool) {
            (Err(refused), _) => Running::Over(refused),
            (Ok(_), None) => Running::Over(ToolOutput::error(NOT_RUN_HERE)),
            (Ok(arguments), Some(tool)) => {
                let mut effect = effect_of(&*tool, &arguments, &context);
                if effect != Effect::Nothing
                    && let Some(index) = barrier.take()
                {
                    started[index].end(cancel).await;
                    effect = effect_of(&*tool, &arguments, &context);
                }
                if effect == Effect::Workspace {
                    barrier = Some(started.len());
                }
                let ticket = context.locks.queue(effect);
                let run = run(tool, arguments, Arc::clone(&context), cancel.clone(), ticket);
                Running::Task(AbortOnDropHandle::new(tokio::spawn(run)))
            }
        };
        started.push(Started { call: planned.call, name: planned.name, running });
    }
    let mut outcomes = Vec::with_capacity(started.len());
    for call in started {
        outcomes.push(call.outcome(&context, cancel).await);
    }
    outcomes
}

/// A call that was started, or answered at once.
struct Started {
    call: CallId,
    name: String,
    running: Running,
}

enum Running {
    Task(AbortOnDropHandle<ToolOutput>),
    Over(ToolOutput),
}

impl Started {
    /// Waits for the call's end.
    async fn end(&mut self, cancel: &CancellationToken) {
        if let Running::Task(task) = &mut self.running {
            self.running = Running::Over(wait(&self.name, task, cancel).await);
        }
    }

    /// The call's outcome: masked, never empty, never longer than a result may be.
    async fn outcome(mut self, context: &ToolContext, cancel: &CancellationToken) -> ToolOutcome {
        let output = match &mut self.running {
            Running::Task(task) => wait(&self.name, task, cancel).await,
            Running::Over(output) => std::mem::take(output),
        };
        let mut output = context.masked_output(output);
        bound(&mut output.content);
        if output.content.is_empty() {
            output.content.push(Content::Text { text: "(no output)".into() });
        }
        ToolOutcome {
            call: self.call,
            name: self.name,
            content: output.content,
            is_error: output.is_error,
            exit: output.exit,
            files: output.files,
        }
    }
}

/// Waits for a running call's end; after a cancellation not longer than the grace.
async fn wait(
    name: &str,
    task: &mut AbortOnDropHandle<ToolOutput>,
    cancel: &CancellationToken,
) -> ToolOutput {
    tokio::select! {
        biased;
        ended = &mut *task => ended.unwrap_or_else(|error| crashed(name, error)),
        () = grace_over(cancel) => {
            task.abort();
            ToolOutput::error(INTERRUPTED)
        }
    }
}

/// Waits for the call's turn, and runs it.
async fn run(
    tool: Arc<dyn Tool>,
    arguments: Value,
    context: Arc<ToolContext>,
    cancel: CancellationToken,
    ticket: Ticket,
) -> ToolOutput {
    tokio::select! {
        biased;
        () = cancel.cancelled() => return ToolOutput::error(NOT_STARTED),
        () = ticket.ready() => {}
    }
    // The ticket lives until the run has ended: no later call may start while this one still writes.
    tool.run(arguments, &context, &cancel).await
}

async fn grace_over(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

/// What a call touches; anything, where the tool panics over the question.
fn effect_of(tool: &dyn Tool, arguments: &Value, context: &ToolContext) -> Effect {
    catch_unwind(AssertUnwindSafe(|| tool.effect(arguments, context))).unwrap_or(Effect::Workspace)
}

fn tool_of(planned: &Planned, tools: &Toolset) -> Option<Arc<dyn Tool>> {
    match &tools.get(&planned.name)?.what {
        What::Run(tool) => Some(Arc::clone(tool)),
        What::Steer(_) => None,
    }
}

fn crashed(name: &str, error: tokio::task::JoinError) -> ToolOutput {
    let Ok(panic) = error.try_into_panic() else { return ToolOutput::error(INTERRUPTED) };
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
    let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    ToolOutput::error(format!(
        "The tool `{name}` crashed ({said}); its effect is unknown: look before you repeat it."
    ))
}

/// Cuts texts that a tool did not bound itself.
fn bound(content: &mut [Content]) {
    /// What the built-in tools add to a full result: how it goes on, how the command ended.
    const NOTES: usize = 8 * 1024;
    let mut left = MAX_BYTES + NOTES;
    for part in content {
        let Content::Text { text } = part else { continue };
        if text.len() > left {
            let shown = text::head(text, left);
            *text =
                format!("{shown}\n[cut after {MAX_KIB} KiB of {} bytes: ask for less at once]", text.len());
        }
        left = left.saturating_sub(text.len());
    }
}
