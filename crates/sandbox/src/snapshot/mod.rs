//! Snapshots: a folder's content as a git tree, in an object store that the worker cannot reach.
//!
//! git is used as an object store only. Which files there are, and whether they changed, is found by a walk of our
//! own; so no attribute, filter, hook, index flag, file monitor or nested repository in the workspace can run code
//! or hide a change.

mod diff;
mod error;
mod git;
mod materialise;
mod model;
mod objects;
mod origin;
mod rules;
mod scan;
mod stored;

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use countersign_protocol::TreeId;
use tokio::{sync::Mutex, task::spawn_blocking};

pub use error::SnapshotError;
pub use model::{AddedLine, Change, ChangeKind, Mode, ObjectId, Patch, TreeEntry};

use git::{Git, ObjectFormat, failed};
use origin::Origin;
use rules::Rules;
use scan::{Found, Scan, scan};
use stored::{Known, Stored};

/// The snapshots of one workspace: a private git object store, and the ignore rules as they were at the base.
///
/// Whoever writes to the workspace must have been stopped before a snapshot is taken; a file that changes
/// meanwhile is an error. Trees hold files, executable files and links; empty folders are not kept.
#[derive(Debug)]
pub struct Snapshots {
    git: Git,
    workspace: PathBuf,
    base: TreeId,
    rules: Arc<Rules>,
    /// Ignored files of the base that are taken all the same, as the workspace's repository tracks them.
    kept: Arc<Vec<String>>,
    /// What was in the base and can't be kept.
    special: BTreeMap<String, String>,
    latest: Mutex<Latest>,
}

/// The tree that was taken last, and what is known of its files, so that only changed ones are read.
#[derive(Debug)]
struct Latest {
    tree: TreeId,
    files: BTreeMap<String, Known>,
}

impl Snapshots {
    /// Makes a new store, freezes the ignore rules, and takes the base.
    ///
    /// The store must be outside the workspace. What a crash left of an unfinished store is replaced.
    pub async fn create(store: &Path, workspace: &Path) -> Result<(Self, TreeId), SnapshotError> {
        let workspace = canonical(workspace)?;
        let store = stored::prepare(store, &workspace)?;
        let git = Git::init(stored::git_dir(&store), ObjectFormat::Sha1).await?;
        let origin = Origin::find(&workspace, &store).await?;
        let (rules, kept, found, now) = spawn_blocking({
            let workspace = workspace.clone();
            move || look_first(&workspace, origin)
        })
        .await
        .map_err(|lost| failed("walk through", "the workspace")(lost.into()))??;
        let special = found.special.into_iter().map(|(path, kind)| (path, kind.to_owned())).collect();
        let latest = next(&git, &workspace, None, found.files, now).await?;
        let base = latest.tree.clone();
        let stored = Stored::new(&base, rules.frozen().clone(), kept, special, latest.files);
        stored.write(&store)?;
        Ok((Self::from_stored(git, workspace, stored), base))
    }

    /// Opens a store that [`Snapshots::create`] made.
    pub async fn open(store: &Path, workspace: &Path) -> Result<Self, SnapshotError> {
        let workspace = canonical(workspace)?;
        let stored = Stored::read(store)?;
        let git = Git::at(stored::git_dir(&canonical(store)?));
        git.run(&["cat-file", "-e", stored.base.as_str()], b"").await?;
        Ok(Self::from_stored(git, workspace, stored))
    }

    fn from_stored(git: Git, workspace: PathBuf, stored: Stored) -> Self {
        let latest = Latest { tree: stored.base.clone(), files: stored.files };
        Self {
            git,
            workspace,
            base: stored.base,
            rules: Arc::new(Rules::thaw(stored.rules)),
            kept: Arc::new(stored.kept),
            special: stored.special,
            latest: Mutex::new(latest),
        }
    }

    /// The base, as [`Snapshots::create`] took it.
    #[must_use]
    pub fn base(&self) -> &TreeId {
        &self.base
    }

