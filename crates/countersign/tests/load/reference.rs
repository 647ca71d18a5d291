//! The reference of all keys is held against the code.

use std::path::Path;

use countersign::{
    keys,
    protocol::{Policy, Role},
    schema::{Kind, Table, Without},
};

/// The reference as it should be: the table of each kind of file, and of each table in it.
fn tables(heading: &str, table: &'static Table, text: &mut String) {
    text.push_str(&format!(
        "\n### {heading}\n\n| key | holds | without it | meaning |\n| --- | --- | --- | --- |\n"
    ));
    for key in table.keys {
        let without = match key.without {
            Without::Refused => "**refused**".to_owned(),
            Without::Default(value) => format!("`{value}`"),
            Without::Otherwise(words) => words.to_owned(),
        };
        let cells = [format!("`{}`", key.name), holds(&key.kind), without, key.meaning.to_owned()];
        text.push_str(&format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | ")));
    }
    for key in table.keys {
        let heading = heading.trim_matches(['[', ']', '`']);
        let inner =
            if heading.contains(' ') { key.name.to_owned() } else { format!("{heading}.{}", key.name) };
        match key.kind {
            Kind::Table(table) => tables(&format!("`[{inner}]`"), table, text),
            Kind::Tables(table) => tables(&format!("`[[{inner}]]`"), table, text),
            Kind::Named(table) => tables(&format!("`[{inner}.NAME]`"), table, text),
            _ => {}
        }
    }
}

fn holds(kind: &Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Formed(form) => format!("{}, as `{}`", form.what, form.example),
        Kind::Choice(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Integer(0) => "a whole number".into(),
        Kind::Integer(least) => format!("a whole number from {least}"),
        Kind::Share => "a number from 0 to 1".into(),
        Kind::Boolean => "`true` or `false`".into(),
        Kind::List(inner) => format!("an array: {}", holds(inner)),
        Kind::Values(inner) => format!("a table; each value {}", holds(inner)),
        Kind::Table(_) => "a table, see below".into(),
        Kind::Tables(_) => "an array of tables, see below".into(),
        Kind::Named(_) => "a table of tables, see below".into(),
    }
}

#[test]
fn the_reference_lists_every_key_and_no_other() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
    let (begin, end) = ("<!-- begin: keys -->\n", "<!-- end: keys -->");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(begin).unwrap();
    let (written, after) = rest.split_once(end).unwrap();
    let mut keys = String::new();
    for (heading, table) in [
        ("A role: `agents/NAME.toml`", &keys::ROLE),
        ("A policy: `policies/NAME.toml`", &keys::POLICY),
        ("A task: `task.toml`", &keys::TASK),
        ("Configuration: `config.toml`", &keys::CONFIG),
    ] {
        tables(heading, table, &mut keys);
    }
    keys.push('\n');
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, format!("{before}{begin}{keys}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(written, keys, "run this test with UPDATE_REFERENCE=1 to write the tables anew");
}

/// The keys that a type has, as its own error message lists them.
fn keys_of<T: serde::de::DeserializeOwned>(text: &str) -> Vec<String> {
    let error = toml::from_str::<T>(&format!("{text}no_such_key = 1\n")).err().unwrap().message().to_owned();
    let listed = error.split_once("expected").unwrap_or_else(|| panic!("{error}")).1;
    let mut keys: Vec<_> = listed.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    keys.sort();
    keys
}

fn sorted(table: &Table) -> Vec<String> {
    let mut names: Vec<_> = table.names().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn the_keys_are_those_of_the_types() {
    let table = |root: &'static Table, name: &str| root.key(name).unwrap().kind.table().unwrap();
    assert_eq!(keys_of::<Role>(""), sorted(&keys::ROLE));
    assert_eq!(keys_of::<Role>("[compaction]\n"), sorted(table(&keys::ROLE, "compaction")));
    assert_eq!(keys_of::<Role>("[sandbox]\n"), sorted(table(&keys::ROLE, "sandbox")));
    assert_eq!(keys_of::<Policy>(""), sorted(&keys::POLICY));
    assert_eq!(keys_of::<Policy>("[[check]]\n"), sorted(table(&keys::POLICY, "check")));
    assert_eq!(keys_of::<Policy>("[judge]\n"), sorted(table(&keys::POLICY, "judge")));
    assert_eq!(keys_of::<Policy>("[accept]\n"), sorted(table(&keys::POLICY, "accept")));
    assert_eq!(keys_of::<countersign::protocol::Budget>(""), sorted(table(&keys::TASK, "budget")));
    let provider = table(&keys::CONFIG, "providers");
    let mut known = keys_of::<countersign::model::Provider>("");
    // In a file a provider's name is the name of its table.
    known.retain(|key| key != "name");
    assert_eq!(known, sorted(provider));
    let model = table(provider, "models");
    assert_eq!(keys_of::<countersign::model::ProviderModel>(""), sorted(model));
    assert_eq!(keys_of::<countersign::protocol::Rates>(""), sorted(table(model, "price")));
    let mut tier = sorted(table(model, "tiers"));
    tier.retain(|key| key != "above");
    assert_eq!(tier, sorted(table(model, "price")));
}

#[test]
fn the_defaults_are_those_of_the_types() {
    let role = "name = \"n\"\nkind = \"worker\"\nprompt = \"p\"\n";
    assert_defaults::<Role>(role, "", &keys::ROLE);
    assert_defaults::<Role>(
        role,
        "[compaction]\n",
        keys::ROLE.key("compaction").unwrap().kind.table().unwrap(),
    );
    assert_defaults::<Role>(role, "[sandbox]\n", keys::ROLE.key("sandbox").unwrap().kind.table().unwrap());
    assert_defaults::<Policy>("name = \"n\"\n", "", &keys::POLICY);
    let check = "name = \"n\"\n[[check]]\nname = \"c\"\n";
    assert_defaults::<Policy>(check, "", keys::POLICY.key("check").unwrap().kind.table().unwrap());
    let judge = "name = \"n\"\n[judge]\nrole = \"r\"\n";
    assert_defaults::<Policy>(judge, "", keys::POLICY.key("judge").unwrap().kind.table().unwrap());
    assert_defaults::<countersign::protocol::Budget>(
        "",
        "",
        keys::TASK.key("budget").unwrap().kind.table().unwrap(),
    );
}

/// Each default, written out, must mean the same as leaving the key out.
fn assert_defaults<T: serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(
    least: &str,
    header: &str,
    table: &Table,
) {
    let bare: T = toml::from_str(least).unwrap();
    for key in table.keys {
        if let Without::Default(value) = key.without {
            let text = format!("{least}{header}{} = {value}\n", key.name);
            let written: T = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(written, bare, "{}", key.name);
        }
    }
}
