//! What is sent grows only at its end.

use countersign_tests::{Bench, Server, Step, bench::FIX, server::Request};

/// The cacheable part of a request: everything up to the end of the last message, as the bytes that were sent.
fn cacheable(request: &Request) -> Vec<u8> {
    let last = request.messages().pop().expect("a request has messages");
    let text = String::from_utf8(request.bytes.clone()).expect("a request is UTF-8");
    let end = text.rfind(&last).expect("the message is in the request") + last.len();
    text.as_bytes()[..end].to_vec()
}

#[track_caller]
fn assert_extends(requests: &[Request]) {
    for (number, pair) in requests.windows(2).enumerate() {
        let (before, after) = (cacheable(&pair[0]), cacheable(&pair[1]));
        assert!(after.starts_with(&before), "request {} does not extend request {}", number + 2, number + 1);
        assert!(after.len() > before.len());
    }
}

#[test]
fn in_a_hundred_turns_each_request_extends_the_last_one_byte_for_byte() {
    let mut steps: Vec<Step> = (0..98).map(|n| Step::bash(&format!("echo turn {n} é '\"'"))).collect();
    steps.extend([Step::bash(FIX), Step::done()]);
    let server = Server::start(&[
        ("worker", steps),
        ("verifier", vec![Step::bash("ls"), Step::accept(), Step::bash("ls -a"), Step::accept()]),
    ]);
    let bench = Bench::calc(&server);
    bench.task("turns = 200\nwall = \"10m\"");
    bench.run().assert("completed", 0);
    let requests = server.requests_to("worker");
    assert_eq!(requests.len(), 100);
    assert_extends(&requests);
}

#[test]
fn the_judges_lane_goes_on_from_claim_to_claim() {
    let refute = Step::call(
        "verdict",
        &serde_json::json!({ "accept": false, "summary": "no", "findings": [{ "statement": "no", "command": "test -f NOTES" }] }),
    );
    let server = Server::start(&[
        ("worker", vec![Step::bash(FIX), Step::done(), Step::bash("touch NOTES"), Step::done()]),
        ("verifier", vec![Step::bash("ls"), refute, Step::bash("ls"), Step::accept()]),
    ]);
    Bench::calc(&server).run().assert("completed", 0);
    let requests = server.requests_to("verifier");
    assert_eq!(requests.len(), 4);
    assert_extends(&requests);
}

#[test]
fn a_resumed_run_extends_what_the_last_session_sent() {
    let steps: Vec<Step> = (0..40).map(|n| Step::bash(&format!("echo {n}"))).collect();
    let server = Server::start(&[("worker", steps), ("verifier", vec![Step::bash("ls"), Step::accept()])]);
    let bench = Bench::calc(&server);
    bench.task("turns = 8\nwall = \"5m\"");
    let first = bench.run();
    first.assert("exhausted", 4);
    let again = bench.countersign(&["resume", &first.run(), "--turns", "14", "--json"]);
    again.assert("exhausted", 4);
    let requests = server.requests_to("worker");
    assert!(requests.len() > 8);
    assert_extends(&requests);
}
