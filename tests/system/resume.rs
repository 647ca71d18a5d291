//! A run that stopped goes on.

use std::{thread, time::Duration};

use countersign_tests::{Bench, Server, Step, bench::FIX};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

fn judge() -> Vec<Step> {
    vec![Step::bash("ls"), Step::accept(), Step::bash("ls -a"), Step::accept()]
}

fn pid(child: &std::process::Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

/// Waits until a file is there: a sign that a command has begun.
fn wait_for(path: &std::path::Path) {
    for _ in 0..600 {
        if path.exists() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("{} never came", path.display());
}

#[test]
fn more_turns_let_an_exhausted_run_go_on_to_its_end() {
    let steps: Vec<Step> = (0..6).map(|n| Step::bash(&format!("echo {n}"))).collect();
    let steps = [steps, vec![Step::bash(FIX), Step::done()]].concat();
    let server = Server::start(&[("worker", steps), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    bench.task("turns = 6\nwall = \"5m\"");
    let first = bench.run();
    first.assert("exhausted", 4);
    let again = bench.countersign(&["resume", &first.run()[..13], "--turns", "30", "--json"]);
    again.assert("completed", 0);
    assert_eq!(again.last()["turns"], 10, "turns of both sessions are counted");
    assert_eq!(
        bench.countersign(&["resume", &first.run(), "--json"]).code,
        Some(2),
        "a completed run is over"
    );
}

#[test]
fn an_answer_lets_a_blocked_run_go_on() {
    let blocked = Step::call("blocked", &json!({ "reason": "which sign?", "needs": "plus or minus" }));
    let server =
        Server::start(&[("worker", vec![blocked, Step::bash(FIX), Step::done()]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    let first = bench.run();
    first.assert("blocked", 7);
    bench.countersign(&["resume", &first.run(), "--steer", "It is a plus.", "--json"]).assert("completed", 0);
    let told = server.requests_to("worker")[1].messages().pop().unwrap();
    assert!(told.contains("It is a plus."), "{told}");
}

#[test]
fn ctrl_c_halts_after_the_turn_and_the_run_can_be_resumed() {
    let slow = Step::bash("touch ../begun; sleep 2; echo slept");
    let server =
        Server::start(&[("worker", vec![slow, Step::bash(FIX), Step::done()]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    let child = bench.start();
    wait_for(&bench.path("begun"));
    kill_process(pid(&child), Signal::INT).unwrap();
    let halted = bench.wait(child);
    halted.assert("halted", 6);
    let results = halted.events_of("tool_result");
    assert!(results[0]["content"].to_string().contains("slept"), "the turn was let to its end: {results:?}");
    bench.countersign(&["resume", &halted.run(), "--json"]).assert("completed", 0);
}

#[test]
fn ctrl_c_twice_halts_at_once_and_every_call_has_a_result() {
    let slow = Step::bash("touch ../begun; sleep 600");
    let server =
        Server::start(&[("worker", vec![slow, Step::bash(FIX), Step::done()]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    let child = bench.start();
    wait_for(&bench.path("begun"));
    kill_process(pid(&child), Signal::INT).unwrap();
    thread::sleep(Duration::from_millis(300));
    kill_process(pid(&child), Signal::INT).unwrap();
    let halted = bench.wait(child);
    halted.assert("halted", 6);
    bench.countersign(&["resume", &halted.run(), "--json"]).assert("completed", 0);
    let last = server.requests_to("worker").pop().unwrap().body();
    let messages = last["messages"].as_array().unwrap();
    let calls = messages.iter().filter_map(|m| m["tool_calls"].as_array()).map(Vec::len).sum::<usize>();
    let results = messages.iter().filter(|m| m["role"] == "tool").count();
    assert_eq!(calls, results);
}

#[test]
fn sigterm_halts_too() {
    let slow = Step::bash("touch ../begun; sleep 1");
    let server = Server::start(&[("worker", vec![slow, Step::bash("ls")]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    let child = bench.start();
    wait_for(&bench.path("begun"));
    kill_process(pid(&child), Signal::TERM).unwrap();
    bench.wait(child).assert("halted", 6);
}

#[test]
fn a_killed_run_is_resumed_and_the_model_is_told_what_is_unknown() {
    let slow = Step::bash("touch ../begun; sleep 600");
    let server =
        Server::start(&[("worker", vec![slow, Step::bash(FIX), Step::done()]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    let mut child = bench.start();
    wait_for(&bench.path("begun"));
    child.kill().unwrap();
    child.wait().unwrap();
    let runs = bench.countersign(&["runs", "--json"]);
    let run = runs.events()[0]["run"].as_str().unwrap().to_owned();
    bench.countersign(&["resume", &run, "--json"]).assert("completed", 0);
    let second = server.requests_to("worker")[1].messages();
    let result = second.iter().find(|message| message.contains("\"tool\"")).unwrap();
    assert!(result.contains("effect unknown"), "{result}");
}

#[test]
fn a_second_process_cannot_write_to_a_run_in_use() {
    let slow = Step::bash("touch ../begun; sleep 3");
    let server =
        Server::start(&[("worker", vec![slow, Step::bash(FIX), Step::done()]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    let child = bench.start();
    wait_for(&bench.path("begun"));
    let runs = bench.countersign(&["runs", "--json"]);
    let run = runs.events()[0]["run"].as_str().unwrap().to_owned();
    let second = bench.countersign(&["resume", &run, "--json"]);
    assert_ne!(second.code, Some(0));
    assert!(second.stderr.contains("in use"), "{}", second.stderr);
    bench.wait(child).assert("completed", 0);
}

#[test]
fn a_fork_opens_a_new_branch_and_both_stay() {
    let server = Server::start(&[("worker", vec![Step::bash(FIX), Step::done()]), ("verifier", judge())]);
    let bench = Bench::calc(&server);
    let first = bench.run();
    first.assert("completed", 0);
    let turn =
        first.events_of("turn").iter().find(|turn| turn["lane"] == "worker").unwrap()["seq"].to_string();
    let forked = bench.countersign(&["fork", &first.run(), "--at", &turn]);
    assert_eq!(forked.code, Some(0), "{}", forked.stderr);
    bench.countersign(&["resume", &first.run(), "--json"]).assert("completed", 0);
    let log = bench.countersign(&["log", &first.run(), "--json"]);
    assert_eq!(log.events_of("outcome").len(), 2);
}
