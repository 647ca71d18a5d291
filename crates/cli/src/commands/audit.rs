//! `audit`: both ledgers of a run, turn by turn.

use clap::Args;

/// Audit a run turn by turn: window, cache hits, misses and their causes, money.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign audit 0196f3\n\n\
    Prints a table an actor: prompt tokens, those read from and written to the provider's cache, those that were \
    missed and why, and what each call cost; then the totals.\n\
    Exit codes: 0, 1 where the journal can't be read in full, 2 where there is no such run.")]
pub(crate) struct AuditArgs {
    /// The run: its id, or any unique start of it.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}
