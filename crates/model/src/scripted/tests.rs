//! Scripts are read strictly, answer by the turn's number alone, and are billed as a perfect cache would be.

use countersign_protocol::{
    Item, Money,
    entry::{Prefix, PrefixCause, Section},
};

use super::*;
use crate::{Prompt, prompt_bound};

fn model(text: &str) -> Result<ScriptedModel, ScriptError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("worker.toml");
    std::fs::write(&path, text).unwrap();
    scripted(&path)
}

fn prompt(model: &ScriptedModel) -> Prompt {
    let prefix = Prefix {
        model: model.spec.model.clone(),
        sections: vec![Section { name: "role".into(), text: "You are careful.".into() }],
        tools: Vec::new(),
        cause: PrefixCause::Start,
    };
    let mut prompt = Prompt::new(model.encoder(), &model.spec, &prefix);
    prompt.push(model.encoder(), &Item::User { text: "Do it.".into() });
    prompt
}

async fn call(model: &ScriptedModel, prompt: &Prompt, turn: u64) -> CallReport {
    asked(model, prompt, turn, Purpose::Turn, 1_000).await
}

async fn asked(
    model: &ScriptedModel,
    prompt: &Prompt,
    turn: u64,
    purpose: Purpose,
    output_tokens: u64,
) -> CallReport {
    let prompt_tokens = prompt_bound(prompt, None);
    let request = Request { prompt, tail: None, prompt_tokens, output_tokens, turn, purpose };
    Model::call(model, request, &CancellationToken::new()).await
}

/// The text that answers each of these turns; the error in its place.
async fn texts(script: &str, turns: &[u64]) -> Vec<String> {
    let model = model(script).unwrap();
    let prompt = prompt(&model);
    let mut texts = Vec::new();
    for turn in turns {
        let result = call(&model, &prompt, *turn).await.result;
        texts.push(result.map_or_else(|error| error.to_string(), |answer| answer.message.text()));
    }
    texts
}

const THREE: &str = "[[step]]\ntext = \"a\"\n[[step]]\ntext = \"b\"\n[[step]]\ntext = \"c\"\n";

#[tokio::test]
async fn the_turn_alone_chooses_the_step() {
    assert_eq!(texts(THREE, &[2, 1, 3, 3, 1]).await, ["b", "a", "c", "c", "a"]);
}

#[tokio::test]
async fn what_follows_the_last_step_is_chosen() {
    assert_eq!(texts(THREE, &[4, 9]).await, ["c", "c"]);
    assert_eq!(texts(&format!("after = \"start-over\"\n{THREE}"), &[4, 5, 9]).await, ["a", "b", "c"]);
    let failed = texts(&format!("after = \"fail\"\n{THREE}"), &[3, 4]).await;
    assert_eq!(failed[0], "c");
    assert!(failed[1].contains("turn 4 has no step") && failed[1].contains("worker.toml"), "{}", failed[1]);
}

#[tokio::test]
async fn an_error_that_may_pass_is_an_attempt_and_the_next_step_follows() {
    let script = "[[step]]\nerror = { status = 529, message = \"busy\" }\n[[step]]\nerror = { status = 429, message = \"slow\" }\n[[step]]\ntext = \"a\"\n[[step]]\ntext = \"b\"\n";
    let model = model(script).unwrap();
    let prompt = prompt(&model);
    let report = call(&model, &prompt, 1).await;
    assert_eq!(report.result.unwrap().message.text(), "a");
    let errors: Vec<_> = report.attempts.iter().map(|attempt| &attempt.error).collect();
    assert!(matches!(errors[0], Some(CallError::Overloaded(_))));
    assert!(matches!(errors[1], Some(CallError::RateLimit(_))));
    assert_eq!((errors[2], errors.len()), (&None, 3));
    assert_eq!(call(&model, &prompt, 2).await.result.unwrap().message.text(), "b", "errors are no turns");
}

#[tokio::test]
async fn an_error_that_does_not_pass_ends_the_call() {
    let script = "[[step]]\nerror = { status = 401, message = \"no key\" }\n[[step]]\ntext = \"a\"\n";
    let model = model(script).unwrap();
    let prompt = prompt(&model);
    let report = call(&model, &prompt, 1).await;
    assert!(matches!(report.result, Err(CallError::Auth(_))));
    assert_eq!(report.attempts.len(), 1);
    assert_eq!(call(&model, &prompt, 2).await.result.unwrap().message.text(), "a");
}

