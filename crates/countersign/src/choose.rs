//! Who plays which part with which model.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use countersign_protocol::{
    Budget, ModelRef, Policy, Role, RoleKind,
    role::{SandboxLevel, SandboxSpec},
};
use countersign_runtime::ActorSpec;
use countersign_tools::{Tool, Toolset};

use crate::{
    diagnose::{Diagnostic, Findings, LoadError, Severity},
    lookup::{Found, given},
    models::SCRIPTED,
    nearest::did_you_mean,
    prompt::{Facts, assemble},
    settings::{Origin, Settings},
    skills,
    task::{Said, Task, Wanted, WantedModel},
};

/// The roles and the policy of a run.
pub(crate) struct Cast {
    pub(crate) policy: Found<Policy>,
    pub(crate) worker: Found<Role>,
    pub(crate) verifier: Option<Found<Role>>,
    pub(crate) supervisor: Found<Role>,
}

impl Cast {
    /// Finds those that the task wants, else those of the configuration, else the shipped ones.
    pub(crate) fn find(settings: &Settings, task: Task, findings: &mut Findings) -> Option<Self> {
        let defaults = &settings.config.defaults;
        let wanted = |task: Option<Wanted<Role>>, key, default: &Option<String>| {
            task.or_else(|| from_defaults(settings, key, default.as_deref()).map(Wanted::Named))
        };
        let worker = wanted(task.worker, "worker", &defaults.worker).unwrap_or_else(|| shipped("worker"));
        let worker = findings.take(role(settings, worker, RoleKind::Worker));
        let supervisor = wanted(task.supervisor, "supervisor", &defaults.supervisor);
        let supervisor = supervisor.unwrap_or_else(|| shipped("supervisor"));
        let supervisor = findings.take(role(settings, supervisor, RoleKind::Supervisor));
        let policy = task
            .policy
            .or_else(|| from_defaults(settings, "policy", defaults.policy.as_deref()).map(Wanted::Named));
        let policy = findings.take(find_policy(settings, policy.unwrap_or_else(|| shipped("default"))))?;
        let verifier = match (&policy.value.judge, task.verifier) {
            (None, None) => None,
            (None, Some(_)) => {
                let message =
                    format!("the policy `{}` has no judge: the verifier is not asked", policy.value.name);
                findings.add(Diagnostic::note(message));
                None
            }
            (Some(judge), wished) => {
                let place = policy.document.error(&["judge", "role"], "").place;
                let own = Said { value: judge.role.clone(), base: policy.dir.clone(), place };
                let wanted = wanted(wished, "verifier", &defaults.verifier).unwrap_or(Wanted::Named(own));
                Some(findings.take(role(settings, wanted, RoleKind::Verifier))?)
            }
        };
        Some(Self { policy, worker: worker?, verifier, supervisor: supervisor? })
    }

    fn roles(&self) -> impl Iterator<Item = &Found<Role>> {
        [Some(&self.worker), self.verifier.as_ref(), Some(&self.supervisor)].into_iter().flatten()
    }

    /// Puts the flag's level over the roles' own, and refuses what this version can't give.
    pub(crate) fn settle_sandboxes(&mut self, flag: Option<SandboxLevel>, findings: &mut Findings) {
        if let Some(level) = flag.filter(|level| *level != SandboxLevel::None) {
            let error =
                Diagnostic::error(format!("this version can't give the sandbox level `{}`", name(level)));
            findings.add(error.because(CONTAINED).help("leave `--sandbox` out, or say `--sandbox none`"));
            return;
        }
        // A supervisor has no processes.
        for role in [Some(&mut self.worker), self.verifier.as_mut()].into_iter().flatten() {
            if let Some(level) = flag {
                role.value.sandbox = SandboxSpec { level, network: true, fallback: None };
            }
            findings.extend(unmet(role));
        }
    }
}

/// What a role asks of its sandbox that this version can't give.
fn unmet(role: &Found<Role>) -> Option<Diagnostic> {
    let (asked, who) = (&role.value.sandbox, &role.value.name);
    let level = name(asked.level);
    if asked.level == SandboxLevel::None {
        let message =
            format!("the role `{who}` can use the network: the sandbox level `none` keeps nothing away");
        let warning = role.document.remark(Severity::Warning, &["sandbox", "network"], message);
        return (!asked.network).then(|| warning.because(CONTAINED));
    }
    let place = ["sandbox", "level"];
    if asked.fallback == Some(SandboxLevel::None) {
        let message =
            format!("the role `{who}` runs without the sandbox level `{level}`, as its fallback says");
        return Some(role.document.remark(Severity::Warning, &place, message).because(CONTAINED));
    }
    let message = format!("this version can't give the role `{who}` the sandbox level `{level}`");
    let help =
        "write `level = \"none\"`, or keep the level and add `fallback = \"none\"` to go on without it";
    Some(role.document.error(&place, message).because(CONTAINED).help(help))
}

const fn name(level: SandboxLevel) -> &'static str {
    match level {
        SandboxLevel::None => "none",
        SandboxLevel::Workspace => "workspace",
        SandboxLevel::Container => "container",
    }
}

/// What level `none` gives, as far as this version goes.
const CONTAINED: &str = "processes are contained (own session, no stdin, no keys, bounded output, killed with all \
                         descendants) but not isolated: they can read and write what you can";

fn shipped<T>(name: &str) -> Wanted<T> {
    Wanted::Named(Said { value: name.to_owned(), base: PathBuf::new(), place: None })
}

fn role(settings: &Settings, wanted: Wanted<Role>, kind: RoleKind) -> Result<Found<Role>, LoadError> {
    match wanted {
        Wanted::Named(said) => {
            settings.role(&said.value, Some(kind), &said.base).map_err(|error| said.locate(error))
        }
        Wanted::Given(role, _) if role.kind != kind => {
            let message = format!("`{}` is a {}, and a {kind} is needed here", role.name, role.kind);
            Err(Diagnostic::error(message).into())
        }
        Wanted::Given(role, dir) => given(*role, dir),
    }
}

fn find_policy(settings: &Settings, wanted: Wanted<Policy>) -> Result<Found<Policy>, LoadError> {
    match wanted {
        Wanted::Named(said) => settings.policy(&said.value, &said.base).map_err(|error| said.locate(error)),
        Wanted::Given(policy, dir) => given(*policy, dir),
    }
}

/// A name that the configuration gives, with the folder of the file that says so.
fn from_defaults(settings: &Settings, key: &str, value: Option<&str>) -> Option<Said<String>> {
    let keys = ["defaults", key];
    let layer = settings.config.layer(&keys)?;
    let place = layer.document.error(&keys, "").place;
    Some(Said { value: value?.to_owned(), base: layer.dir.clone(), place })
}

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
        let place = found.document.error(&["model"], "").place;
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
