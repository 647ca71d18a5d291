//! What the worker can't change in a way that counts: protected paths, listed and implied, and the two trees judged.
//!
//! Listed paths (`protected`) are always put back. Implied ones are the files that a check's command names and the
//! configuration of its test runner. They too are put back for the first pass; for the second, what the worker
//! added or did to implied ones is left in place. Both passes must hold, so nothing of it can soften the
//! judgement, and an honest change to such a file does no harm.
//!
//! A command may also name the very program that the task is about (`python3 hello.py | grep hello`). A named file
//! is therefore not implied where the policy's `scope` lists it literally, or where the goal names it and its name
//! does not look like a judge's (test, check, make, …).

use std::collections::BTreeSet;

use countersign_protocol::{Policy, policy::ReportKind};
use countersign_sandbox::{Change, ChangeKind};

use crate::globs::Globs;

/// Which paths of a tree are protected.
pub(crate) struct Protection {
    listed: Globs,
    implied: Globs,
    named: BTreeSet<String>,
}

/// What the worker did to protected paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Listed paths that were changed or removed.
    pub(crate) changed: Vec<String>,
    /// Implied paths that were changed or removed.
    pub(crate) changed_implied: Vec<String>,
    /// Protected paths of either kind that were added.
    pub(crate) added: Vec<String>,
}

impl Touched {
    /// The paths that become what they are in the base for the first pass.
    pub(crate) fn first_pass(&self) -> Vec<String> {
        [&self.changed[..], &self.changed_implied, &self.added].concat()
    }

    /// The paths that become what they are in the base for the second pass.
    pub(crate) fn second_pass(&self) -> Vec<String> {
        self.changed.clone()
    }

    /// Whether the two passes differ.
    pub(crate) fn needs_second_pass(&self) -> bool {
        !self.added.is_empty() || !self.changed_implied.is_empty()
    }
}

impl Protection {
    /// The protection of a policy over a base tree with these paths.
    pub(crate) fn new(policy: &Policy, goal: &str, base: &BTreeSet<String>) -> Result<Self, globset::Error> {
        let mut named = BTreeSet::new();
        let mut implied = BTreeSet::new();
        for check in policy.checks.iter().filter(|check| check.run.is_some()) {
            let command = check.run.as_deref().unwrap_or_default();
            let files = named_files(command, base);
            named.extend(files.into_iter().filter(|file| !is_the_task(file, policy, goal)));
            implied.extend(runner_files(&check.report));
            implied.extend(tool_files(command));
        }
        let implied: Vec<&str> = implied.into_iter().collect();
        Ok(Self { listed: Globs::new(&policy.protected)?, implied: Globs::new(&implied)?, named })
    }

