//! Where a claim may change files at all: protected paths, and the policy's scope.

use countersign_protocol::{CheckReport, Finding, policy::ProtectedChange};
use countersign_sandbox::ChangeKind;
use futures_util::future::BoxFuture;

use crate::{
    Check, Needs, Scene,
    check::{failed, passed},
    globs::Globs,
    protection::Protection,
};

/// How many paths are named.
const NAMED: usize = 20;

/// Refutes, or reports, a change or removal of a protected path. Facts only: what it was for is not its question.
pub struct ProtectedPaths {
    protection: Protection,
    on_change: ProtectedChange,
}

impl ProtectedPaths {
    /// The name of this check in reports.
    pub const NAME: &'static str = "protected";

    pub(crate) const fn new(protection: Protection, on_change: ProtectedChange) -> Self {
        Self { protection, on_change }
    }

    pub(crate) const fn protection(&self) -> &Protection {
        &self.protection
    }

    fn look(&self, scene: &Scene<'_>) -> CheckReport {
        let touched = self.protection.touched(scene.changes);
        let mut notes = Vec::new();
        if !touched.changed.is_empty() {
            notes.push(format!("put back as in the base: {}", list(&touched.changed)));
        }
        if !touched.changed_implied.is_empty() {
            notes.push(format!(
                "judged once as in the base and once as changed: {}",
                list(&touched.changed_implied)
            ));
        }
        if !touched.added.is_empty() {
            notes.push(format!("judged once without and once with: {}", list(&touched.added)));
        }
        let summary =
            if notes.is_empty() { "no protected path was touched".into() } else { notes.join("; ") };
        if touched.changed.is_empty() || self.on_change == ProtectedChange::Restore {
            return passed(Self::NAME, summary);
        }
        let kind = |path: &String| {
            let change = scene.changes.iter().find(|change| change.path == *path);
            match change.map(|change| change.kind) {
                Some(ChangeKind::Removed) => "was removed",
                Some(ChangeKind::ModeChanged) => "has another mode or type",
                Some(ChangeKind::Added) => "stands where a protected path was",
                _ => "was changed",
            }
        };
        let findings = touched.changed.iter().take(NAMED).map(|path| Finding {
            statement: format!("`{path}` {}; the policy protects it. Put it back as it was.", kind(path)),
            file: Some(path.clone()),
            ..Finding::default()
        });
        failed(Self::NAME, summary, findings.collect())
    }
}

impl Check for ProtectedPaths {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        Needs { copy: false, ..Needs::default() }
    }

    fn run<'a>(&'a self, scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport> {
        Box::pin(std::future::ready(self.look(scene)))
    }
}

/// Refutes a change outside of the policy's `scope`. Files that a worker adds to protected paths count too.
#[derive(Debug)]
pub struct Scope {
    globs: Globs,
}

impl Scope {
    /// The name of this check in reports.
    pub const NAME: &'static str = "scope";

    pub(crate) const fn new(globs: Globs) -> Self {
        Self { globs }
    }

    fn look(&self, scene: &Scene<'_>) -> CheckReport {
        let outside: Vec<String> = scene
            .changes
            .iter()
            .filter(|change| !self.globs.matches(&change.path))
            .map(|change| change.path.clone())
            .collect();
        if outside.is_empty() {
            return passed(Self::NAME, format!("all {} changes are in scope", scene.changes.len()));
        }
        let findings = outside.iter().take(NAMED).map(|path| Finding {
            statement: format!("`{path}` is outside of the policy's scope. Put it back as it was."),
            file: Some(path.clone()),
            ..Finding::default()
        });
        failed(Self::NAME, format!("outside of scope: {}", list(&outside)), findings.collect())
    }
}

impl Check for Scope {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn needs(&self) -> Needs {
        Needs { copy: false, ..Needs::default() }
    }

    fn run<'a>(&'a self, scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport> {
        Box::pin(std::future::ready(self.look(scene)))
    }
}

fn list(paths: &[String]) -> String {
    let shown = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
