//! A journal as a tree for people: one line an entry.

use countersign_protocol::Entry;

/// How to draw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOptions {
    /// The longest line, in characters.
    pub width: usize,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self { width: 120 }
    }
}

/// Draws it. Control characters are escaped, so that no text in a journal can command a terminal.
#[must_use]
pub fn render_tree(_entries: &[Entry], _options: TreeOptions) -> String {
    unimplemented!()
}
