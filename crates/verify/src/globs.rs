//! Globs over paths of a tree, as policies write them.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A set of globs; `*` does not cross a `/`, `**` does.
#[derive(Debug, Clone)]
pub(crate) struct Globs {
    set: GlobSet,
}

impl Globs {
    /// The set of these globs.
    pub(crate) fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            set.add(compile(glob.as_ref())?);
        }
        Ok(Self { set: set.build()? })
    }

    /// Whether the path is one of them.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }
}

/// One glob. A leading `./` or `/` is taken for the workspace's root.
pub(crate) fn compile(glob: &str) -> Result<globset::Glob, globset::Error> {
    let relative = glob.strip_prefix("./").unwrap_or(glob).trim_start_matches('/');
    // A folder's name alone stands for all that is in it.
    let whole = if relative.ends_with('/') { format!("{relative}**") } else { relative.to_owned() };
    GlobBuilder::new(&whole).literal_separator(true).backslash_escape(true).build()
}
