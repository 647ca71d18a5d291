//! When to summarise a lane's older history, and where to cut it.

use countersign_protocol::{Entry, EntryId, entry::Compacted};

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
    /// The summary is asked for at the end of the history of `path[..asked_over]`: the whole path, unless the
    /// request would not fit the window. Never less than what is cut away.
    pub asked_over: usize,
    /// How many history entries are summarised away.
    pub summarised: usize,
    /// Files read so far, taken from results.
    pub files_read: Vec<String>,
    /// Files written so far, taken from results.
    pub files_written: Vec<String>,
    /// The size of the history before it, with the prefix.
    pub tokens_before: u64,
    /// The most that it is after it.
    pub tokens_after: u64,
}

/// Whether so much of the window is used that the history is to be compacted.
#[must_use]
pub const fn needed(used: u64, window: u64, reserve: u64) -> bool {
    used > window.saturating_sub(reserve)
}

/// Plans a compaction of the path; `None` where none would bring it under `window - reserve`.
pub fn plan(_path: &[&Entry], _size: impl Fn(&Entry) -> u64, _limits: &Limits) -> Option<Plan> {
    unimplemented!()
}

/// A rough size of what the model sees of an entry, in tokens.
#[must_use]
pub fn estimate(_entry: &Entry) -> u64 {
    unimplemented!()
}

/// The text that asks for the summary, at the end of the lane's own history.
#[must_use]
pub fn instruction(_previous: Option<&Compacted>) -> String {
    unimplemented!()
}

/// The path's last compaction.
#[must_use]
pub fn last<'a>(_path: &[&'a Entry]) -> Option<&'a Compacted> {
    unimplemented!()
}
