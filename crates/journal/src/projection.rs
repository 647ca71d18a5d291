//! What a model sees of a lane's path.

use countersign_protocol::{
    Entry, Item,
    entry::{Prefix, ToolOutcome},
};

/// What a model sees.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Projection {
    /// The front of the request: the path's last.
    pub prefix: Option<Prefix>,
    /// The history. Every call in it has exactly one result.
    pub items: Vec<Item>,
    /// The results that stand in for missing ones of the last turn. Until they (or the real ones) are journaled,
    /// they are not final: a run that goes on appends them first.
    pub dangling: Vec<ToolOutcome>,
}

/// The projection of a path that grows: each entry is looked at once. It grows only at its end; after a
/// compaction or a branch it begins anew.
#[derive(Debug, Clone, Default)]
pub struct Projector {}

impl Projector {
    /// The projection of this path so far.
    #[must_use]
    pub fn over(_path: &[&Entry]) -> Self {
        unimplemented!()
    }

    /// Goes on with the path's next entry.
    pub fn push(&mut self, _entry: &Entry) {
        unimplemented!()
    }

    /// The items that are final: whatever comes, they stay as they are.
    #[must_use]
    pub fn settled(&self) -> &[Item] {
        unimplemented!()
    }

    /// The whole projection, with results that stand in for missing ones.
    #[must_use]
    pub fn finish(self) -> Projection {
        unimplemented!()
    }
}

/// What a model sees of a lane's path.
#[must_use]
pub fn project(path: &[&Entry]) -> Projection {
    Projector::over(path).finish()
}
