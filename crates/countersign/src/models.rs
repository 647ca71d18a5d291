//! Models by name: what the configuration and the catalogue know of each.

use countersign_protocol::{ModelRef, Price};

use crate::settings::{Origin, Settings};

/// A model that can be named.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedModel {
    /// Its name.
    pub model: ModelRef,
    /// Tokens of prompt and answer together.
    pub context_window: u64,
    /// Tokens of one answer.
    pub max_output_tokens: u64,
    /// What it costs, where that is known.
    pub price: Option<Price>,
    /// Where it came from.
    pub origin: Origin,
    /// The variable with the key, and whether it is set; `None` where the provider needs no key.
    pub key: Option<(String, bool)>,
}

impl Settings {
    /// All models that can be named, by provider.
    #[must_use]
    pub fn list_models(&self) -> Vec<ListedModel> {
        Vec::new()
    }
}
