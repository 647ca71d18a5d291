//! What a claim must survive: the contents of `policies/*.toml`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Span;

/// A policy. Every key of the file is a field here; an unknown key is an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The name by which tasks ask for it.
    pub name: String,
    /// One line for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Globs of paths that stay as they are in the base tree, whatever the worker does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// What a changed or removed protected path does.
    #[serde(default)]
    pub protected_change: ProtectedChange,
    /// Globs of the only paths that may change; without any, all may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scope: Vec<String>,
    /// After this many refutations the run ends as refused.
    #[serde(default = "default_max_refutations")]
    pub max_refutations: u32,
    /// The checks, in the order in which they run.
    #[serde(default, rename = "check", skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckSpec>,
    /// The verifier agent that looks for a refutation after the checks; without it, the checks alone decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeSpec>,
    /// A last condition over the checks' results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<AcceptSpec>,
}

const fn default_max_refutations() -> u32 {
    5
}

/// What a changed or removed protected path does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProtectedChange {
    /// It refutes the claim.
    #[default]
    Refute,
    /// It is reported; the checks judge with the path put back.
    Restore,
}

/// One check: exactly one of `run`, `forbid_added` and `plugin` says what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSpec {
    /// Its name, unique in the policy.
    pub name: String,
    /// A shell command that must succeed in the copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// How the command reports its tests: `cargo-test`, `pytest`, `unittest`, `go-test`, `node-test`,
    /// `junit:PATH`, `tap` or `none`.
    #[serde(default)]
    pub report: ReportKind,
    /// The longest that one run may take.
    #[serde(default = "default_timeout")]
    pub timeout: Span,
    /// How many runs must fail before a failure counts.
    #[serde(default = "default_confirm")]
    pub confirm: u32,
    /// Whether the command may use the network. Stated for the sandbox to come: nothing enforces it yet.
    #[serde(default)]
    pub network: bool,
    /// A folder beside the policy's file, copied over the workspace for this check only; the worker never sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<PathBuf>,
    /// Whether the worker's added tests must fail on the base tree.
    #[serde(default)]
    pub counterfactual: bool,
    /// Regular expressions that no added line may match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forbid_added: Option<Vec<String>>,
    /// A program and its arguments: JSON on its stdin, a JSON verdict on its stdout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Vec<String>>,
    /// Globs of the paths that this check looks at; without any, all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

const fn default_timeout() -> Span {
    Span::from_secs(600)
}

const fn default_confirm() -> u32 {
    2
}

/// How a command reports its tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ReportKind {
    /// `cargo test`, as text.
    CargoTest,
    /// pytest.
    Pytest,
    /// Python's unittest, verbose.
    Unittest,
    /// `go test`, as JSON or verbose text.
    GoTest,
    /// `node --test`.
    NodeTest,
    /// A JUnit XML file that the command writes, relative to the workspace.
    Junit(PathBuf),
    /// The Test Anything Protocol on stdout.
    Tap,
    /// The exit status alone.
    #[default]
    None,
}

/// A text that names no way to report tests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no kind of report: write cargo-test, pytest, unittest, go-test, node-test, junit:PATH, tap or none"
)]
pub struct InvalidReportKind(pub String);

impl TryFrom<String> for ReportKind {
    type Error = InvalidReportKind;

    fn try_from(text: String) -> Result<Self, InvalidReportKind> {
        Ok(match text.as_str() {
            "cargo-test" => Self::CargoTest,
            "pytest" => Self::Pytest,
            "unittest" => Self::Unittest,
            "go-test" => Self::GoTest,
            "node-test" => Self::NodeTest,
            "tap" => Self::Tap,
            "none" => Self::None,
            _ => match text.strip_prefix("junit:") {
                Some(path) if !path.is_empty() => Self::Junit(path.into()),
                _ => return Err(InvalidReportKind(text)),
            },
        })
    }
}

impl From<ReportKind> for String {
    fn from(kind: ReportKind) -> String {
        match kind {
            ReportKind::CargoTest => "cargo-test".into(),
            ReportKind::Pytest => "pytest".into(),
            ReportKind::Unittest => "unittest".into(),
            ReportKind::GoTest => "go-test".into(),
            ReportKind::NodeTest => "node-test".into(),
            ReportKind::Junit(path) => format!("junit:{}", path.display()),
            ReportKind::Tap => "tap".into(),
            ReportKind::None => "none".into(),
        }
    }
}

/// The verifier agent of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgeSpec {
    /// The role; a task may choose another.
    pub role: String,
    /// What an objection without evidence does.
    #[serde(default)]
    pub objections: Objections,
}

/// What an objection without evidence does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objections {
    /// It is noted in the certificate.
    #[default]
    Note,
    /// It refutes.
    Refute,
}

/// A last condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptSpec {
    /// A CEL expression over `checks`, `baseline` and `diff`. A missing fact is inconclusive.
    pub when: String,
}
