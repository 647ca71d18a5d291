//! A folder with a workspace and a user's own files, and the words that come out.

use std::path::{Path, PathBuf};

use countersign::{Globals, LoadError, Settings, World, lint};

/// A folder of one test.
pub(crate) struct Bench {
    root: tempfile::TempDir,
    pub(crate) globals: Globals,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
}

impl Bench {
    /// A folder with an empty workspace `ws`; the working directory is the folder itself.
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("ws")).unwrap();
        Self {
            root,
            globals: Globals::default(),
            variables: vec![("ANTHROPIC_API_KEY", "sk-ant-test-value")],
        }
    }

    /// The same with a file.
    pub(crate) fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        // The temporary folder itself may be behind a link.
        self.root.path().canonicalize().unwrap().join(path)
    }

    pub(crate) fn world(&self) -> World {
        World {
            cwd: self.path(""),
            config_home: Some(self.path("home/config")),
            state_home: Some(self.path("home/state")),
            home: None,
            variables: self.variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        }
    }

    pub(crate) fn settings(&self) -> Result<Settings, LoadError> {
        Settings::load(&self.world(), &self.globals, Path::new("ws"))
    }

    /// What `check` says of a file.
    pub(crate) fn lint(&self, path: &str) -> String {
        match lint(&self.settings().unwrap(), &[path.into()]) {
            Ok(linted) => countersign::diagnose::render(&linted.diagnostics, false),
            Err(error) => self.said(&error),
        }
    }

    /// An error with its exit code, without this folder's own path.
    pub(crate) fn said(&self, error: &LoadError) -> String {
        let text = format!("{}\n\nexit code {}", error.render(false), error.exit_code());
        text.replace(self.path("").to_string_lossy().trim_end_matches('/'), "ROOT")
    }
}

/// The error of a result that must be one.
pub(crate) fn refused<T>(result: Result<T, LoadError>) -> LoadError {
    match result {
        Ok(_) => panic!("this should have been refused"),
        Err(error) => error,
    }
}
