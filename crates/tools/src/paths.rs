//! Where a path really leads: every link is resolved before a file is touched, and what leads out is refused.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::{ToolContext, ToolOutput, names::nearest};

/// Links that a path may go through; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// What a path is resolved for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A path that a tool may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Where it really is. The last part may not exist yet; no part of it is a link.
    pub(crate) real: PathBuf,
    /// The same, relative to the workspace where it is in it, for results.
    pub(crate) shown: String,
}

/// Why a path can't be used. The texts are for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("path is empty: give a path relative to the workspace")]
    Empty,
    #[error(
        "`{given}` is outside the workspace: it leads to `{}`. This tool works inside the workspace only; give a path relative to its root",
        real.display()
    )]
    Outside { given: String, real: PathBuf },
    #[error("nothing may be changed here: this is a read-only copy of the workspace")]
    ReadOnly,
    #[error("`{given}` goes through too many links")]
    Links { given: String },
    #[error("`{given}` does not exist{}", hint(nearest))]
    Missing { given: String, nearest: Vec<String> },
    #[error("`{given}` is a folder: list it with `ls`, or name a file in it")]
    Folder { given: String },
    #[error(
        "`{given}` is not a regular file (a pipe, a socket or a device): it can't be read or written here"
    )]
    Special { given: String },
    #[error("`{given}` has {bytes} bytes, too many to edit here: change it with a command")]
    TooLong { given: String, bytes: u64 },
    #[error("`{given}` can't be used: {source}")]
    Io { given: String, source: io::Error },
}

fn hint(nearest: &[String]) -> String {
    if nearest.is_empty() {
        ": look with `ls` or `find`".into()
    } else {
        format!(": near it are {}", nearest.join(", "))
    }
}

impl From<PathError> for ToolOutput {
    fn from(error: PathError) -> Self {
        Self::error(format!("{error}."))
    }
}

impl PathError {
    /// An error of the operating system about a path, with near names where it is not there.
    pub(crate) fn from_io(place: &Place, source: io::Error) -> Self {
        let given = place.shown.clone();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { given, nearest: neighbours(&place.real) },
            io::ErrorKind::IsADirectory => Self::Folder { given },
            _ => Self::Io { given, source },
        }
    }
}

/// Resolves a path as the model gave it: relative to the root, or absolute.
pub(crate) fn resolve(context: &ToolContext, given: &str, access: Access) -> Result<Place, PathError> {
    if access == Access::Write && !context.writable {
        return Err(PathError::ReadOnly);
    }
    if given.trim().is_empty() {
        return Err(PathError::Empty);
    }
    let real = follow(&context.root, Path::new(given)).map_err(|error| match error {
        Unfollowed::Links => PathError::Links { given: given.into() },
        Unfollowed::Io(source) => PathError::Io { given: given.into(), source },
    })?;
    let inside = real.strip_prefix(&context.root).ok().map(|inside| inside.to_string_lossy().into_owned());
    match inside {
        Some(inside) if inside.is_empty() => Ok(Place { real, shown: ".".into() }),
        Some(shown) => Ok(Place { real, shown }),
        None if access == Access::Read && real.starts_with(&context.outputs) => {
            let shown = real.to_string_lossy().into_owned();
            Ok(Place { real, shown })
        }
        None => Err(PathError::Outside { given: given.into(), real }),
    }
}

enum Unfollowed {
    Links,
    Io(io::Error),
}

/// The canonical form of a path whose last parts need not exist, as the kernel would walk it: `..` leaves the
/// folder that a link led to, and a link that leads to nothing yet counts as the place it leads to.
fn follow(root: &Path, given: &Path) -> Result<PathBuf, Unfollowed> {
    let mut real = root.to_owned();
    let mut ahead: VecDeque<OsString> = VecDeque::new();
    let mut links = 0;
    push(&mut real, &mut ahead, given);
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&part);
        match fs::symlink_metadata(&next) {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(Unfollowed::Links);
                }
                let target = fs::read_link(&next).map_err(Unfollowed::Io)?;
                push(&mut real, &mut ahead, &target);
            }
            Ok(_) => real = next,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                real = next;
            }
            Err(error) => return Err(Unfollowed::Io(error)),
        }
    }
    Ok(real)
}

/// Puts the parts of `path` before those that are still ahead; an absolute path starts at the top again.
fn push(real: &mut PathBuf, ahead: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => ahead.push_front(name.to_owned()),
            Component::ParentDir => ahead.push_front("..".into()),
            Component::RootDir | Component::Prefix(_) => *real = PathBuf::from("/"),
            Component::CurDir => {}
        }
    }
}

/// The names beside a path that look like its last part; beside its nearest existing folder, where its own is
/// missing too.
fn neighbours(real: &Path) -> Vec<String> {
    let mut missing = real;
    while let (Some(folder), Some(name)) = (missing.parent(), missing.file_name()) {
        if let Ok(entries) = fs::read_dir(folder) {
            let names: Vec<String> =
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            return nearest(&name.to_string_lossy(), &names);
        }
        missing = folder;
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::tests::Bench;

    fn place(bench: &Bench, given: &str, access: Access) -> Result<String, String> {
        resolve(&bench.context, given, access).map(|place| place.shown).map_err(|error| error.to_string())
    }

    #[test]
    fn every_way_to_name_a_file_leads_to_the_same_place() {
        let bench = Bench::new();
        bench.file("src/a.rs", "x");
        symlink("a.rs", bench.root().join("src/link.rs")).unwrap();
        symlink("src", bench.root().join("code")).unwrap();
        let absolute = bench.root().join("src/a.rs");
        for given in [
            "src/a.rs",
            "./src//a.rs",
            "src/../src/a.rs",
            "src/link.rs",
            "code/a.rs",
            "code/../src/link.rs",
            absolute.to_str().unwrap(),
        ] {
            assert_eq!(place(&bench, given, Access::Write), Ok("src/a.rs".into()), "{given}");
        }
        assert_eq!(place(&bench, "code/new/file", Access::Write), Ok("src/new/file".into()));
        assert_eq!(place(&bench, ".", Access::Read), Ok(".".into()));
    }

    #[test]
    fn whatever_leads_out_is_refused_with_the_real_path() {
        let bench = Bench::new();
        let out = bench.outside();
        fs::write(out.join("victim"), "v").unwrap();
        fs::create_dir(bench.root().join("sub")).unwrap();
        symlink(out.join("victim"), bench.root().join("notes.md")).unwrap();
        symlink(&out, bench.root().join("outbox")).unwrap();
        symlink("../../out/not-yet", bench.root().join("sub/dangling")).unwrap();
        symlink("loop", bench.root().join("loop")).unwrap();
        for given in ["notes.md", "outbox/a", "sub/dangling", "../out/victim", "outbox/../x", "/etc/passwd"] {
            for access in [Access::Read, Access::Write] {
                let refused = place(&bench, given, access).unwrap_err();
                assert!(refused.contains("outside the workspace"), "{given}: {refused}");
            }
        }
        let refused = place(&bench, "notes.md", Access::Write).unwrap_err();
        assert!(refused.contains(out.join("victim").to_str().unwrap()), "{refused}");
        assert!(place(&bench, "loop", Access::Read).unwrap_err().contains("too many links"));
    }

    #[test]
    fn full_outputs_may_be_read_but_not_written() {
        let bench = Bench::new();
        let file = bench.context.outputs.join("o.txt");
        assert!(place(&bench, file.to_str().unwrap(), Access::Read).is_ok());
        assert!(place(&bench, file.to_str().unwrap(), Access::Write).is_err());
    }
}
