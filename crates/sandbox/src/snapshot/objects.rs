//! Into and out of the object store: files' content, and trees made from lists of files.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{BufWriter, Read, Write},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use countersign_protocol::TreeId;

use super::{
    Mode, ObjectId, SnapshotError, TreeEntry,
    git::{Git, failed, strange, tree_id},
    scan::{Found, Stat},
};

/// The largest file that a snapshot holds, in bytes: a sparse file costs nothing to make, but all to store.
const FILE_LIMIT: u64 = 4 * 1024 * 1024 * 1024;

/// Stores the content of these files of a folder, and returns what it is named, in the same order.
pub(super) async fn store(
    git: &Git,
    root: &Path,
    files: Vec<(String, Found)>,
) -> Result<Vec<ObjectId>, SnapshotError> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let count = files.len();
    let scratch = tempfile::tempdir_in(git.dir()).map_err(failed("create a folder in", git.dir()))?;
    let marks = scratch.path().join("marks");
    let export = format!("--export-marks={}", marks.display());
    let root = root.to_path_buf();
    let feed = move |to: File| send_all(&root, &files, BufWriter::with_capacity(256 * 1024, to));
    // `--done`: a stream that was cut is a failure.
    let args = ["fast-import", "--quiet", "--done", "--depth=0", &export];
    git.talk(&args, None, feed, |_| Ok(())).await?;
    let text = fs::read_to_string(&marks).map_err(failed("read", &marks))?;
    parse_marks(&text, count).ok_or_else(|| strange("fast-import", "a file's name is missing"))
}

fn send_all(root: &Path, files: &[(String, Found)], mut to: impl Write) -> Result<(), SnapshotError> {
    for (number, (path, found)) in files.iter().enumerate() {
        let mark = number + 1;
        let head = |length: u64| format!("blob\nmark :{mark}\ndata {length}\n");
        match found.mode {
            Mode::Link => {
                let file = root.join(path);
                let target = fs::read_link(&file).map_err(failed("read the link", &file))?;
                let target = target.as_os_str().as_bytes();
                to.write_all(head(target.len() as u64).as_bytes()).and_then(|()| to.write_all(target))
            }
            Mode::File | Mode::Executable => {
                to.write_all(head(found.stat.size).as_bytes()).map_err(failed("write to", "git"))?;
                send_file(root, path, found, &mut to)?;
                Ok(())
            }
        }
        .and_then(|()| to.write_all(b"\n"))
        .map_err(failed("write to", "git"))?;
    }
    to.write_all(b"done\n").and_then(|()| to.flush()).map_err(failed("write to", "git"))
}

/// Sends a file's bytes, and makes sure that it is the file that was found, and stayed as it was.
fn send_file(root: &Path, path: &str, found: &Found, to: &mut impl Write) -> Result<(), SnapshotError> {
    if found.stat.size > FILE_LIMIT {
        return Err(SnapshotError::TooLarge { what: format!("`{path}`"), limit: FILE_LIMIT });
    }
    let changing = || SnapshotError::Changing { path: path.into() };
    let full = root.join(path);
    // Neither a link nor a named pipe that has taken its place is waited for or followed.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(&full)
        .map_err(failed("read", &full))?;
    let same = |file: &File| file.metadata().is_ok_and(|now| Stat::of(&now) == found.stat);
    if !same(&file) {
        return Err(changing());
    }
    let mut left = found.stat.size;
    let mut chunk = vec![0; 64 * 1024];
    while left > 0 {
        let part = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = file.read(&mut chunk[..part]).map_err(failed("read", &full))?;
        if count == 0 {
            return Err(changing());
        }
        to.write_all(&chunk[..count]).map_err(failed("write to", "git"))?;
        left -= count as u64;
    }
    if same(&file) { Ok(()) } else { Err(changing()) }
}

