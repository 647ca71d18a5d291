//! What a model sees of a lane's path.
//!
//! Of a path's entries only messages, turns and tool results are history; all others are the host's own. A call
//! has exactly one result here, whatever the journal holds: the results of a turn are one item right after it, in
//! call order, also where something else was written between them; one that is missing is stood in for; one
//! that answers no call of the last turn is left out. The journal itself is never mended.

use countersign_protocol::{
    Body, CallId, Content, Entry, EntryId, Item, ToolResult,
    entry::{Cause, Compacted, Prefix, ToolOutcome, Turn},
};

use crate::summary;

/// What a model sees.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Projection {
    /// The front of the request: the path's last.
    pub prefix: Option<Prefix>,
    /// The history. Every call in it has exactly one result.
    pub items: Vec<Item>,
    /// The results that stand in for missing ones of the last turn. Until they (or the real ones) are journaled
    /// they are not final: a run that goes on appends them first.
    pub dangling: Vec<ToolOutcome>,
}

/// What a model sees of a lane's path, as [`branch`](crate::branch) gives it.
#[must_use]
pub fn project(path: &[&Entry]) -> Projection {
    Projector::over(path).finish()
}

/// The projection of a path that grows: each entry is looked at once. It grows only at its end. After a
/// compaction or a branch the path is another one, and its projection begins anew with [`over`](Self::over).
#[derive(Debug, Clone, Default)]
pub struct Projector {
    prefix: Option<Prefix>,
    settled: Vec<Item>,
    /// The last turn, while a call of it has no result.
    open: Option<OpenTurn>,
}

/// A turn that waits for results.
#[derive(Debug, Clone)]
struct OpenTurn {
    calls: Vec<OpenCall>,
    executable: bool,
    /// What was said since the turn. It follows the results.
    after: Vec<Item>,
}

#[derive(Debug, Clone)]
struct OpenCall {
    id: CallId,
    name: String,
    /// Whether it was about to run.
    intent: bool,
    result: Option<ToolResult>,
}

impl Projector {
    /// The projection of this path so far.
    #[must_use]
    pub fn over(path: &[&Entry]) -> Self {
        let mut projector = Self::default();
        let Some(compaction) = last_compaction(path) else {
            path.iter().for_each(|entry| projector.push(entry));
            return projector;
        };
        let (older, kept) = path.split_at(compaction.kept);
        projector.prefix = older.iter().rev().find_map(|entry| prefix(entry)).cloned();
        projector.settled.extend(goal(path, compaction.kept));
        projector.settled.push(Item::User { text: summary::shown(compaction.compacted) });
        kept.iter().for_each(|entry| projector.push(entry));
        projector
    }

    /// Goes on with the path's next entry.
    pub fn push(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Prefix(prefix) => self.prefix = Some(prefix.clone()),
            Body::Message { text, .. } => self.say(Item::User { text: text.clone() }),
            Body::Turn(turn) => self.turn(turn),
            Body::ToolCall { call, .. } => self.intent(call),
            Body::ToolResult(outcome) => self.result(outcome),
            _ => {}
        }
    }

    /// The items that are final: whatever comes, they stay as they are.
    #[must_use]
    pub fn settled(&self) -> &[Item] {
        &self.settled
    }

    /// The whole projection, with results that stand in for missing ones.
    #[must_use]
    pub fn finish(mut self) -> Projection {
        let dangling = self.close();
        Projection { prefix: self.prefix, items: self.settled, dangling }
    }

    fn say(&mut self, item: Item) {
        match &mut self.open {
            Some(open) => open.after.push(item),
            None => self.settled.push(item),
        }
    }

    fn turn(&mut self, turn: &Turn) {
        self.close();
        self.settled.push(Item::Assistant { message: turn.message.clone() });
        let calls: Vec<OpenCall> = turn
            .message
            .calls()
            .map(|call| OpenCall {
                id: call.id.clone(),
                name: call.name.clone(),
                intent: false,
                result: None,
            })
            .collect();
        if !calls.is_empty() {
            self.open = Some(OpenTurn { calls, executable: turn.executable, after: Vec::new() });
        }
    }

    fn intent(&mut self, call: &CallId) {
        if let Some(call) = self.waiting(call) {
            call.intent = true;
        }
    }

    fn result(&mut self, outcome: &ToolOutcome) {
        let Some(call) = self.waiting(&outcome.call) else { return };
        call.result = Some(shown(outcome));
        if self.open.as_ref().is_some_and(|open| open.calls.iter().all(|call| call.result.is_some())) {
            self.close();
        }
    }

    /// The first call of the open turn with this id that has no result yet.
    fn waiting(&mut self, id: &CallId) -> Option<&mut OpenCall> {
        let open = self.open.as_mut()?;
        open.calls.iter_mut().find(|call| call.id == *id && call.result.is_none())
    }

    /// Ends the open turn; gives the results that had to be stood in for.
    fn close(&mut self) -> Vec<ToolOutcome> {
        let Some(open) = self.open.take() else { return Vec::new() };
        let mut missing = Vec::new();
        let mut results = Vec::with_capacity(open.calls.len());
        for mut call in open.calls {
            results.push(call.result.take().unwrap_or_else(|| {
                let stand_in = stand_in(call, open.executable);
                let result = shown(&stand_in);
                missing.push(stand_in);
                result
            }));
        }
        self.settled.push(Item::ToolResults { results });
        self.settled.extend(open.after);
        missing
    }
}

