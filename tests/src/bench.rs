//! A workspace with all that a run needs, in a folder of its own, and a way to run the binary on it.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::OnceLock,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::Server;

/// The binary, built once for all tests with the features of the whole workspace.
///
/// # Panics
/// Where it can't be built.
#[must_use]
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let build = ["build", "--quiet", "--workspace", "--bin", "countersign", "--message-format=json"];
        let output =
            Command::new(env!("CARGO")).args(build).current_dir(root()).output().expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
        let built = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let executable =
            built.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
        executable.expect("cargo names the executable")
    })
}

/// The root of the project.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("/")).to_owned()
}

/// What a command came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The exit code; `None` where a signal killed it.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Outcome {
    fn of(output: &Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The JSON objects of standard output, one a line.
    ///
    /// # Panics
    /// Where a line is no JSON object.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The events of one type.
    #[must_use]
    pub fn events_of(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["type"] == kind).collect()
    }

    /// The last line, which is the outcome; `null` where there is none.
    #[must_use]
    pub fn last(&self) -> Value {
        self.events().pop().filter(|event| event["type"] == "outcome").unwrap_or_default()
    }

    /// The run's id.
    #[must_use]
    pub fn run(&self) -> String {
        self.last()["run"].as_str().unwrap_or_default().to_owned()
    }

    /// Asserts the outcome, its exit code and that the two agree.
    ///
    /// # Panics
    /// Where they do not.
    #[track_caller]
    pub fn assert(&self, outcome: &str, code: i32) {
        let last = self.last();
        assert_eq!(
            (last["outcome"].as_str(), self.code),
            (Some(outcome), Some(code)),
            "{last}\n{}\n{}",
            self.stderr,
            self.stdout
        );
    }
}

/// A small Python project whose `add` subtracts, with three tests that are right.
#[must_use]
pub fn calc() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        ("tests/__init__.py", ""),
        (
            "tests/test_calc.py",
            "import unittest\nfrom calc import add\n\n\nclass Add(unittest.TestCase):\n    \
             def test_small(self):\n        self.assertEqual(add(2, 3), 5)\n\n    \
             def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n\n    \
             def test_negative(self):\n        self.assertEqual(add(-1, -4), -5)\n",
        ),
    ])
}

/// The command that mends [`calc`].
pub const FIX: &str = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py";

/// The policy that judges [`calc`].
pub const POLICY: &str = r#"name = "p"
protected = ["tests/**"]
max_refutations = 2

[[check]]
name = "tests"
run = "python3 -m unittest discover -s tests -t . -v"
report = "unittest"
timeout = "30s"

[judge]
role = "verifier"
"#;

/// The budget that is large enough for most tests.
pub const BUDGET: &str = "turns = 40\nwall = \"5m\"";

/// A folder with a workspace, a policy, a task, a configuration, a state directory and an empty home.
pub struct Bench {
    folder: TempDir,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Bench {
    /// An empty workspace.
    ///
    /// # Panics
    /// Where no temporary folder can be made.
    #[must_use]
    pub fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        for folder in ["ws", "home", "state"] {
            fs::create_dir(bench.path(folder)).expect("a new folder");
        }
        bench
    }

    /// A workspace with [`calc`] as its one git commit, judged by [`POLICY`], with the models of this server.
    #[must_use]
    pub fn calc(server: &Server) -> Self {
        let bench = Self::new();
        for (path, content) in calc() {
            bench.write(&format!("ws/{path}"), content);
        }
        bench.git_commit();
        bench.write("policies/p.toml", POLICY);
        bench.task(BUDGET);
        bench.provider(server);
        bench
    }

    /// A path in the folder.
    #[must_use]
    pub fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    /// Writes a file, and the folders that lead to it.
    ///
    /// # Panics
    /// Where it can't be written.
    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders can be made");
        fs::write(path, content).expect("the file can be written");
    }

    /// Reads a file as text.
    ///
    /// # Panics
    /// Where it can't be read.
    #[must_use]
    pub fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
    }

    /// The task, with this budget.
    pub fn task(&self, budget: &str) {
        self.write(
            "task.toml",
            format!(
                "goal = \"Make the tests pass by fixing calc.py.\"\nworkspace = \"ws\"\npolicy = \"policies/p.toml\"\n\n\
                 [models]\nworker = \"fake/worker\"\nverifier = \"fake/verifier\"\n\n[budget]\n{budget}\n"
            ),
        );
    }

    /// The configuration, with the models of this server.
    pub fn provider(&self, server: &Server) {
        let mut config = format!(
            "[providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\napi_key_env = \"FAKE_KEY\"\n",
            server.url()
        );
        for model in ["worker", "verifier", "supervisor"] {
            config += &format!(
                "\n[[providers.fake.models]]\nid = \"{model}\"\ncontext_window = 128000\nmax_output_tokens = 4096\n\
                 price = {{ input = \"3\", cache_read = \"0.3\", cache_write = \"3.75\", output = \"15\" }}\n"
            );
        }
        self.write("config.toml", config);
    }

    /// Makes the workspace a git repository with all of it committed.
    ///
    /// # Panics
    /// Where git fails.
    pub fn git_commit(&self) {
        for arguments in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-q", "-m", "base"]]
        {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(arguments);
            let status = git.current_dir(self.path("ws")).env("HOME", self.path("home")).status();
            assert!(status.expect("git runs").success(), "git {arguments:?}");
        }
    }

    /// The command line with this folder's configuration, state and home.
    #[must_use]
    pub fn command(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(binary());
        command.args(arguments).arg("--state-dir").arg(self.path("state"));
        if self.path("config.toml").exists() {
            command.arg("--config").arg(self.path("config.toml"));
        }
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        command.env("HOME", self.path("home")).env("NO_COLOR", "1").env("FAKE_KEY", "sk-canary-4242");
        command
    }

    /// Runs the command line to its end.
    ///
    /// # Panics
    /// Where it can't be started.
    #[must_use]
    pub fn countersign(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(&self.command(arguments).output().expect("the binary runs"))
    }

    /// Runs the task to its outcome, with JSON events.
    #[must_use]
    pub fn run(&self) -> Outcome {
        self.countersign(&["run", "task.toml", "--json"])
    }

    /// Starts the task and does not wait.
    ///
    /// # Panics
    /// Where it can't be started.
    #[must_use]
    pub fn start(&self) -> Child {
        let mut command = self.command(["run", "task.toml", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
    }

    /// Waits for what [`start`](Self::start) began.
    ///
    /// # Panics
    /// Where its output can't be read.
    #[must_use]
    pub fn wait(&self, child: Child) -> Outcome {
        Outcome::of(&child.wait_with_output().expect("its output can be read"))
    }
}
