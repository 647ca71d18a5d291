//! An actor's own lane: what it persists, what its model sees of that, and the bytes that are sent.
//!
//! The three grow together. An entry is durable before it is in the projection, and an item of the projection is
//! encoded once, so that each request extends the last one byte for byte until the lane is compacted.

use std::sync::Arc;

use countersign_journal::{Journal, Projector, branch, project};
use countersign_model::{Answer, Model, Prompt, prompt_bound, prompt_estimate};
use countersign_protocol::{
    Body, Entry, Lane, ToolDefinition,
    entry::{Cause, Prefix, PrefixCause, Section, Sent, ToolOutcome, Turn},
};
use countersign_tools::Planned;

use crate::messages::Stop;

/// A rough number of bytes a token, where nothing better is known.
pub(crate) const BYTES_A_TOKEN: u64 = 3;

/// An actor's lane.
pub(crate) struct History {
    lane: Lane,
    journal: Journal,
    model: Arc<dyn Model>,
    prefix: Prefix,
    path: Vec<Entry>,
    projector: Projector,
    prompt: Prompt,
    turns: u64,
    /// The size of the last request in bytes, and in tokens as the provider counted them.
    measured: Option<(u64, u64)>,
    /// Whether the next request extends the last one byte for byte.
    extends: bool,
}

impl History {
    /// Opens a lane: a new one, or one that goes on. Calls that were cut off by a crash get their results now.
    pub(crate) async fn open(
        journal: Journal,
        lane: Lane,
        entries: &[Entry],
        model: Arc<dyn Model>,
        sections: Vec<Section>,
        tools: Vec<ToolDefinition>,
    ) -> Result<Self, Stop> {
        let path: Vec<Entry> = branch(entries, lane).into_iter().cloned().collect();
        let before = path.iter().rev().find_map(|entry| match &entry.body {
            Body::Prefix(prefix) => Some(prefix),
            _ => None,
        });
        let model_name = model.spec().model.clone();
        // What the role says was read once, as the run began: files that the worker can edit change no prompt of its own.
        let sections = before.map_or(sections, |before| before.sections.clone());
        let cause = match before {
            None => PrefixCause::Start,
            Some(before) if before.model != model_name => PrefixCause::ModelChanged,
            Some(_) => PrefixCause::RoleChanged,
        };
        let mut prefix = Prefix { model: model_name, sections, tools, cause };
        let unchanged =
            before.filter(|before| Prefix { cause: before.cause, ..prefix.clone() } == **before).cloned();
        if let Some(before) = &unchanged {
            prefix = before.clone();
        }
        let prompt = Prompt::new(model.encoder(), model.spec(), &prefix);
        let mut history = Self {
            lane,
            journal,
            model,
            prefix: prefix.clone(),
            path: Vec::new(),
            projector: Projector::default(),
            prompt,
            turns: 0,
            measured: None,
            extends: true,
        };
        for entry in path {
            history.take(entry);
        }
        if unchanged.is_none() {
            history.persist(vec![Body::Prefix(prefix)]).await?;
        }
        let dangling = history.projector.clone().finish().dangling;
        history.results(dangling).await?;
        Ok(history)
    }

    /// Text from the host.
    pub(crate) async fn say(&mut self, cause: Cause, text: impl Into<String>) -> Result<(), Stop> {
        self.persist(vec![Body::Message { cause, text: text.into() }]).await
    }

    /// The model's answer.
    pub(crate) async fn answered(&mut self, answer: Answer, sent: Sent) -> Result<Turn, Stop> {
        let turn = Turn {
            turn: self.turns + 1,
            message: answer.message,
            stop: answer.stop,
            executable: answer.executable,
            usage: answer.usage,
            sent,
        };
        self.persist(vec![Body::Turn(Box::new(turn.clone()))]).await?;
        Ok(turn)
    }

