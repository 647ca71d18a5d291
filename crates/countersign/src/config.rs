//! The configuration: the user's file, the workspace's and the one that a flag names, merged key by key.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use countersign_protocol::{Api, ModelRef, PriceTier, Rates};
use serde::Deserialize;
use toml::Value;

use crate::{
    diagnose::{Diagnostic, Findings, LoadError},
    document::Document,
    keys,
    settings::Origin,
    walk::Required,
};

/// One configuration file.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub(crate) document: Document,
    pub(crate) origin: Origin,
    /// The folder against which its relative paths are read.
    pub(crate) dir: PathBuf,
}

/// All layers together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    pub(crate) defaults: Defaults,
    pub(crate) providers: BTreeMap<String, ProviderEntry>,
    layers: Vec<Layer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ConfigFile {
    defaults: Defaults,
    providers: BTreeMap<String, ProviderEntry>,
}

/// What a task uses that doesn't say otherwise.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Defaults {
    pub(crate) worker: Option<String>,
    pub(crate) verifier: Option<String>,
    pub(crate) supervisor: Option<String>,
    pub(crate) policy: Option<String>,
    pub(crate) model: Option<ModelRef>,
}

/// A provider as far as the configuration describes it; the shipped ones are completed later.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ProviderEntry {
    pub(crate) api: Option<Api>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key_env: Option<String>,
    pub(crate) models: Vec<ModelEntry>,
}

/// A model as far as the configuration describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelEntry {
    pub(crate) id: String,
    pub(crate) context_window: Option<u64>,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) price: Option<Rates>,
    #[serde(default)]
    pub(crate) tiers: Vec<PriceTier>,
}

impl Layer {
    /// A file that is there, held against the keys it may have.
    pub(crate) fn read(path: &Path, shown: &str, origin: Origin) -> Result<Self, LoadError> {
        let document = Document::read(path, shown)?;
        let mut findings = Findings::default();
        findings.take(document.check(&keys::CONFIG, Required::InAnyLayer));
        let dir = path.parent().unwrap_or(Path::new(".")).to_owned();
        let layer = Self { document, origin, dir };
        if let Some(values) = findings.take(layer.document.values()) {
            layer.check_providers(&values, &mut findings);
        }
        findings.finish()?;
        Ok(layer)
    }

    fn check_providers(&self, values: &toml::Table, findings: &mut Findings) {
        let Some(Value::Table(providers)) = values.get("providers") else { return };
        for (name, provider) in providers {
            let keys = |key| ["providers", name, key];
            if name == "scripted" || name.is_empty() || name.contains('/') {
                let message = format!("a provider can't have the name \"{name}\"");
                let error = self.document.error(&["providers", name], message);
                findings.add(error.help("choose another name, without a slash; `scripted` is built in"));
            }
            if let Some(url) = provider.get("base_url").and_then(Value::as_str)
                && let Err(help) = check_url(url)
            {
                let error = self.document.error(&keys("base_url"), "`base_url` is not a URL of a server");
                findings.add(
                    error
                        .hidden(self.document.span(&keys("base_url")).filter(|_| url.contains('@')))
                        .help(help),
                );
            }
            if let Some(variable) = provider.get("api_key_env").and_then(Value::as_str)
                && !is_variable_name(variable)
            {
                let span = self.document.span(&keys("api_key_env"));
                let error =
                    self.document.error(&keys("api_key_env"), "`api_key_env` is not the name of a variable");
                findings.add(error.hidden(span).help(
                    "write the variable's NAME, as \"LAB_KEY\"; if this is a key, keep it out of files and replace it",
                ));
            }
        }
    }

    /// What an untrusted workspace may not say.
    pub(crate) fn check_untrusted(&self) -> Result<(), LoadError> {
        let mut findings = Findings::default();
        let mut refuse = |keys: &[&str], what: &str| {
            let message = format!("this workspace is not trusted, so its configuration may not name {what}");
            findings.add(self.document.error(keys, message).help(HOW_TO_TRUST));
        };
        let values = self.document.values()?;
        if values.contains_key("providers") {
            refuse(&["providers"], "providers");
        }
        for (key, value) in values.get("defaults").and_then(Value::as_table).into_iter().flatten() {
            let text = value.as_str().unwrap_or_default();
            match key.as_str() {
                "model" => refuse(&["defaults", key], "models"),
                "policy" if is_path(text) => refuse(&["defaults", key], "policies of its own, with commands"),
                _ if is_path(text) => {
                    refuse(&["defaults", key], "roles of its own, with tools and sandboxes")
                }
                _ => {}
            }
        }
        findings.finish().map(|_| ())
    }
}