#[tokio::test]
async fn calls_are_what_a_model_would_have_sent() {
    let script = r#"
[[step]]
text = "I look."
[[step.call]]
name = "bash"
arguments = { command = "ls", timeout = 5 }
[[step.call]]
name = "ls"
[[step]]
[[step.call]]
name = "write"
raw = '{"path":"a'
[[step]]
stop = "length"
[[step.call]]
name = "ls"
[[step]]
stop = "refusal"
text = "I will not."
"#;
    let model = model(script).unwrap();
    let prompt = prompt(&model);
    let first = call(&model, &prompt, 1).await.result.unwrap();
    let calls: Vec<_> = first.message.calls().collect();
    assert_eq!(calls[0].arguments.raw, r#"{"command":"ls","timeout":5}"#);
    assert_eq!(calls[1].arguments.object(), Some(serde_json::Map::new()));
    assert_ne!(calls[0].id, calls[1].id);
    assert!(first.executable && first.stop.class == StopClass::ToolUse);
    let malformed = call(&model, &prompt, 2).await.result.unwrap();
    assert!(!malformed.executable);
    let cut = call(&model, &prompt, 3).await.result.unwrap();
    assert!(!cut.executable && cut.stop.class == StopClass::Length);
    assert!(matches!(call(&model, &prompt, 4).await.result, Err(CallError::Refused(_))));
}

#[tokio::test]
async fn usage_is_that_of_the_real_bytes_under_a_perfect_cache() {
    let model = model(THREE).unwrap();
    let mut prompt = prompt(&model);
    let first = call(&model, &prompt, 1).await.result.unwrap().usage;
    let size = model.encoder.assemble(&prompt, None, 1_000).len() as u64;
    assert_eq!((first.prompt_total(), first.cache_read), (size / 4, 0));
    prompt.push(model.encoder(), &Item::User { text: "More.".into() });
    let second = call(&model, &prompt, 2).await.result.unwrap().usage;
    let old_end = size - "],\"max_tokens\":1000}".len() as u64;
    assert!(second.cache_read >= old_end / 4 && second.cache_read <= size / 4, "{second:?}");
    assert!(second.input < first.input && second.prompt_total() <= prompt_bound(&prompt, None));
}

#[tokio::test]
async fn an_answer_larger_than_the_limit_is_cut_and_never_billed_above_it() {
    let text = "x".repeat(4_000);
    let model = model(&format!("[[step]]\ntext = \"{text}\"\n")).unwrap();
    let answer = asked(&model, &prompt(&model), 1, Purpose::Turn, 50).await.result.unwrap();
    assert_eq!((answer.usage.output, answer.stop.class, answer.executable), (50, StopClass::Length, false));
}

#[tokio::test]
async fn a_summary_is_the_scripts_own_or_a_list_of_what_was_done() {
    let own = model(&format!("summary = \"All is well.\"\n{THREE}")).unwrap();
    let answer = asked(&own, &prompt(&own), 1, Purpose::Summary, 1_000).await.result.unwrap();
    assert_eq!(answer.message.text(), "All is well.");

    let script =
        "[[step]]\ntext = \"I look.\"\n[[step.call]]\nname = \"bash\"\narguments = { command = \"ls\" }\n";
    let mechanical = model(script).unwrap();
    let mut prompt = prompt(&mechanical);
    let message = call(&mechanical, &prompt, 1).await.result.unwrap().message;
    prompt.push(mechanical.encoder(), &Item::Assistant { message });
    let answer = asked(&mechanical, &prompt, 2, Purpose::Summary, 1_000).await.result.unwrap();
    let text = answer.message.text();
    assert!(text.contains("I look.") && text.contains(r#"bash {"command":"ls"}"#), "{text}");
}

#[tokio::test]
async fn cancelling_ends_a_delay() {
    let model = model("[[step]]\ntext = \"a\"\ndelay = \"1h\"\n").unwrap();
    let prompt = prompt(&model);
    let prompt_tokens = prompt_bound(&prompt, None);
    let request = Request {
        prompt: &prompt,
        tail: None,
        prompt_tokens,
        output_tokens: 9,
        turn: 1,
        purpose: Purpose::Turn,
    };
    let cancel = CancellationToken::new();
    let (report, ()) = tokio::join!(Model::call(&model, request, &cancel), async { cancel.cancel() });
    assert_eq!(report.result, Err(CallError::Cancelled));
}

#[test]
fn the_models_limits_and_price_are_the_scripts() {
    let plain = model(THREE).unwrap();
    assert_eq!(plain.spec.model.to_string(), "scripted/worker.toml");
    assert_eq!((plain.spec.context_window, plain.spec.max_output_tokens), (128_000, 4_096));
    assert_eq!(plain.spec.price, Some(Price::FREE));
    let text = format!("context_window = 9000\nprice = {{ input = \"3\", output = \"15\" }}\n{THREE}");
    let priced = model(&text).unwrap();
    assert_eq!(priced.spec.context_window, 9_000);
    assert_eq!(priced.spec.price.unwrap().rates.input, "3".parse::<Money>().unwrap());
}

#[test]
fn what_is_wrong_with_a_script_is_said_with_its_place() {
    for (text, place, word) in [
        ("[[step]]\ntext = \"a\"\ntxet = \"b\"\n", ":3:1", "txet"),
        ("[[step]]\n[[step.call]]\nname = 3\n", ":3:8", "string"),
        ("[[step]]\nstop = \"soon\"\n", ":2:8", "soon"),
        ("[[step]]\ndelay = \"fast\"\n", ":2:9", "span of time"),
        ("after = \"never\"\n[[step]]\n", ":1:9", "never"),
        ("price = { input = \"3\", output = \"15\", sugar = \"1\" }\n[[step]]\n", ":1:", "sugar"),
        ("[[step]\n", ":1:", ""),
        ("step = []\n", ": ", "at least one"),
        ("", ": ", "step"),
        ("[[step]]\ntext = \"a\"\nerror = { status = 500, message = \"\" }\n", ": ", "one of the two"),
        ("[[step]]\nerror = { status = 200, message = \"\" }\n", ": ", "status"),
        ("[[step]]\n[[step.call]]\nname = \"a\"\nraw = \"\"\narguments = {}\n", ": ", "one of the two"),
        ("max_output_tokens = 0\n[[step]]\n", ": ", "at least 1"),
    ] {
        let error = model(text).unwrap_err().to_string();
        assert!(error.contains(&format!("worker.toml{place}")), "{text}: {error}");
        assert!(error.contains(word), "{text}: {error}");
    }
    let error = scripted(Path::new("/nowhere/worker.toml")).unwrap_err();
    assert!(matches!(error, ScriptError::Read { .. }));
}
