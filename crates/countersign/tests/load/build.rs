//! Runs built in Rust.

use std::sync::Arc;

use countersign::{
    Run, RunBuilder,
    protocol::{Budget, CheckReport, Finding, Outcome, Policy, Role},
    verify::{Check, Scene, check},
};
use futures_util::future::BoxFuture;
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

/// Refutes a claim that left no `done.txt`.
struct LeftBehind;

impl Check for LeftBehind {
    fn name(&self) -> &str {
        "left-behind"
    }

    fn run<'a>(&'a self, scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport> {
        Box::pin(async move {
            if scene.copy.join("done.txt").is_file() {
                return check::passed(self.name(), "done.txt is there");
            }
            let finding = Finding { statement: "done.txt is missing".into(), ..Finding::default() };
            check::failed(self.name(), "done.txt is missing", vec![finding])
        })
    }
}

#[tokio::test]
async fn a_run_built_in_rust_reaches_its_outcome() {
    let script = "[[step]]\n[[step.call]]\nname = \"done\"\narguments = { summary = \"It is done.\", evidence = [] }\n\n\
                  [[step]]\n[[step.call]]\nname = \"bash\"\narguments = { command = \"echo yes > done.txt\" }\n\n\
                  [[step]]\n[[step.call]]\nname = \"done\"\narguments = { summary = \"Now it is.\", evidence = [] }\n";
    let bench = Bench::new().file("w.toml", script);
    let policy: Policy = toml::from_str("name = \"p\"\n").unwrap();
    let built =
        builder(&bench).policy(policy).check(Arc::new(LeftBehind)).model("worker", "scripted/w.toml").build();
    let run = built.unwrap_or_else(|error| panic!("{error}")).start().await.unwrap();
    let ended = run.outcome().await;
    assert_eq!((ended.outcome, ended.refutations), (Outcome::Completed, 1), "{}", ended.reason);
}
