//! The scheduler: what runs at the same time, what in order, and that every call has a result.

use std::{
    os::unix::fs::symlink,
    sync::{Arc, Mutex},
};

use countersign_protocol::{ToolDefinition, entry::ToolOutcome};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use super::{Bench, message, text};
use crate::{Effect, Taken, Tool, ToolContext, ToolOutput, Toolset, execute, take};

type Work = Box<dyn Fn(Value) -> BoxFuture<'static, ToolOutput> + Send + Sync>;

/// A tool of an embedder's own.
struct Own {
    definition: ToolDefinition,
    effect: Effect,
    exclusive: bool,
    work: Work,
}

impl Own {
    fn new(
        name: &str,
        effect: Effect,
        work: impl Fn(Value) -> BoxFuture<'static, ToolOutput> + Send + Sync + 'static,
    ) -> Self {
        let definition = ToolDefinition {
            name: name.into(),
            description: "A test's own.".into(),
            schema: r#"{"type":"object","properties":{"id":{"type":"integer"}}}"#.into(),
        };
        Self { definition, effect, exclusive: false, work: Box::new(work) }
    }
}

impl Tool for Own {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn exclusive(&self) -> bool {
        self.exclusive
    }

    fn effect(&self, arguments: &Value, _: &ToolContext) -> Effect {
        assert_ne!(arguments["id"], 13, "no effect is known for 13");
        self.effect.clone()
    }

    fn run<'a>(
        &'a self,
        arguments: Value,
        _: &'a ToolContext,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, ToolOutput> {
        (self.work)(arguments)
    }
}

async fn run(
    bench: &Bench,
    tools: Vec<Arc<dyn Tool>>,
    calls: &[(&str, &str)],
    cancel: &CancellationToken,
) -> Vec<ToolOutcome> {
    let tools = Toolset::builtin(Toolset::builtin_names()).unwrap().with(tools).unwrap();
    match take(&message(calls), true, &tools) {
        Taken::Batch(batch) => execute(batch, &tools, &bench.context, cancel).await,
        other => panic!("not a batch: {other:?}"),
    }
}

/// A tool that ends only when two of its calls run at the same time.
fn meeting(effect: Effect) -> Arc<dyn Tool> {
    let both = Arc::new(Barrier::new(2));
    Arc::new(Own::new("meet", effect, move |_| {
        let both = Arc::clone(&both);
        Box::pin(async move {
            both.wait().await;
            ToolOutput::text("met")
        })
    }))
}

/// A tool that writes down when its calls begin and end, and lets others run in between.
fn noting(name: &str, effect: Effect, notes: &Arc<Mutex<Vec<String>>>) -> Own {
    let notes = Arc::clone(notes);
    Own::new(name, effect, move |arguments| {
        let (notes, id) = (Arc::clone(&notes), arguments["id"].to_string());
        Box::pin(async move {
            notes.lock().unwrap().push(format!("{id} begins"));
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            notes.lock().unwrap().push(format!("{id} ends"));
            ToolOutput::text(id)
        })
    })
}

fn in_order(calls: usize) -> Vec<String> {
    (0..calls).flat_map(|id| [format!("{id} begins"), format!("{id} ends")]).collect()
}

