//! `check`: lints roles, policies, tasks and configuration.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use countersign::{Diagnostic, Fault, Severity, diagnose, lint};

use crate::{
    context::Context,
    output::{self, BAD, GOOD, WARN, paint},
    text::one_line,
};

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

pub(crate) fn run(context: &Context, args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let linted = lint(&context.settings()?, &args.paths)?;
    if context.flags.json {
        linted.diagnostics.iter().try_for_each(|diagnostic| output::print_json(&diagnostic.to_json()))?;
    } else {
        if !linted.diagnostics.is_empty() {
            output::note(&diagnose::render(&linted.diagnostics, true));
        }
        if linted.files.is_empty() {
            output::note("there is nothing here to check but what is shipped");
        }
        for file in &linted.files {
            output::print(&file_line(file, &linted.diagnostics))?;
        }
    }
    let errors = linted.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let worst = errors.map(|error| if error.fault == Fault::User { 2 } else { 1 }).max();
    Ok(worst.map_or(ExitCode::SUCCESS, ExitCode::from))
}

/// A file, and what was found in it.
fn file_line(file: &Path, diagnostics: &[Diagnostic]) -> String {
    let shown = file.display().to_string();
    let mut found = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.position().is_some_and(|(name, ..)| Path::new(name) == file));
    let worst = found.clone().map(|diagnostic| diagnostic.severity).max();
    let verdict = match worst {
        None | Some(Severity::Note) => paint(GOOD, "ok"),
        Some(Severity::Warning) => paint(WARN, "warning"),
        Some(Severity::Error) => paint(BAD, "wrong"),
    };
    let first = found.find(|diagnostic| Some(diagnostic.severity) == worst);
    let why = first.map(|diagnostic| format!(": {}", one_line(&diagnostic.message, 120)));
    format!("{verdict}  {}{}", one_line(&shown, 200), why.unwrap_or_default())
}
