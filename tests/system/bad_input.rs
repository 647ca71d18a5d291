//! What a user wrote wrongly is said before anything is spent; what the world did is said too, and nothing is lost.

use countersign_tests::{
    Bench, Server, Step,
    bench::{BUDGET, POLICY},
};

/// Runs a bench that something is wrong with, and asserts exit 2, no request, and that the error says all of `says`.
#[track_caller]
fn refused(spoil: impl Fn(&Bench), says: &[&str]) {
    let server = Server::start(&[("worker", vec![Step::done()]), ("verifier", vec![Step::accept()])]);
    let bench = Bench::calc(&server);
    spoil(&bench);
    let outcome = bench.run();
    assert_eq!(outcome.code, Some(2), "{}\n{}", outcome.stderr, outcome.stdout);
    for needle in says {
        assert!(outcome.stderr.contains(needle), "no `{needle}` in:\n{}", outcome.stderr);
    }
    assert!(server.requests().is_empty(), "something was spent");
    assert_eq!(outcome.stdout, "");
    assert!(!bench.path("state/runs").exists(), "a run was begun");
}

#[test]
fn a_misspelt_key_is_found_with_its_place_and_the_right_spelling() {
    let policy = POLICY.replace("max_refutations", "max_refutation");
    refused(
        |bench| bench.write("policies/p.toml", &policy),
        &["p.toml:3", "max_refutation", "max_refutations"],
    );
    refused(|bench| bench.task("turn = 5"), &["task.toml:10", "turns"]);
    refused(
        |bench| bench.write("config.toml", bench.read("config.toml").replace("base_url", "base_ulr")),
        &["config.toml:3", "base_url"],
    );
}

#[test]
fn a_wrong_type_says_what_was_expected() {
    refused(|bench| bench.task("turns = \"many\""), &["task.toml:10", "turns"]);
    refused(|bench| bench.task("money = \"two\""), &["task.toml:10", "two"]);
    refused(|bench| bench.task("wall = \"soon\""), &["task.toml:10", "soon"]);
}

#[test]
fn a_file_that_is_no_toml_or_no_text_is_refused() {
    refused(|bench| bench.write("task.toml", "goal = \"unclosed"), &["task.toml:1"]);
    refused(|bench| bench.write("policies/p.toml", b"name = \"\xff\xfe\"\n"), &["p.toml", "UTF-8"]);
}

#[test]
fn what_is_named_must_be_there() {
    let replace = |from: &'static str, to: &'static str| {
        move |bench: &Bench| bench.write("task.toml", bench.read("task.toml").replace(from, to))
    };
    refused(replace("policies/p.toml", "policies/q.toml"), &["q.toml"]);
    refused(replace("policy = \"policies/p.toml\"", "policy = \"stricct\""), &["stricct", "strict"]);
    refused(replace("policy =", "worker = \"worker_\"\npolicy ="), &["worker_", "worker"]);
    refused(replace("fake/worker", "fake/workers"), &["fake/workers", "worker"]);
    refused(replace("fake/worker", "fkae/worker"), &["fkae", "fake"]);
    refused(replace("workspace = \"ws\"", "workspace = \"nowhere\""), &["nowhere"]);
    refused(|bench| std::fs::remove_file(bench.path("task.toml")).unwrap(), &["task.toml"]);
}

#[test]
fn a_missing_key_is_named() {
    let named = |bench: &Bench| {
        bench.write("config.toml", bench.read("config.toml").replace("FAKE_KEY", "KEY_THAT_IS_NOT_SET"));
    };
    refused(named, &["KEY_THAT_IS_NOT_SET"]);
}

#[test]
fn a_money_budget_needs_known_prices() {
    let unpriced = |bench: &Bench| {
        let config = bench.read("config.toml");
        let kept = config.lines().filter(|line| !line.starts_with("price"));
        bench.write("config.toml", kept.collect::<Vec<_>>().join("\n"));
        bench.task("money = \"1.00\"");
    };
    refused(unpriced, &["price", "fake/worker"]);
}

#[test]
fn flags_and_commands_that_do_not_exist_are_usage_errors() {
    let bench = Bench::new();
    assert_eq!(bench.countersign(&["rnu"]).code, Some(2));
    assert_eq!(bench.countersign(&["run", "--no-such-flag"]).code, Some(2));
    assert_eq!(bench.countersign(&["show", "0000"]).code, Some(2));
}

#[test]
fn an_unreachable_server_fails_the_run_and_nothing_is_lost() {
    let server = Server::start(&[("worker", vec![Step::done()])]);
    let bench = Bench::calc(&server);
    bench.task(BUDGET);
    // A port that was just freed: nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    bench.write("config.toml", bench.read("config.toml").replace(server.url(), &format!("http://{free}/v1")));
    let outcome = bench.run();
    outcome.assert("failed", 1);
    assert!(outcome.last()["reason"].as_str().unwrap().contains(&free.to_string()), "{}", outcome.last());
    assert_eq!(bench.countersign(&["show", &outcome.run()]).code, Some(0));
}
