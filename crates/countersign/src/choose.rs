//! Which model each actor gets, and what it is told and given.

use std::{borrow::Cow, sync::Arc};

use countersign_protocol::{Budget, ModelRef, Role, RoleKind};
use countersign_runtime::ActorSpec;
use countersign_tools::{Tool, Toolset};

use crate::{
    cast::Cast,
    diagnose::{Diagnostic, Findings, LoadError, Severity},
    lookup::Found,
    models::SCRIPTED,
    nearest::did_you_mean,
    prompt::{Facts, assemble},
    settings::{Origin, Settings},
    skills,
    task::{Said, WantedModel},
};

/// The choice of models for a run.
pub(crate) struct Choices<'a> {
    pub(crate) settings: &'a Settings,
    /// Models by role; the first that fits wins.
    pub(crate) models: &'a [(String, WantedModel)],
    pub(crate) budget: &'a Budget,
}

impl Choices<'_> {
    /// Each choice of a model must be for someone.
    pub(crate) fn check_names(&self, cast: &Cast, findings: &mut Findings) {
        let kinds = ["worker", "verifier", "supervisor"];
        if cast.worker.is_none() || cast.supervisor.is_none() || cast.policy.is_none() {
            // The name may be that of a role that is missing.
            return;
        }
        let names: Vec<_> = cast.roles().map(|role| role.value.name.as_str()).collect();
        for (name, wanted) in self.models {
            if kinds.contains(&name.as_str()) || names.contains(&name.as_str()) {
                continue;
            }
            let error =
                Diagnostic::error(format!("a model is chosen for `{name}`, and nobody here has this name"));
            let known = kinds.iter().chain(&names).copied();
            let help = did_you_mean(name, known)
                .unwrap_or_else(|| "write `worker`, `verifier`, `supervisor` or a role's name".into());
            let place = match wanted {
                WantedModel::Named(said) => said.place.clone(),
                WantedModel::Given(_) => None,
            };
            findings.add(Diagnostic { place, ..error }.help(help));
        }
    }

    /// Each model that is named must be known. Whether it can be reached is not asked.
    pub(crate) fn check_models(&self, cast: &Cast, findings: &mut Findings) {
        for found in cast.roles() {
            let Some(wanted) = self.model_of(found) else { continue };
            let WantedModel::Named(said) = &*wanted else { continue };
            let known = if said.value.provider == SCRIPTED {
                self.settings.connect(&said.value, &said.base).map(|_| ())
            } else {
                self.settings.known(&said.value).map(|_| ())
            };
            findings.take(known.map_err(|error| said.locate(error)));
        }
    }

    /// A worker or verifier with its model, prompt and tools.
    pub(crate) fn actor(&self, part: Part<'_>, findings: &mut Findings) -> Option<ActorSpec> {
        let role = &part.found.value;
        let Some(wanted) = self.model_of(part.found) else {
            let error =
                part.found.document.error(&["name"], format!("the role `{}` has no model", role.name));
            let help =
                format!("add `model = \"provider/model\"`, or say `--model {}=PROVIDER/MODEL`", role.kind);
            findings.add(error.help(help));
            return None;
        };
        self.play(part, &wanted, findings)
    }

    /// The supervisor's own model, where it has one.
    pub(crate) fn reviewer(&self, found: &Found<Role>, findings: &mut Findings) -> Option<ActorSpec> {
        match self.model_of(found) {
            Some(wanted) => self.play(Part::of(found), &wanted, findings),
            None if found.value.review_every.is_some() => {
                let message = "without a model there are no reviews: `review_every` does nothing";
                findings.add(found.document.remark(Severity::Warning, &["review_every"], message));
                None
            }
            None => None,
        }
    }

    /// The model of a role: chosen by name, by kind, by the role itself, or by the configuration.
    fn model_of(&self, found: &Found<Role>) -> Option<Cow<'_, WantedModel>> {
        let role = &found.value;
        let kind = role.kind.to_string();
        let chosen = |name: &str| self.models.iter().find(|(chosen, _)| chosen == name);
        if let Some((_, wanted)) = chosen(&role.name).or_else(|| chosen(&kind)) {
            return Some(Cow::Borrowed(wanted));
        }
        // In a shipped role there is nothing to mend.
        let place = found.document.error(&["model"], "").place.filter(|_| found.origin != Origin::Shipped);
        let own = role.model.clone().map(|value| Said { value, base: found.dir.clone(), place });
        let said = if role.kind == RoleKind::Supervisor || (own.is_some() && found.origin != Origin::Shipped)
        {
            own
        } else {
            self.default_model().or(own)
        };
        said.map(|said| Cow::Owned(WantedModel::Named(said)))
    }

    fn default_model(&self) -> Option<Said<ModelRef>> {
        let keys = ["defaults", "model"];
        let layer = self.settings.config.layer(&keys)?;
        let place = layer.document.error(&keys, "").place;
        let value = self.settings.config.defaults.model.clone()?;
        Some(Said { value, base: layer.dir.clone(), place })
    }

    fn play(&self, part: Part<'_>, wanted: &WantedModel, findings: &mut Findings) -> Option<ActorSpec> {
        let (model, place) = match wanted {
            WantedModel::Given(model) => (Arc::clone(model), None),
            WantedModel::Named(said) => {
                let connected = self.settings.connect(&said.value, &said.base);
                let (model, notes) = findings.take(connected.map_err(|error| said.locate(error)))?;
                findings.extend(notes);
                (model, said.place.clone())
            }
        };
        if self.budget.money.is_some() && model.spec().price.is_none() {
            findings.add(Diagnostic { place, ..unknown_price(&model.spec().model) });
        }
        let mut role = with_absolute_paths(part.found);
        role.model = Some(match wanted {
            WantedModel::Given(model) => model.spec().model.clone(),
            WantedModel::Named(said) => absolute(said),
        });
        let (skills, notes) = skills::find(&role, &self.settings.workspace, &self.settings.world);
        findings.extend(notes);
        let tools = findings.take(tools(&role, part.tools))?;
        let sections = assemble(&role, &tools.guidelines(), &skills, &part.facts);
        Some(ActorSpec { role, model, sections, tools })
    }
}