/// Reads lines of `:number name`, in any order.
fn parse_marks(text: &str, count: usize) -> Option<Vec<ObjectId>> {
    let lines = text.lines().filter_map(|line| {
        let (mark, name) = line.strip_prefix(':')?.split_once(' ')?;
        Some((mark.parse().ok()?, ObjectId(name.into())))
    });
    let mut names: BTreeMap<usize, ObjectId> = lines.collect();
    (1..=count).map(|mark| names.remove(&mark)).collect()
}

/// Makes a tree: `base` (or nothing) without the removed paths, and with the added files.
pub(super) async fn edit_tree(
    git: &Git,
    base: Option<&TreeId>,
    removed: &[String],
    added: &[TreeEntry],
) -> Result<TreeId, SnapshotError> {
    if let (Some(base), [], []) = (base, removed, added) {
        return Ok(base.clone());
    }
    let scratch = tempfile::tempdir_in(git.dir()).map_err(failed("create a folder in", git.dir()))?;
    let index: PathBuf = scratch.path().join("index");
    let read = base.map_or("--empty", |base| base.as_str());
    git.run_with(&["read-tree", read], Some(&index), b"").await?;
    let nothing = "0".repeat(40);
    let mut lines = Vec::new();
    // Removals first, so that a folder can take a file's place.
    for path in removed {
        lines.extend(format!("0 {nothing}\t{path}\0").into_bytes());
    }
    for TreeEntry { path, mode, object } in added {
        lines.extend(format!("{} {object}\t{path}\0", octal(*mode)).into_bytes());
    }
    git.run_with(&["update-index", "-z", "--index-info"], Some(&index), &lines).await?;
    tree_id("write-tree", &git.run_with(&["write-tree"], Some(&index), b"").await?)
}

/// The files of a tree, by path.
pub(super) async fn entries(git: &Git, tree: &TreeId) -> Result<Vec<TreeEntry>, SnapshotError> {
    let output = git.run(&["ls-tree", "-r", "-z", "--full-tree", tree.as_str()], b"").await?;
    output.split(|byte| *byte == 0).filter(|line| !line.is_empty()).map(parse_entry).collect()
}

/// The file at this path of a tree.
pub(super) async fn entry(git: &Git, tree: &TreeId, path: &str) -> Result<Option<TreeEntry>, SnapshotError> {
    // Such paths name no file, and git would take them for folders.
    if path.is_empty() || path.starts_with('/') || path.ends_with('/') || path.contains('\0') {
        return Ok(None);
    }
    let output = git.run(&["ls-tree", "-z", "--full-tree", tree.as_str(), "--", path], b"").await?;
    let lines = output.split(|byte| *byte == 0);
    let mut files = lines.filter(|line| !line.is_empty() && !line.starts_with(b"040000 tree"));
    files.next().map(parse_entry).transpose().map(|found| found.filter(|entry| entry.path == path))
}

/// Reads `mode type name TAB path`.
fn parse_entry(line: &[u8]) -> Result<TreeEntry, SnapshotError> {
    let text = std::str::from_utf8(line)
        .map_err(|_| SnapshotError::NotUtf8 { lossy: String::from_utf8_lossy(line).into_owned() })?;
    let unknown = || strange("ls-tree", format!("`{text}`"));
    let (meta, path) = text.split_once('\t').ok_or_else(unknown)?;
    let [mode, "blob", name] = meta.split(' ').collect::<Vec<_>>()[..] else { return Err(unknown()) };
    let mode = parse_mode(mode).ok_or_else(unknown)?;
    let parts_are_names =
        path.split('/').all(|part| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git"));
    match parts_are_names {
        true => Ok(TreeEntry { path: path.into(), mode, object: ObjectId(name.into()) }),
        false => Err(unknown()),
    }
}

/// A mode as git writes it.
pub(super) fn octal(mode: Mode) -> &'static str {
    match mode {
        Mode::File => "100644",
        Mode::Executable => "100755",
        Mode::Link => "120000",
    }
}

/// A mode as git writes it; `None` for what no snapshot holds.
pub(super) fn parse_mode(text: &str) -> Option<Mode> {
    [Mode::File, Mode::Executable, Mode::Link].into_iter().find(|mode| octal(*mode) == text)
}
