//! `edit`: replaces parts of a file, each found by its text; the rest stays byte for byte.

use std::time::Duration;

use countersign_protocol::{BlobId, entry::FileAction};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use similar::TextDiff;

use super::{Builtin, Work, changes_path};
use crate::{
    ToolContext, ToolOutput, files, matching,
    matching::Edit,
    paths::{self, Access, Place},
    text,
};

/// The most of a diff that a result shows, in bytes.
const DIFF_BYTES: usize = 4 * 1024;
/// After this time a diff is shown coarser than it could be.
const DIFF_TIME: Duration = Duration::from_millis(500);

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    path: String,
    #[schemars(length(min = 1))]
    edits: Vec<Edit>,
}

pub(super) fn tool() -> Builtin<Arguments> {
    let description = "Replace parts of a file. Each old_text must be in the file exactly once and as it stands there, \
                       so give enough lines around it; each is looked for in the file as it is now, so edits must not \
                       overlap. Several changes of one file belong in one call. If it fails, read the file again.";
    let mut tool = Builtin::new("edit", description.into(), changes_path, Work::Changes(edit)).guideline(
        "Use edit for changes, with as little old_text as is unique: what you don't repeat you can't break.",
    );
    tool.reshape = gather;
    tool
}

/// A single edit that stands beside `path` instead of in `edits`.
fn gather(mut arguments: Map<String, Value>) -> Map<String, Value> {
    const OLD: [&str; 3] = ["old_text", "oldText", "old_string"];
    const NEW: [&str; 3] = ["new_text", "newText", "new_string"];
    let key = |names: [&'static str; 3]| names.into_iter().find(|name| arguments.contains_key(*name));
    let (Some(old), Some(new)) = (key(OLD), key(NEW)) else { return arguments };
    if arguments.get("edits").is_some_and(|edits| !edits.is_null()) {
        return arguments;
    }
    let mut edit = Map::new();
    for (name, key) in [("old_text", old), ("new_text", new)] {
        edit.insert(name.into(), arguments.shift_remove(key).unwrap_or_default());
    }
    arguments.insert("edits".into(), Value::Array(vec![Value::Object(edit)]));
    arguments
}

fn edit(given: &Arguments, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    let place = paths::resolve(context, &given.path, Access::Write)?;
    let old = files::content(&place)?;
    let now = BlobId::of(&old);
    if context.last_seen(&place.real).is_some_and(|seen| seen != now) {
        return Err(ToolOutput::error(format!(
            "`{}` has changed since you last read it, so nothing was edited: read it again, then edit what it holds now.",
            place.shown
        )));
    }
    let Ok(text) = std::str::from_utf8(&old) else {
        return Err(ToolOutput::error(format!(
            "`{}` is not UTF-8, so it can't be edited here: change it with a command.",
            place.shown
        )));
    };
    let new = matching::apply(text, &given.edits)
        .map_err(|error| ToolOutput::error(format!("`{}` was not edited: {error}.", place.shown)))?;
    files::replace(&place, new.as_bytes())?;
    let hash = BlobId::of(new.as_bytes());
    context.saw(&place.real, hash.clone());
    let report = report(&place, given.edits.len(), text, &new);
    Ok(ToolOutput::text(report).touching(files::touch(&place, FileAction::Written, Some(hash))))
}

fn report(place: &Place, edits: usize, old: &str, new: &str) -> String {
    let diff = TextDiff::configure()
        .timeout(DIFF_TIME)
        .diff_lines(old, new)
        .unified_diff()
        .context_radius(1)
        .missing_newline_hint(false)
        .to_string();
    let diff = diff.replace('\r', "");
    let shown = text::head(&diff, DIFF_BYTES);
    let more = if shown.len() < diff.len() { "\n[the rest of the diff is left out]" } else { "" };
    let plural = if edits == 1 { "" } else { "s" };
    format!("Edited `{}` ({edits} replacement{plural}):\n{}{more}", place.shown, shown.trim_end())
}
