//! A workspace to take snapshots of, with its store beside it.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use countersign_protocol::TreeId;
use countersign_sandbox::Snapshots;
use tempfile::TempDir;

pub(crate) struct Ground {
    folder: TempDir,
}

impl Ground {
    /// A plain, empty folder.
    pub(crate) fn plain() -> Self {
        let ground = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(ground.workspace()).unwrap();
        ground
    }

    /// A git repository without a commit.
    pub(crate) fn repository() -> Self {
        let ground = Self::plain();
        ground.git(&["init", "-q"]);
        ground
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let file = self.workspace().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        self
    }

    pub(crate) fn link(&self, path: &str, target: &str) -> &Self {
        symlink(target, self.workspace().join(path)).unwrap();
        self
    }

    pub(crate) fn executable(&self, path: &str, yes: bool) -> &Self {
        let mode = if yes { 0o755 } else { 0o644 };
        fs::set_permissions(self.workspace().join(path), fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    pub(crate) fn remove(&self, path: &str) -> &Self {
        let file = self.workspace().join(path);
        match fs::symlink_metadata(&file).unwrap().is_dir() {
            true => fs::remove_dir_all(file).unwrap(),
            false => fs::remove_file(file).unwrap(),
        }
        self
    }

    /// Runs the user's git in the workspace.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        git_in(&self.workspace(), args)
    }

    pub(crate) fn commit(&self) -> &Self {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "--no-verify", "-m", "x"]);
        self
    }

    pub(crate) async fn snapshots(&self) -> (Snapshots, TreeId) {
        Snapshots::create(&self.beside("store"), &self.workspace()).await.unwrap()
    }
}

pub(crate) fn git_in(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.fsmonitor=false"])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The files of a tree and their content.
pub(crate) async fn content(snapshots: &Snapshots, tree: &TreeId) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in snapshots.entries(tree).await.unwrap() {
        let content = snapshots.read(tree, &entry.path).await.unwrap().unwrap();
        files.insert(entry.path, content);
    }
    files
}

/// The paths of a tree.
pub(crate) async fn paths(snapshots: &Snapshots, tree: &TreeId) -> Vec<String> {
    snapshots.entries(tree).await.unwrap().into_iter().map(|entry| entry.path).collect()
}
