//! What models and loaders are told: the definitions' bytes, the sets of each kind of role.

use countersign_protocol::RoleKind;
use serde_json::{Value, json};

use crate::{Toolset, ToolsetError};

fn all() -> Toolset {
    Toolset::builtin(Toolset::builtin_names()).unwrap()
}

fn set(kind: RoleKind) -> Toolset {
    Toolset::builtin(Toolset::default_names(kind)).unwrap()
}

/// Every byte of a definition is part of a prefix that providers cache: a change must be meant.
#[test]
fn definitions_do_not_change_unnoticed() {
    let shown: Vec<String> = all()
        .definitions()
        .iter()
        .map(|tool| format!("{}\n{}\n{}\n", tool.name, tool.description, tool.schema))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn guidelines_do_not_change_unnoticed() {
    let set = all();
    let lines: Vec<String> = set.guidelines().iter().map(|(name, line)| format!("{name}: {line}")).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn the_order_in_which_tools_are_named_changes_nothing() {
    let mut names = Toolset::builtin_names().to_vec();
    let expected = all().definitions();
    for turn in 0..names.len() {
        names.rotate_left(1);
        if turn % 2 == 0 {
            names.reverse();
        }
        let twice: Vec<&str> = names.iter().chain(&names).copied().collect();
        assert_eq!(Toolset::builtin(&twice).unwrap().definitions(), expected);
    }
}

/// Small models have windows of 8,192 tokens; a token is at least about three bytes of such text.
#[test]
fn the_default_sets_fit_small_windows() {
    for kind in [RoleKind::Worker, RoleKind::Verifier] {
        let tools = set(kind).definitions();
        let bytes: usize =
            tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.schema.len()).sum();
        assert!(bytes < 1_500 * 3, "{kind}: {bytes} bytes");
    }
}

#[test]
fn arguments_have_the_names_of_the_contract() {
    let contract = json!({
        "bash": [["command"], ["timeout"]],
        "blocked": [["reason", "needs"], []],
        "done": [["summary"], ["evidence"]],
        "edit": [["path", "edits"], []],
        "find": [["glob"], ["path", "limit"]],
        "grep": [["pattern"], ["path", "glob", "ignore_case", "context", "limit"]],
        "ls": [[], ["path"]],
        "read": [["path"], ["offset", "limit"]],
        "verdict": [["accept", "summary"], ["findings"]],
        "write": [["path", "content"], []],
    });
    for tool in all().definitions() {
        let schema: Value = serde_json::from_str(&tool.schema).unwrap();
        let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
        assert_eq!(required, contract[&tool.name][0], "{}", tool.name);
        let optional: Vec<&String> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .filter(|key| !required.as_array().unwrap().iter().any(|required| required == *key))
            .collect();
        assert_eq!(json!(optional), contract[&tool.name][1], "{}", tool.name);
        for noise in ["$schema", "title", "\"format\"", "null"] {
            assert!(!tool.schema.contains(noise), "{}: {}", tool.name, tool.schema);
        }
    }
}

#[test]
fn a_name_that_is_not_there_is_answered_with_the_nearest() {
    let error = Toolset::builtin(&["raed"]).unwrap_err();
    assert_eq!(error.to_string(), "there is no tool `raed`: did you mean read?");
    let error = Toolset::builtin(&["zzz"]).unwrap_err();
    assert!(error.to_string().contains("the built-in ones are bash, blocked"), "{error}");
}

#[test]
fn roles_get_what_is_theirs_and_nothing_else() {
    let names = |kind, named: &[&str]| {
        let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
        Toolset::role_names(kind, Some(&named))
    };
    assert_eq!(names(RoleKind::Worker, &["write", "read"]).unwrap(), ["blocked", "done", "read", "write"]);
    assert_eq!(names(RoleKind::Verifier, &[]).unwrap(), ["verdict"]);
    for kind in [RoleKind::Worker, RoleKind::Verifier, RoleKind::Supervisor] {
        assert_eq!(Toolset::role_names(kind, None).unwrap(), Toolset::default_names(kind));
    }
    for (kind, name) in [
        (RoleKind::Worker, "verdict"),
        (RoleKind::Verifier, "edit"),
        (RoleKind::Verifier, "write"),
        (RoleKind::Verifier, "done"),
        (RoleKind::Verifier, "blocked"),
        (RoleKind::Supervisor, "read"),
    ] {
        assert!(matches!(names(kind, &[name]), Err(ToolsetError::NotFor { .. })), "{kind} {name}");
    }
}