fn shown(outcome: &ToolOutcome) -> ToolResult {
    ToolResult {
        call: outcome.call.clone(),
        name: outcome.name.clone(),
        content: outcome.content.clone(),
        is_error: outcome.is_error,
    }
}

/// What stands in for a result that was never journaled.
fn stand_in(call: OpenCall, executable: bool) -> ToolOutcome {
    let text = if call.intent {
        "interrupted, effect unknown: look before you repeat. The host stopped while this call was running"
    } else if executable {
        "not run: the host stopped before this call began"
    } else {
        "not run: the message was cut. Send the call again, whole and smaller"
    };
    ToolOutcome {
        call: call.id,
        name: call.name,
        content: vec![Content::Text { text: text.into() }],
        is_error: true,
        exit: None,
        files: Vec::new(),
    }
}

fn prefix(entry: &Entry) -> Option<&Prefix> {
    match &entry.body {
        Body::Prefix(prefix) => Some(prefix),
        _ => None,
    }
}

/// A compaction on a path.
#[derive(Clone, Copy)]
pub(crate) struct Cut<'a> {
    pub(crate) compacted: &'a Compacted,
    /// Where on the path the verbatim part begins.
    pub(crate) kept: usize,
}

/// The path's last compaction. One whose `kept_from` is not before it on the path is void: to show too much is
/// better than to lose what was said.
pub(crate) fn last_compaction<'a>(path: &[&'a Entry]) -> Option<Cut<'a>> {
    let compactions = path.iter().enumerate().rev().filter_map(|(at, entry)| match &entry.body {
        Body::Compaction(compacted) => Some((at, compacted)),
        _ => None,
    });
    let place = |before: &[&Entry], id: EntryId| before.iter().rposition(|entry| entry.id == id);
    compactions
        .filter_map(|(at, compacted)| Some(Cut { compacted, kept: place(&path[..at], compacted.kept_from)? }))
        .next()
}

/// Where on a path the assignment is: the message that no compaction summarises away.
pub(crate) fn assignment(path: &[&Entry]) -> Option<usize> {
    path.iter().position(|entry| matches!(entry.body, Body::Message { cause: Cause::Assignment, .. }))
}

/// The item that says the goal: the assignment word for word, or, on a lane that has none, what the run was
/// asked for. `None` where the assignment is in the verbatim part.
fn goal(path: &[&Entry], kept: usize) -> Option<Item> {
    let text = match (assignment(path).map(|at| (at, &path[at].body)), path.first().map(|entry| &entry.body))
    {
        (Some((at, _)), _) if at >= kept => return None,
        (Some((_, Body::Message { text, .. })), _) => text.clone(),
        (_, Some(Body::Run(ground))) => format!("The goal of the run:\n\n{}", ground.goal),
        _ => return None,
    };
    Some(Item::User { text })
}

#[cfg(test)]
pub(crate) mod tests;
