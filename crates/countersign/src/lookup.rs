//! Roles and policies by name or path: the workspace's, the user's, the shipped ones.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use countersign_protocol::{Policy, Role, RoleKind};
use serde::de::DeserializeOwned;

use crate::{
    config::{HOW_TO_TRUST, is_path},
    diagnose::{Diagnostic, LoadError, Source},
    document::Document,
    keys,
    nearest::did_you_mean,
    schema::Table,
    settings::{Origin, Settings, WORKSPACE_FOLDER},
    shipped::{self, Shipped},
    validate,
};

/// A role or policy, and where it came from.
#[derive(Debug, Clone)]
pub struct Found<T> {
    /// The content.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
    /// The folder against which its relative paths are read.
    pub dir: PathBuf,
    pub(crate) document: Document,
}

/// A name that tasks can ask for, where it came from, and what it stands for; one that is wrong is its error.
pub type Listed<T> = (String, Origin, Result<Found<T>, LoadError>);

/// What can be looked up by name.
pub(crate) trait Lookup: DeserializeOwned + 'static {
    /// What it is called in messages.
    const WORD: &'static str;
    /// The folder that holds it, in the workspace's and the user's own folder.
    const FOLDER: &'static str;
    /// The keys of its file.
    const SCHEMA: &'static Table;
    /// Those that are a part of countersign.
    const SHIPPED: &'static [Shipped];
    /// What is wrong with one, apart from its keys and types.
    fn validate(found: &Found<Self>) -> Result<(), LoadError>;
}

impl Lookup for Role {
    const WORD: &'static str = "role";
    const FOLDER: &'static str = "agents";
    const SCHEMA: &'static Table = &keys::ROLE;
    const SHIPPED: &'static [Shipped] = shipped::ROLES;

    fn validate(found: &Found<Self>) -> Result<(), LoadError> {
        validate::role(found)
    }
}

impl Lookup for Policy {
    const WORD: &'static str = "policy";
    const FOLDER: &'static str = "policies";
    const SCHEMA: &'static Table = &keys::POLICY;
    const SHIPPED: &'static [Shipped] = shipped::POLICIES;

    fn validate(found: &Found<Self>) -> Result<(), LoadError> {
        validate::policy(found)
    }
}

impl Settings {
    /// Finds a role by name or path; a relative path is read against `base`. A name is looked for in the workspace's
    /// `.countersign/agents`, in the user's `agents`, and among the shipped roles.
    ///
    /// # Errors
    /// It is missing, wrong, not of this kind, or in a workspace that is not trusted.
    pub fn role(&self, name: &str, kind: Option<RoleKind>, base: &Path) -> Result<Found<Role>, LoadError> {
        let found = self.find::<Role>(name, base)?;
        match kind {
            Some(kind) if kind != found.value.kind => {
                let message = format!("`{name}` is a {}, and a {kind} is needed here", found.value.kind);
                let roles =
                    self.list_roles().into_iter().filter_map(|(name, _, role)| Some((name, role.ok()?)));
                let fit: Vec<_> =
                    roles.filter(|(_, role)| role.value.kind == kind).map(|(name, _)| name).collect();
                // In a shipped role there is nothing to mend: the place is where it was named.
                let error = match found.origin {
                    Origin::Shipped => Diagnostic::error(message),
                    _ => found.document.error(&["kind"], message),
                };
                Err(error.help(format!("the {kind} roles are {}", fit.join(", "))).into())
            }
            _ => Ok(found),
        }
    }

    /// Finds a policy by name or path, as a role is found; its folder is `policies`.
    ///
    /// # Errors
    /// It is missing, wrong, or in a workspace that is not trusted.
    pub fn policy(&self, name: &str, base: &Path) -> Result<Found<Policy>, LoadError> {
        self.find(name, base)
    }

    /// All roles that can be named.
    #[must_use]
    pub fn list_roles(&self) -> Vec<Listed<Role>> {
        self.list()
    }

    /// All policies that can be named.
    #[must_use]
    pub fn list_policies(&self) -> Vec<Listed<Policy>> {
        self.list()
    }

