//! A long run in a small window.

use countersign_tests::{Bench, Server, Step, bench::FIX, server::Script};
use serde_json::Value;
use std::collections::BTreeMap;

/// How much has been done is read from the request itself, so that it survives a compaction.
fn worker(request: &Value) -> Step {
    let messages = request["messages"].as_array().unwrap();
    let last = messages.last().unwrap()["content"].as_str().unwrap_or_default();
    if last.contains("summar") && messages.last().unwrap()["role"] == "user" && !last.contains("STEP") {
        return Step::say("Goal: mend calc.py. So far only looked around.");
    }
    let step = messages.iter().filter_map(|m| m["content"].as_str()).filter_map(step_in).max().unwrap_or(0);
    match step {
        0..40 => Step::bash(&format!("echo STEP {}; seq 1 500", step + 1)),
        40 => Step::bash(&format!("{FIX}; echo STEP 41")),
        _ => Step::done(),
    }
}

fn step_in(text: &str) -> Option<u32> {
    text.split("STEP ").skip(1).filter_map(|rest| rest.split_whitespace().next()?.parse().ok()).max()
}

#[test]
fn the_history_is_summarised_and_the_run_completes() {
    let worker: Script = Box::new(|_, request| worker(request));
    let judge: Script = Box::new(|turn, _| [Step::bash("ls"), Step::accept()][turn.min(1)].clone());
    let server =
        Server::with(BTreeMap::from([("worker".to_owned(), worker), ("verifier".to_owned(), judge)]));
    let bench = Bench::calc(&server);
    bench.write(
        "config.toml",
        bench.read("config.toml").replace("context_window = 128000", "context_window = 12000"),
    );
    bench.task("turns = 200\nwall = \"5m\"");
    let outcome = bench.run();
    outcome.assert("completed", 0);
    let compactions = outcome.events_of("compaction");
    assert!(compactions.len() >= 2, "{} compactions", compactions.len());
    assert!(compactions.iter().all(|compaction| compaction["lane"] == "worker"));
    for request in server.requests_to("worker") {
        let body = request.body();
        let messages = body["messages"].as_array().unwrap();
        let goal = messages[1]["content"].as_str().unwrap();
        assert!(goal.contains("Make the tests pass by fixing calc.py."), "the goal stays verbatim: {goal}");
        let calls = messages.iter().filter_map(|m| m["tool_calls"].as_array()).map(Vec::len).sum::<usize>();
        let results = messages.iter().filter(|m| m["role"] == "tool").count();
        assert_eq!(calls, results, "no call without its result, no result without its call");
        assert!(request.bytes.len() / 4 < 12_000, "the request fits the window");
    }
}
