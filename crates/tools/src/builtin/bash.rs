//! `bash`: a shell command in the workspace's root, its output's end kept.

use std::{
    fs, io,
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};

use countersign_protocol::Exit;
use countersign_sandbox::{Captured, Command, Finished, Streams};
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{Builtin, Work, blocking};
use crate::{
    Effect, ToolContext, ToolOutput,
    limits::{BASH_TIMEOUT, BASH_TIMEOUT_MAX, MAX_BYTES, MAX_KIB, MAX_LINES},
    text,
};

/// What is kept of the output: more than is shown, since terminal escapes are stripped from it, and a secret that
/// is cut at its start must not be in what is shown.
const KEEP: usize = 5 * MAX_BYTES;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    command: String,
    /// seconds
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

pub(super) fn tool() -> Builtin<Arguments> {
    let description = format!(
        "Run a command in a new shell at the workspace's root. No stdin; stdout and stderr come together; what it leaves \
         running is killed. Timeout {BASH_TIMEOUT} s, at most {BASH_TIMEOUT_MAX}. Shows the last {MAX_LINES} lines or \
         {MAX_KIB} KiB; where there is more, it says in which file the whole is, for read."
    );
    Builtin::new("bash", description, |_, _| Effect::Workspace, Work::Waits(bash)).guideline(
        "Use bash to build, test and look around; its exit code is the fact, not your expectation of it.",
    )
}

fn bash<'a>(
    given: Arguments,
    context: &'a ToolContext,
    cancel: &'a CancellationToken,
) -> BoxFuture<'a, ToolOutput> {
    Box::pin(run(given, context, cancel))
}

async fn run(given: Arguments, context: &ToolContext, cancel: &CancellationToken) -> ToolOutput {
    let timeout = Duration::from_secs(given.timeout.unwrap_or(BASH_TIMEOUT).clamp(1, BASH_TIMEOUT_MAX));
    // The folder goes with the call; an output that the model is told of moves out of it.
    let folder = match tempfile::Builder::new().prefix("running-").tempdir_in(&context.outputs) {
        Ok(folder) => folder,
        Err(error) => {
            return ToolOutput::error(format!(
                "The command was not run: its output can't be kept in {} ({error}).",
                context.outputs.display()
            ));
        }
    };
    let command = Command::shell(given.command, &context.root)
        .timeout(timeout)
        .streams(Streams::Merged)
        .keep(KEEP)
        .spill(folder.path().join("output"));
    match context.sandbox.run(command, cancel).await {
        Ok(finished) => {
            let context = context.clone();
            blocking(move || {
                let output = report(&finished, timeout, &context);
                drop(folder);
                output
            })
            .await
        }
        Err(error) => ToolOutput::error(format!("The command's end is not certain: {error}.")),
    }
}

/// What the model is shown of a command that has ended.
fn report(finished: &Finished, timeout: Duration, context: &ToolContext) -> ToolOutput {
    let captured = &finished.stdout;
    let mut notes = Vec::new();
    let mut shown = if text::is_binary(&captured.tail) {
        let first = first_bytes(captured).unwrap_or_default();
        let what = text::describe_binary(captured.total, captured.hash.as_str(), &first);
        notes.push(kept_note("The output is not text", captured, context));
        format!("[{what}]")
    } else {
        let plain = context.masked(text::plain(whole_lines(captured)));
        let shown = text::tail(&plain);
        if shown.len() < plain.len() || captured.total > captured.tail.len() as u64 {
            let lines = format!("Only the last {} lines are shown", shown.lines().count());
            notes.push(kept_note(&lines, captured, context));
        }
        if plain.trim().is_empty() { "(no output)".into() } else { shown.to_owned() }
    };
    notes.push(how_it_ended(finished.exit, timeout));
    if !shown.ends_with('\n') {
        shown.push('\n');
    }
    shown.push_str(&notes.join("\n"));
    let mut output = ToolOutput::text(shown);
    output.is_error = !finished.exit.success();
    output.exit = Some(finished.exit);
    output
}

/// What was kept, without the first line where its start was not kept: what is left of it could be half a secret,
/// or half an escape.
fn whole_lines(captured: &Captured) -> &[u8] {
    let tail = captured.tail.as_slice();
    if captured.total == tail.len() as u64 {
        return tail;
    }
    let newline = tail.iter().position(|&byte| byte == b'\n').filter(|at| at + 1 < tail.len());
    newline.map_or(tail, |at| &tail[at + 1..])
}

fn how_it_ended(exit: Exit, timeout: Duration) -> String {
    match exit {
        Exit::Code(code) => format!("[exit {code}]"),
        Exit::Signal(signal) => format!("[killed by signal {signal}: exit {}]", 128 + signal),
        Exit::Timeout => format!(
            "[timed out after {} s and was killed: give a longer timeout (at most {BASH_TIMEOUT_MAX}), or do less at once]",
            timeout.as_secs()
        ),
        Exit::Cancelled => "[interrupted, effect unknown: look before you repeat it]".into(),
    }
}

/// Says where the whole output is, after it has been put there.
fn kept_note(what: &str, captured: &Captured, context: &ToolContext) -> String {
    match keep(captured, context) {
        Ok(Some(path)) => {
            let lacking = match captured.dropped {
                0 => String::new(),
                dropped => format!(", but for the last {dropped} bytes"),
            };
            format!(
                "[{what}; the whole output ({} bytes{lacking}) is in {}: read it with offset and limit]",
                captured.total,
                path.display()
            )
        }
        Ok(None) => format!("[{what} of {} bytes]", captured.total),
        Err(error) => format!("[{what} of {} bytes; the whole could not be kept: {error}]", captured.total),
    }
}

/// Moves the whole output to a file that stays. Its name is its content's hash, so that the same command with the
/// same output gives the same result. Known secrets are masked in it.
fn keep(captured: &Captured, context: &ToolContext) -> io::Result<Option<PathBuf>> {
    let Some(spilled) = &captured.spilled else { return Ok(None) };
    mask_file(spilled, context)?;
    let path = context.outputs.join(format!("{}.txt", &captured.hash.as_str()[..16]));
    fs::set_permissions(spilled, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    fs::rename(spilled, &path)?;
    Ok(Some(path))
}

fn mask_file(path: &Path, context: &ToolContext) -> io::Result<()> {
    if !context.mask.is_empty()
        && let Some(masked) = context.mask.bytes(&fs::read(path)?)
    {
        fs::write(path, masked)?;
    }
    Ok(())
}

fn first_bytes(captured: &Captured) -> io::Result<Vec<u8>> {
    match &captured.spilled {
        Some(path) if captured.total > captured.tail.len() as u64 => {
            let mut first = Vec::new();
            fs::File::open(path)?.take(32).read_to_end(&mut first)?;
            Ok(first)
        }
        _ => Ok(captured.tail.clone()),
    }
}