    /// The intents of calls that are about to run.
    pub(crate) async fn intents(&mut self, batch: &[Planned]) -> Result<(), Stop> {
        let intents = batch.iter().filter_map(|planned| {
            let arguments = planned.ready.as_ref().ok()?.clone();
            Some(Body::ToolCall { call: planned.call.clone(), name: planned.name.clone(), arguments })
        });
        self.persist(intents.collect()).await
    }

    /// The results of a turn's calls, in call order.
    pub(crate) async fn results(&mut self, results: Vec<ToolOutcome>) -> Result<(), Stop> {
        self.persist(results.into_iter().map(|result| Body::ToolResult(Box::new(result))).collect()).await
    }

    /// Something that is durable before it is in the history. Nothing is written for nothing.
    pub(crate) async fn persist(&mut self, bodies: Vec<Body>) -> Result<(), Stop> {
        if bodies.is_empty() {
            return Ok(());
        }
        for entry in self.journal.append(self.lane, bodies).await? {
            self.take(entry);
        }
        Ok(())
    }

    fn take(&mut self, entry: Entry) {
        if let Body::Turn(turn) = &entry.body {
            self.turns = turn.turn;
            self.extends = turn.sent.chain == self.prompt.chain();
            self.measured = (!turn.usage.estimated && self.extends)
                .then_some((turn.sent.bytes, turn.usage.prompt_total()));
        }
        self.projector.push(&entry);
        if matches!(entry.body, Body::Compaction(_)) {
            self.prompt = Prompt::new(self.model.encoder(), self.model.spec(), &self.prefix);
            self.measured = None;
            self.extends = false;
        }
        let encoder = self.model.encoder();
        for item in &self.projector.settled()[self.prompt.len()..] {
            self.prompt.push(encoder, item);
        }
        self.path.push(entry);
    }

    /// What the next request is made of.
    pub(crate) const fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// What the first entries of the path are to the model: a front of [`prompt`](Self::prompt).
    pub(crate) fn front(&self, entries: usize) -> Prompt {
        let path = self.path();
        let encoder = self.model.encoder();
        let mut prompt = Prompt::new(encoder, self.model.spec(), &self.prefix);
        for item in &project(&path[..entries.min(path.len())]).items {
            prompt.push(encoder, item);
        }
        prompt
    }

    /// The model.
    pub(crate) fn model(&self) -> &dyn Model {
        self.model.as_ref()
    }

    /// The lane's entries, oldest first.
    pub(crate) fn path(&self) -> Vec<&Entry> {
        self.path.iter().collect()
    }

    /// The number of the next turn.
    pub(crate) const fn next_turn(&self) -> u64 {
        self.turns + 1
    }

    /// What a request that is made now sends.
    pub(crate) fn sent(&self) -> Sent {
        Sent {
            bytes: self.prompt.bytes(),
            prefix: self.prompt.prefix_hash(),
            chain: self.prompt.chain(),
            extends: self.extends,
        }
    }

    /// The most tokens that the next request can hold.
    pub(crate) fn bound(&self) -> u64 {
        prompt_bound(&self.prompt, self.measured)
    }

    /// About how many tokens the next request holds.
    pub(crate) fn estimate(&self) -> u64 {
        prompt_estimate(&self.prompt, self.measured, BYTES_A_TOKEN)
    }

    /// Whether the history ends with something that the model has yet to answer. The noted word of an actor is not that:
    /// others answer it.
    pub(crate) fn awaits_an_answer(&self) -> bool {
        self.path.iter().rev().find_map(|entry| match &entry.body {
            Body::Message { .. } | Body::Compaction(_) => Some(true),
            Body::Turn(_) => Some(false),
            Body::ToolResult(result) => {
                let is_word = matches!(result.name.as_str(), "done" | "blocked" | "verdict");
                Some(result.is_error || !is_word)
            }
            _ => None,
        }) == Some(true)
    }

    /// Whether the lane has any history.
    pub(crate) fn is_new(&self) -> bool {
        self.prompt.is_empty()
    }
}
