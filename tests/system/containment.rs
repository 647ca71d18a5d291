//! What a worker's processes are kept from, and what becomes of them.

use countersign_tests::{Bench, Server, Step, bench::FIX};

fn judge() -> Vec<Step> {
    vec![Step::bash("ls"), Step::accept()]
}

/// Whether a process with this in its command line is alive.
fn alive(needle: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        let command_line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command_line).contains(needle)
    })
}

#[test]
fn nothing_that_a_command_started_outlives_its_call() {
    let hide =
        "setsid sleep 98761 & (trap '' TERM; sleep 98762) & nohup sleep 98763 >/dev/null 2>&1 & echo started";
    let server = Server::start(&[
        ("worker", vec![Step::bash(hide), Step::bash(FIX), Step::done()]),
        ("verifier", judge()),
    ]);
    Bench::calc(&server).run().assert("completed", 0);
    for needle in ["98761", "98762", "98763"] {
        assert!(!alive(needle), "sleep {needle} is alive");
    }
}

#[test]
fn no_key_reaches_a_tool_the_journal_or_the_screen() {
    let look = "env; cat /proc/self/environ; cat /proc/$PPID/cmdline";
    let server = Server::start(&[
        ("worker", vec![Step::bash(look), Step::bash(FIX), Step::done()]),
        ("verifier", judge()),
    ]);
    let bench = Bench::calc(&server);
    let outcome = bench.run();
    outcome.assert("completed", 0);
    assert!(!outcome.stdout.contains("sk-canary-4242") && !outcome.stderr.contains("sk-canary-4242"));
    let journal = bench.path(&format!("state/runs/{}/journal.jsonl", outcome.run()));
    assert!(!std::fs::read_to_string(journal).unwrap().contains("sk-canary-4242"));
    let requests = server.requests();
    assert!(
        requests.iter().all(|request| !String::from_utf8_lossy(&request.bytes).contains("sk-canary-4242"))
    );
    assert!(
        requests.iter().all(|request| request.head.contains("Bearer sk-canary-4242")),
        "the key is in the header"
    );
}

#[test]
fn a_command_that_reads_from_the_terminal_ends() {
    let ask = "read answer; echo \"got '$answer'\"; git commit --allow-empty; python3 -c 'input()'";
    let server = Server::start(&[
        ("worker", vec![Step::bash(ask), Step::bash(FIX), Step::done()]),
        ("verifier", judge()),
    ]);
    Bench::calc(&server).run().assert("completed", 0);
}
