//! A supervisor with a model has a lane of its own, can speak to the worker, and can withhold its vote.

use countersign_tests::{Bench, Server, Step, bench::FIX};

const SUPERVISOR: &str = r#"name = "watcher"
kind = "supervisor"
model = "fake/supervisor"
prompt = "You watch a run."
review_every = 2
"#;

fn bench(server: &Server) -> Bench {
    let bench = Bench::calc(server);
    bench.write("watcher.toml", SUPERVISOR);
    let task = bench.read("task.toml").replace("\npolicy =", "\nsupervisor = \"./watcher.toml\"\npolicy =");
    bench.write("task.toml", task);
    bench
}

fn judge() -> Vec<Step> {
    vec![Step::bash("ls"), Step::accept(), Step::bash("ls -a"), Step::accept()]
}

#[test]
fn its_notice_reaches_the_worker_and_its_vote_is_its_models() {
    let mut steps: Vec<Step> = (0..6).map(|n| Step::bash(&format!("echo {n}; sleep 0.2"))).collect();
    steps.extend([Step::bash(FIX), Step::done()]);
    let server = Server::start(&[
        ("worker", steps),
        ("verifier", judge()),
        ("supervisor", vec![Step::say("NOTICE: look at calc.py"), Step::say("CONTINUE")]),
    ]);
    let outcome = bench(&server).run();
    outcome.assert("completed", 0);
    let last = server.requests_to("worker").pop().unwrap().messages().concat();
    assert!(last.contains("look at calc.py"), "{last}");
    assert!(server.requests_to("supervisor").len() >= 2);
    assert!(outcome.events_of("turn").iter().any(|turn| turn["lane"] == "supervisor"));
}

#[test]
fn it_can_withhold_its_vote() {
    let server = Server::start(&[
        ("worker", vec![Step::bash(FIX), Step::done(), Step::bash("echo more > NOTES"), Step::done()]),
        ("verifier", judge()),
        ("supervisor", vec![Step::say("WITHHOLD: NOTES is missing"), Step::say("CONTINUE")]),
    ]);
    let outcome = bench(&server).run();
    outcome.assert("completed", 0);
    assert_eq!(outcome.last()["refutations"], 1);
    let disagreed = outcome.events_of("vote").into_iter().filter(|vote| vote["agree"] == false).count();
    assert_eq!(disagreed, 1);
}

#[test]
fn one_that_cannot_be_asked_never_agrees() {
    let server = Server::start(&[
        ("worker", vec![Step::bash(FIX), Step::done()]),
        ("verifier", judge()),
        ("supervisor", vec![Step::error(401)]),
    ]);
    bench(&server).run().assert("blocked", 7);
}
