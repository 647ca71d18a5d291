//! `fork`: opens a new branch of a run from an earlier entry.

use clap::Args;

/// Open a new branch of a run from an earlier entry.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign fork 0196f3 --at 57\n\n\
    Prints from where each lane goes on, and how to go on. Nothing is deleted: the old branch stays in the journal. \
    The workspace's files stay as they are.\n\
    Exit codes: 0, 1 where the journal can't be written, 2 where there is no such run or entry.")]
pub(crate) struct ForkArgs {
    /// The run: its id, or any unique start of it.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The last entry of the old branch that the new one keeps: its number, its id, or a unique start of the id
    /// [default: the last one].
    #[arg(long, value_name = "ENTRY")]
    pub(crate) at: Option<String>,
}
