//! `resume`: goes on with a run after a crash or a stop.

use clap::Args;

use super::run::{BudgetFlags, ModelFlags};

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
    #[command(flatten)]
    pub(crate) models: ModelFlags,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
}
