//! What is read, once, of the repository that the workspace is in: which files it tracks, and its list of excludes.
//!
//! Nothing is run there: its index is copied and read with our own configuration, in a repository made for that.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    SnapshotError,
    git::{Git, ObjectFormat, failed, strange},
};

/// The repository that the workspace is in; for a plain folder, the folder with nothing tracked or excluded.
#[derive(Debug)]
pub(super) struct Origin {
    /// The folder that the repository is about.
    pub(super) top: PathBuf,
    /// The workspace's path below it; empty where it is the same.
    pub(super) prefix: String,
    /// The text of its list of excludes.
    pub(super) excludes: String,
    /// The files that it tracks in the workspace, by their path there.
    pub(super) tracked: Vec<String>,
}

impl Origin {
    /// Finds the repository. One above the workspace counts only if it tracks a file in the workspace:
    /// else a home folder under version control would hide every workspace in it.
    pub(super) async fn find(workspace: &Path, store: &Path) -> Result<Self, SnapshotError> {
        let plain = || Self {
            top: workspace.into(),
            prefix: String::new(),
            excludes: String::new(),
            tracked: Vec::new(),
        };
        let Some((top, dir)) = workspace.ancestors().find_map(|folder| Some((folder, git_dir(folder)?)))
        else {
            return Ok(plain());
        };
        let Some(prefix) = workspace.strip_prefix(top).ok().and_then(Path::to_str) else {
            return Ok(plain());
        };
        let scratch = tempfile::tempdir_in(store).map_err(failed("create a folder in", store))?;
        let tracked = tracked(&dir, prefix, scratch.path()).await?;
        if tracked.is_empty() && !prefix.is_empty() {
            return Ok(plain());
        }
        let excludes = fs::read(common_dir(&dir).join("info/exclude")).unwrap_or_default();
        let excludes = String::from_utf8_lossy(&excludes).into_owned();
        Ok(Self { top: top.into(), prefix: prefix.into(), excludes, tracked })
    }
}

/// The git folder of this folder: its `.git`, or what a `.git` file names (worktrees, submodules).
fn git_dir(folder: &Path) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    let dir = match fs::read_to_string(&dot_git) {
        Ok(text) => folder.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => dot_git,
    };
    dir.join("HEAD").is_file().then_some(dir)
}

/// The folder that worktrees share.
fn common_dir(dir: &Path) -> PathBuf {
    match fs::read_to_string(dir.join("commondir")) {
        Ok(text) => dir.join(text.trim()),
        Err(_) => dir.into(),
    }
}

async fn tracked(dir: &Path, prefix: &str, scratch: &Path) -> Result<Vec<String>, SnapshotError> {
    let index = dir.join("index");
    if !index.is_file() {
        return Ok(Vec::new());
    }
    let git = Git::init(scratch.join("git"), object_format(dir)).await?;
    let copy = scratch.join("index");
    fs::copy(&index, &copy).map_err(failed("copy", &index))?;
    copy_shared(dir, git.dir())?;
    let mut args = vec!["ls-files", "-z", "--full-name"];
    if is_sparse(&copy)? {
        // Folders that are not checked out stay unopened: their trees are not here.
        args.push("--sparse");
    }
    let listed = git.run_with(&args, Some(&copy), b"").await?;
    let listed = String::from_utf8(listed).map_err(|error| {
        let lossy = String::from_utf8_lossy(error.as_bytes());
        let path = lossy.split('\0').find(|path| path.contains('\u{fffd}'));
        SnapshotError::NotUtf8 { lossy: path.unwrap_or_default().into() }
    })?;
    let below = |path: &str| match prefix {
        "" => Some(path.to_owned()),
        _ => path.strip_prefix(prefix)?.strip_prefix('/').map(str::to_owned),
    };
    let files = listed.split_terminator('\0').filter(|path| !path.ends_with('/'));
    let mut paths: Vec<String> = files.filter_map(below).collect();
    paths.dedup();
    match paths.iter().find(|path| Path::new(path).components().any(|part| !is_plain(part))) {
        Some(path) => Err(strange("ls-files", format!("the path `{path}`"))),
        None => Ok(paths),
    }
}

fn is_plain(part: std::path::Component<'_>) -> bool {
    matches!(part, std::path::Component::Normal(_))
}

/// How the repository names its objects: an index can only be read by its like.
fn object_format(dir: &Path) -> ObjectFormat {
    let config = fs::read(common_dir(dir).join("config")).unwrap_or_default();
    let config = String::from_utf8_lossy(&config).to_ascii_lowercase().replace([' ', '\t'], "");
    match config.lines().any(|line| line == "objectformat=sha256") {
        true => ObjectFormat::Sha256,
        false => ObjectFormat::Sha1,
    }
}

/// Whether an index names whole folders in place of their files. It has an extension of this name then.
fn is_sparse(index: &Path) -> Result<bool, SnapshotError> {
    let bytes = fs::read(index).map_err(failed("read", index))?;
    Ok(bytes.windows(4).any(|word| word == b"sdir"))
}

/// An index may be split: the larger part lies beside it, and is looked for in the folder of whoever reads it.
fn copy_shared(from: &Path, to: &Path) -> Result<(), SnapshotError> {
    for entry in fs::read_dir(from).map_err(failed("read", from))? {
        let entry = entry.map_err(failed("read", from))?;
        if entry.file_name().as_encoded_bytes().starts_with(b"sharedindex.") {
            fs::copy(entry.path(), to.join(entry.file_name())).map_err(failed("copy", entry.path()))?;
        }
    }
    Ok(())
}
