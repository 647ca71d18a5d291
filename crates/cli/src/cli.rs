//! The command line as users type it: the commands, and the flags that all of them take.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::{
    audit::AuditArgs, check::CheckArgs, decode::DecodeArgs, fork::ForkArgs, init::InitArgs, log::LogArgs,
    resume::ResumeArgs, run::RunArgs, show::ShowArgs, verify::VerifyArgs,
};

/// Runs coding agents under supervision: a task is done when someone other than the worker has checked it
/// and signed.
#[derive(Debug, Parser)]
#[command(
    name = "countersign",
    version,
    propagate_version = true,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Example:\n  countersign run task.toml\n\n\
                  Exit codes of a run: 0 completed, 1 failed, 2 usage error, 3 refused, 4 exhausted, 5 stalled, \
                  6 halted, 7 blocked."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The flags that every command takes, before it or after it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Flags of every command")]
pub(crate) struct Globals {
    /// One more configuration file; it wins over the others, key by key.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where runs are kept [default: $XDG_STATE_HOME/countersign, else ~/.local/state/countersign].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Print one JSON object a line instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print results only, no progress.
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more on stderr; twice: say everything.
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Trust the configuration inside the workspace, now and later.
    #[arg(long, global = true)]
    pub(crate) trust: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArgs),
    Resume(ResumeArgs),
    Fork(ForkArgs),
    /// List the runs, newest first.
    #[command(after_help = "Example:\n  countersign runs\n\n\
        Prints one line a run: its id, when it began, its outcome, its cost and its goal.\n\
        Exit codes: 0, or 1 where a run cannot be read.")]
    Runs,
    Show(ShowArgs),
    Log(LogArgs),
    Audit(AuditArgs),
    Verify(VerifyArgs),
    Check(CheckArgs),
    /// List the roles that tasks can ask for, and where each came from.
    #[command(after_help = "Example:\n  countersign roles\n\n\
        Prints one line a role: its name, kind, model and origin.\n\
        Exit codes: 0, or 2 where a file of a role is wrong.")]
    Roles,
    /// List the policies that tasks can ask for, and where each came from.
    #[command(after_help = "Example:\n  countersign policies\n\n\
        Prints one line a policy: its name, its checks, its judge and its origin.\n\
        Exit codes: 0, or 2 where a file of a policy is wrong.")]
    Policies,
    /// List the models that are known, with window, price and origin.
    #[command(after_help = "Example:\n  countersign models\n\n\
        Prints one line a model: its window and output limit in tokens, and its price in US dollars a million tokens.\n\
        Exit codes: 0, or 2 where a configuration file is wrong.")]
    Models,
    Init(InitArgs),
    /// Say what works here: keys, local servers, sandbox, git, the state directory; and what to do.
    #[command(after_help = "Example:\n  countersign doctor\n\n\
        Prints one line a finding, each with what to do where something is missing. Keys are named, never shown.\n\
        Exit codes: 0, or 1 where no run could work here.")]
    Doctor,
    Decode(DecodeArgs),
}
