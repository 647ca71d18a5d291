//! The providers and models that are known without configuration: windows, limits, prices, each with its source.

use countersign_protocol::{Api, ModelRef, Price};

use crate::{ModelSpec, Provider};

/// A model that is known without configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueModel {
    /// Its name.
    pub model: ModelRef,
    /// How it is spoken to.
    pub api: Api,
    /// How much prompt and answer may hold together, in tokens.
    pub context_window: u64,
    /// The most that one answer may hold, in tokens.
    pub max_output_tokens: u64,
    /// What it costs; `None` where it is not known.
    pub price: Option<Price>,
    /// Where the numbers come from, and of when they are.
    pub source: &'static str,
}

/// All models, by provider and id.
#[must_use]
pub fn models() -> Vec<CatalogueModel> {
    unimplemented!()
}

/// All providers, by name, each with the models of the catalogue.
#[must_use]
pub fn providers() -> Vec<Provider> {
    unimplemented!()
}

/// A model by its name; `None` where it is not in the catalogue.
#[must_use]
pub fn spec(model: &ModelRef) -> Option<ModelSpec> {
    let _ = model;
    unimplemented!()
}