    /// What these changes did to protected paths.
    pub(crate) fn touched(&self, changes: &[Change]) -> Touched {
        let mut touched = Touched::default();
        for change in changes {
            let listed = self.listed.matches(&change.path);
            let implied = self.named.contains(&change.path) || self.implied.matches(&change.path);
            match (change.kind, listed, implied) {
                (_, false, false) => {}
                (ChangeKind::Added, ..) => touched.added.push(change.path.clone()),
                (_, true, _) => touched.changed.push(change.path.clone()),
                _ => touched.changed_implied.push(change.path.clone()),
            }
        }
        // A file where a protected folder was, or a folder where a protected file was, stands in its way.
        let in_the_way = |added: &str, protected: &String| {
            protected.strip_prefix(added).is_some_and(|rest| rest.starts_with('/'))
                || added.strip_prefix(protected.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        for change in changes.iter().filter(|change| change.kind == ChangeKind::Added) {
            let known = touched.added.contains(&change.path);
            if !known && touched.changed.iter().any(|path| in_the_way(&change.path, path)) {
                touched.changed.push(change.path.clone());
            } else if !known && touched.changed_implied.iter().any(|path| in_the_way(&change.path, path)) {
                touched.changed_implied.push(change.path.clone());
            }
        }
        touched
    }
}

/// Whether a named file is what the task is about, rather than what judges it.
fn is_the_task(file: &str, policy: &Policy, goal: &str) -> bool {
    if policy.scope.iter().any(|scope| scope == file) {
        return true;
    }
    const JUDGES: [&str; 9] = ["test", "check", "spec", "verify", "lint", "make", "just", "ci", "bench"];
    let lower = file.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphabetic());
    if words
        .any(|word| JUDGES.iter().any(|judge| word == *judge || (judge.len() > 2 && word.contains(judge))))
    {
        return false;
    }
    let name = file.rsplit('/').next().unwrap_or(file);
    let part_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    goal.match_indices(name).any(|(at, _)| {
        let before = goal[..at].chars().next_back();
        let after = goal[at + name.len()..].chars().next();
        !before.is_some_and(|c| part_of_name(c) && c != '/') && !after.is_some_and(part_of_name)
    })
}

/// The files of the base that a shell command names, also below a folder that it goes to.
fn named_files(command: &str, base: &BTreeSet<String>) -> BTreeSet<String> {
    let spaced = command.replace([';', '&', '|', '(', ')', '<', '>', '`', '\n'], " ");
    let words = shlex::split(&spaced).unwrap_or_else(|| {
        spaced.split_whitespace().map(|word| word.trim_matches(['"', '\'']).into()).collect()
    });
    let mut folders = vec![String::new()];
    for pair in words.windows(2) {
        if matches!(pair[0].as_str(), "cd" | "pushd" | "-C" | "--prefix" | "--directory" | "--cwd") {
            let folder = pair[1].trim_start_matches("./").trim_end_matches('/');
            folders.push(format!("{folder}/"));
        }
    }
    let mut found = BTreeSet::new();
    for word in &words {
        let value = word.rsplit_once('=').map_or(word.as_str(), |(_, value)| value);
        let path = value.trim_start_matches("./").split("::").next().unwrap_or_default();
        let module = path.replace('.', "/");
        for folder in &folders {
            let candidates = [
                format!("{folder}{path}"),
                format!("{folder}{module}.py"),
                format!("{folder}{module}/__main__.py"),
            ];
            found.extend(candidates.into_iter().filter(|file| base.contains(file)));
        }
    }
    found
}

/// What a test runner reads beside the tests, by the kind of its report.
fn runner_files(report: &ReportKind) -> &'static [&'static str] {
    match report {
        ReportKind::CargoTest => &[
            "**/.cargo/**",
            "**/rust-toolchain",
            "**/rust-toolchain.toml",
            "**/.config/nextest.toml",
            "target/**",
        ],
        ReportKind::Pytest => PYTEST,
        ReportKind::Unittest => PYTHON,
        ReportKind::NodeTest => NODE,
        ReportKind::GoTest => &["**/go.work", "**/go.env"],
        ReportKind::Junit(_) | ReportKind::Tap | ReportKind::None => &[],
    }
}

/// Modules that Python loads by itself, and those that a runner loads before any test: a file of such a name in
/// the workspace's root would be loaded in their place.
const PYTHON: &[&str] = &[
    "**/sitecustomize.py",
    "**/usercustomize.py",
    "{unittest,pytest,_pytest,pluggy,argparse,traceback,difflib,pprint,fnmatch,gettext,signal,logging,doctest}.*",
    "{unittest,pytest,_pytest,pluggy,argparse,logging}/**",
];

const PYTEST: &[&str] = &[
    "**/conftest.py",
    "**/pytest.ini",
    "**/.pytest.ini",
    "**/pytest.toml",
    "**/tox.ini",
    "**/setup.cfg",
    "**/pyproject.toml",
    "**/*.egg-info/**",
    "**/*.dist-info/**",
    "**/sitecustomize.py",
    "**/usercustomize.py",
    "{unittest,pytest,_pytest,pluggy,argparse,traceback,difflib,pprint,fnmatch,gettext,signal,logging,doctest}.*",
    "{unittest,pytest,_pytest,pluggy,argparse,logging}/**",
];

const NODE: &[&str] = &[
    "**/.npmrc",
    "**/.mocharc*",
    "**/jest.config.*",
    "**/vitest.config.*",
    "**/vitest.workspace.*",
    "**/babel.config.*",
    "**/.taprc",
    "node.config.json",
];

/// The scripts of a Node package, where a command runs one of them.
const PACKAGE: &[&str] = &["**/package.json"];

