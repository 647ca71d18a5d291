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
        (PathBuf::from("task.toml"), task()),
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
    lines.push(
        "next: write the goal into task.toml, look over the policy, then\n  countersign check\n  countersign doctor\n  \
         countersign run task.toml"
            .into(),
    );
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

fn task() -> String {
    r#"# What is asked. `countersign run task.toml` runs it.
goal = """
Say what must hold when the task is done, as: `cargo test` passes, and parse() no longer panics on an empty line.
"""
workspace = "."
policy = ".countersign/policies/project.toml"

# Without these, the roles' own models are used; `countersign models` lists what is known.
# [models]
# worker = "anthropic/claude-sonnet-4-5"
# verifier = "anthropic/claude-sonnet-4-5"

[budget]
money = "2.00"   # US dollars, at most
turns = 60       # answered model calls, of all actors
wall = "45m"
"#
    .into()
}

fn policy(kind: Option<&Kind>) -> String {
    let list = |items: &[&str]| items.iter().map(|item| format!("'{item}'")).collect::<Vec<_>>().join(", ");
    let head = "# What a claim must survive before the task counts as done.\nname = \"project\"\nmax_refutations = 5\n\n";
    let protected = kind.map_or(&["tests/**"][..], |kind| kind.protected);
    let protected =
        format!("# These stay as they are, whatever the worker does.\nprotected = [{}]\n\n", list(protected));
    let checks = match kind {
        Some(kind) => format!(
            "[[check]]\nname = \"tests\"\nrun = \"{}\"\nreport = \"{}\"\ntimeout = \"10m\"\n\n\
             [[check]]\nname = \"no-stubs\"\nforbid_added = [{}]\n\n",
            kind.run,
            kind.report,
            list(kind.forbidden)
        ),
        None => "# Say how the tests are run, and take away the first # of each line.\n\
                 # [[check]]\n# name = \"tests\"\n# run = \"make test\"\n# report = \"none\"\n# timeout = \"10m\"\n\n"
            .into(),
    };
    let judge = "# A verifier agent that looks for a refutation after the checks.\n[judge]\nrole = \"verifier\"\n\
                 objections = \"note\"   # note | refute\n";
    format!("{head}{protected}{checks}{judge}")
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
        let task: toml::Table = toml::from_str(&task()).unwrap();
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
