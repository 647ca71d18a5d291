//! `write`: a whole file, exactly as given.

use countersign_protocol::{BlobId, entry::FileAction};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Builtin, Work, changes_path};
use crate::{
    ToolContext, ToolOutput, files,
    paths::{self, Access, PathError},
};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    path: String,
    content: String,
}

pub(super) fn tool() -> Builtin<Arguments> {
    let description = "Create a file, or replace all of it, with exactly this content. Missing folders are made. To \
                       change a part of a file, use edit.";
    Builtin::new("write", description.into(), changes_path, Work::Changes(write)).guideline(
        "Use write for new files only: a rewrite of a whole file loses what you did not mean to change.",
    )
}

fn write(given: &Arguments, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
    let place = paths::resolve(context, &given.path, Access::Write)?;
    let bytes = given.content.as_bytes();
    let hash = BlobId::of(bytes);
    let (action, what) = match files::content(&place) {
        Ok(old) if old == bytes => (FileAction::Read, "Unchanged: it holds just that already,"),
        Ok(_) | Err(PathError::TooLong { .. }) => (FileAction::Written, "Replaced"),
        Err(PathError::Missing { .. }) => (FileAction::Written, "Created"),
        Err(refused) => return Err(refused.into()),
    };
    if action == FileAction::Written {
        files::replace(&place, bytes)?;
    }
    context.saw(&place.real, hash.clone());
    let text = format!("{what} `{}` ({} bytes).", place.shown, bytes.len());
    Ok(ToolOutput::text(text).touching(files::touch(&place, action, Some(hash))))
}
