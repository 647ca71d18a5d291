//! Configuration in layers, and which of them is trusted.

use insta::assert_snapshot;

use crate::bench::{Bench, refused};

const LAB: &str = "[providers.lab]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
                   [[providers.lab.models]]\nid = \"m\"\ncontext_window = 1000\n";

#[test]
fn an_untrusted_workspace_may_not_name_providers() {
    let bench = Bench::new().file(
        "ws/.countersign/config.toml",
        "[defaults]\nworker = \"docs-writer\"\npolicy = \"./policies/mine.toml\"\nmodel = \"lab/m\"\n\n\
         [providers.lab]\napi = \"openai-chat\"\nbase_url = \"http://10.0.0.1/v1\"\n",
    );
    assert_snapshot!(bench.said(&refused(bench.settings())));
}

#[test]
fn an_untrusted_workspace_may_choose_among_what_the_user_has() {
    let bench = Bench::new().file("ws/.countersign/config.toml", "[defaults]\nworker = \"docs-writer\"\n");
    assert!(!bench.settings().unwrap().trusted());
}

#[test]
fn trust_is_given_once_and_remembered() {
    let mut bench = Bench::new().file("ws/.countersign/config.toml", LAB);
    refused(bench.settings());
    bench.globals.trust = true;
    assert!(bench.settings().unwrap().trusted());
    bench.globals.trust = false;
    assert!(bench.settings().unwrap().trusted());
}

#[test]
fn roles_and_policies_of_an_untrusted_workspace_are_refused_and_not_passed_over() {
    let mut bench = Bench::new().file(
        "ws/.countersign/policies/strict.toml",
        "name = \"strict\"\n[[check]]\nname = \"x\"\nrun = \"true\"\n",
    );
    let error = refused(bench.settings().unwrap().policy("strict", &bench.path("")));
    assert_snapshot!(bench.said(&error));
    bench.globals.trust = true;
    let found = bench.settings().unwrap().policy("strict", &bench.path("")).unwrap();
    assert_eq!(found.value.checks.len(), 1);
}

#[test]
fn the_workspace_hides_the_user_and_the_user_hides_what_is_shipped() {
    let role = |prompt| format!("name = \"worker\"\nkind = \"worker\"\nprompt = \"{prompt}\"\n");
    let mut bench = Bench::new();
    let prompt =
        |bench: &Bench| bench.settings().unwrap().role("worker", None, &bench.path("")).unwrap().value.prompt;
    assert!(prompt(&bench).contains("software engineer"));
    bench = bench.file("home/config/agents/worker.toml", role("user"));
    assert_eq!(prompt(&bench), "user");
    bench = bench.file("ws/.countersign/agents/worker.toml", role("workspace"));
    bench.globals.trust = true;
    assert_eq!(prompt(&bench), "workspace");
}

#[test]
fn a_configuration_named_by_a_flag_must_be_there() {
    let mut bench = Bench::new().file("conf.toml", LAB);
    bench.globals.config = Some("cnf.toml".into());
    assert_snapshot!(bench.said(&refused(bench.settings())));
}

#[test]
fn a_workspace_that_is_not_there_is_said() {
    let bench = Bench::new().file("note.txt", "");
    let load = |path: &str| countersign::Settings::load(&bench.world(), &bench.globals, path.as_ref());
    assert_snapshot!(bench.said(&refused(load("w"))));
    assert_snapshot!("a_workspace_that_is_a_file", bench.said(&refused(load("note.txt"))));
}
