//! The ignore rules as they were when the base was taken. What is written to ignore files later changes nothing.

use std::{collections::HashMap, fs, path::Path};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use serde::{Deserialize, Serialize};

use super::{SnapshotError, git::failed};

/// What test runners and interpreters leave behind: never a part of a solution.
const CACHES: &str = "__pycache__/\n*.pyc\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\n";

/// Cargo's build folder, where the workspace is a Cargo project.
const CARGO_TARGET: &str = "/target/\n";

/// Where the patterns' paths begin; there is no such folder, as patterns are matched by text alone.
const ROOT: &str = "/r";

/// The ignore rules as text, as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FrozenRules {
    /// The workspace's path below the top of its repository; empty where it is the top.
    prefix: String,
    /// The ignore files by their folder's path below the top.
    files: Vec<(String, String)>,
    /// The repository's own list of excludes.
    excludes: String,
    /// What is excluded by construction, below the workspace.
    built_in: String,
}

/// The ignore rules, ready to be asked.
#[derive(Debug)]
pub(super) struct Rules {
    frozen: FrozenRules,
    files: HashMap<String, Gitignore>,
    excludes: Gitignore,
    built_in: Gitignore,
}

impl Rules {
    /// Rules that ignore nothing.
    pub(super) fn none() -> Self {
        Self::thaw(FrozenRules::default())
    }

    /// Collects the rules of a workspace: `prefix` is its path below `top`, the folder of its repository.
    pub(super) fn collect(
        workspace: &Path,
        top: &Path,
        prefix: &str,
        excludes: String,
    ) -> Result<Self, SnapshotError> {
        let mut built_in = CACHES.to_owned();
        if workspace.join("Cargo.toml").is_file() {
            built_in += CARGO_TARGET;
        }
        let mut rules =
            Self::thaw(FrozenRules { prefix: prefix.into(), files: Vec::new(), excludes, built_in });
        let mut above = top.to_path_buf();
        let mut folder = String::new();
        for part in prefix.split('/').filter(|part| !part.is_empty()) {
            rules.add_file(&above, &folder)?;
            above.push(part);
            folder = join(&folder, part);
        }
        let mut open = vec![String::new()];
        while let Some(below) = open.pop() {
            let on_disk = workspace.join(&below);
            rules.add_file(&on_disk, &join(prefix, &below))?;
            for entry in fs::read_dir(&on_disk).map_err(failed("read", &on_disk))? {
                let entry = entry.map_err(failed("read", &on_disk))?;
                // A name that is not UTF-8 is refused by the scan, unless it is ignored.
                let path = join(&below, &entry.file_name().to_string_lossy());
                let is_folder = entry.file_type().map_err(failed("read", entry.path()))?.is_dir();
                if is_folder && entry.file_name() != ".git" && !rules.ignores(&path, true) {
                    open.push(path);
                }
            }
        }
        Ok(rules)
    }

    /// The rules as they were stored.
    pub(super) fn thaw(frozen: FrozenRules) -> Self {
        let files =
            frozen.files.iter().map(|(folder, text)| (folder.clone(), matcher(folder, text))).collect();
        let excludes = matcher("", &frozen.excludes);
        let built_in = matcher(&frozen.prefix, &frozen.built_in);
        Self { files, excludes, built_in, frozen }
    }

    /// The rules as they are stored.
    pub(super) fn frozen(&self) -> &FrozenRules {
        &self.frozen
    }

    fn add_file(&mut self, on_disk: &Path, folder: &str) -> Result<(), SnapshotError> {
        let file = on_disk.join(".gitignore");
        // Like git, this follows no link here.
        if !fs::symlink_metadata(&file).is_ok_and(|found| found.is_file()) {
            return Ok(());
        }
        let text = fs::read(&file).map_err(failed("read", &file))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        self.files.insert(folder.into(), matcher(folder, &text));
        self.frozen.files.push((folder.into(), text));
        Ok(())
    }

    /// Whether this path of the workspace is ignored, given that no folder above it is.
    pub(super) fn ignores(&self, path: &str, is_folder: bool) -> bool {
        let path = join(&self.frozen.prefix, path);
        let full = format!("{ROOT}/{path}");
        let mut folder = path.as_str();
        loop {
            folder = folder.rfind('/').map_or("", |end| &folder[..end]);
            match self.files.get(folder).map_or(Match::None, |file| file.matched(&full, is_folder)) {
                Match::None if folder.is_empty() => break,
                Match::None => {}
                found => return found.is_ignore(),
            }
        }
        match self.excludes.matched(&full, is_folder) {
            Match::None => self.built_in.matched(&full, is_folder).is_ignore(),
            found => found.is_ignore(),
        }
    }

    /// Whether this file of the workspace is ignored, or any folder above it.
    pub(super) fn ignores_file(&self, path: &str) -> bool {
        let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
        folders.into_iter().any(|folder| self.ignores(folder, true)) || self.ignores(path, false)
    }
}

fn matcher(folder: &str, text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new(format!("{ROOT}/{folder}").trim_end_matches('/'));
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is no pattern ignores nothing.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// A path below a folder; either may be empty.
pub(super) fn join(folder: &str, name: &str) -> String {
    match (folder.is_empty(), name.is_empty()) {
        (true, _) => name.into(),
        (_, true) => folder.into(),
        _ => format!("{folder}/{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(prefix: &str, files: &[(&str, &str)]) -> Rules {
        let files = files.iter().map(|(folder, text)| ((*folder).into(), (*text).into())).collect();
        let (excludes, built_in) = ("*.local\n".into(), format!("{CACHES}{CARGO_TARGET}"));
        Rules::thaw(FrozenRules { prefix: prefix.into(), files, excludes, built_in })
    }

    #[test]
    fn patterns_count_from_the_folder_of_their_file_and_the_deepest_wins() {
        let rules = rules("", &[("", "/build\n*.log\n"), ("a/b", "/only-here\n!keep.log\n")]);
        assert!(rules.ignores("build", true) && !rules.ignores("a/build", true));
        assert!(rules.ignores("a/b/only-here", false) && !rules.ignores("only-here", false));
        assert!(!rules.ignores("a/b/c/only-here", false));
        assert!(rules.ignores("a/x.log", false) && !rules.ignores("a/b/keep.log", false));
        assert!(rules.ignores("a/keep.log", false) && rules.ignores("x.local", false));
        assert!(rules.ignores_file("build/deep/file") && !rules.ignores_file("builder/file"));
    }

    #[test]
    fn a_workspace_below_the_top_obeys_the_rules_above_it() {
        let rules = rules("crates/x", &[("", "/out\n*.tmp\n/crates/x/gen\n"), ("crates/x", "/mine\n")]);
        assert!(rules.ignores("a.tmp", false) && rules.ignores("gen", true) && rules.ignores("mine", true));
        assert!(!rules.ignores("out", true));
        assert!(rules.ignores("target", true) && !rules.ignores("sub/target", true));
    }

    #[test]
    fn bytes_that_editors_add_change_no_pattern() {
        let rules = rules("", &[("", "\u{feff}first\r\nsecond\r\n[broken\r\n# third\r\n")]);
        assert!(rules.ignores("first", false) && rules.ignores("second", false));
        assert!(!rules.ignores("third", false));
    }
}
