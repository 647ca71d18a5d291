//! The three calls that are not run but steer the loop: `done`, `blocked` and `verdict`.

use countersign_protocol::{Finding, RoleKind, Statement, ToolDefinition};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::schema;

/// A call that steers the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// The worker says that the task is done.
    Done {
        /// What it did.
        summary: String,
        /// What it offers as evidence.
        evidence: Vec<Statement>,
    },
    /// The worker says that it cannot go on.
    Blocked {
        /// Why.
        reason: String,
        /// What a person must decide or mend.
        needs: String,
    },
    /// The verifier's answer.
    Verdict {
        /// Whether it found nothing that refutes the claim.
        accept: bool,
        /// Why, in a sentence or two.
        summary: String,
        /// What it found.
        findings: Vec<Finding>,
    },
}

/// Which of the three a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlKind {
    Done,
    Blocked,
    Verdict,
}

#[derive(Deserialize, JsonSchema)]
struct DoneArguments {
    summary: String,
    #[serde(default)]
    evidence: Vec<StatementArguments>,
}

#[derive(Deserialize, JsonSchema)]
struct StatementArguments {
    statement: String,
    command: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct BlockedArguments {
    reason: String,
    needs: String,
}

#[derive(Deserialize, JsonSchema)]
struct VerdictArguments {
    accept: bool,
    summary: String,
    #[serde(default)]
    findings: Vec<FindingArguments>,
}

#[derive(Deserialize, JsonSchema)]
struct FindingArguments {
    statement: String,
    command: Option<String>,
    file: Option<String>,
    #[schemars(range(min = 1))]
    line: Option<u64>,
}

impl ControlKind {
    pub(crate) const ALL: [Self; 3] = [Self::Done, Self::Blocked, Self::Verdict];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Verdict => "verdict",
        }
    }

    /// The only kind of role that may call it.
    pub(crate) const fn role(self) -> RoleKind {
        match self {
            Self::Done | Self::Blocked => RoleKind::Worker,
            Self::Verdict => RoleKind::Verifier,
        }
    }

    pub(crate) fn definition(self) -> ToolDefinition {
        let alone = "Call it alone: beside other calls it does not count.";
        match self {
            Self::Done => schema::definition::<DoneArguments>(
                self.name(),
                format!(
                    "Claim that the task is done. {alone} The claim is checked on a copy of the workspace; if it \
                     is refuted you are told why and go on. evidence: what holds, and the command that shows it."
                ),
            ),
            Self::Blocked => schema::definition::<BlockedArguments>(
                self.name(),
                format!(
                    "Say that the task cannot be done as it is (it contradicts itself, a permission or a fact is \
                     missing) and what a person must decide or mend. It ends the run. {alone}"
                ),
            ),
            Self::Verdict => schema::definition::<VerdictArguments>(
                self.name(),
                format!(
                    "Answer the claim, after you have run tools of your own. {alone} To refute (accept: false), \
                     give findings, each with a command that fails because of it (it is run again) or a file and \
                     line; one without is noted as an objection."
                ),
            ),
        }
    }

    pub(crate) const fn guideline(self) -> &'static str {
        match self {
            Self::Done => {
                "Call done only after you have seen the evidence yourself: every claim is checked, and a refuted one costs budget."
            }
            Self::Blocked => {
                "If the task cannot be done honestly, call blocked and say why: work that only looks done is refuted."
            }
            Self::Verdict => {
                "End with verdict: only its findings count, and only a command or a place lets others see what you saw."
            }
        }
    }

    /// Reads arguments that fit the schema; the error says what is needed.
    pub(crate) fn parse(self, arguments: Value) -> Result<Control, String> {
        match self {
            Self::Done => {
                let done: DoneArguments = read(arguments)?;
                let evidence = done
                    .evidence
                    .into_iter()
                    .map(|given| Statement { statement: given.statement, command: filled(given.command) });
                Ok(Control::Done {
                    summary: needed("summary", "what you did", done.summary)?,
                    evidence: evidence.collect(),
                })
            }
            Self::Blocked => {
                let blocked: BlockedArguments = read(arguments)?;
                Ok(Control::Blocked {
                    reason: needed("reason", "why the task cannot be done", blocked.reason)?,
                    needs: needed("needs", "what a person must decide or mend", blocked.needs)?,
                })
            }
            Self::Verdict => parse_verdict(read(arguments)?),
        }
    }
}

fn parse_verdict(given: VerdictArguments) -> Result<Control, String> {
    let mut findings = Vec::new();
    for (index, finding) in given.findings.into_iter().enumerate() {
        findings.push(Finding {
            statement: needed(&format!("findings[{index}].statement"), "what is wrong", finding.statement)?,
            command: filled(finding.command),
            file: filled(finding.file),
            line: finding.line,
        });
    }
    if !given.accept && findings.is_empty() {
        return Err("a refutation (accept: false) needs findings: say what is wrong, with a command that \
                    fails because of it, or with a file and line"
            .into());
    }
    let summary = needed("summary", "why you accept or refute, in a sentence or two", given.summary)?;
    Ok(Control::Verdict { accept: given.accept, summary, findings })
}

fn read<A: DeserializeOwned>(arguments: Value) -> Result<A, String> {
    serde_json::from_value(arguments).map_err(|error| error.to_string())
}

fn needed(field: &str, what: &str, text: String) -> Result<String, String> {
    if text.trim().is_empty() { Err(format!("{field} is empty: say {what}")) } else { Ok(text) }
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}
