//! Models by name: what the configuration and the catalogue know of each, and how it is reached.

use std::{path::Path, sync::Arc};

use countersign_model::{ConnectError, Model, ModelSpec, Provider, ScriptError, connect, scripted};
use countersign_protocol::{ModelRef, Price};

use crate::{
    config::{LOCAL_WINDOW, is_local},
    diagnose::{Diagnostic, LoadError, Source},
    document::unreadable,
    nearest::{did_you_mean, nearest},
    settings::{Origin, Settings},
};

/// The provider whose models are files of steps.
pub(crate) const SCRIPTED: &str = "scripted";

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
    /// All models that can be named, by provider and in the provider's own order.
    #[must_use]
    pub fn list_models(&self) -> Vec<ListedModel> {
        let models = self.config.providers.iter().flat_map(|(name, provider)| {
            let key = provider.api_key_env.as_ref();
            let key = key.map(|variable| (variable.clone(), self.world.variables.contains_key(variable)));
            provider.models.iter().map(move |model| ListedModel {
                model: ModelRef { provider: name.clone(), model: model.id.clone() },
                context_window: model.context_window,
                max_output_tokens: model.max_output_tokens,
                price: model.price(),
                origin: self.config.origin(&["providers", name, "models", &model.id]),
                key: key.clone(),
            })
        });
        models.collect()
    }

    /// The providers that models can be named of, by name.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.config.providers.values()
    }

    /// The values of the keys of all providers: they must reach no model, journal or log.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let variables = self.providers().filter_map(|provider| provider.api_key_env.as_ref());
        variables.filter_map(|variable| self.world.variables.get(variable).cloned()).collect()
    }

    /// A model that can be called, and what is worth knowing of it. The path of a script is read against `base`.
    ///
    /// # Errors
    /// It is not known, or can't be reached as things are: no key, no script.
    pub fn connect(
        &self,
        model: &ModelRef,
        base: &Path,
    ) -> Result<(Arc<dyn Model>, Vec<Diagnostic>), LoadError> {
        if model.provider == SCRIPTED {
            let path = base.join(&model.model);
            let path =
                path.canonicalize().map_err(|error| unreadable(&path, &self.world.show(&path), &error))?;
            let shown = self.world.show(&path);
            let script = scripted(&path).map_err(|error| script_error(error, &shown))?;
            return Ok((Arc::new(script), Vec::new()));
        }
        let (provider, spec, notes) = self.known(model)?;
        if let Some(variable) = &provider.api_key_env
            && !self.world.variables.contains_key(variable)
        {
            return Err(missing_key(model, variable).into());
        }
        let client = connect(provider, spec).map_err(|error| connect_error(&error))?;
        Ok((Arc::new(client), notes))
    }

    /// A model of a provider, whether or not it can be reached, and what is worth knowing of it.
    pub(crate) fn known(
        &self,
        model: &ModelRef,
    ) -> Result<(&Provider, ModelSpec, Vec<Diagnostic>), LoadError> {
        let provider = self.provider(model)?;
        self.spec(provider, model).map(|(spec, notes)| (provider, spec, notes))
    }

    fn provider(&self, model: &ModelRef) -> Result<&Provider, LoadError> {
        let names = self.config.providers.keys().map(String::as_str).chain([SCRIPTED]);
        self.config.providers.get(&model.provider).ok_or_else(|| {
            let error = Diagnostic::error(format!("there is no provider `{}`", model.provider));
            let help = did_you_mean(&model.provider, names.clone()).unwrap_or_else(|| {
                let known = names.collect::<Vec<_>>().join(", ");
                format!("there are {known}; describe others as `[providers.NAME]` in `config.toml`")
            });
            error.help(help).into()
        })
    }

    fn spec(&self, provider: &Provider, model: &ModelRef) -> Result<(ModelSpec, Vec<Diagnostic>), LoadError> {
        let guessed = || {
            let message = format!("the window of `{model}` is not known: {LOCAL_WINDOW} tokens are assumed");
            let help = format!(
                "say it in `config.toml`: `[[providers.{}.models]]` with `context_window`",
                provider.name
            );
            Diagnostic::note(message).help(help)
        };
        if let Some(spec) = provider.spec(&model.model) {
            let notes = if self.config.guessed.contains(model) { vec![guessed()] } else { Vec::new() };
            return Ok((spec, notes));
        }
        let ids = || provider.models.iter().map(|known| known.id.as_str());
        // A server on this machine has what its owner put there; a slip is still a slip where something is near.
        if is_local(&provider.base_url) && nearest(&model.model, ids()).is_empty() {
            let window = LOCAL_WINDOW.unsigned_abs();
            let spec = ModelSpec {
                model: model.clone(),
                api: provider.api,
                context_window: window,
                max_output_tokens: window / 4,
                price: None,
            };
            return Ok((spec, vec![guessed()]));
        }
        let error = Diagnostic::error(format!("the model `{model}` is not known"));
        let declare = format!(
            "declare it in `config.toml`: `[[providers.{}.models]]` with `id = \"{}\"`, `context_window` and \
             `max_output_tokens`, and a `price` where money counts",
            provider.name, model.model
        );
        Err(error.maybe_help(did_you_mean(&model.model, ids())).help(declare).into())
    }
}

fn missing_key(model: &ModelRef, variable: &str) -> Diagnostic {
    Diagnostic::error(format!("the variable `{variable}` is not set, and `{model}` needs the key in it"))
        .help(format!("set it: `export {variable}=…`"))
        .help(
            "or choose another model (`countersign models` lists them): `--model worker=PROVIDER/MODEL` and \
             `--model verifier=PROVIDER/MODEL`, or once and for all `model = \"PROVIDER/MODEL\"` below `[defaults]` in \
             `config.toml`",
        )
}

fn connect_error(error: &ConnectError) -> LoadError {
    let message = error.to_string();
    let diagnostic = match error {
        ConnectError::Client(_) => Diagnostic::failure(message),
        _ => Diagnostic::error(message),
    };
    diagnostic.into()
}

fn script_error(error: ScriptError, shown: &str) -> LoadError {
    match error {
        ScriptError::Read { path, error } => unreadable(&path, shown, &error),
        ScriptError::Invalid { message, span, text, .. } => {
            let source = Source::new(shown, text);
            Diagnostic::error(message).at(&source, span.unwrap_or(0..0)).into()
        }
    }
}
