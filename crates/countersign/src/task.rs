//! What is asked: `task.toml`, and the flags that say the same.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use countersign_model::Model;
use countersign_protocol::{
    Budget, ModelRef, Money, Policy, Role, RoleKind, Span, entry::Ground, ids::InvalidId, role::SandboxLevel,
};
use countersign_tools::Tool;
use countersign_verify::Check;
use serde::Deserialize;

use crate::{
    diagnose::{Diagnostic, Findings, LoadError, Place},
    document::Document,
    keys,
    settings::folder,
    world::World,
};

/// What the command line says about a task. A flag wins over the task file.
#[derive(Debug, Clone, Default)]
pub struct TaskFlags {
    /// The task file.
    pub file: Option<PathBuf>,
    /// `--goal`.
    pub goal: Option<String>,
    /// `--workspace DIR`; with neither flag nor task file the working directory.
    pub workspace: Option<PathBuf>,
    /// `--worker R`: a name, or a path.
    pub worker: Option<String>,
    /// `--verifier R`.
    pub verifier: Option<String>,
    /// `--supervisor R`.
    pub supervisor: Option<String>,
    /// `--policy P`.
    pub policy: Option<String>,
    /// `--model ROLE=PROVIDER/MODEL`, in order; the last for a role wins.
    pub models: Vec<ModelChoice>,
    /// `--money`.
    pub money: Option<Money>,
    /// `--tokens`.
    pub tokens: Option<u64>,
    /// `--turns`.
    pub turns: Option<u64>,
    /// `--wall`.
    pub wall: Option<Span>,
    /// `--sandbox LEVEL`, for all roles.
    pub sandbox: Option<SandboxLevel>,
}

/// What the command line says when a run goes on. Everything else stays as it was when the run began.
#[derive(Debug, Clone, Default)]
pub struct ResumeFlags {
    /// `--model ROLE=PROVIDER/MODEL`, in order; the last for a role wins.
    pub models: Vec<ModelChoice>,
    /// `--money`, for the whole run.
    pub money: Option<Money>,
    /// `--tokens`, for the whole run.
    pub tokens: Option<u64>,
    /// `--turns`, for the whole run.
    pub turns: Option<u64>,
    /// `--wall`, for the whole run.
    pub wall: Option<Span>,
}

/// `ROLE=PROVIDER/MODEL`: ROLE is `worker`, `verifier`, `supervisor` or a role's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChoice {
    /// The role.
    pub role: String,
    /// The model.
    pub model: ModelRef,
}

impl FromStr for ModelChoice {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let invalid =
            || InvalidId { text: text.into(), expected: "a choice of a model (ROLE=PROVIDER/MODEL)" };
        let (role, model) = text.split_once('=').ok_or_else(invalid)?;
        if role.is_empty() {
            return Err(invalid());
        }
        Ok(Self { role: role.into(), model: model.parse().map_err(|_| invalid())? })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    goal: String,
    workspace: Option<PathBuf>,
    #[serde(default)]
    copy: bool,
    worker: Option<String>,
    verifier: Option<String>,
    supervisor: Option<String>,
    policy: Option<String>,
    #[serde(default)]
    models: BTreeMap<String, ModelRef>,
    #[serde(default)]
    budget: Budget,
}

/// Something that was said, and where: paths in it are read against `base`.
#[derive(Debug, Clone)]
pub(crate) struct Said<T> {
    pub(crate) value: T,
    pub(crate) base: PathBuf,
    /// In which file, where it was in one.
    pub(crate) place: Option<Place>,
}

/// A role or policy that is wanted.
pub(crate) enum Wanted<T> {
    /// By name or path.
    Named(Said<String>),
    /// The content itself, with the folder against which its relative paths are read.
    Given(Box<T>, PathBuf),
}

/// A model that is wanted.
#[derive(Clone)]
pub(crate) enum WantedModel {
    /// By name.
    Named(Said<ModelRef>),
    /// The model itself.
    Given(Arc<dyn Model>),
}

