//! Freezing what a policy names (held-out folders, plug-in programs) before the worker starts, out of its reach.
//!
//! Frozen files are trees in the run's private object store; a list of them lies in the scratch folder, so that
//! a resumed run takes the same ones and not what the policy's folder holds by then.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use countersign_protocol::{Policy, TreeId};
use countersign_sandbox::Snapshots;
use serde::{Deserialize, Serialize};

use crate::PolicyError;

/// The name of the list in the scratch folder.
const LIST: &str = "frozen.json";

/// Everything that a policy names, by check.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Frozen {
    pub(crate) overlays: BTreeMap<String, TreeId>,
    pub(crate) programs: BTreeMap<String, FrozenProgram>,
}

/// A program and its arguments, of which some are files that were frozen.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FrozenProgram {
    argv: Vec<String>,
    files: Vec<FrozenFile>,
}

/// An argument that is a file of a frozen folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct FrozenFile {
    argument: usize,
    folder: TreeId,
    name: String,
}

impl Frozen {
    /// What an earlier session of the run froze; `None` for a run that begins.
    pub(crate) fn earlier(scratch: &Path) -> Result<Option<Self>, PolicyError> {
        let path = scratch.join(LIST);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| io("understand", &path, std::io::Error::other(error))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io("read", &path, error)),
        }
    }

    /// Freezes what the policy names in `dir`, and writes the list.
    pub(crate) async fn take(
        policy: &Policy,
        dir: &Path,
        snapshots: &Snapshots,
        scratch: &Path,
    ) -> Result<Self, PolicyError> {
        let mut frozen = Self::default();
        for check in &policy.checks {
            if let Some(overlay) = &check.overlay {
                let tree = snapshots.take_folder(&dir.join(overlay)).await?;
                frozen.overlays.insert(check.name.clone(), tree);
            }
            if let Some(argv) = &check.plugin {
                let program = FrozenProgram::take(argv, dir, snapshots).await?;
                frozen.programs.insert(check.name.clone(), program);
            }
        }
        let path = scratch.join(LIST);
        let json = serde_json::to_vec_pretty(&frozen)
            .map_err(|error| io("write", &path, std::io::Error::other(error)))?;
        let partial = scratch.join(format!("{LIST}.partial"));
        fs::write(&partial, json)
            .and_then(|()| fs::rename(&partial, &path))
            .map_err(|e| io("write", &path, e))?;
        Ok(frozen)
    }
}

impl FrozenProgram {
    async fn take(argv: &[String], dir: &Path, snapshots: &Snapshots) -> Result<Self, PolicyError> {
        let mut files = Vec::new();
        for (argument, text) in argv.iter().enumerate() {
            let Some(file) = beside(dir, argument, text) else { continue };
            let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else { continue };
            let name = name.to_string_lossy().into_owned();
            // A program's own folder comes with it, so that it finds its modules; the policy's folder does not.
            let folder = if parent.canonicalize().ok() == dir.canonicalize().ok() {
                let alone = tempfile::tempdir().map_err(|error| io("make a folder for", &file, error))?;
                fs::copy(&file, alone.path().join(&name)).map_err(|error| io("read", &file, error))?;
                snapshots.take_folder(alone.path()).await?
            } else {
                snapshots.take_folder(parent).await?
            };
            files.push(FrozenFile { argument, folder, name });
        }
        Ok(Self { argv: argv.to_vec(), files })
    }

    /// Writes the frozen files into `home` and answers with the arguments that name them there.
    pub(crate) async fn thaw(&self, snapshots: &Snapshots, home: &Path) -> Result<Vec<String>, String> {
        let mut argv = self.argv.clone();
        fs::create_dir_all(home).map_err(|error| format!("cannot make {}: {error}", home.display()))?;
        for file in &self.files {
            let folder = home.join(file.argument.to_string());
            snapshots.materialise(&file.folder, &folder).await.map_err(|error| error.to_string())?;
            argv[file.argument] = folder.join(&file.name).to_string_lossy().into_owned();
        }
        Ok(argv)
    }
}

/// The file beside the policy that an argument names: a program by a path with a slash, anything else by being
/// there. An absolute path is used as it is, and is the user's to keep out of the worker's reach.
pub(crate) fn beside(dir: &Path, argument: usize, text: &str) -> Option<PathBuf> {
    let by_name_on_path = argument == 0 && !text.contains('/');
    if by_name_on_path || text.is_empty() || Path::new(text).is_absolute() {
        return None;
    }
    let file = dir.join(text);
    file.is_file().then_some(file)
}

fn io(action: &'static str, path: &Path, source: std::io::Error) -> PolicyError {
    PolicyError::Io { action, path: path.into(), source }
}
