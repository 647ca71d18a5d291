//! `resume`: goes on with a run after a crash or a stop.

use std::process::ExitCode;

use clap::Args;
use countersign::{
    ResumeFlags, prepare_resume,
    protocol::Outcome,
    runtime::{Resumption, StartError, current_ground, resume},
};

use super::run::{BudgetFlags, ModelFlags, refused};
use crate::{context::Context, fail, observe::follow, state::outcome};

/// Go on with a run after a crash or a stop.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  countersign resume 0196f3\n  countersign resume 0196f3 --turns 120 --money 5.00\n\n\
    Budgets are for the whole run, what it has used included.\n\
    Prints what `run` prints, from here on.\n\
    Exit codes: those of `run`; 2 also where the run is over or can't be found."
)]
pub(crate) struct ResumeArgs {
    /// The run: its id, or any unique start of it.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// What the worker is told: the answer to what blocked it, or another way to take.
    #[arg(long, value_name = "TEXT")]
    pub(crate) steer: Option<String>,
    #[command(flatten)]
    pub(crate) models: ModelFlags,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}

pub(crate) async fn run(context: &Context, args: ResumeArgs) -> anyhow::Result<ExitCode> {
    let runs = context.runs()?;
    let read = runs.read(runs.find(&args.run)?)?;
    if let Some(damage) = read.damage {
        anyhow::bail!("the run can't go on: {damage}");
    }
    let Some(ground) = current_ground(&read.entries) else {
        return Err(fail::usage(
            format!("run {} never began: its journal is empty", read.run),
            "run its task anew",
        ));
    };
    if outcome(&read.entries).is_some_and(|ended| ended.outcome == Outcome::Completed) {
        return Err(refused(StartError::Completed(read.run)));
    }
    let flags = ResumeFlags {
        models: args.models.models,
        money: args.budget.money,
        tokens: args.budget.tokens,
        turns: args.budget.turns,
        wall: args.budget.wall,
    };
    let prepared = prepare_resume(&context.world, &context.globals, &ground, &flags)?;
    context.tell(&prepared.notes);
    let resumption = Resumption { steer: args.steer };
    let handle = resume(read.run, prepared.assignment, resumption).await.map_err(refused)?;
    follow(handle, read.dir, &read.entries, &context.flags).await
}
