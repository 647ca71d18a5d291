//! The configuration: the user's file, the workspace's and the one that a flag names, merged key by key.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use countersign_model::{Provider, catalogue};
use countersign_protocol::ModelRef;
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

/// All layers together, over what is shipped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    pub(crate) defaults: Defaults,
    pub(crate) providers: BTreeMap<String, Provider>,
    /// Models of local servers whose window nobody said.
    pub(crate) guessed: BTreeSet<ModelRef>,
    layers: Vec<Layer>,
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

    /// These keys as places of this file: a model's `id` becomes its index. `None` where the file says nothing there.
    fn keys(&self, keys: &[&str]) -> Option<Vec<String>> {
        let mut at = Value::Table(self.document.values().ok()?);
        let mut places = Vec::new();
        for key in keys {
            let place = match &at {
                Value::Array(models) => {
                    let index = models
                        .iter()
                        .position(|model| model.get("id").and_then(Value::as_str) == Some(key))?;
                    at = at.get(index)?.clone();
                    index.to_string()
                }
                _ => {
                    at = at.get(key)?.clone();
                    (*key).to_owned()
                }
            };
            places.push(place);
        }
        Some(places)
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
    /// Merges the layers over the shipped providers; a later one wins, key by key.
    pub(crate) fn merge(layers: Vec<Layer>) -> Result<Self, LoadError> {
        let mut merged = shipped_providers()?;
        for layer in &layers {
            merge_tables(&mut merged, layer.document.values()?);
        }
        let mut config = Self { layers, ..Self::default() };
        if let Some(defaults) = merged.remove("defaults") {
            config.defaults = defaults.try_into().map_err(|error| unfit(&error))?;
        }
        let mut findings = Findings::default();
        for (name, provider) in merged.remove("providers").into_iter().flat_map(into_table) {
            let provider = config.complete(&name, into_table(provider), &mut findings);
            config.providers.extend(provider.map(|provider| (name, provider)));
        }
        findings.finish().map(|_| config)
    }

    /// A provider with all that it needs. What no layer says is refused, or taken from what is usual.
    fn complete(
        &mut self,
        name: &str,
        mut provider: toml::Table,
        findings: &mut Findings,
    ) -> Option<Provider> {
        let mut whole = true;
        for key in ["api", "base_url"] {
            if !provider.contains_key(key) {
                let help = match key {
                    "api" => "add `api = \"openai-chat\"`: most servers speak it",
                    _ => "add `base_url = \"http://127.0.0.1:8080/v1\"`, with the address of the server",
                };
                let message = format!("the provider `{name}` needs the key `{key}`");
                findings.add(self.error(&["providers", name], message).help(help));
                whole = false;
            }
        }
        let local = provider.get("base_url").and_then(Value::as_str).is_some_and(is_local);
        if let Some(Value::Array(models)) = provider.get_mut("models") {
            for model in models.iter_mut().filter_map(Value::as_table_mut) {
                whole &= self.complete_model(name, local, model, findings);
            }
        }
        if !whole {
            return None;
        }
        provider.insert("name".into(), name.into());
        // Each layer has the right types by itself, so this fails only where they do not fit together.
        findings.take(Value::Table(provider).try_into().map_err(|error| unfit(&error)))
    }

    fn complete_model(
        &mut self,
        provider: &str,
        local: bool,
        model: &mut toml::Table,
        findings: &mut Findings,
    ) -> bool {
        let id = model.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let name = ModelRef { provider: provider.into(), model: id };
        let number = |model: &toml::Table, key: &str| model.get(key).and_then(Value::as_integer);
        let mut refuse = |config: &Self, message: String, help: &str| {
            findings.add(config.error(&["providers", provider, "models", &name.model], message).help(help));
            false
        };
        let window = match number(model, "context_window") {
            Some(window) => window,
            None if local => {
                self.guessed.insert(name.clone());
                LOCAL_WINDOW
            }
            None => {
                let help = "add `context_window = 131072`, with what its provider says";
                return refuse(self, format!("the window of `{name}` is not known"), help);
            }
        };
        let output = number(model, "max_output_tokens").unwrap_or(DEFAULT_OUTPUT.min(window));
        if output > window {
            let message = format!("an answer of `{name}` can't be larger than its window");
            return refuse(self, message, "`context_window` counts prompt and answer together");
        }
        if model.contains_key("tiers") && !model.contains_key("price") {
            let message = format!("`{name}` has price tiers and no price below them");
            return refuse(self, message, "add `price = { input = \"…\", output = \"…\" }`");
        }
        model.insert("context_window".into(), window.into());
        model.insert("max_output_tokens".into(), output.into());
        true
    }

    /// The last layer that says something under these keys. In an array of models a key is a model's `id`.
    pub(crate) fn layer(&self, keys: &[&str]) -> Option<&Layer> {
        self.layers.iter().rev().find(|layer| layer.keys(keys).is_some())
    }

    /// Where the last word under these keys came from.
    pub(crate) fn origin(&self, keys: &[&str]) -> Origin {
        self.layer(keys).map_or(Origin::Shipped, |layer| layer.origin.clone())
    }

    /// An error at what the last layer says under these keys.
    pub(crate) fn error(&self, keys: &[&str], message: String) -> Diagnostic {
        let layer = self.layer(keys).and_then(|layer| Some((layer, layer.keys(keys)?)));
        match layer {
            Some((layer, keys)) => {
                layer.document.error(&keys.iter().map(String::as_str).collect::<Vec<_>>(), message)
            }
            None => Diagnostic::error(message),
        }
    }
}

/// The window that a model of a local server has where nobody says it: small enough for most.
pub(crate) const LOCAL_WINDOW: i64 = 32_768;
/// The limit of an answer where nobody says it.
const DEFAULT_OUTPUT: i64 = 8_192;

fn unfit(error: &toml::de::Error) -> LoadError {
    Diagnostic::error(format!("the configuration files do not fit together: {}", error.message())).into()
}

fn into_table(value: Value) -> toml::Table {
    match value {
        Value::Table(table) => table,
        _ => toml::Table::new(),
    }
}

/// The lowest layer: what the catalogue knows.
fn shipped_providers() -> Result<toml::Table, LoadError> {
    let mut providers = toml::Table::new();
    for provider in catalogue::providers() {
        let name = provider.name.clone();
        let value = Value::try_from(provider).map_err(|error| {
            LoadError::from(Diagnostic::failure(format!(
                "the shipped provider `{name}` is not sound: {error}"
            )))
        })?;
        providers.insert(name, value);
    }
    Ok([("providers".to_owned(), Value::Table(providers))].into_iter().collect())
}

/// Whether the server is on this machine.
pub(crate) fn is_local(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest).split('/').next().unwrap_or_default();
    let host = match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => host,
    };
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
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
    fn a_server_on_this_machine_is_told_from_others() {
        for url in ["http://127.0.0.1:8080/v1", "http://localhost", "http://[::1]:80/v1", "http://0.0.0.0:1"]
        {
            assert!(is_local(url), "{url}");
        }
        for url in [
            "https://api.example.com/v1",
            "http://10.0.0.1:80",
            "http://localhost.example.com",
            "http://[fe80::1]",
        ] {
            assert!(!is_local(url), "{url}");
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
