//! Taking the calls of a message: what runs, what steers, what goes back.

use countersign_protocol::{AssistantMessage, Block, Statement};
use serde_json::json;

use super::message;
use crate::{Control, Planned, Taken, Toolset, take};

fn taken(calls: &[(&str, &str)], executable: bool) -> Taken {
    take(&message(calls), executable, &Toolset::builtin(Toolset::builtin_names()).unwrap())
}

fn batch(taken: Taken) -> Vec<Planned> {
    match taken {
        Taken::Batch(batch) => batch,
        other => panic!("not a batch: {other:?}"),
    }
}

/// For each call, whether it will run, and the error's text where it will not.
fn refusals(taken: Taken) -> Vec<Option<String>> {
    let refusal = |planned: Planned| planned.ready.err().map(|output| format!("{:?}", output.content));
    batch(taken).into_iter().map(refusal).collect()
}

#[test]
fn a_message_without_a_call_is_silent() {
    let tools = Toolset::builtin(Toolset::builtin_names()).unwrap();
    let text = AssistantMessage { blocks: vec![Block::Text { text: "I am done.".into(), replay: None }] };
    for executable in [true, false] {
        assert_eq!(take(&text, executable, &tools), Taken::Silent);
        assert_eq!(take(&AssistantMessage::default(), executable, &tools), Taken::Silent);
    }
}

#[test]
fn no_call_of_a_cut_message_runs() {
    let whole = [("bash", r#"{"command":"ls"}"#), ("done", r#"{"summary":"s"}"#)];
    let cut = [("bash", r#"{"command":"ls"}"#), ("write", r#"{"path":"a","content":"half"#)];
    for refused in
        [refusals(taken(&whole, false)), refusals(taken(&cut, true)), refusals(taken(&whole[1..], false))]
    {
        for refusal in refused {
            assert!(refusal.unwrap().contains("cut off, so none of its calls was run"));
        }
    }
}

#[test]
fn a_call_whose_arguments_are_no_json_holds_no_other_back() {
    let refused = refusals(taken(&[("bash", r#"{"command":"ls"}"#), ("bash", "{command: ls}")], true));
    assert_eq!(refused[0], None);
    assert!(refused[1].as_ref().unwrap().contains("not JSON"));
}

#[test]
fn control_counts_only_alone() {
    let done =
        ("done", r#"{"summary":"s","evidence":[{"statement":"holds","command":"true"},{"statement":"so"}]}"#);
    let Taken::Control { control, name, call, arguments } = taken(&[done], true) else {
        panic!("not control")
    };
    assert_eq!((name.as_str(), call.0.as_str(), &arguments["summary"]), ("done", "call-0", &json!("s")));
    let evidence = vec![
        Statement { statement: "holds".into(), command: Some("true".into()) },
        Statement { statement: "so".into(), command: None },
    ];
    assert_eq!(control, Control::Done { summary: "s".into(), evidence });

    let refused = refusals(taken(&[("bash", r#"{"command":"ls"}"#), done], true));
    assert_eq!(refused[0], None);
    assert!(refused[1].as_ref().unwrap().contains("counts only alone"));
    assert!(refusals(taken(&[done, done], true)).iter().all(Option::is_some));
}

#[test]
fn control_that_says_nothing_goes_back() {
    for (name, raw, needs) in [
        ("done", r#"{"summary":"  "}"#, "summary is empty"),
        ("done", r#"{"evidence":[]}"#, "summary is missing"),
        ("blocked", r#"{"reason":"r","needs":""}"#, "needs is empty"),
        ("verdict", r#"{"accept":false,"summary":"bad"}"#, "needs findings"),
        ("verdict", r#"{"accept":false,"summary":"bad","findings":[]}"#, "needs findings"),
        (
            "verdict",
            r#"{"accept":false,"summary":"bad","findings":[{"statement":""}]}"#,
            "findings[0].statement is empty",
        ),
        ("verdict", r#"{"summary":"good"}"#, "accept is missing"),
    ] {
        let refused = refusals(taken(&[(name, raw)], true)).remove(0).unwrap();
        assert!(refused.contains(needs) && refused.contains("right call"), "{name} {raw}: {refused}");
    }
}

#[test]
fn a_verdict_is_read_with_its_findings() {
    let raw = r#"{"accept":true,"summary":"good","findings":[{"statement":"x","command":" ","file":"a.rs","line":3}]}"#;
    let Taken::Control { control: Control::Verdict { accept, findings, .. }, .. } =
        taken(&[("verdict", raw)], true)
    else {
        panic!("no verdict")
    };
    assert!(accept);
    assert_eq!(
        (findings[0].command.as_deref(), findings[0].file.as_deref(), findings[0].line),
        (None, Some("a.rs"), Some(3))
    );
}

#[test]
fn an_unknown_tool_is_answered_with_those_that_are_there() {
    let refused = refusals(taken(&[("raed", "{}"), ("zzz", "{}")], true));
    let near = refused[0].as_ref().unwrap();
    assert!(
        near.contains("There is no tool `raed`. Nearest: read.") && near.contains("bash, blocked"),
        "{near}"
    );
    let far = refused[1].as_ref().unwrap();
    assert!(!far.contains("Nearest") && far.contains("Your tools: bash"), "{far}");
}
