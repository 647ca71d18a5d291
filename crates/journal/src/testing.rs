//! Journals for tests, with ids and times that are the same each time.

use countersign_protocol::{
    Arguments, AssistantMessage, BlobId, Block, Body, CallId, Content, Entry, EntryId, Lane, Policy, RunId,
    Stop, StopClass, ToolCall, Usage,
    budget::Budget,
    entry::{Cause, Compacted, FileAction, FileTouch, Ground, Sent, ToolOutcome, Turn},
};
use jiff::{SignedDuration, Timestamp};

/// The n-th id.
pub(crate) fn id(n: u64) -> EntryId {
    format!("00000000-0000-7000-8000-{n:012x}").parse().unwrap()
}

/// The n-th second of the tests' day.
pub(crate) fn time(n: u64) -> Timestamp {
    let noon: Timestamp = "2026-12-01T12:00:00Z".parse().unwrap();
    noon + SignedDuration::from_secs(n.try_into().unwrap())
}

/// A journal that is written down by hand.
pub(crate) struct Script {
    pub(crate) entries: Vec<Entry>,
}

impl Script {
    /// A journal with its first entry.
    pub(crate) fn new() -> Self {
        let mut script = Self { entries: Vec::new() };
        script.add(Lane::Run, ground());
        script
    }

    pub(crate) fn add(&mut self, lane: Lane, body: Body) -> EntryId {
        let leaf = crate::leaves(&self.entries).get(&lane).copied();
        let parent = leaf.or_else(|| self.entries.first().map(|root| root.id));
        let seq = self.entries.len() as u64 + 1;
        self.entries.push(Entry { id: id(seq), parent, lane, seq, at: time(seq), body });
        id(seq)
    }

    pub(crate) fn worker(&mut self, body: Body) -> EntryId {
        self.add(Lane::Worker, body)
    }

    pub(crate) fn path(&self) -> Vec<&Entry> {
        crate::branch(&self.entries, Lane::Worker)
    }
}

pub(crate) fn ground() -> Body {
    let policy: Policy = serde_json::from_str(r#"{"name":"none"}"#).unwrap();
    Body::Run(Box::new(Ground {
        run: "00000000-0000-7000-8000-ffffffffffff".parse::<RunId>().unwrap(),
        version: "0.0.0".into(),
        goal: "Mend the bug".into(),
        workspace: "/w".into(),
        roles: Vec::new(),
        policy,
        policy_dir: "/p".into(),
        extra_checks: vec![],
        budget: Budget::default(),
        base: "b".repeat(40).parse().unwrap(),
    }))
}

pub(crate) fn message(cause: Cause, text: &str) -> Body {
    Body::Message { cause, text: text.into() }
}

/// Any small entry.
pub(crate) fn note(text: &str) -> Body {
    message(Cause::Steer, text)
}

/// A turn with these calls.
pub(crate) fn turn(text: &str, calls: &[&str]) -> Body {
    let mut blocks = vec![Block::Text { text: text.into(), replay: None }];
    blocks.extend(calls.iter().map(|call| {
        let arguments = Arguments::from_text(format!(r#"{{"path":"{call}"}}"#));
        Block::ToolCall(ToolCall { id: CallId((*call).into()), name: "read".into(), arguments, replay: None })
    }));
    let hash = BlobId::of(b"");
    Body::Turn(Box::new(Turn {
        turn: 1,
        message: AssistantMessage { blocks },
        stop: Stop { class: StopClass::End, raw: None },
        executable: true,
        usage: Usage::default(),
        sent: Sent { bytes: 0, prefix: hash.clone(), chain: hash, extends: true },
    }))
}

pub(crate) fn intent(call: &str) -> Body {
    Body::ToolCall { call: CallId(call.into()), name: "read".into(), arguments: serde_json::json!({}) }
}

pub(crate) fn outcome(call: &str, text: &str) -> ToolOutcome {
    ToolOutcome {
        call: CallId(call.into()),
        name: "read".into(),
        content: vec![Content::Text { text: text.into() }],
        is_error: false,
        exit: None,
        files: Vec::new(),
    }
}

pub(crate) fn result(call: &str, text: &str) -> Body {
    Body::ToolResult(Box::new(outcome(call, text)))
}

pub(crate) fn touched(call: &str, action: FileAction, path: &str, is_error: bool) -> Body {
    let files = vec![FileTouch { path: path.into(), action, content: None }];
    Body::ToolResult(Box::new(ToolOutcome { is_error, files, ..outcome(call, "") }))
}

pub(crate) fn compaction(summary: &str, kept_from: EntryId) -> Body {
    Body::Compaction(Compacted {
        summary: summary.into(),
        kept_from,
        files_read: vec!["a.rs".into()],
        files_written: vec!["b.rs".into()],
        tokens_before: 1000,
    })
}

/// Histories that nobody would write: results that come late, twice or never, ids that come back, words between a
/// call and its result.
pub(crate) mod story {
    use proptest::prelude::*;

    use super::{Body, Cause, FileAction, Script, intent, message, result, touched, turn};

    #[derive(Debug, Clone)]
    pub(crate) enum Event {
        Word(usize),
        Turn(Vec<u8>, usize),
        Intent(u8),
        Result(u8, usize),
        Touch(u8, FileAction, u8, bool),
        /// Entries that are no history.
        Noise,
    }

    /// Tales that begin with an assignment.
    pub(crate) fn tales() -> impl Strategy<Value = Vec<Event>> {
        let call = 0_u8..4;
        let size = 1_usize..4000;
        let action = prop_oneof![Just(FileAction::Read), Just(FileAction::Written)];
        let event = prop_oneof![
            2 => size.clone().prop_map(Event::Word),
            4 => (prop::collection::btree_set(call.clone(), 0..4), size.clone())
                .prop_map(|(calls, size)| Event::Turn(calls.into_iter().collect(), size)),
            3 => call.clone().prop_map(Event::Intent),
            6 => (call.clone(), size).prop_map(|(call, size)| Event::Result(call, size)),
            3 => (call, action, 0_u8..6, any::<bool>()).prop_map(|(call, action, file, failed)| {
                Event::Touch(call, action, file, failed)
            }),
            2 => Just(Event::Noise),
        ];
        prop::collection::vec(event, 0..40)
    }

    pub(crate) fn tell(tale: &[Event]) -> Script {
        let mut script = Script::new();
        script.worker(message(Cause::Assignment, "Do <this> & that"));
        tale.iter().for_each(|event| tell_one(&mut script, event));
        script
    }

    pub(crate) fn tell_one(script: &mut Script, event: &Event) {
        let name = |call: &u8| format!("c{call}");
        script.worker(match event {
            Event::Word(size) => message(Cause::Steer, &"w".repeat(*size)),
            Event::Turn(calls, size) => {
                let names: Vec<String> = calls.iter().map(name).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                turn(&"t".repeat(*size), &names)
            }
            Event::Intent(call) => intent(&name(call)),
            Event::Result(call, size) => result(&name(call), &"r".repeat(*size)),
            Event::Touch(call, action, file, failed) => {
                touched(&name(call), *action, &format!("file{file}"), *failed)
            }
            Event::Noise => Body::Notice { cause: Cause::Budget, text: "noise".into() },
        });
    }
}
