//! Tests through the calls of a model, and what they share: a workspace on disk, and a way to call tools in it.

mod bash;
mod calls;
mod contract;
mod edit;
mod files;
mod repair;
mod schedule;
mod search;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use countersign_protocol::{Arguments, AssistantMessage, Block, CallId, ToolCall, entry::ToolOutcome};
use countersign_sandbox::ProcessGroup;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{Taken, ToolContext, Toolset, execute, take};

/// A workspace with a folder outside of it.
pub(crate) struct Bench {
    _folder: TempDir,
    pub(crate) context: ToolContext,
    pub(crate) tools: Toolset,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["root", "out"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let sandbox = Arc::new(ProcessGroup::new());
        let outputs = folder.path().join("outputs");
        let context = ToolContext::new(&folder.path().join("root"), &outputs, sandbox).unwrap();
        let tools = Toolset::builtin(Toolset::builtin_names()).unwrap();
        Self { _folder: folder, context, tools }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.context.root
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.root().parent().unwrap().join("out")
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap()
    }

    pub(crate) fn content(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    /// Takes and runs the calls of one message, given as names and arguments.
    pub(crate) async fn run(&self, calls: &[(&str, Value)]) -> Vec<ToolOutcome> {
        let raw: Vec<(&str, String)> = calls.iter().map(|(name, value)| (*name, value.to_string())).collect();
        let raw: Vec<(&str, &str)> = raw.iter().map(|(name, raw)| (*name, raw.as_str())).collect();
        match take(&message(&raw), true, &self.tools) {
            Taken::Batch(batch) => {
                execute(batch, &self.tools, &self.context, &CancellationToken::new()).await
            }
            other => panic!("not a batch: {other:?}"),
        }
    }

    /// Runs one call: its text, and whether it failed.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> (String, bool) {
        let outcome = self.run(&[(name, arguments)]).await.remove(0);
        (text(&outcome), outcome.is_error)
    }
}

/// A message with these calls, as names and the raw text of their arguments.
pub(crate) fn message(calls: &[(&str, &str)]) -> AssistantMessage {
    let blocks = calls.iter().enumerate().map(|(index, (name, raw))| {
        Block::ToolCall(ToolCall {
            id: CallId(format!("call-{index}")),
            name: (*name).into(),
            arguments: Arguments::from_text(*raw),
            replay: None,
        })
    });
    AssistantMessage { blocks: blocks.collect() }
}

/// The text of an outcome.
pub(crate) fn text(outcome: &ToolOutcome) -> String {
    let texts = outcome.content.iter().filter_map(|part| match part {
        countersign_protocol::Content::Text { text } => Some(text.as_str()),
        countersign_protocol::Content::Image { .. } => None,
    });
    texts.collect()
}
