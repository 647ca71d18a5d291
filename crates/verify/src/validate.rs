//! What is wrong with a policy before it is used: each problem with its key.

use std::{fmt, path::Path};

use countersign_protocol::Policy;

/// Something that is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, as `check[0].run`; indices count from 0.
    pub key: String,
    /// What is wrong, and what to write in its place.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

/// Everything that is wrong with a policy whose relative paths are read against `dir`.
#[must_use]
pub fn validate(_policy: &Policy, _dir: &Path) -> Vec<Problem> {
    unimplemented!()
}
