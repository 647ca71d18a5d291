//! Which workspaces the user trusts: a list in the state directory, where no worker can write.
//!
//! Trust is for a folder and for what its `.countersign` holds: whoever changes that later, a worker or a pull,
//! has to be trusted anew.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use countersign_protocol::BlobId;

use crate::settings::WORKSPACE_FOLDER;

/// No one nests configuration deeper; a loop of links does.
const DEEPEST: usize = 12;

/// The list of trusted workspaces: a fingerprint and a canonical path a line.
#[derive(Debug, Clone)]
pub(crate) struct TrustList {
    file: PathBuf,
}

impl TrustList {
    /// The list of this state directory.
    pub(crate) fn of(state_dir: &Path) -> Self {
        Self { file: state_dir.join("trusted") }
    }

    /// Whether the user has trusted this very folder as it is. A list that can't be read trusts nothing.
    pub(crate) fn contains(&self, workspace: &Path) -> bool {
        let listed = fs::read_to_string(&self.file).unwrap_or_default();
        line(workspace).is_ok_and(|line| listed.lines().any(|listed| listed == line))
    }

    /// Trusts a folder as it is, from now on.
    pub(crate) fn remember(&self, workspace: &Path) -> io::Result<()> {
        if self.contains(workspace) {
            return Ok(());
        }
        let line = line(workspace)?;
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::File::options().create(true).append(true).open(&self.file)?;
        io::Write::write_all(&mut file, format!("{line}\n").as_bytes())
    }
}

fn line(workspace: &Path) -> io::Result<String> {
    let path = workspace.to_str().filter(|path| !path.contains(['\n', '\r']));
    let path = path.ok_or_else(|| io::Error::other("its path holds a line break or is not UTF-8"))?;
    Ok(format!("{} {path}", fingerprint(workspace)?))
}

/// The content of a workspace's own configuration, as a hash.
fn fingerprint(workspace: &Path) -> io::Result<BlobId> {
    let mut content = Vec::new();
    let folder = workspace.join(WORKSPACE_FOLDER);
    if folder.symlink_metadata().is_ok() {
        gather(&folder, DEEPEST, &mut content)?;
    }
    Ok(BlobId::of(&content))
}

/// Each file by name and hash, links followed: what counts is what would be read.
fn gather(folder: &Path, depth: usize, content: &mut Vec<u8>) -> io::Result<()> {
    if depth == 0 {
        return Err(io::Error::other(format!("`{}` is nested too deeply", folder.display())));
    }
    let mut paths =
        folder.read_dir()?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        content.extend((name.len() as u64).to_le_bytes());
        content.extend(name);
        let kind = fs::metadata(&path)?.file_type();
        if kind.is_dir() {
            content.push(b'{');
            gather(&path, depth - 1, content)?;
            content.push(b'}');
        } else if kind.is_file() {
            content.push(b'=');
            content.extend(BlobId::of(&fs::read(&path)?).as_str().as_bytes());
        } else {
            return Err(io::Error::other(format!("`{}` is neither a file nor a folder", path.display())));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> (tempfile::TempDir, TrustList, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let list = TrustList::of(&root.path().join("state/not/yet/there"));
        let workspace = root.path().join("project");
        fs::create_dir_all(workspace.join(".countersign/agents")).unwrap();
        fs::write(workspace.join(".countersign/agents/w.toml"), "one").unwrap();
        (root, list, workspace)
    }

    #[test]
    fn trust_is_for_this_very_folder() {
        let (root, list, workspace) = workspace();
        assert!(!list.contains(&workspace));
        list.remember(&workspace).unwrap();
        list.remember(&workspace).unwrap();
        assert!(list.contains(&workspace));
        assert!(!list.contains(root.path()));
        assert!(!list.contains(&workspace.join("inner")));
        assert_eq!(fs::read_to_string(&list.file).unwrap().lines().count(), 1);
    }

    #[test]
    fn trust_ends_when_the_configuration_changes() {
        let (_root, list, workspace) = workspace();
        list.remember(&workspace).unwrap();
        fs::write(workspace.join("main.rs"), "the work goes on").unwrap();
        assert!(list.contains(&workspace));
        fs::write(workspace.join(".countersign/config.toml"), "").unwrap();
        assert!(!list.contains(&workspace), "a file was added");
        fs::remove_file(workspace.join(".countersign/config.toml")).unwrap();
        fs::write(workspace.join(".countersign/agents/w.toml"), "two").unwrap();
        assert!(!list.contains(&workspace), "a file was changed");
    }

    #[test]
    fn a_loop_of_links_is_not_trusted() {
        let (_root, list, workspace) = workspace();
        std::os::unix::fs::symlink(".", workspace.join(".countersign/loop")).unwrap();
        assert!(list.remember(&workspace).is_err());
        assert!(!list.contains(&workspace));
    }

    #[test]
    fn a_path_cannot_smuggle_in_a_second_line() {
        let (_root, list, _) = workspace();
        assert!(list.remember(Path::new("/tmp/a\n/work/project")).is_err());
    }
}
