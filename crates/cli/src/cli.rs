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

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, error::ErrorKind};

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_says_what_it_does_by_example() {
        let mut top = Cli::command().term_width(100);
        top.build();
        let names: Vec<_> = top.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        insta::assert_snapshot!("help", top.render_help());
        for name in names.iter().filter(|name| *name != "help") {
            let command = top.find_subcommand_mut(name).unwrap();
            let help = command.render_help().to_string();
            for part in ["Example", "Prints", "Exit codes"] {
                assert!(help.contains(part), "{name} has no `{part}` in its help");
            }
            insta::assert_snapshot!(format!("help-{name}"), help);
        }
    }

    #[test]
    fn the_flags_of_every_command_stand_before_it_or_after_it() {
        for line in [
            "countersign --json --state-dir /s --config /c --trust --color never -v runs",
            "countersign runs --json --state-dir /s --config /c --trust --color never -v",
        ] {
            let globals = parse(line).unwrap().globals;
            assert!(globals.json && globals.trust && globals.verbose == 1 && globals.color == Color::Never);
            assert_eq!((globals.state_dir, globals.config), (Some("/s".into()), Some("/c".into())));
        }
    }

    #[test]
    fn a_task_is_a_file_or_a_goal() {
        assert!(parse("countersign run task.toml").is_ok());
        assert!(
            parse("countersign run --goal x --policy rust --model worker=a/b --model verifier=c/d").is_ok()
        );
        assert_eq!(parse("countersign run").unwrap_err().kind(), ErrorKind::MissingRequiredArgument);
        assert_eq!(parse("countersign run t.toml --goal x").unwrap_err().kind(), ErrorKind::ArgumentConflict);
    }

    #[test]
    fn what_is_misspelt_is_a_usage_error_with_the_right_spelling() {
        for (line, right) in [
            ("countersign rnu task.toml", "run"),
            ("countersign run task.toml --polcy p", "--policy"),
            ("countersign run task.toml --sandbox tight", "none, workspace or container"),
            ("countersign run task.toml --money lots", "2.00"),
            ("countersign run task.toml --model sonnet", "ROLE=PROVIDER/MODEL"),
            ("countersign log 01 --lane wroker", "worker"),
            ("countersign decode --api openai x", "openai-chat"),
        ] {
            let error = parse(line).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(right), "{error}");
        }
    }
}
