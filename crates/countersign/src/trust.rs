//! Which workspaces the user trusts: a list in the state directory, where no worker can write.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The list of trusted workspaces: one canonical path a line.
#[derive(Debug, Clone)]
pub(crate) struct TrustList {
    file: PathBuf,
}

impl TrustList {
    /// The list of this state directory.
    pub(crate) fn of(state_dir: &Path) -> Self {
        Self { file: state_dir.join("trusted") }
    }

    /// Whether the user has trusted this very folder. A list that can't be read trusts nothing.
    pub(crate) fn contains(&self, workspace: &Path) -> bool {
        let listed = fs::read_to_string(&self.file).unwrap_or_default();
        line(workspace).is_some_and(|line| listed.lines().any(|listed| listed == line))
    }

    /// Trusts a folder from now on.
    pub(crate) fn remember(&self, workspace: &Path) -> io::Result<()> {
        if self.contains(workspace) {
            return Ok(());
        }
        let line = line(workspace).ok_or_else(|| {
            io::Error::other("its path holds a line break or is not UTF-8, so it can't be listed")
        })?;
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::File::options().create(true).append(true).open(&self.file)?;
        io::Write::write_all(&mut file, format!("{line}\n").as_bytes())
    }
}

fn line(workspace: &Path) -> Option<&str> {
    workspace.to_str().filter(|path| !path.contains(['\n', '\r']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_is_remembered_for_this_very_folder() {
        let state = tempfile::tempdir().unwrap();
        let list = TrustList::of(&state.path().join("not/yet/there"));
        let project = Path::new("/work/project");
        assert!(!list.contains(project));
        list.remember(project).unwrap();
        list.remember(project).unwrap();
        assert!(list.contains(project));
        assert!(!list.contains(Path::new("/work")));
        assert!(!list.contains(Path::new("/work/project/inner")));
        assert_eq!(fs::read_to_string(&list.file).unwrap(), "/work/project\n");
    }

    #[test]
    fn a_path_cannot_smuggle_in_a_second_line() {
        let state = tempfile::tempdir().unwrap();
        let list = TrustList::of(state.path());
        assert!(list.remember(Path::new("/tmp/a\n/work/project")).is_err());
        assert!(!list.contains(Path::new("/work/project")));
    }
}
