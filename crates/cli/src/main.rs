//! The countersign command line.

mod audit;
mod cli;
mod commands;
mod context;
mod fail;
mod finding;
mod observe;
mod output;
mod signals;
mod state;
mod table;
mod text;
mod view;

use std::{io, process::ExitCode};

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::{
    cli::{Cli, Command},
    commands::{check, decode, doctor, fork, init, list, log, resume, run, runs, show, verify},
    context::Context,
};

fn main() -> ExitCode {
    countersign::sandbox::helper_entry();
    // So that a command of the same user can't read the keys in this process's environment.
    // Not every system can do that; the commands' own environment holds no key in any case.
    let _ = countersign::sandbox::close_to_others();
    let cli = Cli::parse();
    output::choose_color(cli.globals.color);
    listen(cli.globals.verbose);
    // Only one provider of cryptography is compiled in; that it was chosen before is no error.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = runtime.map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(dispatch(cli)));
    done.unwrap_or_else(|error| fail::report(&error))
}

async fn dispatch(cli: Cli) -> anyhow::Result<ExitCode> {
    let context = Context::new(cli.globals)?;
    match cli.command {
        Command::Run(args) => run::run(&context, args).await,
        Command::Resume(args) => resume::run(&context, args).await,
        Command::Fork(args) => fork::run(&context, &args).await,
        Command::Runs => runs::run(&context),
        Command::Show(args) => show::run(&context, &args),
        Command::Log(args) => log::run(&context, &args),
        Command::Audit(args) => commands::audit::run(&context, &args),
        Command::Verify(args) => verify::run(&context, &args).await,
        Command::Check(args) => check::run(&context, &args),
        Command::Roles => list::roles(&context),
        Command::Policies => list::policies(&context),
        Command::Models => list::models(&context),
        Command::Init(_) => init::run(&context),
        Command::Doctor => doctor::run(&context).await,
        Command::Decode(args) => decode::run(&args),
    }
}

/// Sends the program's own log to stderr, where it was asked for by flag or by `COUNTERSIGN_LOG`.
fn listen(verbose: u8) {
    let level = match verbose {
        0 => "error",
        1 => "info,countersign=debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_env("COUNTERSIGN_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never)
        // A log that can't be written is no reason to say so on the same closed stream, which would panic.
        .log_internal_errors(false)
        .init();
}
