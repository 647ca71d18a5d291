//! The countersign command line.

mod cli;
mod commands;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let _cli = cli::Cli::parse();
    ExitCode::SUCCESS
}
