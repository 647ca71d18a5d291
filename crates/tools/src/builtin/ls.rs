//! `ls`: what is in a folder.

use std::fs;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{Builtin, Work, reads_all};
use crate::{
    ToolContext, ToolOutput,
    limits::{MAX_BYTES, MAX_KIB, MAX_LINES},
    paths::PathError,
    walk::start,
};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    path: Option<String>,
}

pub(super) fn tool() -> Builtin<Arguments> {
    let description = format!(
        "List a folder (default: the root) by name, hidden entries too; folders end in /, links in @. At most \
         {MAX_LINES} entries or {MAX_KIB} KiB; where there are more, use find with a glob."
    );
    Builtin::new("ls", description, reads_all, Work::Reads(ls))
}

fn ls(given: &Arguments, context: &ToolContext, _: &CancellationToken) -> Result<ToolOutput, ToolOutput> {
    let place = start(context, given.path.as_deref())?;
    let failed = |error| ToolOutput::from(PathError::from_io(&place, error));
    if !place.real.is_dir() {
        return Err(ToolOutput::error(format!("`{}` is not a folder: read it with `read`.", place.shown)));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&place.real).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let mark = match entry.file_type() {
            Ok(kind) if kind.is_dir() => "/",
            Ok(kind) if kind.is_symlink() => "@",
            _ => "",
        };
        names.push(format!("{}{mark}\n", entry.file_name().to_string_lossy()));
    }
    names.sort();
    let (mut listed, mut count) = (String::new(), 0);
    for name in names.iter().take(MAX_LINES) {
        if listed.len() + name.len() > MAX_BYTES {
            break;
        }
        listed.push_str(name);
        count += 1;
    }
    match names.len() - count {
        0 if count == 0 => listed.push_str("[the folder is empty]"),
        0 => {}
        more => listed.push_str(&format!("[{more} more: use find with a glob]")),
    }
    Ok(ToolOutput::text(listed))
}
