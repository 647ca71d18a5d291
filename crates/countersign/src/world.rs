//! Where the user's files lie, and which variables are set.

use std::{
    collections::BTreeMap,
    env, fmt,
    path::{Path, PathBuf},
};

use crate::diagnose::{Diagnostic, LoadError};

/// What the process was started with, taken once, so that loading depends on nothing else.
#[derive(Clone)]
pub struct World {
    /// The folder against which paths in flags are read.
    pub cwd: PathBuf,
    /// The user's own folder of countersign: `config.toml`, `agents/`, `policies/`. `None` without a home.
    pub config_home: Option<PathBuf>,
    /// Where runs are kept unless a flag says otherwise. `None` without a home.
    pub state_home: Option<PathBuf>,
    /// The user's home, for showing paths.
    pub home: Option<PathBuf>,
    /// The variables that are set and not empty.
    pub variables: BTreeMap<String, String>,
}

impl fmt::Debug for World {
    /// Without the variables: some hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("cwd", &self.cwd)
            .field("config_home", &self.config_home)
            .field("state_home", &self.state_home)
            .finish_non_exhaustive()
    }
}

/// The flags that every command has.
#[derive(Debug, Clone, Default)]
pub struct Globals {
    /// `--config FILE`: read after the other configuration files. Always trusted, because the user named it.
    pub config: Option<PathBuf>,
    /// `--state-dir DIR`.
    pub state_dir: Option<PathBuf>,
    /// `--trust`: the workspace's own configuration may be used, now and later.
    pub trust: bool,
}

impl World {
    /// The world of this process.
    ///
    /// # Errors
    /// The working directory is gone or may not be read.
    pub fn of_process() -> Result<Self, LoadError> {
        let cwd = env::current_dir()
            .map_err(|error| Diagnostic::failure(format!("can't tell the working directory: {error}")))?;
        // The XDG specification asks to ignore relative paths.
        let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let folder = |xdg, beside_home: &str| {
            let base = absolute(xdg).or_else(|| home.as_ref().map(|home| home.join(beside_home)));
            base.map(|base| base.join("countersign"))
        };
        Ok(Self {
            cwd,
            config_home: folder("XDG_CONFIG_HOME", ".config"),
            state_home: folder("XDG_STATE_HOME", ".local/state"),
            variables: env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .filter(|(_, value)| !value.is_empty())
                .collect(),
            home,
        })
    }

    /// A path in a flag, made absolute.
    #[must_use]
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// A path as the user would write it: relative where it is in the working directory, `~` for the home.
    #[must_use]
    pub fn show(&self, path: &Path) -> String {
        if let Ok(relative) = path.strip_prefix(&self.cwd) {
            let here = relative.as_os_str().is_empty();
            return if here { ".".into() } else { relative.display().to_string() };
        }
        match self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            Some(relative) => format!("~/{}", relative.display()),
            None => path.display().to_string(),
        }
    }

    /// Where runs are kept.
    ///
    /// # Errors
    /// There is neither a flag nor a home.
    pub fn state_dir(&self, globals: &Globals) -> Result<PathBuf, LoadError> {
        let flag = globals.state_dir.as_ref().map(|dir| self.resolve(dir));
        flag.or_else(|| self.state_home.clone()).ok_or_else(|| {
            Diagnostic::error(
                "there is no place for the state of runs: neither XDG_STATE_HOME nor HOME is set",
            )
            .help("set HOME, or name a folder with `--state-dir DIR`")
            .into()
        })
    }
}
