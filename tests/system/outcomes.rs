//! Every outcome, with its exit code, from a real run.

use countersign_tests::{
    Bench, Server, Step,
    bench::{FIX, POLICY},
};
use serde_json::json;

fn judge() -> Vec<Step> {
    vec![Step::bash("ls"), Step::accept(), Step::bash("ls -a"), Step::accept()]
}

#[test]
fn a_fix_is_completed_and_certified() {
    let server = Server::start(&[("worker", vec![Step::bash(FIX), Step::done()]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    let outcome = bench.run();
    outcome.assert("completed", 0);
    let last = outcome.last();
    let tree = last["tree"].as_str().unwrap().to_owned();
    let certificate = std::fs::read_to_string(last["certificate"].as_str().unwrap()).unwrap();
    let certificate: serde_json::Value = serde_json::from_str(&certificate).unwrap();
    assert_eq!(certificate["subject"][0]["digest"]["gitTree"], json!(tree));
    let votes = outcome.events_of("vote");
    let voters: Vec<_> = votes.iter().map(|vote| vote["actor"].as_str().unwrap()).collect();
    assert_eq!(voters, ["worker", "verifier", "supervisor"]);
    assert!(votes.iter().all(|vote| vote["tree"] == json!(tree) && vote["agree"] == true));
    assert_eq!(bench.countersign(&["verify", last["certificate"].as_str().unwrap()]).code, Some(0));
    assert!(bench.read("ws/calc.py").contains("a + b"));
}

#[test]
fn every_json_line_has_type_run_and_time_and_the_outcome_is_the_last() {
    let server = Server::start(&[("worker", vec![Step::bash(FIX), Step::done()]), ("verifier", judge())]);
    let outcome = Bench::calc(&server).run();
    let run = outcome.run();
    let events = outcome.events();
    for event in &events {
        assert!(
            event["type"].is_string() && event["at"].is_string() && event["run"] == json!(run),
            "{event}"
        );
    }
    assert_eq!(events.iter().filter(|event| event["type"] == "outcome").count(), 1);
    for kind in ["run", "turn", "tool_call", "tool_result", "claim", "check", "verdict", "vote", "charge"] {
        assert!(events.iter().any(|event| event["type"] == kind), "no {kind}");
    }
}

#[test]
fn a_lie_is_refused() {
    let server = Server::start(&[("worker", vec![Step::done()]), ("verifier", judge())]);
    let outcome = Bench::calc(&server).run();
    outcome.assert("refused", 3);
    assert_eq!(outcome.last()["refutations"], 2);
    assert!(server.requests_to("verifier").is_empty(), "a failed check needs no judge");
}

#[test]
fn a_lie_then_a_fix_is_completed() {
    let steps = vec![Step::done(), Step::bash(FIX), Step::done()];
    let server = Server::start(&[("worker", steps), ("verifier", judge())]);
    let outcome = Bench::calc(&server).run();
    outcome.assert("completed", 0);
    assert_eq!(outcome.last()["refutations"], 1);
    let told = server.requests_to("worker")[1].messages().pop().unwrap();
    assert!(told.contains("refuted") && told.contains("test_small"), "{told}");
}

#[test]
fn a_message_without_a_call_is_a_claim_too() {
    let steps = vec![Step::bash(FIX), Step::say("I have fixed it.")];
    let server = Server::start(&[("worker", steps), ("verifier", judge())]);
    let outcome = Bench::calc(&server).run();
    outcome.assert("completed", 0);
    assert_eq!(outcome.events_of("claim")[0]["implicit"], true);
}

#[test]
fn a_cut_message_is_never_a_claim_and_its_calls_do_not_run() {
    let cut = Step::say("").and_raw("bash", r#"{"command": "touch was-run"#).finish("tool_calls");
    let whole_but_cut = Step::bash("touch was-run-too").finish("length");
    let steps =
        vec![cut, whole_but_cut, Step::say("All is do").finish("length"), Step::bash(FIX), Step::done()];
    let server = Server::start(&[("worker", steps), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    let outcome = bench.run();
    outcome.assert("completed", 0);
    assert_eq!(outcome.events_of("claim").len(), 1);
    assert!(!bench.path("ws/was-run").exists() && !bench.path("ws/was-run-too").exists());
}

#[test]
fn a_bent_test_is_refused() {
    let bend = Step::bash("sed -i 's/assertEqual(.*/assertTrue(True)/' tests/test_calc.py");
    let server = Server::start(&[("worker", vec![bend, Step::done()]), ("verifier", judge())]);
    Bench::calc(&server).run().assert("refused", 3);
}

#[test]
fn a_deleted_test_is_refused() {
    let delete = Step::bash("rm tests/test_calc.py && echo 'import unittest' > tests/test_other.py");
    let server = Server::start(&[("worker", vec![delete, Step::done()]), ("verifier", judge())]);
    Bench::calc(&server).run().assert("refused", 3);
}

#[test]
fn a_judge_can_refute_with_a_command_that_fails() {
    let refute = Step::call(
        "verdict",
        &json!({ "accept": false, "summary": "no docs", "findings": [{ "statement": "calc.py has no docstring",
            "command": "grep -q '\"\"\"' calc.py" }] }),
    );
    let mended =
        Step::bash("printf 'def add(a, b):\\n    \"\"\"The sum.\"\"\"\\n    return a + b\\n' > calc.py");
    let server = Server::start(&[
        ("worker", vec![Step::bash(FIX), Step::done(), mended, Step::done()]),
        ("verifier", vec![Step::bash("cat calc.py"), refute, Step::bash("cat calc.py"), Step::accept()]),
    ]);
    let outcome = Bench::calc(&server).run();
    outcome.assert("completed", 0);
    assert_eq!(outcome.last()["refutations"], 1);
}

#[test]
fn a_verdict_without_a_look_is_sent_back() {
    let server = Server::start(&[
        ("worker", vec![Step::bash(FIX), Step::done()]),
        ("verifier", vec![Step::accept(), Step::bash("cat calc.py"), Step::accept()]),
    ]);
    Bench::calc(&server).run().assert("completed", 0);
    assert_eq!(server.requests_to("verifier").len(), 3);
}

#[test]
fn a_judge_that_is_down_never_accepts() {
    let server = Server::start(&[
        ("worker", vec![Step::bash(FIX), Step::done()]),
        ("verifier", vec![Step::error(401)]),
    ]);
    Bench::calc(&server).run().assert("blocked", 7);
}

#[test]
fn a_missing_checker_is_nobodys_pass() {
    let server = Server::start(&[("worker", vec![Step::bash(FIX), Step::done()]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    bench.write("policies/p.toml", POLICY.replace("python3 -m unittest", "no-such-runner"));
    bench.run().assert("blocked", 7);
}

#[test]
fn an_honest_worker_that_cannot_go_on_is_blocked() {
    let blocked =
        Step::call("blocked", &json!({ "reason": "the tests contradict the goal", "needs": "a decision" }));
    let server = Server::start(&[("worker", vec![blocked]), ("verifier", judge())]);
    let outcome = Bench::calc(&server).run();
    outcome.assert("blocked", 7);
    assert!(outcome.last()["reason"].as_str().unwrap().contains("a decision"));
}

#[test]
fn the_turns_of_a_run_are_a_hard_cap() {
    let steps: Vec<Step> = (0..20).map(|n| Step::bash(&format!("echo {n}"))).collect();
    let server = Server::start(&[("worker", steps), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    bench.task("turns = 6\nwall = \"1m\"");
    bench.run().assert("exhausted", 4);
    assert!(server.requests().len() <= 6);
}

#[test]
fn money_is_never_overrun() {
    let steps: Vec<Step> = (0..50).map(|n| Step::bash(&format!("echo {n}"))).collect();
    let server = Server::start(&[("worker", steps), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    bench.task("money = \"0.10\"\nturns = 100");
    let outcome = bench.run();
    outcome.assert("exhausted", 4);
    let money: f64 = outcome.last()["money"].as_str().unwrap().parse().unwrap();
    assert!(money > 0.0 && money <= 0.10, "{money}");
}

#[test]
fn wall_time_ends_a_run_in_the_middle_of_a_command() {
    let server = Server::start(&[("worker", vec![Step::bash("sleep 300")]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    bench.task("turns = 10\nwall = \"2s\"");
    bench.run().assert("exhausted", 4);
}

#[test]
fn the_same_over_and_over_is_stalled() {
    let server = Server::start(&[("worker", vec![Step::bash("cat missing.txt")]), ("verifier", judge())]);
    Bench::calc(&server).run().assert("stalled", 5);
}

#[test]
fn a_provider_that_fails_is_a_failed_run_and_the_exit_code_says_so() {
    let server = Server::start(&[("worker", vec![Step::error(400)]), ("verifier", judge())]);
    let outcome = Bench::calc(&server).run();
    outcome.assert("failed", 1);
    assert_eq!(server.requests().len(), 1, "a bad request is not tried again");
}

#[test]
fn a_folder_without_git_and_a_repository_without_commits_work_too() {
    for git_init in [false, true] {
        let server = Server::start(&[("worker", vec![Step::bash(FIX), Step::done()]), ("verifier", judge())]);
        let bench = Bench::calc(&server);
        std::fs::remove_dir_all(bench.path("ws/.git")).unwrap();
        if git_init {
            let status =
                std::process::Command::new("git").args(["init", "-q"]).current_dir(bench.path("ws")).status();
            assert!(status.unwrap().success());
        }
        bench.run().assert("completed", 0);
    }
}

#[test]
fn a_worker_can_mend_what_no_snapshot_can_hold() {
    let pipe = Step::bash(&format!("{FIX}; mkfifo pipe"));
    let steps = vec![pipe, Step::done(), Step::bash("rm pipe"), Step::done()];
    let server = Server::start(&[("worker", steps), ("verifier", judge())]);
    let outcome = Bench::calc(&server).run();
    outcome.assert("completed", 0);
    let told = server.requests_to("worker")[2].messages().pop().unwrap();
    assert!(told.contains("pipe"), "{told}");
}
