//! A run built in Rust: the same as a task file, with values in the place of names where that is wanted.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use countersign_model::Model;
use countersign_protocol::{Budget, ModelRef, Policy, Role, RunId, role::SandboxLevel};
use countersign_runtime::{Assignment, Resumption, RunHandle, StartError};
use countersign_tools::Tool;
use countersign_verify::Check;

use crate::{
    diagnose::{Diagnostic, Findings, LoadError},
    prepare::assign,
    task::{Said, Task, Wanted, WantedModel, usable},
    world::{Globals, World},
};

/// A run that may start: everything that it needs was read and checked, and nothing was spent.
pub struct Run {
    assignment: Assignment,
    notes: Vec<Diagnostic>,
}

impl Run {
    /// Begins to build a run.
    pub fn builder() -> RunBuilder {
        RunBuilder::default()
    }

    /// What is worth knowing before it starts.
    #[must_use]
    pub fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// What the run is made from.
    #[must_use]
    pub const fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// Starts the run. It goes on by itself; the handle watches it, stops it and waits for its outcome.
    ///
    /// # Errors
    /// The workspace can't be snapshotted, or the state directory can't be written. Nothing was spent then.
    pub async fn start(self) -> Result<RunHandle, StartError> {
        countersign_runtime::start(self.assignment).await
    }

    /// Goes on with a run that stopped before its end. Goal, workspace, roles and policy must be those it began with.
    ///
    /// # Errors
    /// The run is completed, in use or not there, or its ground can't be laid again.
    pub async fn resume(self, run: RunId, resumption: Resumption) -> Result<RunHandle, StartError> {
        countersign_runtime::resume(run, self.assignment, resumption).await
    }
}

/// A role: by name or path, or the role itself.
#[derive(Debug, Clone)]
pub enum RoleChoice {
    /// By name, or by a path relative to the working directory.
    Named(String),
    /// The role itself; its relative paths are read against the working directory.
    Given(Box<Role>),
}

/// A policy: by name or path, or the policy itself.
#[derive(Debug, Clone)]
pub enum PolicyChoice {
    /// By name, or by a path relative to the working directory.
    Named(String),
    /// The policy itself; its relative paths are read against the working directory.
    Given(Box<Policy>),
}

/// A model: as `provider/model`, or the model itself.
#[derive(Clone)]
pub enum ModelSource {
    /// By name; the path of a script is relative to the working directory.
    Named(String),
    /// The model itself.
    Given(Arc<dyn Model>),
}

macro_rules! choices {
    ($($choice:ident),*) => {$(
        impl From<&str> for $choice {
            fn from(name: &str) -> Self {
                Self::Named(name.into())
            }
        }

        impl From<String> for $choice {
            fn from(name: String) -> Self {
                Self::Named(name)
            }
        }
    )*};
}

choices!(RoleChoice, PolicyChoice, ModelSource);

impl From<Role> for RoleChoice {
    fn from(role: Role) -> Self {
        Self::Given(Box::new(role))
    }
}

impl From<Policy> for PolicyChoice {
    fn from(policy: Policy) -> Self {
        Self::Given(Box::new(policy))
    }
}

impl From<ModelRef> for ModelSource {
    fn from(model: ModelRef) -> Self {
        Self::Named(model.to_string())
    }
}

impl<M: Model + 'static> From<Arc<M>> for ModelSource {
    fn from(model: Arc<M>) -> Self {
        Self::Given(model)
    }
}

impl From<Arc<dyn Model>> for ModelSource {
    fn from(model: Arc<dyn Model>) -> Self {
        Self::Given(model)
    }
}

/// Builds a run. What is not said is as in a task file: the shipped roles, the policy `default`, the default budget,
/// the user's configuration, the state directory of the command line.
#[derive(Default)]
#[must_use]
pub struct RunBuilder {
    goal: String,
    workspace: PathBuf,
    copy: bool,
    worker: Option<RoleChoice>,
    verifier: Option<RoleChoice>,
    supervisor: Option<RoleChoice>,
    policy: Option<PolicyChoice>,
    models: Vec<(String, ModelSource)>,
    checks: Vec<Arc<dyn Check>>,
    tools: Vec<Arc<dyn Tool>>,
    budget: Budget,
    sandbox: Option<SandboxLevel>,
    globals: Globals,
    world: Option<World>,
}

impl RunBuilder {
    /// What is asked. Must be said.
    pub fn goal(mut self, goal: impl Into<String>) -> Self {
        self.goal = goal.into();
        self
    }

    /// The folder to work in; without it the working directory.
    pub fn workspace(mut self, workspace: impl Into<PathBuf>) -> Self {
        self.workspace = workspace.into();
        self
    }

    /// Whether the run works in a copy of the workspace, in the state directory, so that the workspace stays as it is.
    pub fn copy(mut self, copy: bool) -> Self {
        self.copy = copy;
        self
    }

