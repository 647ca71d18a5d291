//! `init`: writes a starting set for the project in the current folder.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context as _;
use clap::Args;

use crate::{context::Context, output};

/// Write a starting set for the project in the current folder.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign init\n\n\
    Prints each file that it wrote or left alone, and what to do next. It never overwrites a file.\n\
    Exit codes: 0, or 1 where a file can't be written.")]
pub(crate) struct InitArgs {}

/// What a project is made with, and how its tests are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    name: &'static str,
    /// Any of these files in the folder says so.
    signs: &'static [&'static str],
    run: &'static str,
    report: &'static str,
    protected: &'static [&'static str],
    forbidden: &'static [&'static str],
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "Rust",
        signs: &["Cargo.toml"],
        run: "cargo test --workspace",
        report: "cargo-test",
        protected: &["tests/**", ".cargo/**", "rust-toolchain*"],
        forbidden: &[r"todo!\(", r"unimplemented!\(", r"#\[ignore"],
    },
    Kind {
        name: "Python",
        signs: &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"],
        run: "python3 -m pytest",
        report: "pytest",
        protected: &["tests/**", "conftest.py", "**/conftest.py", "pytest.ini", "tox.ini"],
        forbidden: &[r"@pytest\.mark\.(skip|xfail)", r"raise NotImplementedError"],
    },
    Kind {
        name: "Go",
        signs: &["go.mod"],
        run: "go test -json ./...",
        report: "go-test",
        protected: &["**/*_test.go", "go.sum"],
        forbidden: &[r"t\.Skip"],
    },
    Kind {
        name: "Node",
        signs: &["package.json"],
        run: "npm test",
        report: "none",
        protected: &["test/**", "tests/**", "**/*.test.*", "package-lock.json"],
        forbidden: &[r"\.(skip|only)\("],
    },
];

pub(crate) fn run(context: &Context) -> anyhow::Result<ExitCode> {
    let folder = &context.world.cwd;
    let kind = KINDS.iter().find(|kind| kind.signs.iter().any(|sign| folder.join(sign).is_file()));
    let files = [
        (PathBuf::from("task.toml"), TASK.to_owned()),
        (PathBuf::from(".countersign/policies/project.toml"), policy(kind)),
    ];
    let mut lines = vec![match kind {
        Some(kind) => format!("this looks like a {} project", kind.name),
        None => "no known kind of project here: say in the policy how its tests are run".into(),
    }];
    for (path, text) in files {
        let how =
            if write_new(&folder.join(&path), &text)? { "wrote" } else { "left alone, since it exists," };
        lines.push(format!("{how} {}", path.display()));
    }
    lines.push("next: write the goal into task.toml, look over the policy, then".into());
    lines.extend(["check", "doctor", "run task.toml"].map(|command| format!("  countersign {command}")));
    output::print(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that does not exist yet; says whether it did.
fn write_new(path: &Path, text: &str) -> anyhow::Result<bool> {
    let shown = path.display();
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("can't make the folder {}", folder.display()))?;
    }
    match fs::File::create_new(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).with_context(|| format!("can't write {shown}"))?;
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(|| format!("can't write {shown}")),
    }
}

/// What is asked, to be filled in.
const TASK: &str = include_str!("init/task.toml");

/// What a claim must survive.
fn policy(kind: Option<&Kind>) -> String {
    let list = |items: &[&str]| items.iter().map(|item| format!("'{item}'")).collect::<Vec<_>>().join(", ");
    let protected = list(kind.map_or(&["tests/**"], |kind| kind.protected));
    let checks = match kind {
        Some(Kind { run, report, forbidden, .. }) => format!(
            r#"[[check]]
name = "tests"
run = "{run}"
report = "{report}"
timeout = "10m"

[[check]]
name = "no-stubs"
forbid_added = [{}]
"#,
            list(forbidden)
        ),
        None => r#"# Say how the tests are run, and take away the first # of each line.
# [[check]]
# name = "tests"
# run = "make test"
# report = "none"
# timeout = "10m"
"#
        .into(),
    };
    format!(
        r#"# What a claim must survive before the task counts as done.
name = "project"
max_refutations = 5

# These stay as they are, whatever the worker does.
protected = [{protected}]

{checks}
# A verifier agent that looks for a refutation after the checks.
[judge]
role = "verifier"
objections = "note"   # note | refute
"#
    )
}

#[cfg(test)]
mod tests {
    use countersign::protocol::Policy;

    use super::*;

    #[test]
    fn each_kind_of_project_gets_a_policy_that_can_be_read() {
        for kind in KINDS.iter().map(Some).chain([None]) {
            let policy: Policy = toml::from_str(&policy(kind)).unwrap();
            assert_eq!(policy.checks.len(), if kind.is_some() { 2 } else { 0 });
            assert!(!policy.protected.is_empty() && policy.judge.is_some());
        }
        let task: toml::Table = toml::from_str(TASK).unwrap();
        assert_eq!(task["policy"].as_str(), Some(".countersign/policies/project.toml"));
    }

    #[test]
    fn what_exists_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.toml");
        assert!(write_new(&path, "first").unwrap());
        assert!(!write_new(&path, "second").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }
}
