//! When to summarise a lane's older history, and where to cut it.
//!
//! The history after the last compaction is taken as steps that nothing parts: a message, or a turn with all of
//! its results. The cut lies between two steps, as near to the end as `keep_recent` says. Three things always
//! stay: the assignment, an older summary (it is part of what is summarised: it stands in the history that the
//! summary is asked over, and [`instruction`] repeats it), and a message that was not answered yet. Where the
//! last turn's results alone are too large, nothing but the summary stays.

use std::collections::BTreeSet;

use countersign_protocol::{
    Block, Body, CallId, Content, Entry, EntryId,
    entry::{Compacted, FileAction},
};

pub use crate::summary::instruction;
use crate::{
    projection::{assignment, last_compaction},
    summary::shown,
};

/// What a lane's history must fit, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The model's window.
    pub window: u64,
    /// How much of it stays free.
    pub reserve: u64,
    /// How much of the newest history stays verbatim.
    pub keep_recent: u64,
    /// The most that the summary can hold: the output limit of the request for it.
    pub summary: u64,
}

/// Where to cut, and what to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The first entry that stays verbatim.
    pub kept_from: EntryId,
    /// The summary is asked for at the end of the history that `path[..asked_over]` is projected to: of the whole
    /// path, unless that request would not fit the window. It is the front of the lane's present history, so the
    /// provider's cache holds it, and everything that is cut away is in it.
    pub asked_over: usize,
    /// Files read so far, taken from results.
    pub files_read: Vec<String>,
    /// Files written so far, taken from results.
    pub files_written: Vec<String>,
    /// The size of prefix and history before it, in tokens.
    pub tokens_before: u64,
    /// The most that it is after it, in tokens.
    pub tokens_after: u64,
}

impl Plan {
    /// The entry's body, once the summary is there.
    #[must_use]
    pub fn compacted(self, summary: String) -> Compacted {
        Compacted {
            summary,
            kept_from: self.kept_from,
            files_read: self.files_read,
            files_written: self.files_written,
            tokens_before: self.tokens_before,
        }
    }
}

/// Whether so much of the window is used that the history is to be compacted.
#[must_use]
pub const fn needed(used: u64, window: u64, reserve: u64) -> bool {
    used > window.saturating_sub(reserve)
}

/// Plans a compaction of the path. `size` is what an entry takes up in a request, in tokens: [`estimate`], or
/// that scaled so that the whole comes to what the provider has reported.
///
/// `None` where none would both make the history smaller and bring it under `window - reserve`: what can't be
/// cut is then too large, and compacting again would change nothing.
pub fn plan(path: &[&Entry], size: impl Fn(&Entry) -> u64, limits: &Limits) -> Option<Plan> {
    let (files_read, files_written) = files(path);
    let history = Measured::of(path, size, (files_read.clone(), files_written.clone()), limits);
    let place = history.best_cut()?;
    Some(Plan {
        kept_from: path[place.kept].id,
        asked_over: place.asked_over,
        files_read,
        files_written,
        tokens_before: history.before(),
        tokens_after: history.after(place.step),
    })
}

/// The path's last compaction that holds.
#[must_use]
pub fn last<'a>(path: &[&'a Entry]) -> Option<&'a Compacted> {
    last_compaction(path).map(|cut| cut.compacted)
}