/// What is asked, wherever it was said.
#[derive(Default)]
pub(crate) struct Task {
    pub(crate) goal: String,
    pub(crate) workspace: PathBuf,
    /// Whether to work in a copy of it.
    pub(crate) copy: bool,
    pub(crate) worker: Option<Wanted<Role>>,
    pub(crate) verifier: Option<Wanted<Role>>,
    pub(crate) supervisor: Option<Wanted<Role>>,
    pub(crate) policy: Option<Wanted<Policy>>,
    /// Models by role; the first that fits wins.
    pub(crate) models: Vec<(String, WantedModel)>,
    pub(crate) budget: Budget,
    pub(crate) sandbox: Option<SandboxLevel>,
    /// Checks beside those of the policy.
    pub(crate) checks: Vec<Arc<dyn Check>>,
    /// Tools that the worker has beside the built-in ones.
    pub(crate) tools: Vec<Arc<dyn Tool>>,
}

impl<T> Said<T> {
    /// Points an error that has no place of its own to where this was said.
    pub(crate) fn locate(&self, mut error: LoadError) -> LoadError {
        for diagnostic in &mut error.diagnostics {
            if diagnostic.place.is_none() {
                diagnostic.place.clone_from(&self.place);
            }
        }
        error
    }
}

impl Task {
    /// Reads the task file, where there is one, and puts the flags over it.
    pub(crate) fn read(world: &World, flags: &TaskFlags) -> Result<Self, LoadError> {
        let mut findings = Findings::default();
        let file = flags.file.as_ref().map(|file| findings.take(read_file(world, file)));
        let file = match file {
            Some(None) => return Err(LoadError { diagnostics: findings.into_vec() }),
            Some(file) => file,
            None => None,
        };
        let goal = goal(flags, file.as_ref(), &mut findings);
        let workspace = workspace(world, flags, file.as_ref(), &mut findings);
        let budget =
            budget(flags, file.as_ref().map(|(file, _)| file.budget).unwrap_or_default(), &mut findings);
        let said = |flag: &Option<String>, key: &str, get: fn(&TaskFile) -> &Option<String>| {
            let flag = flag.clone().map(|value| Said { value, base: world.cwd.clone(), place: None });
            flag.or_else(|| {
                file.as_ref().and_then(|(file, source)| Some(source.said(&[key], get(file).clone()?)))
            })
        };
        let task = Self {
            goal,
            workspace: workspace.unwrap_or_default(),
            copy: file.as_ref().is_some_and(|(file, _)| file.copy),
            worker: said(&flags.worker, "worker", |file| &file.worker).map(Wanted::Named),
            verifier: said(&flags.verifier, "verifier", |file| &file.verifier).map(Wanted::Named),
            supervisor: said(&flags.supervisor, "supervisor", |file| &file.supervisor).map(Wanted::Named),
            policy: said(&flags.policy, "policy", |file| &file.policy).map(Wanted::Named),
            models: from_flags(world, &flags.models).chain(models(file.as_ref())).collect(),
            budget,
            sandbox: flags.sandbox,
            ..Self::default()
        };
        findings.finish().map(|_| task)
    }

    /// A run that goes on: what it stood on from its first entry, and the flags over it.
    pub(crate) fn of_ground(world: &World, ground: &Ground, flags: &ResumeFlags) -> Result<Self, LoadError> {
        let mut findings = Findings::default();
        let role = |kind| {
            let role = ground.roles.iter().find(|role| role.kind == kind).cloned()?;
            Some(Wanted::Given(Box::new(role), ground.workspace.clone()))
        };
        let task = TaskFlags {
            money: flags.money,
            tokens: flags.tokens,
            turns: flags.turns,
            wall: flags.wall,
            ..TaskFlags::default()
        };
        let budget = budget(&task, ground.budget, &mut findings);
        let task = Self {
            goal: ground.goal.clone(),
            workspace: ground.workspace.clone(),
            worker: role(RoleKind::Worker),
            verifier: role(RoleKind::Verifier),
            supervisor: role(RoleKind::Supervisor),
            policy: Some(Wanted::Given(Box::new(ground.policy.clone()), ground.policy_dir.clone())),
            models: from_flags(world, &flags.models).collect(),
            budget,
            ..Self::default()
        };
        findings.finish().map(|_| task)
    }
}

