//! What is wrong with a policy before it is used: each problem with its key.

use std::{collections::BTreeSet, fmt, path::Path};

use countersign_protocol::{
    Policy,
    policy::{CheckSpec, ReportKind},
};

use crate::{
    checks::{ForbidAdded, ProtectedPaths, Scope},
    condition::Condition,
    freeze, globs,
};

/// Something that is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, as `check[0].run`; indices count from 0.
    pub key: String,
    /// What is wrong, and what to write in its place.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

/// Everything that is wrong with a policy whose relative paths are read against `dir`.
#[must_use]
pub fn validate(policy: &Policy, dir: &Path) -> Vec<Problem> {
    let mut problems = validate_words(policy);
    for (index, check) in policy.checks.iter().enumerate() {
        missing_files(check, dir, &format!("check[{index}]"), &mut problems);
    }
    problems
}

/// What is wrong with the policy's words alone. A resumed run has its files frozen and needs them no more.
pub(crate) fn validate_words(policy: &Policy) -> Vec<Problem> {
    let mut problems = Vec::new();
    globs_in("protected", &policy.protected, &mut problems);
    globs_in("scope", &policy.scope, &mut problems);
    if policy.max_refutations == 0 {
        report(
            &mut problems,
            "max_refutations",
            "must be at least 1: the first refutation ends the run then",
        );
    }
    let mut names = BTreeSet::from([ProtectedPaths::NAME, Scope::NAME, Condition::NAME]);
    for (index, check) in policy.checks.iter().enumerate() {
        let key = format!("check[{index}]");
        if check.name.trim().is_empty() {
            report(&mut problems, format!("{key}.name"), "is empty: reports and conditions need a name");
        } else if !names.insert(&check.name) {
            let message = format!("`{}` is taken: give each check a name of its own", check.name);
            report(&mut problems, format!("{key}.name"), message);
        }
        one_kind(check, &key, &mut problems);
        fitting_keys(check, &key, policy, &mut problems);
        if let Some(patterns) = &check.forbid_added {
            patterns_in(check, patterns, &key, &mut problems);
        }
    }
    if let Some(judge) = policy.judge.as_ref().filter(|judge| judge.role.trim().is_empty()) {
        report(&mut problems, "judge.role", format!("`{}` is no role's name", judge.role));
    }
    if let Some(accept) = &policy.accept
        && let Err(message) = Condition::new(&accept.when)
    {
        report(&mut problems, "accept.when", message);
    }
    problems
}

fn report(problems: &mut Vec<Problem>, key: impl Into<String>, message: impl Into<String>) {
    problems.push(Problem { key: key.into(), message: message.into() });
}

fn globs_in(key: &str, globs: &[String], problems: &mut Vec<Problem>) {
    for (index, glob) in globs.iter().enumerate() {
        let key = format!("{key}[{index}]");
        if glob.trim().is_empty() {
            report(problems, key, "is empty: write a glob, as \"tests/**\"");
        } else if let Err(error) = globs::compile(glob) {
            report(problems, key, format!("is no glob: {error}"));
        }
    }
}

/// Exactly one of `run`, `forbid_added` and `plugin`, and not an empty one.
fn one_kind(check: &CheckSpec, key: &str, problems: &mut Vec<Problem>) {
    let kinds = [
        ("run", check.run.is_some(), check.run.as_ref().is_some_and(|run| run.trim().is_empty())),
        (
            "forbid_added",
            check.forbid_added.is_some(),
            check.forbid_added.as_ref().is_some_and(Vec::is_empty),
        ),
        (
            "plugin",
            check.plugin.is_some(),
            check.plugin.as_ref().is_some_and(|argv| argv.first().is_none_or(|program| program.is_empty())),
        ),
    ];
    let given: Vec<&str> = kinds.iter().filter(|(_, given, _)| *given).map(|(name, ..)| *name).collect();
    match given.as_slice() {
        [_] => {}
        [] => report(problems, key, "does nothing: give it one of `run`, `forbid_added` and `plugin`"),
        several => {
            let message = format!(
                "has {}: give it exactly one, and a check of its own for each",
                several.join(" and ")
            );
            report(problems, key, message);
        }
    }
    for (name, ..) in kinds.iter().filter(|(_, _, empty)| *empty) {
        report(problems, format!("{key}.{name}"), "is empty");
    }
}

/// Keys that mean nothing for the kind of check are refused, so that nobody relies on them.
fn fitting_keys(check: &CheckSpec, key: &str, policy: &Policy, problems: &mut Vec<Problem>) {
    let is_command = check.run.is_some();
    for (name, given) in [
        ("report", check.report != ReportKind::None),
        ("overlay", check.overlay.is_some()),
        ("counterfactual", check.counterfactual),
        ("network", check.network && check.plugin.is_none()),
    ] {
        if given && !is_command {
            report(problems, format!("{key}.{name}"), "is for checks with `run` only");
        }
    }
    if !check.paths.is_empty() && check.forbid_added.is_none() {
        report(problems, format!("{key}.paths"), "is for checks with `forbid_added` only");
    }
    globs_in(&format!("{key}.paths"), &check.paths, problems);
    if check.confirm == 0 {
        report(problems, format!("{key}.confirm"), "must be at least 1: that many runs must fail");
    }
    if let ReportKind::Junit(path) = &check.report {
        let text = path.to_string_lossy();
        if path.is_absolute() || text.split('/').any(|part| part == "..") {
            report(problems, format!("{key}.report"), "name a path inside of the workspace after `junit:`");
        } else if let Err(error) = globs::compile(&text) {
            report(problems, format!("{key}.report"), format!("is no path or glob: {error}"));
        }
    }
    if check.counterfactual && is_command {
        if check.report == ReportKind::None {
            let message = "needs a `report`: the added tests are known by their names";
            report(problems, format!("{key}.counterfactual"), message);
        }
        if policy.protected.is_empty() {
            let message = "needs `protected` globs: they say which added files are tests";
            report(problems, format!("{key}.counterfactual"), message);
        }
    }
}

