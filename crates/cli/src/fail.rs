//! What a person is told when a command fails, and the exit code that goes with it.

use std::process::ExitCode;

use countersign::{Diagnostic, LoadError};

use crate::output::{self, BAD, paint};

/// What the user wrote is wrong: exit code 2.
pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> anyhow::Error {
    LoadError::from(Diagnostic::error(message).help(help)).into()
}

/// Says what went wrong, where and what to do, on stderr; gives the exit code.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if output::is_closed(error) {
        // Whoever read the output has had enough of it, as `head` has after ten lines.
        return ExitCode::SUCCESS;
    }
    if let Some(load) = error.downcast_ref::<LoadError>() {
        output::note(&load.render(true));
        return ExitCode::from(load.exit_code());
    }
    let causes: Vec<_> = error.chain().map(ToString::to_string).collect();
    output::note(&format!("{} {}", paint(BAD.bold(), "error:"), crate::text::block(&causes.join(": "))));
    ExitCode::FAILURE
}
