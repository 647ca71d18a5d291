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

/// The projection of a path that grows: each entry is looked at once. It grows only at its end, but for a
/// compaction, with which it begins anew. A branch makes another path, and so another projector.
#[derive(Debug, Clone, Default)]
pub struct Projector {
    prefix: Option<Prefix>,
    settled: Vec<Item>,
    /// The last turn, while a call of it has no result.
    open: Option<OpenTurn>,
    /// Where the history would begin if it began with an entry: a place among the settled items, counted as if the
    /// open turn had its results. Oldest first; what was compacted away is not in it.
    places: Vec<(EntryId, usize)>,
    /// What the run was asked for.
    goal: Option<String>,
    /// The message that no compaction summarises away.
    assignment: Option<(EntryId, String)>,
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
        path.iter().for_each(|entry| projector.push(entry));
        projector
    }

    /// Goes on with the path's next entry. After a compaction the settled items are others than before.
    pub fn push(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Compaction(compacted) => self.compact(compacted),
            Body::Turn(_) => drop(self.close()),
            _ => {}
        }
        let after_results = self.open.as_ref().map_or(0, |open| 1 + open.after.len());
        self.places.push((entry.id, self.settled.len() + after_results));
        match &entry.body {
            Body::Run(ground) => self.goal = Some(ground.goal.clone()),
            Body::Prefix(prefix) => self.prefix = Some(prefix.clone()),
            Body::Message { cause, text } => {
                if *cause == Cause::Assignment && self.assignment.is_none() {
                    self.assignment = Some((entry.id, text.clone()));
                }
                self.say(Item::User { text: text.clone() });
            }
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

    /// Begins anew: the goal, the summary, and what is kept. A compaction that keeps from an entry which is not in the
    /// present history is void: to show too much is better than to lose what was said.
    fn compact(&mut self, compacted: &Compacted) {
        let Some(first) = self.places.iter().rposition(|(id, _)| *id == compacted.kept_from) else { return };
        let from = self.places[first].1;
        self.places.drain(..first);
        let kept = match &mut self.open {
            // It begins among the open turn's results: these are then no history, but what was said among them is.
            Some(open) if from > self.settled.len() => {
                let said = open.after.split_off(from - self.settled.len() - 1);
                self.open = None;
                said
            }
            _ => self.settled.split_off(from),
        };
        self.settled.clear();
        self.settled.extend(self.goal_item());
        self.settled.push(Item::User { text: summary::shown(compacted) });
        let front = self.settled.len();
        self.settled.extend(kept);
        self.places.iter_mut().for_each(|(_, place)| *place = *place - from + front);
    }

    /// The item that says the goal: the assignment word for word, or, on a lane that has none, what the run was asked
    /// for. `None` where the assignment is in what is kept.
    fn goal_item(&self) -> Option<Item> {
        let text = match &self.assignment {
            Some((id, _)) if self.places.iter().any(|(kept, _)| kept == id) => return None,
            Some((_, text)) => text.clone(),
            None => format!("The goal of the run:\n\n{}", self.goal.as_ref()?),
        };
        Some(Item::User { text })
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

/// A compaction on a path.
#[derive(Clone, Copy)]
pub(crate) struct Cut<'a> {
    pub(crate) compacted: &'a Compacted,
    /// Where on the path the verbatim part begins.
    pub(crate) kept: usize,
}

/// The path's last compaction that is not void.
pub(crate) fn last_compaction<'a>(path: &[&'a Entry]) -> Option<Cut<'a>> {
    let mut last: Option<Cut<'a>> = None;
    for (at, entry) in path.iter().enumerate() {
        let Body::Compaction(compacted) = &entry.body else { continue };
        let shown = last.map_or(0, |cut| cut.kept);
        if let Some(kept) = path[shown..at].iter().rposition(|entry| entry.id == compacted.kept_from) {
            last = Some(Cut { compacted, kept: shown + kept });
        }
    }
    last
}

/// Where on a path the assignment is: the message that no compaction summarises away.
pub(crate) fn assignment(path: &[&Entry]) -> Option<usize> {
    path.iter().position(|entry| matches!(entry.body, Body::Message { cause: Cause::Assignment, .. }))
}

#[cfg(test)]
pub(crate) mod tests;
