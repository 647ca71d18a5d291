//! A tree's files, written into a new folder.

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::{
        ffi::OsStringExt,
        fs::{PermissionsExt, symlink},
    },
    path::Path,
};

use countersign_protocol::TreeId;

use super::{
    Mode, SnapshotError, TreeEntry,
    git::{Git, failed, strange},
    objects,
};

/// The longest link that is written. No system takes a longer one.
const LINK_LIMIT: u64 = 64 * 1024;

/// Writes a tree's files into an absent or empty folder.
pub(super) async fn materialise(git: &Git, tree: &TreeId, into: &Path) -> Result<(), SnapshotError> {
    fs::create_dir_all(into).map_err(failed("create", into))?;
    if fs::read_dir(into).map_err(failed("read", into))?.next().is_some() {
        return Err(SnapshotError::NotEmpty { folder: into.into() });
    }
    let entries = objects::entries(git, tree).await?;
    check_links(&entries)?;
    let into = into.to_path_buf();
    let names: Vec<u8> =
        entries.iter().flat_map(|entry| format!("{}\n", entry.object).into_bytes()).collect();
    let feed = move |mut to: File| to.write_all(&names).map_err(failed("write to", "git"));
    let drain = move |from: File| write_all(&into, &entries, BufReader::with_capacity(256 * 1024, from));
    git.talk(&["cat-file", "--batch"], None, feed, drain).await
}

/// No file may lie below a link: it would be written wherever the link leads.
fn check_links(entries: &[TreeEntry]) -> Result<(), SnapshotError> {
    let links: HashSet<&str> =
        entries.iter().filter(|entry| entry.mode == Mode::Link).map(|entry| entry.path.as_str()).collect();
    let below_a_link = |entry: &&TreeEntry| {
        let mut folders = entry.path.match_indices('/').map(|(end, _)| &entry.path[..end]);
        folders.any(|folder| links.contains(folder))
    };
    match entries.iter().find(below_a_link) {
        Some(entry) => Err(strange("ls-tree", format!("`{}` lies below a link", entry.path))),
        None => Ok(()),
    }
}

fn write_all(into: &Path, entries: &[TreeEntry], mut from: impl BufRead) -> Result<(), SnapshotError> {
    // Links come last, so that nothing can be written through one.
    let mut links = Vec::new();
    for entry in entries {
        let size = read_head(&mut from, entry)?;
        let path = into.join(&entry.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed("create", folder))?;
        }
        let mut content = Read::by_ref(&mut from).take(size);
        if entry.mode == Mode::Link {
            if size > LINK_LIMIT {
                return Err(SnapshotError::TooLarge { what: format!("`{}`", entry.path), limit: LINK_LIMIT });
            }
            let mut target = Vec::new();
            content.read_to_end(&mut target).map_err(failed("read from", "git"))?;
            links.push((path, std::ffi::OsString::from_vec(target)));
        } else {
            write_file(&path, entry.mode, size, content)?;
        }
        let mut end = [0];
        from.read_exact(&mut end).map_err(failed("read from", "git"))?;
    }
    for (path, target) in links {
        symlink(target, &path).map_err(failed("create the link", &path))?;
    }
    Ok(())
}

fn write_file(path: &Path, mode: Mode, size: u64, mut content: impl Read) -> Result<(), SnapshotError> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).open(path).map_err(failed("create", path))?;
    let written = io::copy(&mut content, &mut file).map_err(failed("write", path))?;
    if written != size {
        return Err(failed("read from", "git")(io::ErrorKind::UnexpectedEof.into()));
    }
    let bits = if mode == Mode::Executable { 0o755 } else { 0o644 };
    file.set_permissions(Permissions::from_mode(bits)).map_err(failed("set the mode of", path))
}

/// Reads `name blob size`.
fn read_head(from: &mut impl BufRead, entry: &TreeEntry) -> Result<u64, SnapshotError> {
    let mut head = String::new();
    from.read_line(&mut head).map_err(failed("read from", "git"))?;
    let size = head.strip_prefix(entry.object.as_str()).and_then(|rest| rest.strip_prefix(" blob "));
    let size = size.and_then(|size| size.trim_end().parse().ok());
    size.ok_or_else(|| strange("cat-file", format!("`{}` for `{}`", head.trim_end(), entry.path)))
}
