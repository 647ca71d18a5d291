//! What is available to a run: configuration in its layers, roles, policies and models, each with its origin.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::{
    config::{Config, Layer},
    diagnose::{Diagnostic, Findings, LoadError},
    document::unreadable,
    trust::TrustList,
    world::{Globals, World},
};

/// The folder in a workspace, and the name that it has in messages.
pub(crate) const WORKSPACE_FOLDER: &str = ".countersign";

/// Where something came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It is a part of countersign.
    Shipped,
    /// A file of the user, or one that the user named.
    User(PathBuf),
    /// A file of the workspace.
    Workspace(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped => f.pad("shipped"),
            Self::User(path) | Self::Workspace(path) => f.pad(&path.to_string_lossy()),
        }
    }
}

/// What is available in a workspace.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(crate) world: World,
    pub(crate) globals: Globals,
    pub(crate) workspace: PathBuf,
    pub(crate) trusted: bool,
    pub(crate) config: Config,
    notes: Vec<Diagnostic>,
}

impl Settings {
    /// Reads the configuration: the user's, then the workspace's, then the one of `--config`; later wins, key by key.
    /// With `--trust` the workspace is trusted from now on.
    ///
    /// # Errors
    /// The workspace is not a folder, or any of the files is wrong; all that is wrong is said at once.
    pub fn load(world: &World, globals: &Globals, workspace: &Path) -> Result<Self, LoadError> {
        let workspace = folder(world, workspace)?;
        let mut findings = Findings::default();
        let trusted = trust(world, globals, &workspace, &mut findings);
        let mut layers = Vec::new();
        if let Some(home) = &world.config_home {
            let path = home.join("config.toml");
            layers.extend(findings.take(optional_layer(world, &path, Origin::User(path.clone()))).flatten());
        }
        let path = workspace.join(WORKSPACE_FOLDER).join("config.toml");
        let own = findings.take(optional_layer(world, &path, Origin::Workspace(path.clone()))).flatten();
        if let Some(layer) = own {
            if !trusted {
                findings.take(layer.check_untrusted());
            }
            layers.push(layer);
        }
        if let Some(named) = &globals.config {
            let path = world.resolve(named);
            let shown = named.display().to_string();
            layers.extend(findings.take(Layer::read(&path, &shown, Origin::User(path.clone()))));
        }
        let config = findings.take(Config::merge(layers)).unwrap_or_default();
        let notes = findings.finish()?;
        Ok(Self { world: world.clone(), globals: globals.clone(), workspace, trusted, config, notes })
    }

    /// The workspace, as a canonical path.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Whether the user trusts the files in the workspace.
    #[must_use]
    pub const fn trusted(&self) -> bool {
        self.trusted
    }

    /// What is worth telling the user.
    #[must_use]
    pub fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }
}

/// A folder that is there, as a canonical path.
pub(crate) fn folder(world: &World, path: &Path) -> Result<PathBuf, LoadError> {
    let path = world.resolve(path);
    let shown = world.show(&path);
    let canonical = path.canonicalize().map_err(|error| unreadable(&path, &shown, &error))?;
    if !canonical.is_dir() {
        return Err(Diagnostic::error(format!("`{shown}` is not a folder")).into());
    }
    Ok(canonical)
}

/// Whether the workspace is trusted; `--trust` is remembered.
fn trust(world: &World, globals: &Globals, workspace: &Path, findings: &mut Findings) -> bool {
    let list = world.state_dir(globals).ok().map(|dir| TrustList::of(&dir));
    if !globals.trust {
        return list.is_some_and(|list| list.contains(workspace));
    }
    let remembered = match list {
        Some(list) => list.remember(workspace),
        None => Err(io::Error::other("there is no state directory")),
    };
    if let Err(error) = remembered {
        let message = format!("`{}` is trusted for this run only: {error}", world.show(workspace));
        findings.add(Diagnostic::note(message));
    }
    true
}

fn optional_layer(world: &World, path: &Path, origin: Origin) -> Result<Option<Layer>, LoadError> {
    // A dangling link is a mistake, not an absent file.
    match path.symlink_metadata() {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        _ => Layer::read(path, &world.show(path), origin).map(Some),
    }
}
