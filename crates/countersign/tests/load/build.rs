//! Runs built in Rust.

use countersign::{
    Run, RunBuilder,
    protocol::{Budget, Policy, Role},
};
use insta::assert_snapshot;

use crate::bench::{Bench, refused};

const SCRIPT: &str = "[[step]]\ntext = \"hello\"\n";

fn builder(bench: &Bench) -> RunBuilder {
    Run::builder().goal("Fix it.").workspace("ws").world(bench.world()).state_dir("state")
}

#[test]
fn names_and_values_can_be_mixed() {
    let bench = Bench::new().file("w.toml", SCRIPT);
    let role: Role = toml::from_str("name = \"mine\"\nkind = \"worker\"\nprompt = \"p\"\n").unwrap();
    let policy: Policy = toml::from_str("name = \"p\"\n[judge]\nrole = \"reviewer\"\n").unwrap();
    let run = builder(&bench)
        .worker(role)
        .policy(policy)
        .model("mine", "scripted/w.toml")
        .model("verifier", "scripted/w.toml")
        .budget(Budget { turns: 3, ..Budget::default() })
        .build()
        .unwrap_or_else(|error| panic!("{error}"));
    let run = run.assignment();
    assert_eq!(run.worker.role.name, "mine");
    assert_eq!(run.verifier.as_ref().map(|verifier| verifier.role.name.as_str()), Some("reviewer"));
    assert_eq!(run.state_dir, bench.path("state"));
}

#[test]
fn what_a_program_gets_wrong_is_said_as_well() {
    let bench = Bench::new();
    let role: Role =
        toml::from_str("name = \"\"\nkind = \"verifier\"\nprompt = \"p\"\ntools = [\"edit\"]\n").unwrap();
    let budget = Budget { turns: 0, verification_share: f64::NAN, ..Budget::default() };
    let wrong = Run::builder()
        .goal("")
        .workspace("nowhere")
        .world(bench.world())
        .budget(budget)
        .model("worker", "sonnet");
    assert_snapshot!(bench.said(&refused(wrong.build())));
    let wrong = builder(&bench).worker(role.clone()).verifier(role).policy("nowhere");
    assert_snapshot!("a_role_that_is_wrong_in_rust", bench.said(&refused(wrong.build())));
}
