//! `log`: a run's journal as a tree.

use clap::Args;
use countersign_protocol::Lane;

/// Print a run's journal as a tree.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  countersign log 0196f3\n  countersign log 0196f3 --lane worker --json\n\n\
    Prints one line an entry, branches indented; with --json the entries as they lie in the journal.\n\
    Exit codes: 0, 1 where the journal can't be read in full, 2 where there is no such run."
)]
pub(crate) struct LogArgs {
    /// The run: its id, or any unique start of it.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Only this lane: run, worker, verifier or supervisor.
    #[arg(long, value_name = "LANE")]
    pub(crate) lane: Option<Lane>,
}
