//! `log`: a run's journal as a tree.

use std::process::ExitCode;

use clap::Args;
use countersign::{
    journal::{TreeOptions, render_tree},
    protocol::{Entry, Lane},
};

use crate::{context::Context, observe::Observed, output};

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

pub(crate) fn run(context: &Context, args: &LogArgs) -> anyhow::Result<ExitCode> {
    let runs = context.runs()?;
    let read = runs.read(runs.find(&args.run)?)?;
    // The run's first entry is the root of every lane.
    let wanted = |entry: &&Entry| args.lane.is_none_or(|lane| entry.lane == lane || entry.parent.is_none());
    let entries: Vec<Entry> = read.entries.iter().filter(wanted).cloned().collect();
    if context.flags.json {
        for entry in &entries {
            output::print_json(&Observed::new(&read.run, entry))?;
        }
    } else {
        output::print(&render_tree(&entries, TreeOptions::default()))?;
    }
    Ok(read.exit_code())
}
