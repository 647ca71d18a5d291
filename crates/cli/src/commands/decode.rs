//! `decode`: a recorded provider response through the code path of a live call.

use std::{io::Read, path::PathBuf, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use countersign::{model::decode::decode_recorded, protocol::Api};

use crate::output;

/// Decode a recorded provider response through the code path of a live call.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign decode --api openai-chat --status 200 \
    --content-type text/event-stream response.sse\n\n\
    Prints one JSON object: text, reasoning, tool_calls, stop, usage, error, complete, executable.\n\
    Exit codes: 0, also where it decodes an error; 1 where the file can't be read.")]
pub(crate) struct DecodeArgs {
    /// The API that the response is of: anthropic-messages, openai-chat, openai-responses or gemini.
    #[arg(long, value_name = "API")]
    pub(crate) api: Api,
    /// The response's HTTP status.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) status: u16,
    /// The response's content type.
    #[arg(long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// A response header, as `retry-after: 3`; may be given several times.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// The response's body; `-` reads stdin.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

pub(crate) fn run(args: &DecodeArgs) -> anyhow::Result<ExitCode> {
    let body = if args.file.as_os_str() == "-" {
        let mut body = Vec::new();
        std::io::stdin().read_to_end(&mut body).context("can't read stdin")?;
        body
    } else {
        std::fs::read(&args.file).with_context(|| format!("can't read {}", args.file.display()))?
    };
    let decoded = decode_recorded(args.api, args.status, args.content_type.as_deref(), &args.headers, &body);
    output::print_json(&decoded.report())?;
    Ok(ExitCode::SUCCESS)
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write NAME: VALUE, as `retry-after: 3`")?;
    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
}