#[tokio::test]
async fn calls_that_touch_nothing_in_common_run_at_the_same_time() {
    let bench = Bench::new();
    for effect in [Effect::Nothing, Effect::ReadAll] {
        let calls = [("meet", "{}"), ("meet", "{}")];
        let outcomes = run(&bench, vec![meeting(effect)], &calls, &CancellationToken::new()).await;
        assert_eq!(outcomes.iter().map(text).collect::<Vec<_>>(), ["met", "met"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_touch_the_same_run_in_call_order() {
    let bench = Bench::new();
    for effect in [Effect::Workspace, Effect::File("/w/a".into())] {
        let notes = Arc::default();
        let tool = Arc::new(noting("note", effect, &notes));
        let calls: Vec<String> = (0..5).map(|id| json!({"id": id}).to_string()).collect();
        let calls: Vec<(&str, &str)> = calls.iter().map(|raw| ("note", raw.as_str())).collect();
        let outcomes = run(&bench, vec![tool], &calls, &CancellationToken::new()).await;
        assert_eq!(outcomes.iter().map(text).collect::<Vec<_>>(), ["0", "1", "2", "3", "4"]);
        assert_eq!(*notes.lock().unwrap(), in_order(5));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_exclusive_call_makes_its_message_sequential() {
    let bench = Bench::new();
    let notes = Arc::default();
    let shared = Arc::new(noting("note", Effect::Nothing, &notes));
    let exclusive = Arc::new(Own { exclusive: true, ..noting("alone", Effect::Nothing, &notes) });
    let calls =
        [("note", r#"{"id":0}"#), ("note", r#"{"id":1}"#), ("alone", r#"{"id":2}"#), ("note", r#"{"id":3}"#)];
    run(&bench, vec![shared, exclusive], &calls, &CancellationToken::new()).await;
    assert_eq!(*notes.lock().unwrap(), in_order(4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edits_of_one_file_by_any_name_all_count() {
    let bench = Bench::new();
    let words: Vec<String> = (0..12).map(|number| format!("word{number:02}")).collect();
    bench.file("a.txt", words.join("\n"));
    symlink("a.txt", bench.root().join("link")).unwrap();
    symlink(".", bench.root().join("here")).unwrap();
    let names = ["a.txt", "./a.txt", "link", "here/a.txt"];
    let calls: Vec<(&str, Value)> = words
        .iter()
        .zip(names.iter().cycle())
        .map(|(word, path)| {
            ("edit", json!({"path": path, "edits": [{"old_text": word, "new_text": word.to_uppercase()}]}))
        })
        .collect();
    let outcomes = bench.run(&calls).await;
    assert!(outcomes.iter().all(|outcome| !outcome.is_error));
    assert_eq!(bench.content("a.txt"), words.join("\n").to_uppercase());
    // A later edit's diff shows what the earlier ones did: the results are those of a sequence.
    assert!(text(&outcomes[11]).contains(" WORD10\n-word11\n+WORD11"), "{}", text(&outcomes[11]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_changes_behaves_as_a_sequence() {
    let bench = Bench::new();
    let outcomes = bench
        .run(&[
            ("write", json!({"path": "a", "content": "one two"})),
            ("edit", json!({"path": "a", "edits": [{"old_text": "one", "new_text": "1"}]})),
            ("read", json!({"path": "a"})),
            ("bash", json!({"command": "cat a; ln -s a later; rm -f gone; echo new > b"})),
            ("read", json!({"path": "b"})),
            ("edit", json!({"path": "a", "edits": [{"old_text": "two", "new_text": "2"}]})),
            ("edit", json!({"path": "later", "edits": [{"old_text": "1", "new_text": "I"}]})),
            ("grep", json!({"pattern": "I 2"})),
        ])
        .await;
    let texts: Vec<String> = outcomes.iter().map(text).collect();
    assert_eq!(texts[2], "1 two");
    assert_eq!(texts[3], "1 two\n[exit 0]");
    assert_eq!(texts[4], "new\n");
    assert_eq!(texts[7], "a:1:I 2\n");
    assert_eq!(bench.content("a"), "I 2", "{texts:#?}");
}

#[tokio::test]
async fn a_tool_that_panics_is_an_error_result() {
    let bench = Bench::new();
    let tool = Arc::new(Own::new("crash", Effect::Workspace, |_| Box::pin(async { panic!("boom") })));
    let calls = [("crash", "{}"), ("ls", "{}"), ("crash", r#"{"id":13}"#)];
    let outcomes = run(&bench, vec![tool], &calls, &CancellationToken::new()).await;
    assert!(outcomes[0].is_error && text(&outcomes[0]).contains("crashed (boom)"), "{}", text(&outcomes[0]));
    assert!(!outcomes[1].is_error, "the crash kept its lock");
    assert!(outcomes[2].is_error);
}

#[tokio::test]
async fn every_call_has_a_result_after_a_cancellation() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let calls =
        [("bash", r#"{"command":"touch x"}"#), ("raed", "{}"), ("write", r#"{"path":"x","content":""}"#)];
    let outcomes = run(&bench, vec![], &calls, &cancel).await;
    let ids: Vec<&str> = outcomes.iter().map(|outcome| outcome.call.0.as_str()).collect();
    assert_eq!(ids, ["call-0", "call-1", "call-2"]);
    assert!(text(&outcomes[0]).contains("before it ran") && text(&outcomes[2]).contains("before it ran"));
    assert!(!bench.root().join("x").exists());
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_heed_a_cancellation_is_dropped() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let stop = cancel.clone();
    let tool = Arc::new(Own::new("hang", Effect::Workspace, move |_| {
        stop.cancel();
        Box::pin(std::future::pending())
    }));
    let calls = [("hang", "{}"), ("hang", "{}")];
    let outcomes = run(&bench, vec![tool], &calls, &cancel).await;
    assert!(outcomes[0].is_error && text(&outcomes[0]).contains("effect unknown"));
    assert!(outcomes[1].is_error && text(&outcomes[1]).contains("before it ran"));
}

#[tokio::test]
async fn what_a_tool_does_not_bound_is_bounded() {
    let bench = Bench::new();
    let flood =
        Own::new("flood", Effect::Nothing, |_| Box::pin(async { ToolOutput::text("é".repeat(1 << 20)) }));
    let silent = Own::new("silent", Effect::Nothing, |_| Box::pin(async { ToolOutput::default() }));
    let calls = [("flood", "{}"), ("silent", "{}")];
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(flood), Arc::new(silent)];
    let outcomes = run(&bench, tools, &calls, &CancellationToken::new()).await;
    let shown = text(&outcomes[0]);
    assert!(shown.len() < 64 * 1024 && shown.ends_with("ask for less at once]"));
    assert_eq!(text(&outcomes[1]), "(no output)");
}
