//! The built-in tools that run. Each module is one tool: its arguments, its description, its work.

use std::sync::Arc;

use countersign_protocol::ToolDefinition;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    Effect, Tool, ToolContext, ToolOutput,
    paths::{self, Access},
    schema,
};

mod bash;
mod edit;
mod find;
mod grep;
mod ls;
mod read;
mod write;

/// The tool of this name.
pub(crate) fn tool(name: &str) -> Option<Arc<dyn Tool>> {
    Some(match name {
        "bash" => Arc::new(bash::tool()),
        "edit" => Arc::new(edit::tool()),
        "find" => Arc::new(find::tool()),
        "grep" => Arc::new(grep::tool()),
        "ls" => Arc::new(ls::tool()),
        "read" => Arc::new(read::tool()),
        "write" => Arc::new(write::tool()),
        _ => return None,
    })
}

/// A built-in tool with arguments of type `A`.
struct Builtin<A> {
    definition: ToolDefinition,
    guideline: Option<&'static str>,
    effect: fn(&Value, &ToolContext) -> Effect,
    reshape: fn(Map<String, Value>) -> Map<String, Value>,
    work: Work<A>,
}

/// What a tool does, by how it may be waited for. An `Err` is an error result too.
enum Work<A> {
    /// Reads, on a thread where that may take its time.
    Reads(fn(&A, &ToolContext, &CancellationToken) -> Result<ToolOutput, ToolOutput>),
    /// Changes a file, without a point to wait at: it can't be dropped half way, so that its lock is held to its end.
    Changes(fn(&A, &ToolContext) -> Result<ToolOutput, ToolOutput>),
    /// Waits for a process.
    Waits(for<'a> fn(A, &'a ToolContext, &'a CancellationToken) -> BoxFuture<'a, ToolOutput>),
}

impl<A: JsonSchema> Builtin<A> {
    fn new(
        name: &str,
        description: String,
        effect: fn(&Value, &ToolContext) -> Effect,
        work: Work<A>,
    ) -> Self {
        let definition = schema::definition::<A>(name, description);
        Self { definition, guideline: None, effect, reshape: |arguments| arguments, work }
    }

    fn guideline(mut self, line: &'static str) -> Self {
        self.guideline = Some(line);
        self
    }
}

impl<A: DeserializeOwned + Send + Sync + 'static> Tool for Builtin<A> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn guideline(&self) -> Option<&'static str> {
        self.guideline
    }

    fn effect(&self, arguments: &Value, context: &ToolContext) -> Effect {
        (self.effect)(arguments, context)
    }

    fn reshape(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        (self.reshape)(arguments)
    }

    fn run<'a>(
        &'a self,
        arguments: Value,
        context: &'a ToolContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let given: A = match serde_json::from_value(arguments) {
                Ok(given) => given,
                Err(error) => return ToolOutput::error(format!("The arguments can't be used: {error}.")),
            };
            match self.work {
                Work::Waits(work) => work(given, context, cancel).await,
                Work::Changes(work) => work(&given, context).unwrap_or_else(|refused| refused),
                Work::Reads(work) => {
                    let (context, cancel) = (context.clone(), cancel.clone());
                    blocking(move || work(&given, &context, &cancel).unwrap_or_else(|refused| refused)).await
                }
            }
        })
    }
}

/// Runs work that may take its time on a thread where that holds nobody up. A panic in it goes on here.
async fn blocking(work: impl FnOnce() -> ToolOutput + Send + 'static) -> ToolOutput {
    match tokio::task::spawn_blocking(work).await {
        Ok(output) => output,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => ToolOutput::error("Interrupted: the host is ending."),
        },
    }
}

/// The effect of reading the file in the argument `path`; none where it can't be read at all.
fn reads_path(arguments: &Value, context: &ToolContext) -> Effect {
    path(arguments, context, Access::Read).map_or(Effect::Nothing, Effect::Read)
}

/// The effect of changing the file in the argument `path`; none where it can't be changed at all.
fn changes_path(arguments: &Value, context: &ToolContext) -> Effect {
    path(arguments, context, Access::Write).map_or(Effect::Nothing, Effect::File)
}

fn path(arguments: &Value, context: &ToolContext, access: Access) -> Option<std::path::PathBuf> {
    let given = arguments.get("path")?.as_str()?;
    paths::resolve(context, given, access).ok().map(|place| place.real)
}

fn reads_all(_: &Value, _: &ToolContext) -> Effect {
    Effect::ReadAll
}
