//! What snapshots speak of: files of a tree, changes between trees, added lines.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The name of a file's content in the object store: a git blob id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectId(pub(crate) String);

impl ObjectId {
    /// The lower-case hexadecimal text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// What kind of file it is. Trees made here hold no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A file.
    File,
    /// A file that its owner may execute.
    Executable,
    /// A symbolic link; its content is its target.
    Link,
}

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeEntry {
    /// Its path from the tree's root, with `/` between the parts.
    pub path: String,
    /// What kind of file it is.
    pub mode: Mode,
    /// Its content.
    pub object: ObjectId,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its content changed (and maybe whether it can be executed).
    Modified,
    /// Only whether it can be executed changed; or a file became a link, or a link a file.
    ModeChanged,
}

/// A file that differs between two trees. A moved file is one removed and one added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its path from the tree's root.
    pub path: String,
    /// What became of it.
    pub kind: ChangeKind,
    /// What kind of file it was; `None` where it is new.
    pub old_mode: Option<Mode>,
    /// What kind of file it is; `None` where it is gone.
    pub new_mode: Option<Mode>,
    /// Its content before.
    pub old_object: Option<ObjectId>,
    /// Its content after.
    pub new_object: Option<ObjectId>,
}

/// A unified diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patch {
    /// The text. Files with binary content are named as such. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Whether it was cut (after a whole line) because it was too long.
    pub truncated: bool,
}

/// A line that a change added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedLine {
    /// The file's path from the tree's root.
    pub path: String,
    /// The line's number in the new file, from 1.
    pub line: u64,
    /// The line without its end. Bytes that are not UTF-8 are replaced.
    pub text: String,
}
