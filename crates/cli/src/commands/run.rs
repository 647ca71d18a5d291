//! `run`: one task, from assignment to outcome.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use countersign::{
    ModelChoice, TaskFlags, prepare,
    protocol::{Money, Span, role::SandboxLevel},
    runtime::{RunDir, StartError, start},
    verify::PolicyError,
};

use crate::{context::Context, fail, observe::follow};

/// Run a task to its outcome.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  countersign run task.toml\n  \
    countersign run --goal \"Make the tests pass\" --policy rust --money 2.00\n\n\
    Prints what each actor does, the verdict on each claim, and the outcome; with --json the journal's entries, \
    one a line, and the outcome as the last line.\n\
    Exit codes: 0 completed, 1 failed, 2 usage error, 3 refused, 4 exhausted, 5 stalled, 6 halted, 7 blocked.")]
pub(crate) struct RunArgs {
    /// The task's file.
    #[arg(value_name = "TASK", required_unless_present = "goal", conflicts_with = "goal")]
    pub(crate) task: Option<PathBuf>,
    /// The goal, where there is no task file.
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    /// The folder to work in [default: the task's, else the current one].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The worker's role: a name or a file.
    #[arg(long, value_name = "ROLE")]
    pub(crate) worker: Option<String>,
    /// The verifier's role: a name or a file.
    #[arg(long, value_name = "ROLE")]
    pub(crate) verifier: Option<String>,
    /// The supervisor's role: a name or a file.
    #[arg(long, value_name = "ROLE")]
    pub(crate) supervisor: Option<String>,
    /// What a claim must survive: a policy's name or file.
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<String>,
    #[command(flatten)]
    pub(crate) models: ModelFlags,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
    /// What the actors' processes are kept from: none, workspace or container [default: as the roles say].
    #[arg(long, value_name = "LEVEL", value_parser = sandbox_level)]
    pub(crate) sandbox: Option<SandboxLevel>,
}

/// The choice of models.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelFlags {
    /// The model of a role; may be given several times.
    #[arg(long = "model", value_name = "ROLE=PROVIDER/MODEL")]
    pub(crate) models: Vec<ModelChoice>,
}

/// What the run may use.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct BudgetFlags {
    /// The most that it may cost, in US dollars, as 2.00.
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) money: Option<Money>,
    /// The most model calls that are answered.
    #[arg(long, value_name = "N")]
    pub(crate) turns: Option<u64>,
    /// The most tokens, in and out.
    #[arg(long, value_name = "N", value_parser = whole_number)]
    pub(crate) tokens: Option<u64>,
    /// The most time, as 45m.
    #[arg(long, value_name = "TIME")]
    pub(crate) wall: Option<Span>,
}

impl From<RunArgs> for TaskFlags {
    fn from(args: RunArgs) -> Self {
        Self {
            file: args.task,
            goal: args.goal,
            workspace: args.workspace,
            worker: args.worker,
            verifier: args.verifier,
            supervisor: args.supervisor,
            policy: args.policy,
            models: args.models.models,
            money: args.budget.money,
            tokens: args.budget.tokens,
            turns: args.budget.turns,
            wall: args.budget.wall,
            sandbox: args.sandbox,
        }
    }
}

pub(crate) async fn run(context: &Context, args: RunArgs) -> anyhow::Result<ExitCode> {
    let prepared = prepare(&context.world, &context.globals, &args.into())?;
    context.tell(&prepared.notes);
    let state_dir = prepared.assignment.state_dir.clone();
    let handle = start(prepared.assignment).await.map_err(refused)?;
    let dir = RunDir::new(&state_dir, handle.run()).path().to_owned();
    follow(handle, dir, &[], &context.flags).await
}

/// Tells what the user can mend by writing something else from what the world did.
pub(crate) fn refused(error: StartError) -> anyhow::Error {
    let help = match &error {
        StartError::Policy(PolicyError::Invalid { .. }) => "`countersign check` shows where",
        StartError::NoJudge(_) => "name one with --verifier, or give its role a model with --model",
        StartError::Completed(_) => "`countersign fork` opens a new branch of it",
        _ => return error.into(),
    };
    fail::usage(error.to_string(), help)
}

/// A whole number; underscores may part its digits, as in TOML.
fn whole_number(text: &str) -> Result<u64, String> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    digits.parse().map_err(|_| "write a whole number, as 3_000_000".to_owned())
}

fn sandbox_level(text: &str) -> Result<SandboxLevel, String> {
    match text {
        "none" => Ok(SandboxLevel::None),
        "workspace" => Ok(SandboxLevel::Workspace),
        "container" => Ok(SandboxLevel::Container),
        _ => Err("write none, workspace or container".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_toml() {
        assert_eq!(whole_number("3_000_000"), Ok(3_000_000));
        assert!(whole_number("3M").is_err());
        assert!(whole_number("-1").is_err());
    }
}