    /// Who does it.
    pub fn worker(mut self, role: impl Into<RoleChoice>) -> Self {
        self.worker = Some(role.into());
        self
    }

    /// Who judges it, where the policy has a judge.
    pub fn verifier(mut self, role: impl Into<RoleChoice>) -> Self {
        self.verifier = Some(role.into());
        self
    }

    /// Who watches.
    pub fn supervisor(mut self, role: impl Into<RoleChoice>) -> Self {
        self.supervisor = Some(role.into());
        self
    }

    /// What a claim must survive.
    pub fn policy(mut self, policy: impl Into<PolicyChoice>) -> Self {
        self.policy = Some(policy.into());
        self
    }

    /// One more check beside those of the policy.
    pub fn check(mut self, check: Arc<dyn Check>) -> Self {
        self.checks.push(check);
        self
    }

    /// One more tool for the worker.
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// The model of `worker`, `verifier`, `supervisor` or a role's name; the last for a role wins.
    pub fn model(mut self, role: impl Into<String>, model: impl Into<ModelSource>) -> Self {
        self.models.insert(0, (role.into(), model.into()));
        self
    }

    /// What the run may use.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// The sandbox level of all roles.
    pub fn sandbox(mut self, level: SandboxLevel) -> Self {
        self.sandbox = Some(level);
        self
    }

    /// Where runs are kept; never inside the workspace.
    pub fn state_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.globals.state_dir = Some(dir.into());
        self
    }

    /// One more configuration file.
    pub fn config(mut self, file: impl Into<PathBuf>) -> Self {
        self.globals.config = Some(file.into());
        self
    }

    /// Trusts the workspace's own configuration, now and later.
    pub fn trust(mut self) -> Self {
        self.globals.trust = true;
        self
    }

    /// Other surroundings than those of this process.
    pub fn world(mut self, world: World) -> Self {
        self.world = Some(world);
        self
    }

    /// Reads and checks everything that the run needs.
    ///
    /// # Errors
    /// All that is wrong, as far as it can be seen at once.
    pub fn build(self) -> Result<Run, LoadError> {
        let world = match self.world {
            Some(world) => world,
            None => World::of_process()?,
        };
        let mut findings = Findings::default();
        if self.goal.trim().is_empty() {
            findings
                .add(Diagnostic::error("the goal is empty").help("say what is asked, in a sentence or more"));
        }
        check_budget(&self.budget, &mut findings);
        let workspace = findings.take(usable(&world, &self.workspace));
        let models = self
            .models
            .into_iter()
            .filter_map(|(role, model)| Some((role, findings.take(wanted_model(model, &world.cwd))?)));
        let models = models.collect();
        findings.finish()?;
        let role = |choice: Option<RoleChoice>| {
            choice.map(|choice| match choice {
                RoleChoice::Named(name) => Wanted::Named(said(name, &world.cwd)),
                RoleChoice::Given(role) => Wanted::Given(role, world.cwd.clone()),
            })
        };
        let policy = self.policy.map(|choice| match choice {
            PolicyChoice::Named(name) => Wanted::Named(said(name, &world.cwd)),
            PolicyChoice::Given(policy) => Wanted::Given(policy, world.cwd.clone()),
        });
        let task = Task {
            goal: self.goal,
            workspace: workspace.unwrap_or_default(),
            copy: self.copy,
            worker: role(self.worker),
            verifier: role(self.verifier),
            supervisor: role(self.supervisor),
            policy,
            models,
            budget: self.budget,
            sandbox: self.sandbox,
            checks: self.checks,
            tools: self.tools,
        };
        let prepared = assign(&world, &self.globals, task)?;
        Ok(Run { assignment: prepared.assignment, notes: prepared.notes })
    }
}

fn said<T>(value: T, base: &Path) -> Said<T> {
    Said { value, base: base.into(), place: None }
}

fn wanted_model(model: ModelSource, base: &Path) -> Result<WantedModel, LoadError> {
    match model {
        ModelSource::Given(model) => Ok(WantedModel::Given(model)),
        ModelSource::Named(name) => match name.parse() {
            Ok(model) => Ok(WantedModel::Named(said(model, base))),
            Err(error) => Err(Diagnostic::error(error.to_string()).into()),
        },
    }
}

fn check_budget(budget: &Budget, findings: &mut Findings) {
    if !(0.0..=1.0).contains(&budget.verification_share) {
        let message =
            format!("a verification share of {} can't be: it is from 0 to 1", budget.verification_share);
        findings.add(Diagnostic::error(message));
    }
    if budget.turns == 0 || budget.tokens == Some(0) {
        findings.add(Diagnostic::error("with a budget of no turns or no tokens nothing can be done"));
    }
}
