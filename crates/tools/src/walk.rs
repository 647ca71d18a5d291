//! Goes through the files of a folder in a fixed order, without what `.gitignore` names.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

use crate::{ToolContext, ToolOutput, paths::Place};

/// Visits all that is in `place`, or `place` itself where it is a file, by name, folders in depth. Hidden files are
/// visited, `.git` is not. A place that is itself ignored was asked for by name, so it is visited all the same.
pub(crate) fn walk(
    context: &ToolContext,
    place: &Place,
    mut visit: impl FnMut(&DirEntry) -> ControlFlow<()>,
) {
    let target: Arc<Path> = place.real.as_path().into();
    if target.starts_with(&context.root) {
        // From the root on, so that its ignore files count in a sub-folder too, and those above it don't.
        let reached = Arc::new(AtomicBool::new(false));
        let (wanted, seen) = (Arc::clone(&target), Arc::clone(&reached));
        let mut builder = builder(&context.root);
        builder.filter_entry(move |entry| {
            let inside = entry.path().starts_with(&wanted);
            seen.fetch_or(inside, Ordering::Relaxed);
            !is_git(entry) && (inside || wanted.starts_with(entry.path()))
        });
        visit_all(builder.build(), &target, &mut visit);
        if reached.load(Ordering::Relaxed) || *target == *context.root {
            return;
        }
    }
    let mut builder = builder(&target);
    builder.filter_entry(|entry| !is_git(entry));
    visit_all(builder.build(), &target, &mut visit);
}

fn builder(from: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(from);
    // Only the tree's own ignore files: the machine's configuration must not change what a tool finds.
    builder.standard_filters(false).git_ignore(true).require_git(false);
    builder.sort_by_file_name(Ord::cmp);
    builder
}

fn is_git(entry: &DirEntry) -> bool {
    entry.depth() > 0 && entry.file_name() == ".git"
}

fn visit_all(walk: ignore::Walk, target: &Path, visit: &mut impl FnMut(&DirEntry) -> ControlFlow<()>) {
    for entry in walk.flatten() {
        let itself = entry.path() == target;
        let asked = entry.path().starts_with(target) && (!itself || !entry.path().is_dir());
        if asked && visit(&entry).is_break() {
            return;
        }
    }
}

/// A glob as people write it: without a slash it is about names, with one about the path.
pub(crate) struct Glob {
    matcher: GlobMatcher,
    by_name: bool,
}

impl Glob {
    /// # Errors
    /// Where it is not a glob: the error result.
    pub(crate) fn new(glob: &str) -> Result<Self, ToolOutput> {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let matcher = GlobBuilder::new(glob).literal_separator(true).build().map_err(|error| {
            ToolOutput::error(format!(
                "`{glob}` is not a glob: {}. Write one as `*.rs` or `src/**/*.rs`.",
                error.kind()
            ))
        })?;
        Ok(Self { matcher: matcher.compile_matcher(), by_name: !glob.contains('/') })
    }

    /// Whether it is about this path, which is relative to the folder that is searched.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        match path.file_name() {
            Some(name) if self.by_name => self.matcher.is_match(name),
            _ => self.matcher.is_match(path),
        }
    }
}

/// A path as results show it: relative to the workspace where it is in it.
pub(crate) fn shown(context: &ToolContext, path: &Path) -> String {
    path.strip_prefix(&context.root).unwrap_or(path).to_string_lossy().into_owned()
}

/// A path relative to the folder that is searched; a file that is searched itself is its own name.
pub(crate) fn within<'a>(place: &Place, path: &'a Path) -> &'a Path {
    match path.strip_prefix(&place.real) {
        Ok(inside) if inside != Path::new("") => inside,
        _ => path.file_name().map_or(path, Path::new),
    }
}

/// The folder or file to search: the given one, or the root.
pub(crate) fn start(context: &ToolContext, path: Option<&str>) -> Result<Place, ToolOutput> {
    use crate::paths::{Access, PathError, resolve};
    let place = resolve(context, path.unwrap_or("."), Access::Read)?;
    match std::fs::symlink_metadata(&place.real) {
        Ok(_) => Ok(place),
        Err(error) => Err(PathError::from_io(&place, error).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Bench;

    fn found(bench: &Bench, path: &str) -> Vec<String> {
        let place = start(&bench.context, Some(path)).unwrap();
        let mut found = Vec::new();
        walk(&bench.context, &place, |entry| {
            found.push(shown(&bench.context, entry.path()));
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn ignored_files_are_left_out_unless_asked_for() {
        let bench = Bench::new();
        std::fs::write(bench.root().parent().unwrap().join(".gitignore"), "*").unwrap();
        for path in
            ["target/debug/out", "src/b.rs", "src/a.rs", "src/gen/x.rs", ".github/ci.yml", ".git/config"]
        {
            bench.file(path, "x");
        }
        bench.file(".gitignore", "/target\n");
        bench.file("src/.gitignore", "gen/\n");
        let all =
            [".github", ".github/ci.yml", ".gitignore", "src", "src/.gitignore", "src/a.rs", "src/b.rs"];
        assert_eq!(found(&bench, "."), all);
        assert_eq!(found(&bench, "src"), ["src/.gitignore", "src/a.rs", "src/b.rs"]);
        assert_eq!(found(&bench, "src/a.rs"), ["src/a.rs"]);
        assert_eq!(found(&bench, "target"), ["target/debug", "target/debug/out"]);
        assert_eq!(found(&bench, "src/gen/x.rs"), ["src/gen/x.rs"]);
    }
}
