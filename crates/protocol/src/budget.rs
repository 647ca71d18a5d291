//! What a run may use, and what it has used.

use serde::{Deserialize, Serialize};

use crate::{Money, Span, Usage};

/// What a run may use in all, by all actors. A call whose worst case does not fit is not made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// US dollars, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money: Option<Money>,
    /// Tokens, in and out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Model calls that were answered.
    pub turns: u64,
    /// Time from the start, verification included, pauses between sessions of a resumed run not.
    pub wall: Span,
    /// The share of money, tokens and turns that is held back so that the last claim can be judged (0 to 1).
    pub verification_share: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { money: None, tokens: None, turns: 100, wall: Span::from_secs(3600), verification_share: 0.2 }
    }
}

/// What has been used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// What the providers bill.
    pub money: Money,
    /// The tokens.
    pub usage: Usage,
    /// Model calls that were answered.
    pub turns: u64,
}
