//! From flags and files to an assignment: everything is read and checked before anything is spent.

use std::{
    fs,
    path::{Path, PathBuf},
};

use countersign_protocol::entry::Ground;
use countersign_runtime::Assignment;

use crate::{
    cast::Cast,
    choose::{Choices, Part},
    copy,
    diagnose::{Diagnostic, Findings, LoadError},
    prompt::{Facts, INSTRUCTIONS_LIMIT},
    settings::Settings,
    task::{ResumeFlags, Task, TaskFlags},
    trust::TrustList,
    world::{Globals, World},
};

/// A run that may start.
pub struct Prepared {
    /// What the run is made from.
    pub assignment: Assignment,
    /// What is worth telling the user before it starts.
    pub notes: Vec<Diagnostic>,
}

/// Reads and checks everything that a run needs.
///
/// # Errors
/// All that is wrong, as far as it can be seen at once.
pub fn prepare(world: &World, globals: &Globals, flags: &TaskFlags) -> Result<Prepared, LoadError> {
    assign(world, globals, Task::read(world, flags)?)
}

/// Reads and checks everything that a run needs to go on. Its goal, roles and policy are those of its ground, whatever
/// became of their files; budget and models may be other ones.
///
/// # Errors
/// All that is wrong, as far as it can be seen at once.
pub fn prepare_resume(
    world: &World,
    globals: &Globals,
    ground: &Ground,
    flags: &ResumeFlags,
) -> Result<Prepared, LoadError> {
    assign(world, globals, Task::of_ground(world, ground, flags)?)
}

/// From what is asked to a run that may start.
pub(crate) fn assign(world: &World, globals: &Globals, mut task: Task) -> Result<Prepared, LoadError> {
    let settings = Settings::load(world, globals, &task.workspace)?;
    task.workspace = settings.workspace.clone();
    let mut findings = Findings::default();
    findings.extend(settings.notes().iter().cloned());
    let state_dir = findings.take(state_dir(world, globals, &task.workspace));
    let copy = task.copy;
    let assignment = cast(&settings, task, &mut findings);
    let mut notes = findings.finish()?;
    let (Some(state_dir), Some(mut assignment)) = (state_dir, assignment) else {
        return Err(
            Diagnostic::failure("the run can't be prepared, and nothing says why; this is a bug").into()
        );
    };
    if copy {
        assignment.workspace = copy::workspace(&assignment.workspace, &state_dir)?;
        notes.push(Diagnostic::note(format!(
            "this run works in a copy: {}",
            world.show(&assignment.workspace)
        )));
        if settings.trusted {
            // What was trusted is in the copy too. Where this fails, the run's continuation asks for trust anew.
            let _ = TrustList::of(&state_dir).remember(&assignment.workspace);
        }
    }
    assignment.state_dir = state_dir;
    Ok(Prepared { assignment, notes })
}

/// Everything but the state directory. Nothing only where a finding says why.
fn cast(settings: &Settings, mut task: Task, findings: &mut Findings) -> Option<Assignment> {
    let (models, budget, sandbox) = (std::mem::take(&mut task.models), task.budget, task.sandbox);
    let (goal, workspace) = (std::mem::take(&mut task.goal), std::mem::take(&mut task.workspace));
    let (checks, tools) = (std::mem::take(&mut task.checks), std::mem::take(&mut task.tools));
    let mut cast = Cast::find(settings, task, findings);
    cast.settle_sandboxes(sandbox, findings);
    let choices = Choices { settings, models: &models, budget: &budget };
    choices.check_names(&cast, findings);
    let worker = cast.worker.as_ref().and_then(|role| {
        let part = Part { found: role, facts: worker_facts(settings), tools };
        choices.actor(part, findings)
    });
    let verifier = cast.verifier.as_ref().and_then(|role| choices.actor(Part::of(role), findings));
    let reviewer = cast.supervisor.as_ref().and_then(|role| choices.reviewer(role, findings));
    let policy = cast.policy?;
    Some(Assignment {
        goal,
        workspace,
        worker: worker?,
        verifier,
        supervisor: cast.supervisor?.value,
        reviewer,
        policy: policy.value,
        policy_dir: policy.dir,
        budget,
        state_dir: PathBuf::new(),
        checks,
        secrets: settings.secrets(),
    })
}

/// What the worker is told of the project. Verifier and supervisor are told nothing that its files say.
fn worker_facts(settings: &Settings) -> Facts {
    let lines = vec!["Paths are relative to the workspace, and commands run in it.".to_owned()];
    let instructions = settings.trusted.then(|| instructions(&settings.workspace)).flatten();
    Facts { instructions, lines }
}

/// The project's own instructions, where there are any that can be read and lie in the workspace.
fn instructions(workspace: &Path) -> Option<(String, String)> {
    let name = "AGENTS.md";
    let path = workspace.join(name).canonicalize().ok().filter(|path| path.starts_with(workspace))?;
    let mut bytes = Vec::new();
    let file = fs::File::open(path).ok()?;
    // A little more than is shown, so that a cut can be told.
    std::io::Read::read_to_end(&mut std::io::Read::take(file, INSTRUCTIONS_LIMIT as u64 + 64), &mut bytes)
        .ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (!text.trim().is_empty()).then(|| (name.to_owned(), text))
}

/// Where the run is kept: never in the workspace, where the worker could write to it.
fn state_dir(world: &World, globals: &Globals, workspace: &Path) -> Result<PathBuf, LoadError> {
    let dir = world.state_dir(globals)?;
    let real = real(&dir);
    if real.starts_with(workspace) {
        let message = format!("the state directory `{}` is in the workspace", world.show(&dir));
        let why = "the worker could change the journal, and what its work is compared with";
        return Err(Diagnostic::error(message)
            .because(why)
            .help("name another with `--state-dir DIR`")
            .into());
    }
    Ok(real)
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}
