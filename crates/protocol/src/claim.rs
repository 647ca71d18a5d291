//! Claims, what refutes them, and the votes on them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BlobId, ClaimId, Lane, Span, TreeId};

/// The worker's statement that the task is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its number in the run.
    pub claim: ClaimId,
    /// What the worker says it did.
    pub summary: String,
    /// What the worker offers as evidence.
    pub evidence: Vec<Statement>,
    /// True where the worker did not call `done` but sent a message without a tool call.
    pub implicit: bool,
}

/// One thing that the worker says holds, and how to see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What holds.
    pub statement: String,
    /// The command that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// A signal killed it. Never a success.
    Signal(i32),
    /// The host ended it, because its time was over.
    Timeout,
    /// The host ended it, because the call or the run was stopped.
    Cancelled,
}

impl Exit {
    /// Whether it exited with code 0.
    #[must_use]
    pub const fn success(self) -> bool {
        matches!(self, Self::Code(0))
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Timeout => f.write_str("timed out"),
            Self::Cancelled => f.write_str("cancelled"),
        }
    }
}

/// The record of a tool run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The command as a person would type it.
    pub command: String,
    /// How it ended.
    pub exit: Exit,
    /// How long it took by the host's clock.
    pub took: Span,
    /// The whole output, by its hash; its bytes lie in the run's blobs.
    pub output: BlobId,
    /// The end of the output, for a person or a model to read.
    pub tail: String,
}

/// What became of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestState {
    /// It ran and held.
    Passed,
    /// It ran and did not hold, or could not be run.
    Failed,
    /// It was left out, or marked as expected to fail.
    Skipped,
}

/// How many tests came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// Ran and held.
    pub passed: u64,
    /// Ran and did not hold.
    pub failed: u64,
    /// Left out.
    pub skipped: u64,
}

impl TestCounts {
    /// All that were seen.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.passed + self.failed + self.skipped
    }
}

/// What a test runner reported: by name where it names its tests, always by count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// The counts.
    pub counts: TestCounts,
    /// The tests by full name. A name seen twice gets a number, so that none hides another.
    pub by_name: BTreeMap<String, TestState>,
}

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// It tried to refute the claim and could not.
    Passed,
    /// It refuted the claim.
    Failed,
    /// It could not judge: a missing command, a report that can't be read, a crash. Never an acceptance.
    Inconclusive,
}

/// What a check came to, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckReport {
    /// The check's name in the policy.
    pub check: String,
    /// What it came to.
    pub status: CheckStatus,
    /// One line for a person.
    pub summary: String,
    /// What refutes, each with a way to see it. The worker is told these, so no held-out content is in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The tool runs that it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    /// What the test runner reported, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
}

impl CheckReport {
    /// Whether it tried to refute the claim and could not.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.status == CheckStatus::Passed
    }
}

/// Something that was found: a statement, and a command or a place that shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What is wrong.
    pub statement: String,
    /// A command that fails because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The file where it is, relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line where it is, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// The verifier's answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// No attempt to refute it succeeded.
    Accepted {
        /// Why, in a sentence or two.
        summary: String,
        /// Objections that were noted and did not count.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        objections: Vec<Finding>,
    },
    /// It was refuted.
    Refuted {
        /// What failed, in a sentence or two.
        summary: String,
        /// What refutes it.
        findings: Vec<Finding>,
    },
    /// It could not be judged, which is never the worker's fault and never an acceptance.
    Inconclusive {
        /// Why.
        reason: String,
        /// What a person must mend.
        needs: String,
    },
}

/// An actor's agreement to end, bound to one claim and one snapshot; or its refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vote {
    /// Whose vote it is.
    pub actor: Lane,
    /// The claim.
    pub claim: ClaimId,
    /// The snapshot.
    pub tree: TreeId,
    /// Whether it agrees.
    pub agree: bool,
    /// Why.
    pub reason: String,
}
