//! The seam for tools: what each one declares about itself, and what a call comes to.

use std::path::PathBuf;

use countersign_protocol::{Content, Exit, ToolDefinition, entry::FileTouch};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::ToolContext;

/// Something that a model can call. The built-in ones live in this crate; an embedder may add its own.
pub trait Tool: Send + Sync {
    /// What the model is told. It must be the same each time: it is part of the prefix.
    fn definition(&self) -> &ToolDefinition;

    /// One line for the system prompt: when to use it, and why.
    fn guideline(&self) -> Option<&'static str> {
        None
    }

    /// Whether a message with a call of this tool runs its calls one after the other.
    fn exclusive(&self) -> bool {
        false
    }

    /// What a call will touch. Calls that touch the same thing run in call order.
    ///
    /// Asked right before the call is scheduled, when everything that could change the answer has ended.
    fn effect(&self, arguments: &Value, context: &ToolContext) -> Effect;

    /// Reshapes arguments that other agents' habits get wrong, before the general repair and the validation.
    /// Arguments that are right must come back unchanged.
    fn reshape(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        arguments
    }

    /// Runs a call with arguments that fit the schema.
    ///
    /// A failure is an output with `is_error`. Once `cancel` fires, it must end soon: after a while of grace
    /// it is dropped, and the model is told that its effect is unknown.
    fn run<'a>(
        &'a self,
        arguments: Value,
        context: &'a ToolContext,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolOutput>;
}

/// What a call touches. Paths are canonical; that of a file which does not exist yet is its canonical
/// parent and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Nothing in the workspace.
    Nothing,
    /// It reads one file.
    Read(PathBuf),
    /// It reads any number of files.
    ReadAll,
    /// It changes one file.
    File(PathBuf),
    /// It may change anything.
    Workspace,
}

impl Effect {
    /// Whether two calls with these effects must not run at the same time.
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, _) | (_, Self::Nothing) => false,
            (Self::Workspace, _) | (_, Self::Workspace) => true,
            (Self::File(_), Self::ReadAll) | (Self::ReadAll, Self::File(_)) => true,
            (Self::File(a), Self::File(b) | Self::Read(b)) | (Self::Read(a), Self::File(b)) => a == b,
            (Self::Read(_) | Self::ReadAll, Self::Read(_) | Self::ReadAll) => false,
        }
    }
}

/// What a call came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model is shown.
    pub content: Vec<Content>,
    /// Whether the call failed.
    pub is_error: bool,
    /// How its process ended, where it had one.
    pub exit: Option<Exit>,
    /// The files that it really read or wrote.
    pub files: Vec<FileTouch>,
}

impl ToolOutput {
    /// A success with this text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text { text: text.into() }], ..Self::default() }
    }

    /// A failure with this text, which should say what to do next.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// The same output, which touched this file.
    #[must_use]
    pub fn touching(mut self, touch: FileTouch) -> Self {
        self.files.push(touch);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_conflict_where_one_changes_what_the_other_touches() {
        let (a, b) = (PathBuf::from("/w/a"), PathBuf::from("/w/b"));
        let all = [
            Effect::Nothing,
            Effect::Read(a.clone()),
            Effect::ReadAll,
            Effect::File(a.clone()),
            Effect::File(b),
            Effect::Workspace,
        ];
        let table = [
            [false, false, false, false, false, false],
            [false, false, false, true, false, true],
            [false, false, false, true, true, true],
            [false, true, true, true, false, true],
            [false, false, true, false, true, true],
            [false, true, true, true, true, true],
        ];
        for (row, left) in all.iter().enumerate() {
            for (column, right) in all.iter().enumerate() {
                assert_eq!(left.conflicts(right), table[row][column], "{left:?} {right:?}");
            }
        }
    }
}