    /// What of the base could not be kept (sockets and the like), a line each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        self.special
            .iter()
            .map(|(path, kind)| format!("`{path}` is a {kind} and not in the snapshot"))
            .collect()
    }

    /// The workspace's content now.
    pub async fn take(&self) -> Result<TreeId, SnapshotError> {
        let mut latest = self.latest.lock().await;
        let (found, now) = look(&self.workspace, &self.rules, &self.kept).await?;
        refuse_special(&found, |path| self.special.contains_key(path))?;
        *latest = next(&self.git, &self.workspace, Some(&latest), found.files, now).await?;
        Ok(latest.tree.clone())
    }

    /// Any other folder's content, with nothing ignored but `.git`.
    pub async fn take_folder(&self, folder: &Path) -> Result<TreeId, SnapshotError> {
        let folder = canonical(folder)?;
        let (found, now) = look(&folder, &Arc::new(Rules::none()), &Arc::default()).await?;
        refuse_special(&found, |_| false)?;
        Ok(next(&self.git, &folder, None, found.files, now).await?.tree)
    }

    /// What changed from one tree to another, by path.
    pub async fn changes(&self, from: &TreeId, to: &TreeId) -> Result<Vec<Change>, SnapshotError> {
        diff::changes(&self.git, from, to).await
    }

    /// What changed, as a unified diff of at most `max_bytes` bytes.
    pub async fn patch(&self, from: &TreeId, to: &TreeId, max_bytes: usize) -> Result<Patch, SnapshotError> {
        diff::patch(&self.git, from, to, max_bytes).await
    }

    /// The lines that were added, with their number in the new file. Files with binary content count too.
    pub async fn added_lines(&self, from: &TreeId, to: &TreeId) -> Result<Vec<AddedLine>, SnapshotError> {
        diff::added_lines(&self.git, from, to).await
    }

    /// The files of a tree, by path.
    pub async fn entries(&self, tree: &TreeId) -> Result<Vec<TreeEntry>, SnapshotError> {
        objects::entries(&self.git, tree).await
    }

    /// A file's bytes (a link's target); `None` where the tree has no such file.
    pub async fn read(&self, tree: &TreeId, path: &str) -> Result<Option<Vec<u8>>, SnapshotError> {
        match objects::entry(&self.git, tree, path).await? {
            Some(entry) => self.git.run(&["cat-file", "blob", entry.object.as_str()], b"").await.map(Some),
            None => Ok(None),
        }
    }

    /// `onto`, where each of these paths becomes what it is in `from`: a file, all of a folder, or nothing.
    pub async fn compose(
        &self,
        onto: &TreeId,
        from: &TreeId,
        paths: &[String],
    ) -> Result<TreeId, SnapshotError> {
        let paths: HashSet<&str> = paths.iter().map(|path| path.trim_end_matches('/')).collect();
        let named = |entry: &TreeEntry| {
            let mut folders = entry.path.match_indices('/').map(|(end, _)| &entry.path[..end]);
            paths.contains(entry.path.as_str()) || folders.any(|folder| paths.contains(folder))
        };
        let removed = self.entries(onto).await?.into_iter().filter(named).map(|entry| entry.path);
        let added = self.entries(from).await?.into_iter().filter(named);
        let (removed, added): (Vec<_>, Vec<_>) = (removed.collect(), added.collect());
        objects::edit_tree(&self.git, Some(onto), &removed, &added).await
    }

    /// `onto` with every file of `over` put on it. Where one has a folder and the other a file, `over` counts.
    pub async fn overlay(&self, onto: &TreeId, over: &TreeId) -> Result<TreeId, SnapshotError> {
        let added = self.entries(over).await?;
        objects::edit_tree(&self.git, Some(onto), &[], &added).await
    }

    /// Writes a tree's files into an absent or empty folder. There is no `.git` in it, and no link is followed.
    pub async fn materialise(&self, tree: &TreeId, into: &Path) -> Result<(), SnapshotError> {
        materialise::materialise(&self.git, tree, into).await
    }
}

fn canonical(folder: &Path) -> Result<PathBuf, SnapshotError> {
    let found = folder.canonicalize().map_err(failed("find", folder))?;
    match found.is_dir() {
        true => Ok(found),
        false => Err(failed("read", folder)(std::io::ErrorKind::NotADirectory.into())),
    }
}

/// The rules, the ignored files that are kept, and the files, as the workspace is before anyone works in it.
fn look_first(
    workspace: &Path,
    origin: Origin,
) -> Result<(Rules, Vec<String>, Scan, SystemTime), SnapshotError> {
    let rules = Rules::collect(workspace, &origin.top, &origin.prefix, origin.excludes)?;
    let mut kept = origin.tracked;
    kept.retain(|path| rules.ignores_file(path));
    let now = SystemTime::now();
    let found = scan(workspace, &rules, &kept)?;
    Ok((rules, kept, found, now))
}

async fn look(
    root: &Path,
    rules: &Arc<Rules>,
    kept: &Arc<Vec<String>>,
) -> Result<(Scan, SystemTime), SnapshotError> {
    let (root, rules, kept) = (root.to_path_buf(), Arc::clone(rules), Arc::clone(kept));
    let now = SystemTime::now();
    let walk = spawn_blocking(move || scan(&root, &rules, &kept)).await;
    let found = walk.map_err(|lost| failed("walk through", "the folder")(lost.into()))??;
    Ok((found, now))
}

fn refuse_special(found: &Scan, known: impl Fn(&str) -> bool) -> Result<(), SnapshotError> {
    match found.special.iter().find(|(path, _)| !known(path)) {
        Some((path, kind)) => Err(SnapshotError::SpecialFile { path: path.clone(), kind }),
        None => Ok(()),
    }
}

/// The tree of the files that were found, given the one that was taken before: what did not change is not read.
async fn next(
    git: &Git,
    root: &Path,
    before: Option<&Latest>,
    found: BTreeMap<String, Found>,
    now: SystemTime,
) -> Result<Latest, SnapshotError> {
    let known = |path: &str| before.and_then(|before| before.files.get(path));
    let mut unread = Vec::new();
    for (path, found) in &found {
        if !known(path).is_some_and(|known| known.is_still(found)) {
            unread.push((path.clone(), *found));
        }
    }
    let objects = objects::store(git, root, unread.clone()).await?;
    let mut files = before.map(|before| before.files.clone()).unwrap_or_default();
    files.retain(|path, _| found.contains_key(path));
    let mut added = Vec::new();
    for ((path, found), object) in unread.into_iter().zip(objects) {
        let settled = found.stat.settled(now);
        let known = Known { mode: found.mode, stat: found.stat, object: object.clone(), settled };
        let old = files.insert(path.clone(), known);
        if old.is_none_or(|old| old.object != object || old.mode != found.mode) {
            added.push(TreeEntry { path, mode: found.mode, object });
        }
    }
    let gone = before.iter().flat_map(|before| before.files.keys()).filter(|path| !found.contains_key(*path));
    let gone: Vec<String> = gone.cloned().collect();
    let tree = objects::edit_tree(git, before.map(|before| &before.tree), &gone, &added).await?;
    Ok(Latest { tree, files })
}