/// What a build tool reads, where the command is one.
fn tool_files(command: &str) -> Vec<&'static str> {
    let has = |tool: &str| {
        command.split(|c: char| c.is_whitespace() || ";&|()".contains(c)).any(|word| word == tool)
    };
    let mut files = Vec::new();
    if has("make") || has("gmake") {
        files.extend(["**/Makefile", "**/makefile", "**/GNUmakefile"]);
    }
    for (tool, globs) in [
        ("just", &["**/justfile", "**/.justfile", "**/Justfile"][..]),
        ("tox", &["**/tox.ini"]),
        ("nox", &["**/noxfile.py"]),
        ("rake", &["**/Rakefile"]),
        ("task", &["**/Taskfile.y*ml"]),
        ("pytest", PYTEST),
        ("npm", PACKAGE),
        ("npx", PACKAGE),
        ("yarn", PACKAGE),
        ("pnpm", PACKAGE),
        ("bun", PACKAGE),
        ("cargo", &["**/.cargo/**", "**/rust-toolchain", "**/rust-toolchain.toml"]),
    ] {
        if has(tool) {
            files.extend(globs);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    fn change(path: &str, kind: ChangeKind) -> Change {
        Change { path: path.into(), kind, old_mode: None, new_mode: None, old_object: None, new_object: None }
    }

    fn policy(toml_checks: &[(&str, ReportKind)], protected: &[&str], scope: &[&str]) -> Policy {
        let checks: Vec<_> = toml_checks
            .iter()
            .map(|(run, report)| {
                serde_json::json!({ "name": run, "run": run, "report": String::from(report.clone()) })
            })
            .collect();
        serde_json::from_value(
            serde_json::json!({ "name": "p", "protected": protected, "scope": scope, "check": checks }),
        )
        .expect("a policy")
    }

    #[test]
    fn files_that_a_command_names_are_found() {
        let base =
            base(&["run_tests.py", "ci/test.sh", "tools/check.py", "sub/go.sh", "tests/test_a.py", "app.py"]);
        for (command, files) in [
            ("python3 run_tests.py -v", vec!["run_tests.py"]),
            ("bash ./ci/test.sh && echo ok", vec!["ci/test.sh"]),
            ("python3 -m tools.check", vec!["tools/check.py"]),
            ("cd sub && bash go.sh", vec!["sub/go.sh"]),
            ("pytest tests/test_a.py::test_one", vec!["tests/test_a.py"]),
            ("X=1 sh -c 'sh ci/test.sh'", vec![]),
            ("pytest tests", vec![]),
        ] {
            let expected: BTreeSet<String> = files.into_iter().map(String::from).collect();
            let found = named_files(command, &base);
            assert!(expected.is_subset(&found), "{command}: {found:?}");
        }
    }

    #[test]
    fn the_file_that_the_task_is_about_is_not_what_judges_it() {
        let plain = policy(&[], &[], &[]);
        assert!(is_the_task("hello.py", &plain, "Make hello.py print hello."));
        assert!(!is_the_task("hello.py", &plain, "Make othello.py print hello."));
        assert!(!is_the_task("hello.py", &plain, "Fix the bug."));
        assert!(!is_the_task("run_tests.py", &plain, "Make `python3 run_tests.py` pass."));
        assert!(!is_the_task("Makefile", &plain, "Make the Makefile's test target pass."));
        assert!(is_the_task("Makefile", &policy(&[], &[], &["Makefile", "src/**"]), "Fix it."));
        // Nothing but a literal path lifts it.
        assert!(!is_the_task("Makefile", &policy(&[], &[], &["**"]), "Fix it."));
    }

    #[test]
    fn changes_are_sorted_by_what_the_worker_may_not_do() {
        let policy =
            policy(&[("make test", ReportKind::None), ("pytest", ReportKind::Pytest)], &["tests/**"], &[]);
        let paths = base(&["Makefile", "tests/test_a.py", "src/a.py"]);
        let protection = Protection::new(&policy, "Fix it.", &paths).unwrap();
        let touched = protection.touched(&[
            change("tests/test_a.py", ChangeKind::Modified),
            change("tests/test_b.py", ChangeKind::Added),
            change("tests/run.sh", ChangeKind::ModeChanged),
            change("Makefile", ChangeKind::Modified),
            change("GNUmakefile", ChangeKind::Added),
            change("conftest.py", ChangeKind::Added),
            change("src/conftest.py", ChangeKind::Removed),
            change("pytest.py", ChangeKind::Added),
            change("src/a.py", ChangeKind::Modified),
            change("src/pytest.py", ChangeKind::Added),
        ]);
        assert_eq!(touched.changed, ["tests/test_a.py", "tests/run.sh"]);
        assert_eq!(touched.changed_implied, ["Makefile", "src/conftest.py"]);
        assert_eq!(touched.added, ["tests/test_b.py", "GNUmakefile", "conftest.py", "pytest.py"]);
    }

    #[test]
    fn what_stands_in_the_way_of_a_protected_path_goes() {
        let policy = policy(&[], &["tests/**", "run.sh"], &[]);
        let protection = Protection::new(&policy, "", &base(&["tests/a.py", "run.sh"])).unwrap();
        let touched = protection.touched(&[
            change("tests/a.py", ChangeKind::Removed),
            change("tests", ChangeKind::Added),
            change("run.sh", ChangeKind::Removed),
            change("run.sh/x", ChangeKind::Added),
        ]);
        assert_eq!(touched.changed, ["tests/a.py", "run.sh", "tests", "run.sh/x"]);
    }
}
