//! One file at a time: what is said where it is wrong.

use insta::assert_snapshot;

use crate::bench::{Bench, refused};

#[test]
fn a_misspelt_key_of_a_policy_gets_the_right_spelling() {
    let bench =
        Bench::new().file("p.toml", "name = \"p\"\nmax_refutation = 2\n\n[judge]\nrole = \"verifier\"\n");
    assert_snapshot!(bench.lint("p.toml"));
}

#[test]
fn all_that_is_wrong_with_a_policy_is_said_at_once() {
    let text = r#"
name = 7
protected = "tests/**"
protected_change = "restor"
max_refutations = 0
check = { name = "x" }

[judge]
model = "a/b"
objections = "refutes"
"#;
    assert_snapshot!(Bench::new().file("policies/p.toml", text).lint("policies/p.toml"));
}

#[test]
fn checks_are_held_against_their_keys_too() {
    let text = r#"name = "p"

[[check]]
name = "tests"
command = "cargo test"
timeout = "10"
report = "cargo"
confirm = "2"

[[check]]
run = "true"
"#;
    assert_snapshot!(Bench::new().file("p.toml", text).lint("p.toml"));
}

#[test]
fn a_misspelt_key_of_a_task() {
    let text = "goal = \"x\"\nworkspace = \"ws\"\nturns = 5\nsupervisr = \"s\"\n\n[budget]\nmoney = 2.0\nwall = \"soon\"\n";
    assert_snapshot!(Bench::new().file("task.toml", text).lint("task.toml"));
}

#[test]
fn a_misspelt_key_of_a_role() {
    let text = "name = \"w\"\nkind = \"woker\"\nprompt = \"\"\nmodel = \"sonnet\"\ntools = [\"read\", \"bsh\", \"verdict\"]\n\
                skills = [\"no\"]\n\n[sandbox]\nlevel = \"none\"\nnetwrok = true\n";
    assert_snapshot!(Bench::new().file("r.toml", text).lint("r.toml"));
    let text = text.replace("woker", "worker").replace("sonnet", "a/sonnet").replace("netwrok", "network");
    assert_snapshot!("a_role_that_contradicts_itself", Bench::new().file("r.toml", text).lint("r.toml"));
}

#[test]
fn a_verifier_can_not_write() {
    let text = "name = \"v\"\nkind = \"verifier\"\nprompt = \"p\"\ntools = [\"read\", \"write\"]\nreview_every = 3\n";
    assert_snapshot!(Bench::new().file("r.toml", text).lint("r.toml"));
}

#[test]
fn a_configuration_with_a_key_in_it_does_not_show_the_key() {
    let text = r#"
[providers.lab]
api = "openai-chat"
base_url = "127.0.0.1:8080/v1"
api_key = "sk-live-very-secret"

[providers.other]
api = "openai"
base_url = "https://user:very-secret@host/v1"
api_key_env = "sk-other-very-secret"
"#;
    let said = Bench::new().file("config.toml", text).lint("config.toml");
    assert!(!said.contains("very-secret"), "{said}");
    assert_snapshot!(said);
}

#[test]
fn what_is_not_toml_is_shown_where_it_stops_being_it() {
    let bench = Bench::new()
        .file("task.toml", "goal = \"x\nworkspace = \"ws\"\n")
        .file("p.toml", "name = \"p\"\n[judge\n");
    assert_snapshot!(bench.lint("task.toml"));
    assert_snapshot!("a_table_that_is_not_closed", bench.lint("p.toml"));
    let twice = Bench::new().file("task.toml", "goal = \"x\"\ngoal = \"y\"\n");
    assert_snapshot!("a_key_twice", twice.lint("task.toml"));
}

#[test]
fn what_is_not_utf8_is_shown_at_its_byte() {
    let bench = Bench::new()
        .file("task.toml", b"# a comment\ngoal = \"caf\xe9\"\n")
        .file("wide.toml", b"\xff\xfeg\0o\0a\0l\0");
    assert_snapshot!(bench.lint("task.toml"));
    assert_snapshot!("a_utf16_file", bench.lint("wide.toml"));
}

#[test]
fn a_missing_file_names_its_neighbours() {
    let bench = Bench::new().file("tasks/fix.toml", "").file("tasks/other.toml", "");
    assert_snapshot!(bench.lint("tasks/fx.toml"));
    assert_snapshot!("a_missing_folder", bench.lint("task/fix.toml"));
}

#[test]
fn a_file_that_is_none_of_ours_is_said_to_be_none() {
    let bench = Bench::new().file("Cargo.toml", "[package]\nname = \"x\"\n");
    assert_snapshot!(bench.lint("Cargo.toml"));
    assert_eq!(bench.lint("."), "");
}

#[test]
fn a_missing_role_or_policy_names_the_nearest() {
    let settings = Bench::new().settings().unwrap();
    let bench = Bench::new();
    let base = bench.path("");
    assert_snapshot!(bench.said(&refused(settings.role("revewer", None, &base))));
    assert_snapshot!("a_missing_policy", bench.said(&refused(settings.policy("zzz", &base))));
}

#[test]
fn a_role_of_another_kind_is_refused() {
    let bench = Bench::new();
    let kind = Some(countersign::protocol::RoleKind::Verifier);
    let error = refused(bench.settings().unwrap().role("worker", kind, &bench.path("")));
    assert_snapshot!(bench.said(&error));
}

#[test]
fn every_shipped_role_and_policy_loads() {
    let settings = Bench::new().settings().unwrap();
    let roles = settings.list_roles();
    assert_eq!(roles.len(), countersign::shipped::ROLES.len());
    for (name, _, role) in roles {
        assert_eq!(role.unwrap_or_else(|error| panic!("{error}")).value.name, name);
    }
    let policies = settings.list_policies();
    assert_eq!(policies.len(), countersign::shipped::POLICIES.len());
    for (name, _, policy) in policies {
        assert_eq!(policy.unwrap_or_else(|error| panic!("{error}")).value.name, name);
    }
}

#[cfg(unix)]
#[test]
fn what_the_machine_refuses_is_not_the_users_fault() {
    use std::os::unix::fs::symlink;
    let bench = Bench::new().file("ws/.countersign/agents/x.toml", "");
    symlink(bench.path("loop.toml"), bench.path("loop.toml")).unwrap();
    let settings = bench.settings().unwrap();
    let error = refused(settings.policy("./loop.toml", &bench.path("")));
    assert_eq!(error.exit_code(), 1, "{error}");
}

#[test]
fn a_task_is_looked_over_with_all_that_it_names() {
    let bench = Bench::new().file(
        "task.toml",
        "goal = \"x\"\nworkspace = \"ws\"\nworker = \"docs-writr\"\npolicy = \"p.toml\"\n\n[models]\nverifier = \"antropic/x\"\n",
    );
    let bench = bench.file("p.toml", "name = \"p\"\n[judge]\nrole = \"verifier\"\n");
    assert_snapshot!(bench.lint("task.toml"));
    let text =
        "goal = \"x\"\nworkspace = \"ws\"\npolicy = \"p.toml\"\n\n[models]\nverifier = \"antropic/x\"\n";
    assert_snapshot!("a_task_with_an_unknown_model", bench.file("task.toml", text).lint("task.toml"));
}
