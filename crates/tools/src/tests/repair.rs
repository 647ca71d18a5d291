//! Arguments as models send them.

use countersign_protocol::Arguments;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::message;
use crate::{Taken, Toolset, repair, take};

fn all() -> Toolset {
    Toolset::builtin(Toolset::builtin_names()).unwrap()
}

/// The repaired arguments of a call, or the text of its error result.
fn taken(name: &str, raw: &str) -> Result<Value, String> {
    match take(&message(&[(name, raw)]), true, &all()) {
        Taken::Control { arguments, .. } => Ok(arguments),
        Taken::Batch(mut batch) => batch.remove(0).ready.map_err(|output| {
            assert!(output.is_error);
            format!("{:?}", output.content)
        }),
        Taken::Silent => panic!("a call was not seen"),
    }
}

fn schema(name: &str) -> Value {
    let tools = all().definitions();
    let tool = tools.iter().find(|tool| tool.name == name).unwrap();
    serde_json::from_str(&tool.schema).unwrap()
}

#[test]
fn what_can_be_meant_in_one_way_only_is_repaired() {
    let edit = json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]});
    let inner = r#"{"old_text":"x","new_text":"y"}"#;
    let camel = r#"{"oldText":"x","newText":"y"}"#;
    let same: Vec<(&str, Value, Value)> = vec![
        ("edit", json!({"path": "a", "edits": format!("[{inner}]")}), edit.clone()),
        ("edit", json!({"path": "a", "edits": [inner]}), edit.clone()),
        ("edit", json!({"path": "a", "edits": [camel]}), edit.clone()),
        ("edit", json!({"path": "a", "edits": inner}), edit.clone()),
        ("edit", json!({"path": "a", "edits": json!(format!("[{inner}]")).to_string()}), edit.clone()),
        ("edit", json!({"path": "a", "edits": {"old_text": "x", "new_text": "y"}}), edit.clone()),
        ("edit", json!({"path": "a", "old_text": "x", "new_text": "y"}), edit.clone()),
        ("edit", json!({"path": "a", "oldText": "x", "newText": "y"}), edit.clone()),
        ("edit", json!({"path": "a", "edits": null, "oldText": "x", "newText": "y"}), edit.clone()),
        ("edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"}), edit.clone()),
        ("edit", Value::String(edit.to_string()), edit.clone()),
        ("edit", Value::String(Value::String(edit.to_string()).to_string()), edit),
        ("read", json!({"path": "a", "offset": "7", "limit": null}), json!({"path": "a", "offset": 7})),
        ("read", json!({"path": "a", "offset": 7.0}), json!({"path": "a", "offset": 7})),
        (
            "grep",
            json!({"pattern": 404, "ignoreCase": "True"}),
            json!({"pattern": "404", "ignore_case": true}),
        ),
        ("ls", json!(null), json!({})),
        (
            "verdict",
            json!({"accept": "false", "summary": "s", "findings": {"statement": "x", "line": "3", "file": null}}),
            json!({"accept": false, "summary": "s", "findings": [{"statement": "x", "line": 3}]}),
        ),
        ("done", json!({"summary": "s", "evidence": "[]"}), json!({"summary": "s", "evidence": []})),
    ];
    for (name, given, expected) in same {
        assert_eq!(taken(name, &given.to_string()), Ok(expected), "{name} {given}");
    }
}

#[test]
fn raw_control_characters_are_read_as_they_stand() {
    let inner = "[{\"old_text\":\"a\n\tb\",\"new_text\":\"c\\\\\n\"}]";
    let expected = json!({"path": "p", "edits": [{"old_text": "a\n\tb", "new_text": "c\\\n"}]});
    assert_eq!(taken("edit", &json!({"path": "p", "edits": inner}).to_string()), Ok(expected.clone()));
    let outer = format!("{{\"path\":\"p\",\n\"edits\":{inner}}}");
    assert_eq!(taken("edit", &outer), Ok(expected));
}

#[test]
fn a_text_stays_a_text_where_one_is_wanted() {
    for content in ["[1,2]", "{\"a\":1}", "null", "true", "42", "\"x\"", ""] {
        let given = json!({"path": "a.json", "content": content});
        assert_eq!(taken("write", &given.to_string()), Ok(given));
    }
}

