//! Looks files over without running anything: `countersign check`.

use std::path::{Path, PathBuf};

use countersign_protocol::{Policy, Role};

use crate::{
    cast::Cast,
    choose::Choices,
    config::Layer,
    diagnose::{Diagnostic, Findings, LoadError},
    document::{Document, missing},
    keys,
    lookup::Lookup,
    nearest::list_or,
    schema::Table,
    settings::{Origin, Settings, WORKSPACE_FOLDER},
    task::{Task, TaskFlags},
};

/// What a look at files came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Linted {
    /// The files that were read, as they are named in the diagnostics.
    pub files: Vec<PathBuf>,
    /// What was found.
    pub diagnostics: Vec<Diagnostic>,
}

/// What a TOML file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Role,
    Policy,
    Task,
    Config,
}

/// Looks over roles, policies, tasks and configuration: the files and folders named, or with none the user's and the
/// workspace's own. In a folder, TOML files that are none of these are left alone.
///
/// # Errors
/// A path doesn't exist or can't be read.
pub fn lint(settings: &Settings, paths: &[PathBuf]) -> Result<Linted, LoadError> {
    let mut found = Vec::new();
    if paths.is_empty() {
        for folder in [settings.world.config_home.clone(), Some(settings.workspace.join(WORKSPACE_FOLDER))] {
            folder.into_iter().for_each(|folder| collect(&folder, &mut found));
        }
        let task = settings.workspace.join("task.toml");
        found.extend(task.is_file().then_some((task, false)));
    }
    for path in paths {
        let full = settings.world.resolve(path);
        match full.metadata() {
            Ok(metadata) if metadata.is_dir() => collect(&full, &mut found),
            Ok(_) => found.push((full, true)),
            Err(_) => return Err(missing(&full, &path.display().to_string()).into()),
        }
    }
    let mut linted = Linted { files: Vec::new(), diagnostics: Vec::new() };
    for (path, named) in found {
        let shown = settings.world.show(&path);
        let mut findings = Findings::default();
        if findings.take(lint_file(settings, &path, &shown, named)) != Some(false) {
            linted.files.push(shown.into());
            linted.diagnostics.extend(findings.into_vec());
        }
    }
    Ok(linted)
}

/// The TOML files below a folder, in order. Hidden folders are left alone, but for our own.
fn collect(folder: &Path, found: &mut Vec<(PathBuf, bool)>) {
    let mut entries: Vec<_> = folder.read_dir().into_iter().flatten().flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let hidden = name.to_string_lossy().starts_with('.') && name != WORKSPACE_FOLDER;
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !hidden => collect(&path, found),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|e| e == "toml") => {
                found.push((path, false))
            }
            _ => {}
        }
    }
}

/// Whether the file is one of ours; what is wrong with it is the error.
fn lint_file(settings: &Settings, path: &Path, shown: &str, named: bool) -> Result<bool, LoadError> {
    let kind = match kind_by_name(path) {
        Some(kind) => kind,
        None => match (kind_by_keys(&Document::read(path, shown)?), named) {
            (Some(kind), _) => kind,
            (None, false) => return Ok(false),
            (None, true) => {
                let error = Diagnostic::error(format!(
                    "`{shown}` is neither a role, a policy, a task nor a configuration"
                ));
                let own = [("a role", &keys::ROLE), ("a policy", &keys::POLICY), ("a task", &keys::TASK)];
                let lists = own.map(|(what, table)| format!("{what} has the keys {}", required(table)));
                return Err(error.because(lists.join("; ")).into());
            }
        },
    };
    let origin = Origin::User(path.to_owned());
    match kind {
        Kind::Role => settings.open_file::<Role>(path, origin).map(|_| true),
        Kind::Policy => settings.open_file::<Policy>(path, origin).map(|_| true),
        Kind::Config => Layer::read(path, shown, origin).map(|_| true),
        Kind::Task => lint_task(settings, path).map(|()| true),
    }
}

/// A task with all that it names: roles, policy, models. Keys and prices are a matter of the run.
fn lint_task(settings: &Settings, path: &Path) -> Result<(), LoadError> {
    let flags = TaskFlags { file: Some(path.to_owned()), ..TaskFlags::default() };
    let mut task = Task::read(&settings.world, &flags)?;
    let settings = Settings::load(&settings.world, &settings.globals, &task.workspace)?;
    let (models, budget) = (std::mem::take(&mut task.models), task.budget);
    let mut findings = Findings::default();
    let mut cast = Cast::find(&settings, task, &mut findings);
    cast.settle_sandboxes(None, &mut findings);
    let choices = Choices { settings: &settings, models: &models, budget: &budget };
    choices.check_names(&cast, &mut findings);
    choices.check_models(&cast, &mut findings);
    // A warning is worth saying here too.
    let found = findings.into_vec();
    if found.is_empty() { Ok(()) } else { Err(LoadError { diagnostics: found }) }
}

fn required(table: &Table) -> String {
    let keys = table.keys.iter().filter(|key| matches!(key.without, crate::schema::Without::Refused));
    list_or(&keys.map(|key| key.name).collect::<Vec<_>>()).replace(" or ", " and ")
}

/// By the folder or the name that such files have.
fn kind_by_name(path: &Path) -> Option<Kind> {
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let ours = path.iter().any(|part| part == WORKSPACE_FOLDER || part == "countersign");
    match (folder, path.file_name()?.to_str()?) {
        (_, "task.toml") => Some(Kind::Task),
        (Some(folder), "config.toml") if folder == WORKSPACE_FOLDER || folder == "countersign" => {
            Some(Kind::Config)
        }
        (Some(folder), _) if folder == Role::FOLDER && ours => Some(Kind::Role),
        (Some(folder), _) if folder == Policy::FOLDER && ours => Some(Kind::Policy),
        _ => None,
    }
}

/// By the keys that only one of them has.
fn kind_by_keys(document: &Document) -> Option<Kind> {
    let keys = document.keys();
    let has = |key: &str| keys.iter().any(|name| name == key);
    if has("goal") {
        Some(Kind::Task)
    } else if has("providers") || has("defaults") {
        Some(Kind::Config)
    } else if has("prompt") && (has("kind") || has("name")) {
        Some(Kind::Role)
    } else if has("name") && ["check", "judge", "protected", "accept"].into_iter().any(has) {
        Some(Kind::Policy)
    } else {
        None
    }
}
