//! `find`: paths by glob.

use std::ops::ControlFlow;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{Builtin, Work, reads_all};
use crate::{
    ToolContext, ToolOutput,
    limits::{FIND_PATHS, MAX_BYTES, MAX_LINES},
    walk::{Glob, shown, start, walk, within},
};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    glob: String,
    path: Option<String>,
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

pub(super) fn tool() -> Builtin<Arguments> {
    let description = format!(
        "Find files and folders by glob: `*.rs` matches names, `src/**/*.rs` matches paths below path (default: the \
         root). Leaves out what .gitignore names, unless path is in it. At most limit paths (default {FIND_PATHS}); \
         where there are more, narrow the glob or the path."
    );
    Builtin::new("find", description, reads_all, Work::Reads(find))
}

fn find(
    given: &Arguments,
    context: &ToolContext,
    cancel: &CancellationToken,
) -> Result<ToolOutput, ToolOutput> {
    let glob = Glob::new(&given.glob)?;
    let place = start(context, given.path.as_deref())?;
    let limit = given.limit.unwrap_or(FIND_PATHS).min(MAX_LINES);
    let (mut found, mut count, mut more) = (String::new(), 0, false);
    walk(context, &place, |entry| {
        if cancel.is_cancelled() {
            return ControlFlow::Break(());
        }
        if !glob.matches(within(&place, entry.path())) {
            return ControlFlow::Continue(());
        }
        let folder = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
        let line = format!("{}{folder}\n", shown(context, entry.path()));
        more = count == limit || found.len() + line.len() > MAX_BYTES;
        if more {
            return ControlFlow::Break(());
        }
        found.push_str(&line);
        count += 1;
        ControlFlow::Continue(())
    });
    if cancel.is_cancelled() {
        return Err(ToolOutput::error("Interrupted; nothing was changed."));
    }
    if count == 0 {
        return Ok(ToolOutput::text(format!("[nothing matches `{}` in {}]", given.glob, place.shown)));
    }
    if more {
        found.push_str(&format!("[only the first {count} paths: narrow the glob or the path]"));
    }
    Ok(ToolOutput::text(found))
}
