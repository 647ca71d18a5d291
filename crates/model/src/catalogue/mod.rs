//! The providers and models that are known without configuration: windows, limits, prices, each with its source.
//!
//! The numbers are in `models.toml`, in the words of the configuration, which may name more and overrule them.

use std::{collections::BTreeMap, sync::LazyLock};

use countersign_protocol::{ModelRef, Price};
use serde::Deserialize;

use crate::{ModelSpec, Provider};

/// Providers that are servers of one's own: they cost nothing, and what models they have is not known.
const LOCAL: [&str; 4] = ["ollama", "lmstudio", "llamacpp", "vllm"];
/// The window of a model on a server of one's own that configuration does not list. Such servers are often started with
/// less than the model could hold.
const LOCAL_CONTEXT_WINDOW: u64 = 32_768;
/// The answer's limit for such a model.
const LOCAL_MAX_OUTPUT_TOKENS: u64 = 8_192;

/// A model that is known without configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueModel {
    /// The model, its limits and its price.
    pub spec: ModelSpec,
    /// The page that states the numbers.
    pub source: &'static str,
    /// The day on which they were read, as `2026-12-01`.
    pub date: &'static str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shipped {
    date: String,
    sources: BTreeMap<String, String>,
    providers: Vec<Provider>,
}

static SHIPPED: LazyLock<Shipped> =
    LazyLock::new(|| toml::from_str(include_str!("models.toml")).expect("a test reads the same text"));

/// All providers, each with its models.
#[must_use]
pub fn providers() -> &'static [Provider] {
    &SHIPPED.providers
}

/// A provider by its name.
#[must_use]
pub fn provider(name: &str) -> Option<&'static Provider> {
    providers().iter().find(|provider| provider.name == name)
}

/// All models, provider by provider.
pub fn models() -> impl Iterator<Item = CatalogueModel> {
    providers().iter().flat_map(|provider| {
        let source = SHIPPED.sources.get(&provider.name).map_or("", String::as_str);
        let specs = provider.models.iter().filter_map(|model| provider.spec(&model.id));
        specs.map(move |spec| CatalogueModel { spec, source, date: &SHIPPED.date })
    })
}

/// A model by its name. Any model of a server of one's own is known, with careful limits and at no cost.
#[must_use]
pub fn spec(model: &ModelRef) -> Option<ModelSpec> {
    let provider = provider(&model.provider)?;
    let local = || ModelSpec {
        model: model.clone(),
        api: provider.api,
        context_window: LOCAL_CONTEXT_WINDOW,
        max_output_tokens: LOCAL_MAX_OUTPUT_TOKENS,
        price: Some(Price::FREE),
    };
    provider.spec(&model.model).or_else(|| is_local(&model.provider).then(local))
}

/// Whether this shipped provider is a server of one's own, whose models cost nothing.
#[must_use]
pub fn is_local(provider: &str) -> bool {
    LOCAL.contains(&provider)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use countersign_protocol::{Money, Usage};

    use super::*;

    #[test]
    fn every_model_has_limits_a_price_and_a_source() {
        let mut names = BTreeSet::new();
        for CatalogueModel { spec, source, date } in models() {
            let name = spec.model.to_string();
            assert!(spec.max_output_tokens > 0 && spec.max_output_tokens <= spec.context_window, "{name}");
            assert!(spec.context_window >= 32_000, "{name}");
            let rates = spec.price.as_ref().unwrap().rates;
            assert!(rates.input > Money::ZERO && rates.output >= rates.input, "{name}");
            assert!(rates.cache_read.is_none_or(|read| read <= rates.input), "{name}");
            assert!(rates.cache_write.is_none_or(|write| write >= rates.input), "{name}");
            assert!(source.starts_with("https://") && date.len() == 10, "{name}");
            assert!(names.insert(name.clone()), "{name} is there twice");
        }
        assert!(names.len() > 60, "{}", names.len());
    }

    #[test]
    fn a_larger_tier_is_never_cheaper() {
        for CatalogueModel { spec, .. } in models() {
            let price = spec.price.unwrap();
            for tier in &price.tiers {
                assert!(tier.rates.input >= price.rates.input, "{}", spec.model);
                assert!(tier.rates.output >= price.rates.output, "{}", spec.model);
            }
        }
    }

    #[test]
    fn a_known_price_is_the_published_one() {
        let model = spec(&"anthropic/claude-sonnet-4-6".parse().unwrap()).unwrap();
        let usage = Usage { input: 100_000, cache_read: 50_000, output: 1_000, ..Usage::default() };
        // 0.1 M at 3, 0.05 M at 0.30, 0.001 M at 15 US dollars.
        assert_eq!(model.price.unwrap().bill(&usage), "0.33".parse().unwrap());
    }

    #[test]
    fn keys_are_named_for_all_but_servers_of_ones_own() {
        for provider in providers() {
            assert_eq!(provider.api_key_env.is_none(), is_local(&provider.name), "{}", provider.name);
            assert!(crate::HttpModel::new(provider, any_spec(provider), Some("key".into())).is_ok());
        }
    }

    fn any_spec(provider: &Provider) -> ModelSpec {
        let model = ModelRef { provider: provider.name.clone(), model: "any".into() };
        let local = ModelRef { provider: "ollama".into(), ..model.clone() };
        ModelSpec { model, ..spec(&local).unwrap() }
    }

    #[test]
    fn a_model_of_ones_own_server_is_known_and_free() {
        let model = spec(&"ollama/qwen3-coder".parse().unwrap()).unwrap();
        assert_eq!(model.price, Some(Price::FREE));
        assert_eq!(spec(&"anthropic/claude-banana".parse().unwrap()), None);
        assert_eq!(spec(&"nobody/any".parse().unwrap()), None);
    }
}
