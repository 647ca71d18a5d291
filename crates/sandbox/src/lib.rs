//! The process boundary: spawn, contain and kill; and snapshots of the workspace.