/// A rough size of what a request holds of an entry, in tokens: one a three bytes, and a fixed number a picture.
#[must_use]
pub fn estimate(entry: &Entry) -> u64 {
    /// Providers count a picture by its sides; this is one of about a megapixel.
    const PICTURE: u64 = 1_600;
    let content = |part: &Content| match part {
        Content::Text { text } => tokens(text.len()),
        Content::Image { .. } => PICTURE,
    };
    let block = |block: &Block| match block {
        Block::Text { text, replay } | Block::Reasoning { text, replay } => {
            // What goes back is the wire form where there is one, else the text.
            tokens(text.len().max(replay.as_ref().map_or(0, |replay| replay.json.len())))
        }
        Block::ToolCall(call) => tokens(call.name.len() + call.arguments.raw.len()),
    };
    match &entry.body {
        Body::Message { text, .. } => tokens(text.len()),
        Body::Turn(turn) => turn.message.blocks.iter().map(block).sum(),
        Body::ToolResult(outcome) => outcome.content.iter().map(content).sum(),
        Body::Prefix(prefix) => {
            let sections: usize = prefix.sections.iter().map(|section| section.text.len()).sum();
            let tools =
                prefix.tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.schema.len());
            tokens(sections + tools.sum::<usize>())
        }
        _ => 0,
    }
}

const fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(3) as u64
}

/// The files that results name as read and as written, on the whole path. A failed call's count for nothing.
fn files(path: &[&Entry]) -> (Vec<String>, Vec<String>) {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    for entry in path {
        match &entry.body {
            Body::ToolResult(outcome) if !outcome.is_error => {
                for file in &outcome.files {
                    let list = match file.action {
                        FileAction::Read => &mut read,
                        FileAction::Written => &mut written,
                    };
                    list.insert(file.path.clone());
                }
            }
            Body::Compaction(older) => {
                read.extend(older.files_read.iter().cloned());
                written.extend(older.files_written.iter().cloned());
            }
            _ => {}
        }
    }
    (read.into_iter().collect(), written.into_iter().collect())
}

/// A part of the history that nothing parts: a message, or a turn with all of its results.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Its first entry's place on the path.
    from: usize,
    tokens: u64,
    kind: StepKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    /// The assignment. It stays in any case, and its tokens are not counted here.
    Assignment,
    /// Another message.
    Message,
    /// A turn; where all of its calls have results and nothing was said among them, the place of the last one.
    Turn { last_result: Option<usize> },
}

/// The steps of `path[kept..]`.
fn steps(path: &[&Entry], kept: usize, size: &impl Fn(&Entry) -> u64) -> Vec<Step> {
    let goal = assignment(path);
    let mut steps: Vec<Step> = Vec::new();
    let mut waiting: Vec<&CallId> = Vec::new(); // calls of the last step that have no result yet
    let mut spoken = false; // whether something was said among the last step's results
    for (at, entry) in path.iter().enumerate().skip(kept) {
        match &entry.body {
            Body::Turn(turn) => {
                waiting = turn.message.calls().map(|call| &call.id).collect();
                spoken = false;
                steps.push(Step {
                    from: at,
                    tokens: size(entry),
                    kind: StepKind::Turn { last_result: None },
                });
            }
            Body::Message { .. } if goal == Some(at) => {
                steps.push(Step { from: at, tokens: 0, kind: StepKind::Assignment });
            }
            Body::Message { .. } if waiting.is_empty() => {
                steps.push(Step { from: at, tokens: size(entry), kind: StepKind::Message });
            }
            Body::Message { .. } => {
                spoken = true;
                grow(&mut steps, size(entry));
            }
            Body::ToolResult(outcome) => {
                let Some(call) = waiting.iter().position(|call| **call == outcome.call) else { continue };
                waiting.remove(call);
                grow(&mut steps, size(entry));
                if waiting.is_empty()
                    && !spoken
                    && let Some(step) = steps.last_mut()
                {
                    step.kind = StepKind::Turn { last_result: Some(at) };
                }
            }
            _ => {}
        }
    }
    steps
}

fn grow(steps: &mut [Step], tokens: u64) {
    if let Some(step) = steps.last_mut() {
        step.tokens += tokens;
    }
}

/// A place to cut.
struct Place {
    /// The first step that stays.
    step: usize,
    /// The first entry that stays.
    kept: usize,
    asked_over: usize,
}

