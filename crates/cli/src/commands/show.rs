//! `show`: one run's state and bill.

use clap::Args;

/// Show one run: its state, its claims and verdicts, its bill by actor, its branches.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign show 0196f3\n\n\
    Prints the run's ground, each claim with its checks and verdict, and what each actor has used.\n\
    Exit codes: 0, 1 where the journal can't be read in full, 2 where there is no such run.")]
pub(crate) struct ShowArgs {
    /// The run: its id, or any unique start of it.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}