fn patterns_in(check: &CheckSpec, patterns: &[String], key: &str, problems: &mut Vec<Problem>) {
    for (index, pattern) in patterns.iter().enumerate() {
        if let Err(message) = ForbidAdded::new(&check.name, std::slice::from_ref(pattern), &[]) {
            report(problems, format!("{key}.forbid_added[{index}]"), message);
        }
    }
}

fn missing_files(check: &CheckSpec, dir: &Path, key: &str, problems: &mut Vec<Problem>) {
    if let Some(overlay) = &check.overlay {
        let folder = dir.join(overlay);
        if !folder.is_dir() {
            let message = format!("{} is no folder: it is read beside the policy's file", folder.display());
            report(problems, format!("{key}.overlay"), message);
        } else if folder.read_dir().is_ok_and(|mut entries| entries.next().is_none()) {
            let message = format!("{} is empty: it holds nothing out", folder.display());
            report(problems, format!("{key}.overlay"), message);
        }
    }
    if let Some(program) = check.plugin.as_ref().and_then(|argv| argv.first()).filter(|p| p.contains('/')) {
        let path = Path::new(program);
        let found =
            if path.is_absolute() { path.is_file() } else { freeze::beside(dir, 0, program).is_some() };
        if !found {
            let message =
                format!("{} is no file: it is read beside the policy's file", dir.join(path).display());
            report(problems, format!("{key}.plugin[0]"), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(policy: serde_json::Value) -> Vec<String> {
        let mut whole = serde_json::json!({ "name": "p" });
        whole.as_object_mut().unwrap().extend(policy.as_object().unwrap().clone());
        let policy: Policy = serde_json::from_value(whole).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("empty")).unwrap();
        validate(&policy, dir.path()).into_iter().map(|problem| problem.key).collect()
    }

    #[test]
    fn a_sound_policy_has_no_problem() {
        let checks = serde_json::json!([
            { "name": "tests", "run": "cargo test", "report": "cargo-test", "counterfactual": true },
            { "name": "stubs", "forbid_added": ["todo!\\("], "paths": ["src/**"] },
            { "name": "asks", "plugin": ["python3", "-c", "pass"] },
        ]);
        let policy = serde_json::json!({ "protected": ["tests/**"], "check": checks, "accept": { "when": "diff.files < 3" } });
        assert_eq!(keys(policy), Vec::<String>::new());
    }

    #[test]
    fn every_problem_has_its_key() {
        for (policy, key) in [
            (serde_json::json!({ "protected": ["a", "x["] }), "protected[1]"),
            (serde_json::json!({ "scope": [""] }), "scope[0]"),
            (serde_json::json!({ "max_refutations": 0 }), "max_refutations"),
            (serde_json::json!({ "check": [{ "name": "a" }] }), "check[0]"),
            (serde_json::json!({ "check": [{ "name": "a", "run": "x", "plugin": ["y"] }] }), "check[0]"),
            (
                serde_json::json!({ "check": [{ "name": "a", "run": "x" }, { "name": "a", "run": "y" }] }),
                "check[1].name",
            ),
            (serde_json::json!({ "check": [{ "name": "protected", "run": "x" }] }), "check[0].name"),
            (serde_json::json!({ "check": [{ "name": "a", "run": " " }] }), "check[0].run"),
            (serde_json::json!({ "check": [{ "name": "a", "run": "x", "confirm": 0 }] }), "check[0].confirm"),
            (
                serde_json::json!({ "check": [{ "name": "a", "run": "x", "overlay": "gone" }] }),
                "check[0].overlay",
            ),
            (
                serde_json::json!({ "check": [{ "name": "a", "run": "x", "overlay": "empty" }] }),
                "check[0].overlay",
            ),
            (
                serde_json::json!({ "check": [{ "name": "a", "run": "x", "report": "junit:../r.xml" }] }),
                "check[0].report",
            ),
            (
                serde_json::json!({ "check": [{ "name": "a", "plugin": ["x"], "report": "tap" }] }),
                "check[0].report",
            ),
            (serde_json::json!({ "check": [{ "name": "a", "plugin": ["./gone"] }] }), "check[0].plugin[0]"),
            (
                serde_json::json!({ "check": [{ "name": "a", "forbid_added": ["ok", "("] }] }),
                "check[0].forbid_added[1]",
            ),
            (
                serde_json::json!({ "check": [{ "name": "a", "run": "x", "paths": ["src"] }] }),
                "check[0].paths",
            ),
            (
                serde_json::json!({ "protected": ["t"], "check": [{ "name": "a", "run": "x", "counterfactual": true }] }),
                "check[0].counterfactual",
            ),
            (
                serde_json::json!({ "check": [{ "name": "a", "run": "x", "report": "tap", "counterfactual": true }] }),
                "check[0].counterfactual",
            ),
            (serde_json::json!({ "judge": { "role": "" } }), "judge.role"),
            (serde_json::json!({ "accept": { "when": "1 +" } }), "accept.when"),
        ] {
            assert_eq!(keys(policy.clone()), [key], "{policy}");
        }
    }
}
