//! A copy of a workspace, for tasks that ask to leave the original as it is.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use countersign_protocol::RunId;

use crate::diagnose::{Diagnostic, LoadError};

/// Copies a workspace into the state directory: files, folders, links as links, and modes.
pub(crate) fn workspace(from: &Path, state_dir: &Path) -> Result<PathBuf, LoadError> {
    let name = from.file_name().unwrap_or_default();
    let into = state_dir.join("copies").join(RunId::new().to_string()).join(name);
    let copied = fs::create_dir_all(&into).and_then(|()| copy_folder(from, &into));
    copied.map_err(|error| {
        let message =
            format!("can't copy the workspace `{}` to `{}`: {error}", from.display(), into.display());
        LoadError::from(Diagnostic::failure(message))
    })?;
    Ok(into)
}

fn copy_folder(from: &Path, into: &Path) -> io::Result<()> {
    for entry in from.read_dir()? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, into.join(entry.file_name()));
        if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, to)?;
        } else if kind.is_dir() {
            fs::create_dir(&to)?;
            copy_folder(&entry.path(), &to)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to)?;
        } else {
            let shown = entry.path().display().to_string();
            return Err(io::Error::other(format!("`{shown}` is neither a file, a folder nor a link")));
        }
    }
    fs::set_permissions(into, fs::metadata(from)?.permissions())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_copy_has_files_links_and_modes() {
        let (from, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(from.path().join("inner")).unwrap();
        fs::write(from.path().join("inner/run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(from.path().join("inner/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("inner/run.sh", from.path().join("link")).unwrap();
        let copy = workspace(from.path(), state.path()).unwrap();
        assert!(copy.starts_with(state.path()));
        assert_eq!(fs::read_link(copy.join("link")).unwrap(), Path::new("inner/run.sh"));
        let mode = fs::metadata(copy.join("inner/run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_ne!(copy, workspace(from.path(), state.path()).unwrap());
    }
}
