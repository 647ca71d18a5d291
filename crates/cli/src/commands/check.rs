//! `check`: lints roles, policies, tasks and configuration.

use std::path::PathBuf;

use clap::Args;

/// Check roles, policies, tasks and configuration for mistakes.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  countersign check\n  countersign check task.toml policies/\n\n\
    Prints one line a file; each mistake with file, line, column and the nearest right spelling on stderr.\n\
    Exit codes: 0 where there is no mistake, 2 where there is one.")]
pub(crate) struct CheckArgs {
    /// Files or folders [default: everything that a run here would read].
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}
