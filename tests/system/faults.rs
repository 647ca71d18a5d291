//! Providers fail; runs go on where that is right.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
};

use countersign_tests::{Bench, Server, Step, bench::FIX, server::Script};

/// A worker whose n-th request is answered by `odd`, and all others as if that had not been.
fn with_one_fault(number: usize, odd: Step) -> Server {
    let count = AtomicUsize::new(0);
    let worker: Script = Box::new(move |turn, _| {
        if count.fetch_add(1, Ordering::SeqCst) == number {
            return odd.clone();
        }
        [Step::bash(FIX), Step::done()][turn.min(1)].clone()
    });
    let judge: Script = Box::new(|turn, _| [Step::bash("ls"), Step::accept()][turn.min(1)].clone());
    Server::with(BTreeMap::from([("worker".to_owned(), worker), ("verifier".to_owned(), judge)]))
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again_and_both_are_billed() {
    let server = with_one_fault(0, Step::bash("touch half-run").cut());
    let bench = Bench::calc(&server);
    let outcome = bench.run();
    outcome.assert("completed", 0);
    assert!(!bench.path("ws/half-run").exists(), "what did not arrive whole does not run");
    let charges = outcome.events_of("charge");
    let failed: Vec<_> = charges.iter().filter(|charge| charge["answered"] == false).collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["usage"]["estimated"], true);
    assert_eq!(charges.len(), outcome.events_of("reservation").len(), "each request has its own reservation");
}

#[test]
fn an_overloaded_provider_is_asked_again() {
    let server = with_one_fault(1, Step::error(529));
    Bench::calc(&server).run().assert("completed", 0);
    assert_eq!(server.requests_to("worker").len(), 3);
}

#[test]
fn an_unknown_tool_a_call_without_arguments_and_a_claim_among_others_are_answered_as_errors() {
    let odd = Step::call("bsh", &serde_json::json!({ "command": "ls" }))
        .and_raw("write", r#"{"path": "x"}"#)
        .and("done", &serde_json::json!({ "summary": "done", "evidence": [] }));
    let server = Server::start(&[
        ("worker", vec![odd, Step::bash(FIX), Step::done()]),
        ("verifier", vec![Step::bash("ls"), Step::accept()]),
    ]);
    let bench = Bench::calc(&server);
    let outcome = bench.run();
    outcome.assert("completed", 0);
    let results = outcome.events_of("tool_result");
    assert!(results[..3].iter().all(|result| result["is_error"] == true), "{results:?}");
    assert!(results[0]["content"].to_string().contains("bash"), "the nearest name is said");
    assert!(!bench.path("ws/x").exists(), "absent is not empty");
    assert_eq!(outcome.events_of("claim").len(), 1);
}
