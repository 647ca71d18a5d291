//! `init`: writes a starting set for the project in the current folder.

use clap::Args;

/// Write a starting set for the project in the current folder.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign init\n\n\
    Prints each file that it wrote or left alone, and what to do next. It never overwrites a file.\n\
    Exit codes: 0, or 1 where a file can't be written.")]
pub(crate) struct InitArgs {}
