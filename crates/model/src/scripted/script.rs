//! The file of a script: what it may say, and which of its steps answer a turn.

use std::{ops::Range, path::Path};

use countersign_protocol::{Arguments, Rates, Span, StopClass};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ScriptError;
use crate::decode::{ApiError, error_body};

/// A script as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    #[serde(default = "default_context_window")]
    pub(super) context_window: u64,
    #[serde(default = "default_max_output_tokens")]
    pub(super) max_output_tokens: u64,
    pub(super) price: Option<Rates>,
    #[serde(default)]
    after: After,
    pub(super) summary: Option<String>,
    #[serde(default, rename = "step")]
    steps: Vec<Step>,
    /// The steps of each turn: errors that are answered by trying again, then what ends the turn.
    #[serde(skip)]
    turns: Vec<Range<usize>>,
}

/// What happens when the steps are over.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum After {
    #[default]
    RepeatLast,
    StartOver,
    Fail,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) text: Option<String>,
    #[serde(default, rename = "call")]
    pub(super) calls: Vec<Call>,
    pub(super) stop: Option<ScriptedStop>,
    pub(super) error: Option<ScriptedError>,
    pub(super) delay: Option<Span>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) name: String,
    arguments: Option<Map<String, Value>>,
    raw: Option<String>,
}

/// A reason to stop, in the words of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ScriptedStop {
    End,
    ToolUse,
    Length,
    Refusal,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedError {
    pub(super) status: u16,
    message: String,
}

const fn default_context_window() -> u64 {
    128_000
}

const fn default_max_output_tokens() -> u64 {
    4_096
}

impl Script {
    pub(super) fn read(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScriptError::Read { path: path.to_owned(), error })?;
        let invalid = |message: String, span| ScriptError::Invalid {
            path: path.to_owned(),
            message,
            span,
            text: text.clone(),
        };
        let mut script: Self =
            toml::from_str(&text).map_err(|error| invalid(error.message().to_owned(), error.span()))?;
        script.check().map_err(|message| invalid(message, None))?;
        script.turns = turns(&script.steps);
        Ok(script)
    }

    fn check(&self) -> Result<(), String> {
        if self.steps.is_empty() {
            return Err("a script needs at least one [[step]]".into());
        }
        if self.max_output_tokens == 0 || self.max_output_tokens > self.context_window {
            return Err("`max_output_tokens` must be at least 1 and at most `context_window`".into());
        }
        for (number, step) in (1..).zip(&self.steps) {
            step.check().map_err(|problem| format!("step {number} {problem}"))?;
        }
        Ok(())
    }

    /// The steps that answer a lane's turn, counted from 1. The turn alone decides, so that a resumed run goes on
    /// where it stopped.
    pub(super) fn turn(&self, turn: u64) -> Result<&[Step], String> {
        let index = usize::try_from(turn.saturating_sub(1)).unwrap_or(usize::MAX);
        let count = self.turns.len();
        let index = match self.after {
            _ if index < count => index,
            After::RepeatLast => count - 1,
            After::StartOver => index % count,
            After::Fail => {
                let message =
                    format!("turn {turn} has no step: the script ends after {count} turns; add a [[step]]");
                return Err(format!("{message}, or set `after`"));
            }
        };
        Ok(&self.steps[self.turns[index].clone()])
    }
}

impl Step {
    fn check(&self) -> Result<(), &'static str> {
        let answers = self.text.is_some() || !self.calls.is_empty() || self.stop.is_some();
        match &self.error {
            Some(_) if answers => return Err("has an `error` and an answer: a step is one of the two"),
            Some(error) if !(400..600).contains(&error.status) => {
                return Err("has an `error` whose `status` is not one of failure (400 to 599)");
            }
            _ => {}
        }
        if self.calls.iter().any(|call| call.arguments.is_some() && call.raw.is_some()) {
            return Err("has a call with `arguments` and `raw`: write one of the two");
        }
        Ok(())
    }
}

impl Call {
    /// The arguments as a model writes them.
    pub(super) fn arguments(&self) -> Arguments {
        match (&self.raw, &self.arguments) {
            (Some(raw), _) => Arguments::from_text(raw.clone()),
            (None, Some(arguments)) => Arguments::from_text(Value::Object(arguments.clone()).to_string()),
            (None, None) => Arguments::from_text("{}"),
        }
    }
}

impl ScriptedStop {
    pub(super) const fn class(self) -> StopClass {
        match self {
            Self::End => StopClass::End,
            Self::ToolUse => StopClass::ToolUse,
            Self::Length => StopClass::Length,
            Self::Refusal => StopClass::Refusal,
        }
    }
}

impl ScriptedError {
    /// The error as if a provider had sent it.
    pub(super) fn read(&self) -> ApiError {
        let body = serde_json::json!({ "error": { "message": self.message } });
        error_body(super::API, self.status, &[], body.to_string().as_bytes())
    }
}

/// Ends a turn after each answer, and after each error that trying again does not mend.
fn turns(steps: &[Step]) -> Vec<Range<usize>> {
    let mut turns = Vec::new();
    let mut start = 0;
    for (index, step) in steps.iter().enumerate() {
        let tries_again = step.error.as_ref().is_some_and(|error| error.read().retryable);
        if !tries_again || index + 1 == steps.len() {
            turns.push(start..index + 1);
            start = index + 1;
        }
    }
    turns
}
