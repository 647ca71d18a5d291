//! `run`: one task, from assignment to outcome.

use std::path::PathBuf;

use clap::Args;
use countersign_protocol::{ModelRef, Money, Span, role::SandboxLevel};

/// Run a task to its outcome.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  countersign run task.toml\n  \
    countersign run --goal \"Make the tests pass\" --policy rust --money 2.00\n\n\
    Prints what each actor does, the verdict on each claim, and the outcome; with --json the journal's entries, \
    one a line, and the outcome as the last line.\n\
    Exit codes: 0 completed, 1 failed, 2 usage error, 3 refused, 4 exhausted, 5 stalled, 6 halted, 7 blocked.")]
pub(crate) struct RunArgs {
    /// The task's file.
    #[arg(value_name = "TASK", required_unless_present = "goal", conflicts_with = "goal")]
    pub(crate) task: Option<PathBuf>,
    /// The goal, where there is no task file.
    #[arg(long, value_name = "TEXT")]
    pub(crate) goal: Option<String>,
    /// The folder to work in [default: the task's, else the current one].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The worker's role: a name or a file.
    #[arg(long, value_name = "ROLE")]
    pub(crate) worker: Option<String>,
    /// The verifier's role: a name or a file.
    #[arg(long, value_name = "ROLE")]
    pub(crate) verifier: Option<String>,
    /// The supervisor's role: a name or a file.
    #[arg(long, value_name = "ROLE")]
    pub(crate) supervisor: Option<String>,
    /// What a claim must survive: a policy's name or file.
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<String>,
    #[command(flatten)]
    pub(crate) models: ModelFlags,
    #[command(flatten)]
    pub(crate) budget: BudgetFlags,
    /// What the actors' processes are kept from.
    #[arg(long, value_name = "LEVEL", value_parser = sandbox_level)]
    pub(crate) sandbox: Option<SandboxLevel>,
}

/// The choice of models.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ModelFlags {
    /// The model of a role; may be given several times.
    #[arg(long = "model", value_name = "ROLE=PROVIDER/MODEL", value_parser = role_model)]
    pub(crate) models: Vec<(String, ModelRef)>,
}

/// What the run may use.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct BudgetFlags {
    /// The most that it may cost, in US dollars, as 2.00.
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) money: Option<Money>,
    /// The most model calls that are answered.
    #[arg(long, value_name = "N")]
    pub(crate) turns: Option<u64>,
    /// The most tokens, in and out.
    #[arg(long, value_name = "N", value_parser = whole_number)]
    pub(crate) tokens: Option<u64>,
    /// The most time, as 45m.
    #[arg(long, value_name = "TIME")]
    pub(crate) wall: Option<Span>,
}

/// A whole number; underscores may part its digits, as in TOML.
fn whole_number(text: &str) -> Result<u64, String> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    digits.parse().map_err(|_| "write a whole number, as 3_000_000".to_owned())
}

fn role_model(text: &str) -> Result<(String, ModelRef), String> {
    let shape = || "write ROLE=PROVIDER/MODEL, as worker=anthropic/claude-sonnet-4-5".to_owned();
    let (role, model) = text.split_once('=').filter(|(role, _)| !role.is_empty()).ok_or_else(shape)?;
    let model = model.parse().map_err(|_| shape())?;
    Ok((role.to_owned(), model))
}

fn sandbox_level(text: &str) -> Result<SandboxLevel, String> {
    match text {
        "none" => Ok(SandboxLevel::None),
        "workspace" => Ok(SandboxLevel::Workspace),
        "container" => Ok(SandboxLevel::Container),
        _ => Err("write none, workspace or container".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_flag_names_a_role_and_a_model() {
        let (role, model) = role_model("worker=openrouter/meta/llama=x").unwrap();
        assert_eq!((role.as_str(), model.to_string().as_str()), ("worker", "openrouter/meta/llama=x"));
        for wrong in ["worker", "=a/b", "worker=sonnet", ""] {
            assert!(role_model(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_written_as_in_toml() {
        assert_eq!(whole_number("3_000_000"), Ok(3_000_000));
        assert!(whole_number("3M").is_err());
        assert!(whole_number("-1").is_err());
    }
}
