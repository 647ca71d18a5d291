//! Tool calls out of fragments, whatever the server does with index and id.

use super::super::draft::{ArgumentText, DraftCall, Part};
use super::super::json::Object;

/// The calls of a message, in the order in which they began.
#[derive(Default)]
pub(super) struct Calls(Vec<Call>);

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: ArgumentText,
    /// What Google's imitation sends beside the call, with its signature.
    extra: Option<String>,
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes a call of a whole message.
    pub(super) fn whole(&mut self, entry: &Object<'_>) {
        self.0.push(Call::default());
        self.extend_last(entry);
    }

    /// Takes a fragment of a streamed call.
    pub(super) fn delta(&mut self, entry: &Object<'_>) {
        match self.position(entry) {
            Some(at) => self.0[at].extend(entry),
            None => {
                self.0.push(Call { index: entry.count("index"), ..Call::default() });
                self.extend_last(entry);
            }
        }
    }

    fn extend_last(&mut self, entry: &Object<'_>) {
        if let Some(call) = self.0.last_mut() {
            call.extend(entry);
        }
    }

    /// The call that a fragment goes on with; `None` where it begins one.
    ///
    /// An index is a key and no position. It may be missing, which is not zero, and it may be the same for all
    /// calls: then a new id begins a new call, and without ids a new name after whole arguments does.
    fn position(&self, entry: &Object<'_>) -> Option<usize> {
        let (index, id) = (entry.count("index"), entry.word("id"));
        let at = match (index, &id) {
            (Some(_), _) => self.0.iter().rposition(|call| call.index == index),
            (None, Some(_)) => self.0.iter().rposition(|call| call.id == id),
            (None, None) => self.0.len().checked_sub(1),
        }?;
        let call = &self.0[at];
        let begins = match &id {
            Some(id) => call.id.as_ref().is_some_and(|known| known != id),
            None => begins_call(entry) && call.arguments.is_whole(),
        };
        (!begins).then_some(at)
    }

    /// The calls as parts of the message, and how many carry a signature.
    pub(super) fn finish(self) -> (impl Iterator<Item = Part>, u64) {
        let signed = self.0.iter().filter(|call| call.extra.is_some()).count() as u64;
        let parts = self.0.into_iter().map(|call| {
            let replay = call.extra.map(|extra| format!(r#"{{"extra_content":{extra}}}"#));
            Part::Call(DraftCall { id: call.id, name: call.name, arguments: call.arguments.finish(), replay })
        });
        (parts, signed)
    }
}

impl Call {
    fn extend(&mut self, entry: &Object<'_>) {
        self.id = self.id.take().or_else(|| entry.word("id"));
        if let Some(extra) =
            entry.value("extra_content").filter(|extra| extra.get().contains("thought_signature"))
        {
            self.extra = Some(extra.get().to_owned());
        }
        let function = entry.object("function").unwrap_or_default();
        // A name comes once, in pieces, or again with every fragment.
        if let Some(name) = function.word("name").filter(|name| *name != self.name) {
            self.name.push_str(&name);
        }
        if let Some(piece) = function.any("arguments") {
            self.arguments.push(piece);
        }
    }
}

/// Whether a fragment without an id looks like a call of its own.
fn begins_call(entry: &Object<'_>) -> bool {
    let function = entry.object("function").unwrap_or_default();
    function.word("name").is_some() && function.value("arguments").is_some_and(|piece| piece.get() != "\"\"")
}