/// A task file's text and folder.
struct TaskSource {
    document: Document,
    dir: PathBuf,
}

impl TaskSource {
    fn said<T>(&self, keys: &[&str], value: T) -> Said<T> {
        let place = self.document.error(keys, "").place;
        Said { value, base: self.dir.clone(), place }
    }
}

fn read_file(world: &World, file: &Path) -> Result<(TaskFile, TaskSource), LoadError> {
    let path = world.resolve(file);
    let shown = if file.is_absolute() { world.show(file) } else { file.display().to_string() };
    let document = Document::read(&path, &shown)?;
    let task = document.typed(&keys::TASK)?;
    let dir = path.parent().unwrap_or(&world.cwd).to_owned();
    Ok((task, TaskSource { document, dir }))
}

type File<'a> = Option<&'a (TaskFile, TaskSource)>;

fn goal(flags: &TaskFlags, file: File<'_>, findings: &mut Findings) -> String {
    let (goal, error) = match (&flags.goal, file) {
        (Some(goal), _) => (goal.clone(), Diagnostic::error("the goal in `--goal` is empty")),
        (None, Some((task, source))) => {
            (task.goal.clone(), source.document.error(&["goal"], "the goal of a task can't be empty"))
        }
        (None, None) => (String::new(), Diagnostic::error("there is no task")),
    };
    if goal.trim().is_empty() {
        findings.add(error.help("say what is asked, in a sentence or more"));
    }
    goal
}

fn workspace(world: &World, flags: &TaskFlags, file: File<'_>, findings: &mut Findings) -> Option<PathBuf> {
    let said = file.map(|(task, source)| {
        let path = source.dir.join(task.workspace.as_deref().unwrap_or(Path::new(".")));
        source.said(&["workspace"], path)
    });
    let result = match (&flags.workspace, said) {
        (Some(flag), _) => usable(world, flag),
        (None, Some(said)) => usable(world, &said.value).map_err(|error| said.locate(error)),
        (None, None) => usable(world, &world.cwd),
    };
    findings.take(result)
}

/// A folder that a run can work in.
pub(crate) fn usable(world: &World, workspace: &Path) -> Result<PathBuf, LoadError> {
    folder(world, workspace).map_err(|mut error| {
        for diagnostic in &mut error.diagnostics {
            diagnostic.message = format!("the workspace can't be used: {}", diagnostic.message);
        }
        error
    })
}

fn budget(flags: &TaskFlags, mut budget: Budget, findings: &mut Findings) -> Budget {
    budget.money = flags.money.or(budget.money);
    budget.tokens = flags.tokens.or(budget.tokens);
    budget.turns = flags.turns.unwrap_or(budget.turns);
    budget.wall = flags.wall.unwrap_or(budget.wall);
    for (flag, value) in [("--turns", flags.turns), ("--tokens", flags.tokens)] {
        if value == Some(0) {
            findings.add(
                Diagnostic::error(format!("with `{flag} 0` nothing can be done")).help("give at least 1"),
            );
        }
    }
    budget
}

fn from_flags(world: &World, choices: &[ModelChoice]) -> impl Iterator<Item = (String, WantedModel)> {
    choices.iter().rev().map(|choice| {
        let said = Said { value: choice.model.clone(), base: world.cwd.clone(), place: None };
        (choice.role.clone(), WantedModel::Named(said))
    })
}

fn models(file: File<'_>) -> impl Iterator<Item = (String, WantedModel)> {
    file.into_iter().flat_map(|(task, source)| {
        let models = task.models.iter();
        models.map(|(role, model)| {
            (role.clone(), WantedModel::Named(source.said(&["models", role], model.clone())))
        })
    })
}