    fn find<T: Lookup>(&self, name: &str, base: &Path) -> Result<Found<T>, LoadError> {
        if is_path(name) {
            let path = base.join(name);
            return self.open_file(&path, Origin::User(path.clone()));
        }
        let files = self.files::<T>();
        match files.get(name) {
            Some(origin) => self.open(name, origin),
            None => {
                let error = Diagnostic::error(format!("there is no {} `{name}`", T::WORD));
                let names = files.keys().map(String::as_str).collect::<Vec<_>>();
                let help = did_you_mean(name, names.iter().copied())
                    .unwrap_or_else(|| format!("there are {}; a path holds a slash", names.join(", ")));
                Err(error.help(help).into())
            }
        }
    }

    fn list<T: Lookup>(&self) -> Vec<Listed<T>> {
        let listed = self.files::<T>().into_iter().map(|(name, origin)| {
            let found = self.open(&name, &origin);
            (name, origin, found)
        });
        listed.collect()
    }

    /// All names, each with the file that it stands for.
    pub(crate) fn files<T: Lookup>(&self) -> BTreeMap<String, Origin> {
        let mut files = BTreeMap::new();
        files.extend(T::SHIPPED.iter().map(|shipped| (shipped.name.to_owned(), Origin::Shipped)));
        if let Some(home) = &self.world.config_home {
            files.extend(toml_files(&home.join(T::FOLDER)).map(|(name, path)| (name, Origin::User(path))));
        }
        let own = self.workspace.join(WORKSPACE_FOLDER).join(T::FOLDER);
        files.extend(toml_files(&own).map(|(name, path)| (name, Origin::Workspace(path))));
        files
    }

    fn open<T: Lookup>(&self, name: &str, origin: &Origin) -> Result<Found<T>, LoadError> {
        match origin {
            Origin::Shipped => self.open_shipped(name),
            Origin::User(path) => self.open_file(path, origin.clone()),
            Origin::Workspace(path) if self.trusted => self.open_file(path, origin.clone()),
            Origin::Workspace(path) => {
                let shown = self.world.show(path);
                let message =
                    format!("the {} `{name}` is `{shown}`, and this workspace is not trusted", T::WORD);
                let why =
                    "a role names tools and a sandbox, and a policy names commands that run on this machine";
                Err(Diagnostic::error(message).because(why).help(HOW_TO_TRUST).into())
            }
        }
    }

    fn open_shipped<T: Lookup>(&self, name: &str) -> Result<Found<T>, LoadError> {
        let shipped = T::SHIPPED.iter().find(|shipped| shipped.name == name);
        let shipped =
            shipped.ok_or_else(|| Diagnostic::error(format!("there is no shipped {} `{name}`", T::WORD)))?;
        let source = Source::new(format!("{}/{name}.toml (shipped)", T::FOLDER), shipped.text);
        // A shipped file has no relative paths.
        finish(Document::parse(&source)?, Origin::Shipped, self.workspace.clone())
    }

    /// Reads a role or policy from a file.
    pub(crate) fn open_file<T: Lookup>(&self, path: &Path, origin: Origin) -> Result<Found<T>, LoadError> {
        let document = Document::read(path, &self.world.show(path))?;
        let dir = path.parent().unwrap_or(Path::new(".")).to_owned();
        let dir = dir.canonicalize().unwrap_or(dir);
        finish(document, origin, dir)
    }
}

/// What a program gave, held against the same rules as a file.
pub(crate) fn given<T: Lookup>(value: T, dir: PathBuf) -> Result<Found<T>, LoadError> {
    let found = Found { value, origin: Origin::User(dir.clone()), dir, document: Document::none() };
    T::validate(&found).map(|()| found)
}

fn finish<T: Lookup>(document: Document, origin: Origin, dir: PathBuf) -> Result<Found<T>, LoadError> {
    let value = document.typed(T::SCHEMA)?;
    let found = Found { value, origin, dir, document };
    T::validate(&found)?;
    Ok(found)
}

/// The TOML files of a folder by their stems. A folder that isn't there has none.
fn toml_files(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> + use<> {
    let entries = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)))
}