/// What to say wherever trust is missing.
pub(crate) const HOW_TO_TRUST: &str =
    "look at the files in `.countersign`, then say `--trust` once to trust this folder now and later";

/// Whether a role or policy is named by its file.
pub(crate) fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".toml")
}

fn check_url(url: &str) -> Result<(), String> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let authority = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    match authority {
        None => Err("begin it with `http://` or `https://`".into()),
        Some("") => Err("name the host, as in \"http://127.0.0.1:8080/v1\"".into()),
        Some(host) if host.contains('@') => {
            Err("a URL holds no user or password: write the variable's NAME in `api_key_env`".into())
        }
        Some(_) if url.contains(char::is_whitespace) => Err("take the white space out".into()),
        Some(_) if url.contains(['?', '#']) => Err("take out all from `?` or `#` on".into()),
        Some(_) => Ok(()),
    }
}

fn is_variable_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(fits) && !text.starts_with(|c: char| c.is_ascii_digit())
}

impl Config {
    /// Merges the layers; a later one wins, key by key.
    pub(crate) fn merge(layers: Vec<Layer>) -> Result<Self, LoadError> {
        let mut merged = toml::Table::new();
        for layer in &layers {
            merge_tables(&mut merged, layer.document.values()?);
        }
        // Each layer has the right types by itself; what can still be wrong is only there when all are seen together.
        let file: ConfigFile = Value::Table(merged).try_into().map_err(|error: toml::de::Error| {
            LoadError::from(Diagnostic::error(format!(
                "the configuration files do not fit together: {}",
                error.message()
            )))
        })?;
        Ok(Self { defaults: file.defaults, providers: file.providers, layers })
    }

    /// The last layer that says something under these keys.
    pub(crate) fn layer(&self, keys: &[&str]) -> Option<&Layer> {
        self.layers.iter().rev().find(|layer| {
            let value = layer.document.values().ok();
            let mut at = value.map(Value::Table);
            for key in keys {
                at = at.and_then(|value| value.get(key).cloned());
            }
            at.is_some()
        })
    }

    /// An error at what the last layer says under these keys.
    pub(crate) fn error(&self, keys: &[&str], message: String) -> Diagnostic {
        match self.layer(keys) {
            Some(layer) => layer.document.error(keys, message),
            None => Diagnostic::error(message),
        }
    }
}

/// Tables are merged, arrays of models by their `id`; anything else is replaced.
fn merge_tables(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge_tables(old, new),
            (Some(Value::Array(old)), Value::Array(new)) if key == "models" => merge_models(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

fn merge_models(into: &mut Vec<Value>, from: Vec<Value>) {
    for model in from {
        let same = into.iter_mut().find(|old| old.get("id") == model.get("id"));
        match (same, model) {
            (Some(Value::Table(old)), Value::Table(new)) => merge_tables(old, new),
            (_, model) => into.push(model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_are_no_servers_are_refused() {
        for url in ["http://127.0.0.1:8080/v1", "https://api.example.com", "http://[::1]:80/v1"] {
            assert_eq!(check_url(url), Ok(()), "{url}");
        }
        for url in [
            "",
            "localhost:8080",
            "ftp://host",
            "http://",
            "https://key@host/v1",
            "http://a b/",
            "http://h/?k=1",
        ] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn later_layers_win_key_by_key() {
        let mut merged: toml::Table = toml::from_str(
            "[providers.lab]\napi = 'openai-chat'\nbase_url = 'http://a'\n\
             [[providers.lab.models]]\nid = 'm'\ncontext_window = 1\nprice = { input = '1', output = '2' }\n",
        )
        .unwrap();
        let later = "[providers.lab]\nbase_url = 'http://b'\n\
             [[providers.lab.models]]\nid = 'm'\nprice = { output = '3' }\n[[providers.lab.models]]\nid = 'n'\n";
        merge_tables(&mut merged, toml::from_str(later).unwrap());
        let lab = &merged["providers"]["lab"];
        assert_eq!((lab["api"].as_str(), lab["base_url"].as_str()), (Some("openai-chat"), Some("http://b")));
        assert_eq!(lab["models"].as_array().map(Vec::len), Some(2));
        let price = &lab["models"][0]["price"];
        assert_eq!((price["input"].as_str(), price["output"].as_str()), (Some("1"), Some("3")));
    }
}