/// A history's steps with their sizes.
struct Measured<'a> {
    path_len: usize,
    limits: &'a Limits,
    steps: Vec<Step>,
    /// The prefix, and the goal, which stays in any case.
    fixed: u64,
    /// The present summary, with its lists of files.
    older: u64,
    /// The most that the new summary is, with its lists of files.
    newer: u64,
    /// The request for the new summary, and the most that it is answered with.
    request: u64,
}

impl<'a> Measured<'a> {
    fn of(
        path: &[&Entry],
        size: impl Fn(&Entry) -> u64,
        (files_read, files_written): (Vec<String>, Vec<String>),
        limits: &'a Limits,
    ) -> Self {
        let previous = last_compaction(path);
        let prefix = path.iter().rev().find(|entry| matches!(entry.body, Body::Prefix(_)));
        let goal = match (assignment(path), path.first().map(|entry| &entry.body)) {
            (Some(at), _) => size(path[at]),
            (None, Some(Body::Run(ground))) => tokens(ground.goal.len()),
            _ => 0,
        };
        let kept_from = path.first().map_or_else(EntryId::new, |entry| entry.id);
        let frame =
            Compacted { summary: String::new(), kept_from, files_read, files_written, tokens_before: 0 };
        let previous_summary = previous.map(|cut| cut.compacted);
        Self {
            path_len: path.len(),
            limits,
            steps: steps(path, previous.map_or(0, |cut| cut.kept), &size),
            fixed: prefix.map_or(0, |entry| size(entry)) + goal,
            older: previous_summary.map_or(0, |older| tokens(shown(older).len())),
            newer: tokens(shown(&frame).len()) + limits.summary,
            request: tokens(instruction(previous_summary).len()) + limits.summary,
        }
    }

    /// The cut that keeps as much as is asked for; else the nearest one that comes out well.
    fn best_cut(&self) -> Option<Place> {
        let last = self.steps.len().checked_sub(1)?;
        let within = |step: &usize| self.tokens(*step, self.steps.len()) <= self.limits.keep_recent;
        let wanted = (0..=last).find(within).unwrap_or(last);
        (wanted..=self.steps.len()).chain((0..wanted).rev()).find_map(|step| self.cut(step))
    }

    /// A cut before this step, if it is legal, makes the history smaller and small enough, and can be asked for.
    fn cut(&self, step: usize) -> Option<Place> {
        let Limits { window, reserve, .. } = *self.limits;
        let kept = self.legal(step)?;
        let after = self.after(step);
        if after >= self.before() || needed(after, window, reserve) {
            return None;
        }
        let fits = |to: &usize| self.fixed + self.older + self.tokens(0, *to) + self.request <= window;
        let asked = (step..=self.steps.len()).rev().find(fits)?;
        let asked_over = self.steps.get(asked).map_or(self.path_len, |step| step.from);
        Some(Place { step, kept, asked_over })
    }

    /// The first entry that stays where the cut is before this step; `None` where it may not be there.
    fn legal(&self, step: usize) -> Option<usize> {
        let answered = self.steps.iter().rposition(|step| matches!(step.kind, StepKind::Turn { .. }));
        if step > answered.map_or(0, |turn| turn + 1) {
            return None;
        }
        match (self.steps.get(step), self.steps.last()?.kind) {
            (Some(step), _) => Some(step.from),
            // Nothing stays: what follows begins with a result whose turn is gone, and which therefore is not shown.
            (None, StepKind::Turn { last_result }) => last_result,
            (None, _) => None,
        }
    }

    fn tokens(&self, from: usize, to: usize) -> u64 {
        self.steps[from..to].iter().map(|step| step.tokens).sum()
    }

    fn before(&self) -> u64 {
        self.fixed + self.older + self.tokens(0, self.steps.len())
    }

    fn after(&self, step: usize) -> u64 {
        self.fixed + self.newer + self.tokens(step, self.steps.len())
    }
}

#[cfg(test)]
mod tests;
