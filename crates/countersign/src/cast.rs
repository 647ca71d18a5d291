//! Who plays which part, and by which policy.

use std::path::PathBuf;

use countersign_protocol::{
    Policy, Role, RoleKind,
    role::{SandboxLevel, SandboxSpec},
};

use crate::{
    diagnose::{Diagnostic, Findings, LoadError, Severity},
    lookup::{Found, given},
    settings::Settings,
    task::{Said, Task, Wanted},
};

/// The roles and the policy of a run, as far as they could be found; a finding says what is missing.
pub(crate) struct Cast {
    pub(crate) policy: Option<Found<Policy>>,
    pub(crate) worker: Option<Found<Role>>,
    /// Nobody where the policy has no judge.
    pub(crate) verifier: Option<Found<Role>>,
    pub(crate) supervisor: Option<Found<Role>>,
}

impl Cast {
    /// Finds those that the task wants, else those of the configuration, else the shipped ones.
    pub(crate) fn find(settings: &Settings, task: Task, findings: &mut Findings) -> Self {
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
        let policy = findings.take(find_policy(settings, policy.unwrap_or_else(|| shipped("default"))));
        let own = policy.as_ref().and_then(judge_of);
        let verifier = match (own, task.verifier) {
            // A verifier that is named is looked at even where the policy is missing.
            (None, Some(_)) if policy.is_some() => {
                findings.add(Diagnostic::note("the policy has no judge: the verifier is not asked"));
                None
            }
            (None, named) => named,
            (Some(own), named) => {
                Some(wanted(named, "verifier", &defaults.verifier).unwrap_or(Wanted::Named(own)))
            }
        };
        let verifier =
            verifier.and_then(|verifier| findings.take(role(settings, verifier, RoleKind::Verifier)));
        Self { policy, worker, verifier, supervisor }
    }

    /// The roles that were found.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &Found<Role>> {
        [&self.worker, &self.verifier, &self.supervisor].into_iter().flatten()
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
        for role in [&mut self.worker, &mut self.verifier].into_iter().flatten() {
            if let Some(level) = flag {
                role.value.sandbox = SandboxSpec { level, network: true, fallback: None };
            }
            findings.extend(unmet(role));
        }
    }
}

/// The role that the policy's own judge has.
fn judge_of(policy: &Found<Policy>) -> Option<Said<String>> {
    let judge = policy.value.judge.as_ref()?;
    let place = policy.document.error(&["judge", "role"], "").place;
    Some(Said { value: judge.role.clone(), base: policy.dir.clone(), place })
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