#[test]
fn json_that_was_cut_is_never_closed() {
    let cut = r#"[{"old_text":"a","new_text":"b"},{"old_text":"c"#;
    let refused = taken("edit", &json!({"path": "p", "edits": cut}).to_string()).unwrap_err();
    assert!(refused.contains("edits must be of type array, not string"), "{refused}");
    let whole = "{\"path\":\"p\",\"edits\":[{\"old_text\":\"a\nb\",\"new_text\":\"b\"}]}";
    for end in (1..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let refused = taken("edit", &whole[..end]).unwrap_err();
        assert!(refused.contains("cut off"), "{}: {refused}", &whole[..end]);
    }
}

#[test]
fn what_cannot_be_repaired_names_the_field_and_shows_a_right_call() {
    for (name, raw, field, right) in [
        ("write", r#"{"path":"x"}"#, "content is missing", r#"{\"path\":\"…\",\"content\":\"…\"}"#),
        ("write", r#"{"path":"x","content":null}"#, "content must be of type string, not null", "content"),
        (
            "write",
            r#"{"path":"x","content":{"a":1}}"#,
            "content must be of type string, not object",
            "content",
        ),
        ("edit", r#"{"path":"x","edits":[{"old_text":"a"}]}"#, "edits[0].new_text is missing", "new_text"),
        ("edit", r#"{"path":"x","edits":[]}"#, "edits", "new_text"),
        ("read", r#"{"path":"x","offset":0}"#, "offset", "path"),
        ("read", r#"{"path":"x","offset":"seven"}"#, "offset must be of type integer, not string", "path"),
        ("bash", r#"{}"#, "command is missing", r#"{\"command\":\"…\"}"#),
        ("bash", r#"["ls"]"#, "not a JSON object", "command"),
        ("bash", r#"{'command': 'ls'}"#, "not JSON", "command"),
    ] {
        let refused = taken(name, raw).unwrap_err();
        assert!(refused.contains("was not run"), "{refused}");
        assert!(refused.contains(field) && refused.contains(right), "{name} {raw}: {refused}");
    }
}

/// Arguments that fit a schema, made by it; texts may look like JSON.
fn fitting(schema: &Value) -> BoxedStrategy<Value> {
    match schema["type"].as_str() {
        Some("object") => {
            let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
            let fields: Vec<BoxedStrategy<Option<(String, Value)>>> = schema["properties"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, property)| {
                    let needed = required.as_array().unwrap().iter().any(|required| required == key);
                    let (key, value) = (key.clone(), fitting(property));
                    (value, any::<bool>())
                        .prop_map(move |(value, there)| (needed || there).then(|| (key.clone(), value)))
                        .boxed()
                })
                .collect();
            fields
                .prop_map(|fields| Value::Object(fields.into_iter().flatten().collect::<Map<_, _>>()))
                .boxed()
        }
        Some("array") => {
            proptest::collection::vec(fitting(&schema["items"]), 1..3).prop_map(Value::from).boxed()
        }
        Some("integer") => (1u64..).prop_map(Value::from).boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        _ => texts().prop_map(Value::from).boxed(),
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,12}",
        r#"[\[\]{}",:0-9a-e\\ ntrue]{0,16}"#,
        Just("[]".to_owned()),
        Just("{\"a\":1}".to_owned())
    ]
}

/// Any JSON, with the keys that schemas and models' habits use.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        texts().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let keys = prop_oneof![
            Just("path"),
            Just("edits"),
            Just("old_text"),
            Just("oldText"),
            Just("OLD-TEXT"),
            Just("old_string"),
            Just("new_text"),
            Just("newText"),
            Just("accept"),
            Just("summary"),
            Just("findings"),
            Just("line"),
            Just("statement"),
            Just("offset"),
            Just("other"),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((keys, inner.clone()), 0..5).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arguments_that_fit_are_not_changed(
        (name, value) in proptest::sample::select(Toolset::builtin_names())
            .prop_flat_map(|name| (Just(name), fitting(&schema(name)))),
    ) {
        prop_assert_eq!(&repair(&schema(name), value.clone()), &value);
        prop_assert_eq!(Arguments::from_text(value.to_string()).object().map(Value::Object), Some(value));
    }

    #[test]
    fn what_was_repaired_is_not_repaired_again(value in anything()) {
        for name in ["edit", "verdict", "read"] {
            let once = repair(&schema(name), value.clone());
            prop_assert_eq!(&repair(&schema(name), once.clone()), &once);
        }
    }
}
