//! Patterns that no added line may match: stubs, skip markers, silenced lints.

use countersign_protocol::{CheckReport, Finding};
use futures_util::future::BoxFuture;
use regex::{Regex, RegexSet};

use crate::{
    Check, Needs, Scene,
    check::{failed, inconclusive, passed},
    globs::Globs,
};

/// How many lines are named.
const NAMED: usize = 20;
/// How much of a line is shown, in bytes.
const SHOWN: usize = 200;

/// Refutes where an added line matches one of its patterns.
#[derive(Debug)]
pub struct ForbidAdded {
    name: String,
    patterns: RegexSet,
    paths: Option<Globs>,
}

impl ForbidAdded {
    /// The check of these patterns, over all paths or those that match a glob.
    ///
    /// # Errors
    /// Where a pattern or a glob is not one.
    pub fn new(name: &str, patterns: &[String], paths: &[String]) -> Result<Self, String> {
        for pattern in patterns {
            Regex::new(pattern).map_err(|error| format!("`{pattern}` is no regular expression: {error}"))?;
        }
        let patterns = RegexSet::new(patterns).map_err(|error| error.to_string())?;
        let paths = (!paths.is_empty()).then(|| Globs::new(paths)).transpose();
        Ok(Self { name: name.into(), patterns, paths: paths.map_err(|error| error.to_string())? })
    }

    async fn look(&self, scene: &Scene<'_>) -> CheckReport {
        let lines = match scene.snapshots.added_lines(scene.base, scene.candidate).await {
            Ok(lines) => lines,
            Err(error) => return inconclusive(&self.name, error.to_string(), "see the error above"),
        };
        let mut findings = Vec::new();
        let mut hits = 0_usize;
        for line in &lines {
            if self.paths.as_ref().is_some_and(|paths| !paths.matches(&line.path)) {
                continue;
            }
            let Some(pattern) = self.patterns.matches(&line.text).into_iter().next() else { continue };
            hits += 1;
            if findings.len() < NAMED {
                let text = crate::text::head(line.text.trim(), SHOWN);
                let pattern = &self.patterns.patterns()[pattern];
                findings.push(Finding {
                    statement: format!("an added line matches `{pattern}`, which the policy forbids: {text}"),
                    file: Some(line.path.clone()),
                    line: Some(line.line),
                    command: None,
                });
            }
        }
        match hits {
            0 => passed(&self.name, format!("none of {} added lines is forbidden", lines.len())),
            hits => failed(&self.name, format!("{hits} added lines are forbidden"), findings),
        }
    }
}

impl Check for ForbidAdded {
    fn name(&self) -> &str {
        &self.name
    }

    fn needs(&self) -> Needs {
        Needs { copy: false, ..Needs::default() }
    }

    fn run<'a>(&'a self, scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport> {
        Box::pin(self.look(scene))
    }
}