/// A role and what it is told and given in this run.
pub(crate) struct Part<'a> {
    pub(crate) found: &'a Found<Role>,
    pub(crate) facts: Facts,
    /// Tools beside the built-in ones.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

impl<'a> Part<'a> {
    /// A role with nothing beside what it says itself.
    pub(crate) fn of(found: &'a Found<Role>) -> Self {
        Self { found, facts: Facts::default(), tools: Vec::new() }
    }
}

/// A model's name that means the same from everywhere: a script's path is made absolute.
fn absolute(said: &Said<ModelRef>) -> ModelRef {
    let ModelRef { provider, model } = &said.value;
    match said.base.join(model).canonicalize() {
        Ok(path) if provider == SCRIPTED => {
            ModelRef { provider: provider.clone(), model: path.to_string_lossy().into_owned() }
        }
        _ => said.value.clone(),
    }
}

/// The role with its folders of skills made absolute, so that the run can be resumed from elsewhere.
fn with_absolute_paths(found: &Found<Role>) -> Role {
    let mut role = found.value.clone();
    for folder in &mut role.skills {
        let path = found.dir.join(&*folder);
        *folder = path.canonicalize().unwrap_or(path);
    }
    role
}

fn tools(role: &Role, more: Vec<Arc<dyn Tool>>) -> Result<Toolset, LoadError> {
    let names = Toolset::role_names(role.kind, role.tools.as_deref());
    let tools = names.and_then(|names| Toolset::builtin(&names)).and_then(|tools| tools.with(more));
    tools.map_err(|error| Diagnostic::error(error.to_string()).into())
}

fn unknown_price(model: &ModelRef) -> Diagnostic {
    let message = format!("the price of `{model}` is not known, so the budget's `money` can't be kept");
    let error = Diagnostic::error(message).because("a price that is not known is not zero");
    let help = "or leave `money` out of the budget, and set `tokens` or `turns`";
    if model.provider == "scripted" {
        return error.help("give the script a price").help(help);
    }
    let declare = format!(
        "in `config.toml`: `[[providers.{}.models]]` with `id = \"{}\"` and \
         `price = {{ input = \"…\", output = \"…\" }}`, in US dollars a million tokens; \"0\" for a server of \
         your own",
        model.provider, model.model
    );
    error.help(declare).help(help)
}
