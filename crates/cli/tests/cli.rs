//! The binary over a state directory: what it prints, where, and with which exit code.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use countersign::{
    journal::{FileStore, Journal},
    protocol::{Body, Lane, RunId, entry::Ground},
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A state directory and a workspace of a test's own.
struct Place {
    folder: TempDir,
}

struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn dir(&self, run: RunId) -> PathBuf {
        self.folder.path().join("state/runs").join(run.to_string())
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("HOME", self.folder.path().join("home"));
        command.args(args).arg("--state-dir").arg(self.folder.path().join("state"));
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }

    fn say(&self, args: &[&str]) -> Said {
        let Output { status, stdout, stderr } = self.command(args).output().unwrap();
        Said {
            code: status.code().unwrap_or(-1),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// A run whose worker claims, is refuted, and is halted.
    fn run(&self) -> RunId {
        let run = RunId::new();
        let bodies = bodies(run, &self.work());
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let store = FileStore::create(&self.dir(run)).unwrap();
            let (journal, _) = Journal::spawn(Box::new(store)).unwrap();
            for (lane, body) in bodies {
                journal.append(lane, vec![body]).await.unwrap();
            }
            journal.close().await.unwrap();
        });
        run
    }
}

impl Said {
    fn json(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn bodies(run: RunId, work: &Path) -> Vec<(Lane, Body)> {
    let tree = "b".repeat(40);
    let policy = json!({"name": "p", "check": [{"name": "tests", "run": "make test"}]});
    let ground = Ground {
        run,
        version: "0.1.0".into(),
        goal: "Mend it.".into(),
        workspace: work.into(),
        roles: vec![],
        policy: serde_json::from_value(policy).unwrap(),
        policy_dir: work.into(),
        extra_checks: vec![],
        budget: countersign::protocol::Budget::default(),
        base: tree.parse().unwrap(),
    };
    let usage = json!({"input": 900, "cache_read": 0, "output": 20});
    let body = |value: Value| serde_json::from_value::<Body>(value).unwrap();
    vec![
        (Lane::Run, Body::Run(Box::new(ground))),
        (Lane::Worker, body(json!({"type": "message", "cause": "assignment", "text": "Mend it."}))),
        (
            Lane::Supervisor,
            body(json!({"type": "reservation", "reservation": 1, "actor": "worker", "purpose": "turn",
                        "prompt_tokens": 1000, "output_tokens": 100, "money": "0.10"})),
        ),
        (
            Lane::Supervisor,
            body(
                json!({"type": "charge", "reservation": 1, "actor": "worker", "purpose": "turn", "answered": true,
                        "attempts": 1, "usage": usage, "money": "0.05"}),
            ),
        ),
        (
            Lane::Worker,
            body(json!({"type": "turn", "turn": 1, "blocks": [{"block": "text", "text": "Done \u{1b}[2J."}],
                        "stop": {"class": "end", "raw": "stop"}, "executable": true, "usage": usage,
                        "sent": {"bytes": 4000, "prefix": "1".repeat(64), "chain": "2".repeat(64), "extends": true}})),
        ),
        (
            Lane::Run,
            body(json!({"type": "claim", "claim": 1, "summary": "Done.", "evidence": [], "implicit": true})),
        ),
        (
            Lane::Run,
            body(json!({"type": "verdict", "claim": 1, "tree": tree, "verdict": "refuted",
                        "summary": "tests failed", "findings": []})),
        ),
        (
            Lane::Run,
            body(
                json!({"type": "outcome", "outcome": "halted", "reason": "a person stopped it", "tree": null,
                        "turns": 1, "refutations": 1, "usage": usage, "money": "0.05", "certificate": null}),
            ),
        ),
    ]
}

#[test]
fn runs_are_listed_and_shown_by_any_unique_start() {
    let place = Place::new();
    let none = place.say(&["runs"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(none.stderr.contains("no runs yet"), "{}", none.stderr);

    let run = place.run();
    let listed = place.say(&["runs", "--json"]).json();
    assert_eq!((&listed[0]["run"], &listed[0]["outcome"]), (&json!(run), &json!("halted")));
    assert_eq!((&listed[0]["turns"], &listed[0]["money"]), (&json!(1), &json!("0.05")));

    for start in [&run.to_string()[..8], &run.to_string()] {
        let shown = place.say(&["show", start]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        for part in ["halted", "Mend it.", "claim 1", "refuted: tests failed", "$0.05"] {
            assert!(shown.stdout.contains(part), "no `{part}` in {}", shown.stdout);
        }
    }
    let shown = &place.say(&["show", "--json", &run.to_string()]).json()[0];
    assert_eq!(shown["claims"][0]["verdict"]["verdict"], "refuted");
    assert_eq!(
        shown["bill"][0],
        json!({"actor": "worker", "turns": 1, "usage": shown["bill"][0]["usage"], "money": "0.05", "open": 0})
    );
}

#[test]
fn a_name_that_fits_no_run_or_several_is_a_usage_error() {
    let place = Place::new();
    let (one, two) = (place.run(), place.run());
    let missing = place.say(&["show", "ffff"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (2, ""));
    assert!(missing.stderr.contains("no run `ffff`"), "{}", missing.stderr);

    let several = place.say(&["show", "0"]);
    assert_eq!((several.code, several.stdout.as_str()), (2, ""));
    assert!(several.stderr.contains(&one.to_string()) && several.stderr.contains(&two.to_string()));
}

#[test]
fn the_log_is_the_journal() {
    let place = Place::new();
    let run = place.run().to_string();
    let entries = place.say(&["log", &run, "--json"]).json();
    assert_eq!(entries.len(), 8);
    assert!(entries.iter().all(|entry| entry["run"] == json!(run) && entry["at"].is_string()));
    let kinds: Vec<_> = entries.iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["run", "message", "reservation", "charge", "turn", "claim", "verdict", "outcome"]);

    let worker = place.say(&["log", &run, "--lane", "worker", "--json"]).json();
    assert_eq!(worker.len(), 3);
    let tree = place.say(&["log", &run]);
    assert!(tree.stdout.lines().count() >= 8 && !tree.stdout.contains('\u{1b}'), "{}", tree.stdout);
}

#[test]
fn an_audit_has_every_call() {
    let place = Place::new();
    let run = place.run().to_string();
    let audit = &place.say(&["audit", &run, "--json"]).json()[0];
    let turn = &audit["lanes"][0]["turns"][0];
    assert_eq!((&turn["prompt"], &turn["money"], &turn["miss"]), (&json!(900), &json!("0.05"), &Value::Null));
    assert_eq!(audit["total"]["money"], "0.05");
}

#[test]
fn a_fork_goes_back_in_every_lane_and_says_how_to_go_on() {
    let place = Place::new();
    let run = place.run().to_string();
    let forked = place.say(&["fork", &run, "--at", "2"]);
    assert_eq!(forked.code, 0, "{}", forked.stderr);
    assert!(forked.stdout.contains(&format!("countersign resume {run}")), "{}", forked.stdout);

    let entries = place.say(&["log", &run, "--json"]).json();
    let branches: Vec<_> = entries.iter().filter(|entry| entry["type"] == "branch").collect();
    let leaf =
        |lane: &str| branches.iter().find(|entry| entry["lane"] == lane).map(|entry| entry["leaf"].clone());
    assert_eq!(leaf("worker"), Some(entries[1]["id"].clone()));
    assert_eq!(leaf("supervisor"), Some(Value::Null));
    assert_eq!(leaf("run"), Some(entries[0]["id"].clone()));
    // The outcome is on the branch that was left: the run is open again.
    assert_eq!(place.say(&["show", &run, "--json"]).json()[0]["outcome"], Value::Null);

    let wrong = place.say(&["fork", &run, "--at", "999"]);
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
}

#[test]
fn a_damaged_journal_is_told_as_far_as_it_can_be_read() {
    let place = Place::new();
    let run = place.run();
    let file = place.dir(run).join("journal.jsonl");
    let text = fs::read_to_string(&file).unwrap().replace("\"claim\":1", "\"claim\":7");
    fs::write(&file, text).unwrap();

    let shown = place.say(&["show", &run.to_string()]);
    assert_eq!(shown.code, 1);
    assert!(shown.stdout.contains("Mend it."), "{}", shown.stdout);
    assert!(shown.stderr.contains("line"), "{}", shown.stderr);
    for command in ["log", "audit"] {
        assert_eq!(place.say(&[command, &run.to_string()]).code, 1, "{command}");
    }
    assert_eq!(place.say(&["runs"]).code, 1);
}

#[test]
fn whoever_reads_only_the_first_line_causes_no_panic() {
    let place = Place::new();
    let run = place.run().to_string();
    for args in [&["log", &run][..], &["show", &run], &["runs"], &["audit", &run]] {
        let mut child = place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let said = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.code().is_some() && !stderr.contains("panicked"), "{args:?}: {stderr}");
    }
}

#[test]
fn init_writes_a_starting_set_once() {
    let place = Place::new();
    fs::write(place.work().join("Cargo.toml"), "[package]\nname = \"x\"\n").unwrap();
    let first = place.say(&["init"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stdout.contains("Rust") && first.stdout.contains("wrote task.toml"), "{}", first.stdout);
    fs::write(place.work().join("task.toml"), "mine").unwrap();
    let second = place.say(&["init"]);
    assert!(second.stdout.contains("left alone"), "{}", second.stdout);
    assert_eq!(fs::read_to_string(place.work().join("task.toml")).unwrap(), "mine");
}

#[test]
fn what_init_writes_is_what_check_wants() {
    for sign in ["Cargo.toml", "pyproject.toml", "go.mod", "package.json", "README"] {
        let place = Place::new();
        fs::write(place.work().join(sign), "").unwrap();
        assert_eq!(place.say(&["init"]).code, 0, "{sign}");
        let checked = place.say(&["check"]);
        assert_eq!(checked.code, 0, "{sign}: {}", checked.stderr);
        assert_eq!(
            checked.stdout.lines().filter(|line| line.starts_with("ok ")).count(),
            2,
            "{}",
            checked.stdout
        );
    }
}

#[test]
fn check_names_the_place_and_the_right_spelling() {
    let place = Place::new();
    fs::write(place.work().join("task.toml"), "goal = \"x\"\n\n[budget]\nturn = 5\n").unwrap();
    let checked = place.say(&["check", "task.toml"]);
    assert_eq!(checked.code, 2, "{}", checked.stderr);
    assert!(
        checked.stderr.contains("task.toml:4:1") && checked.stderr.contains("`turns`"),
        "{}",
        checked.stderr
    );
    assert!(checked.stdout.starts_with("wrong"), "{}", checked.stdout);

    let diagnostics = place.say(&["check", "task.toml", "--json"]).json();
    assert_eq!((&diagnostics[0]["type"], &diagnostics[0]["line"]), (&json!("diagnostic"), &json!(4)));
}

#[test]
fn what_is_available_is_listed_with_its_origin() {
    let place = Place::new();
    for (command, name) in
        [("roles", "worker"), ("policies", "strict"), ("models", "anthropic/claude-sonnet-5-5")]
    {
        let text = place.say(&[command]);
        assert_eq!(text.code, 0, "{}", text.stderr);
        assert!(text.stdout.contains(name) && text.stdout.contains("shipped"), "{}", text.stdout);
        let listed = place.say(&[command, "--json"]).json();
        assert!(listed.iter().all(|item| item["origin"]["from"] == "shipped"), "{command}");
    }
}

#[test]
fn doctor_names_keys_and_never_shows_them() {
    let place = Place::new();
    let mut command = place.command(&["doctor", "--json"]);
    let Output { stdout, stderr, .. } = command.env("ANTHROPIC_API_KEY", "sk-canary").output().unwrap();
    let said = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
    assert!(said.contains("ANTHROPIC_API_KEY is set") && !said.contains("sk-canary"), "{said}");
    for what in ["state", "git", "snapshots", "processes", "sandbox", "server"] {
        assert!(said.contains(&format!("\"what\":\"{what}\"")), "no `{what}` in {said}");
    }
}

#[test]
fn a_state_directory_that_cannot_be_written_is_broken() {
    let place = Place::new();
    fs::write(place.folder.path().join("state"), "a file").unwrap();
    let said = place.say(&["doctor"]);
    assert_eq!(said.code, 1, "{}", said.stdout);
    assert!(said.stdout.contains("can't be written"), "{}", said.stdout);
}

#[test]
fn a_recording_is_decoded_as_the_contract_says() {
    let place = Place::new();
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]});
    fs::write(place.work().join("body"), format!("data: {chunk}\n\ndata: [DONE]\n\n")).unwrap();
    let decoded = &place.say(&["decode", "--api", "openai-chat", "body"]).json()[0];
    assert_eq!((&decoded["text"], &decoded["stop"]["class"]), (&json!("hi"), &json!("end")));
    for key in ["reasoning", "tool_calls", "usage", "error", "complete", "executable"] {
        assert!(decoded.get(key).is_some(), "{key}");
    }
    fs::write(place.work().join("busy"), r#"{"error":{"message":"slow down"}}"#).unwrap();
    let args = ["decode", "--api", "openai-chat", "--status", "429", "--header", "retry-after: 3", "busy"];
    let busy = place.say(&args);
    assert_eq!(busy.code, 0);
    assert_eq!(busy.json()[0]["error"]["class"], "rate_limit");
    assert_eq!(busy.json()[0]["error"]["retry_after_s"].as_f64(), Some(3.0));
}

#[test]
fn usage_errors_exit_with_2_and_a_missing_recording_with_1() {
    let place = Place::new();
    for args in [
        &["rnu"][..],
        &["run"],
        &["run", "task.toml", "--polcy", "x"],
        &["verify", "missing.json"],
        &["run", "missing.toml", "--json"],
    ] {
        let said = place.say(args);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{args:?}: {}", said.stderr);
        assert!(!said.stderr.is_empty());
    }
    let missing = place.say(&["decode", "--api", "openai-chat", "missing.body"]);
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""));
    assert!(missing.stderr.contains("missing.body"), "{}", missing.stderr);
}
