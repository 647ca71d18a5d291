//! Every example ends as it promises, and can be run again.

use std::process::Command;

use countersign_tests::{
    Bench,
    bench::{Outcome, root},
};

#[track_caller]
fn example(name: &str) -> (Bench, Outcome) {
    let bench = Bench::new();
    let task = root().join("examples").join(name).join("task.toml");
    let outcome = bench.countersign(&["run", task.to_str().unwrap(), "--json"]);
    (bench, outcome)
}

#[track_caller]
fn unchanged() {
    let status = Command::new("git")
        .args(["status", "--porcelain", "--ignored", "examples"])
        .current_dir(root())
        .output();
    let changed = String::from_utf8(status.unwrap().stdout).unwrap();
    assert!(!changed.contains("examples/"), "{changed}");
}

#[test]
fn fix_the_bug_is_refuted_once_and_then_completed() {
    for _ in 0..2 {
        let (bench, outcome) = example("fix-the-bug");
        outcome.assert("completed", 0);
        assert_eq!(outcome.last()["refutations"], 1);
        let certificate = outcome.last()["certificate"].as_str().unwrap().to_owned();
        let verified = bench.countersign(&["verify", &certificate]);
        assert_eq!(verified.code, Some(0), "{}\n{}", verified.stdout, verified.stderr);
    }
    unchanged();
}

#[test]
fn python_fix_is_refuted_for_the_bent_test_and_then_completed() {
    let (_bench, outcome) = example("python-fix");
    outcome.assert("completed", 0);
    assert_eq!(outcome.last()["refutations"], 1);
}

#[test]
fn custom_policy_is_refuted_by_the_plug_in_and_then_completed() {
    let (_bench, outcome) = example("custom-policy");
    outcome.assert("completed", 0);
    assert_eq!(outcome.last()["refutations"], 1);
}

#[test]
fn budget_is_exhausted_without_overrun_and_goes_on_with_more() {
    let (bench, outcome) = example("budget");
    outcome.assert("exhausted", 4);
    let money: f64 = outcome.last()["money"].as_str().unwrap().parse().unwrap();
    assert!(money > 0.0 && money <= 0.05, "{money}");
    bench.countersign(&["resume", &outcome.run(), "--money", "2.00", "--json"]).assert("completed", 0);
}

#[test]
fn loop_is_stalled() {
    example("loop").1.assert("stalled", 5);
}

#[test]
fn impossible_is_blocked_with_what_a_person_must_decide() {
    let (_bench, outcome) = example("impossible");
    outcome.assert("blocked", 7);
    assert!(outcome.last()["reason"].as_str().unwrap().contains("test_heavy"));
}

#[test]
fn the_embedded_check_refutes_too() {
    let bench = Bench::new();
    let run = ["run", "--quiet", "--package", "custom-policy"];
    let mut command = Command::new(env!("CARGO"));
    command.args(run).current_dir(root()).env("XDG_STATE_HOME", bench.path("state"));
    let output = command.output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("completed after 1 refutations"), "{text}");
}
