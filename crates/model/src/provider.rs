//! A provider as configuration describes it: where it is, how it is spoken to, and its models.

use std::time::Duration;

use countersign_protocol::{Api, ModelRef, Price, PriceTier, Rates, Span};
use serde::{Deserialize, Serialize};

use crate::ModelSpec;

/// A server of models. Each key of the configuration is a field here; an unknown key is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Its name: the part of a model's name before the slash. In files it is the table's own name.
    #[serde(default)]
    pub name: String,
    /// How it is spoken to.
    pub api: Api,
    /// Where it is, with or without the API's own version part (`/v1`) for Anthropic, with it for all others.
    pub base_url: String,
    /// The name of the variable that holds the key, never the key. Without it no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Its models, as far as they are listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ProviderModel>,
    /// How often a failed request is sent again, at most. Without it: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// How long the server may stay silent, before the answer or within it. Without it: ten minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Span>,
    /// How a chat request names the limit of the answer. Without it: by the server's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<MaxTokensField>,
    /// Whether reasoning that the server sent goes back to it. Without it: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay_reasoning: Option<bool>,
    /// Whether a chat request asks for usage at the end of its stream. Without it: true. Mistral refuses to be asked,
    /// and sends it anyway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_usage: Option<bool>,
    /// Whether a message of the assistant must stand between the results of tools and the user's next message. Without
    /// it: false. Mistral, and its models on other servers, refuse a request without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assistant_after_tools: Option<bool>,
}

/// How a chat request names the limit of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`: almost everywhere.
    MaxTokens,
    /// `max_completion_tokens`: OpenAI's own newer models take no other.
    MaxCompletionTokens,
}

impl MaxTokensField {
    /// The name in a request.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderModel {
    /// The provider's own id of the model.
    pub id: String,
    /// How much prompt and answer may hold together, in tokens.
    pub context_window: u64,
    /// The most that one answer may hold, in tokens.
    pub max_output_tokens: u64,
    /// What a million tokens cost; without it the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Rates>,
    /// Other rates for large prompts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

impl Provider {
    /// A provider with nothing but what every one has.
    #[must_use]
    pub fn new(name: impl Into<String>, api: Api, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            api,
            base_url: base_url.into(),
            api_key_env: None,
            models: Vec::new(),
            max_retries: None,
            idle_timeout: None,
            max_tokens_field: None,
            replay_reasoning: None,
            stream_usage: None,
            assistant_after_tools: None,
        }
    }

    /// A listed model, ready to be connected.
    #[must_use]
    pub fn spec(&self, id: &str) -> Option<ModelSpec> {
        let model = self.models.iter().find(|model| model.id == id)?;
        Some(ModelSpec {
            model: ModelRef { provider: self.name.clone(), model: model.id.clone() },
            api: self.api,
            context_window: model.context_window,
            max_output_tokens: model.max_output_tokens,
            price: model.price(),
        })
    }

    pub(crate) fn max_retries(&self) -> u32 {
        self.max_retries.unwrap_or(3)
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        self.idle_timeout.map_or(Duration::from_secs(600), Span::get)
    }
}

impl ProviderModel {
    /// What the model costs; `None` where it is not known.
    #[must_use]
    pub fn price(&self) -> Option<Price> {
        self.price.map(|rates| Price { rates, tiers: self.tiers.clone() })
    }
}
