use countersign_protocol::Lane;
use proptest::prelude::*;

use super::*;
use crate::testing::{
    Script, compaction, id, intent, message, note, outcome, result,
    story::{Event, tales, tell, tell_one},
    turn,
};

fn user(text: &str) -> Item {
    Item::User { text: text.into() }
}

fn of(bodies: impl IntoIterator<Item = Body>) -> Projection {
    let mut script = Script::new();
    bodies.into_iter().for_each(|body| _ = script.worker(body));
    project(&script.path())
}

/// The items in a short form, to compare at a glance.
fn sketch(items: &[Item]) -> Vec<String> {
    let line = |item: &Item| match item {
        Item::User { text } => format!("user {text}"),
        Item::Assistant { message } => format!("turn {}", message.text()),
        Item::ToolResults { results } => {
            let results: Vec<String> = results
                .iter()
                .map(|one| format!("{}{}:{}", one.call, if one.is_error { "!" } else { "" }, one.text()))
                .collect();
            format!("results {}", results.join(" | "))
        }
    };
    items.iter().map(line).collect()
}

const UNKNOWN: &str =
    "interrupted, effect unknown: look before you repeat. The host stopped while this call was running";
const NOT_RUN: &str = "not run: the host stopped before this call began";

#[test]
fn results_come_right_after_their_turn_in_call_order() {
    let seen = of([
        message(Cause::Assignment, "go"),
        turn("t", &["a", "b"]),
        intent("a"),
        intent("b"),
        result("b", "2"),
        note("a word in between"),
        compaction("none", id(99)),
        Body::Notice { cause: Cause::Budget, text: "not history".into() },
        result("a", "1"),
        turn("u", &[]),
    ]);
    assert_eq!(
        sketch(&seen.items),
        ["user go", "turn t", "results a:1 | b:2", "user a word in between", "turn u"]
    );
    assert!(seen.dangling.is_empty());
}

#[test]
fn a_call_without_a_result_is_stood_in_for() {
    let mut script = Script::new();
    for body in [turn("t", &["a", "b", "c"]), intent("a"), result("a", "1"), intent("b"), note("hurry")] {
        script.worker(body);
    }
    let seen = project(&script.path());
    let results = format!("results a:1 | b!:{UNKNOWN} | c!:{NOT_RUN}");
    assert_eq!(sketch(&seen.items), ["turn t", &results, "user hurry"]);
    assert_eq!(seen.dangling.iter().map(|one| one.call.0.as_str()).collect::<Vec<_>>(), ["b", "c"]);

    for _ in 0..3 {
        assert_eq!(project(&script.path()), seen, "looking at it mends nothing");
    }
    for stand_in in seen.dangling {
        script.worker(Body::ToolResult(Box::new(stand_in)));
    }
    let mended = project(&script.path());
    assert_eq!((mended.items, mended.dangling), (seen.items, vec![]), "once journaled it is as it was shown");
}

#[test]
fn a_call_of_a_cut_message_is_asked_for_again() {
    let Body::Turn(mut cut) = turn("t", &["a"]) else { panic!() };
    cut.executable = false;
    let seen = of([Body::Turn(cut)]);
    assert_eq!(
        sketch(&seen.items)[1],
        "results a!:not run: the message was cut. Send the call again, whole and smaller"
    );
}

#[test]
fn a_turn_that_was_left_open_is_closed_by_the_next() {
    let seen = of([
        turn("t", &["a"]),
        turn("u", &["a"]),
        result("a", "late"),
        result("a", "twice"),
        result("z", "lost"),
    ]);
    assert_eq!(sketch(&seen.items), ["turn t", &format!("results a!:{NOT_RUN}"), "turn u", "results a:late"]);
    assert!(seen.dangling.is_empty(), "what is closed stays closed");
}

#[test]
fn after_a_compaction_goal_summary_and_tail_are_seen() {
    let mut script = Script::new();
    script.worker(message(Cause::Assignment, "the <goal>"));
    script.worker(turn("old", &["a"]));
    script.worker(result("a", "1"));
    let kept = script.worker(turn("kept", &["a"]));
    script.worker(result("a", "2"));
    script.worker(compaction("we <did> a lot", kept));
    script.worker(turn("new", &[]));
    let seen = project(&script.path());
    let sketched = sketch(&seen.items);
    assert_eq!(sketched[0], "user the <goal>", "word for word");
    assert_eq!(sketched[2..], ["turn kept", "results a:2", "turn new"]);
    insta::assert_snapshot!("summary", &sketched[1]);
}

#[test]
fn a_lane_without_an_assignment_keeps_the_goal_of_the_run() {
    let mut script = Script::new();
    script.worker(note("x"));
    let kept = script.worker(note("y"));
    script.worker(compaction("s", kept));
    let seen = sketch(&project(&script.path()).items);
    assert_eq!(seen[0], "user The goal of the run:\n\nMend the bug");
    assert_eq!(seen[2], "user y");
}

#[test]
fn a_compaction_that_keeps_from_elsewhere_is_void() {
    let seen = of([message(Cause::Assignment, "go"), note("a"), compaction("s", id(77)), note("b")]);
    assert_eq!(sketch(&seen.items), ["user go", "user a", "user b"]);
}

#[test]
fn a_tail_that_begins_in_results_shows_none_of_them() {
    let mut script = Script::new();
    script.worker(message(Cause::Assignment, "go"));
    script.worker(turn("t", &["a", "b"]));
    script.worker(result("a", "1"));
    let last = script.worker(result("b", "2"));
    script.worker(compaction("s", last));
    script.worker(note("on"));
    let seen = project(&script.path());
    assert_eq!((seen.items.len(), seen.items.last(), seen.dangling.len()), (3, Some(&user("on")), 0));
}

#[test]
fn an_assignment_that_stays_is_shown_once() {
    let mut script = Script::new();
    script.worker(note("before"));
    let kept = script.worker(message(Cause::Assignment, "go"));
    script.worker(compaction("s", kept));
    let seen = sketch(&project(&script.path()).items);
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1], "user go");
}

#[test]
fn the_first_result_of_a_call_counts() {
    let seen = of([turn("t", &["a", "b"]), result("a", "1"), result("a", "2"), result("b", "3")]);
    assert_eq!(sketch(&seen.items)[1], "results a:1 | b:3");
    let twice = of([turn("t", &["a", "a"]), result("a", "1"), result("a", "2")]);
    assert_eq!(sketch(&twice.items)[1], "results a:1 | a:2", "also where two calls have one id");
}

#[test]
fn the_prefix_is_the_paths_last_also_from_before_a_compaction() {
    let prefix = |name: &str| Prefix {
        model: "scripted/a".parse().unwrap(),
        sections: vec![countersign_protocol::entry::Section { name: name.into(), text: String::new() }],
        tools: vec![],
        cause: countersign_protocol::entry::PrefixCause::Start,
    };
    let mut script = Script::new();
    script.worker(Body::Prefix(prefix("first")));
    script.add(Lane::Verifier, Body::Prefix(prefix("other lane")));
    assert_eq!(project(&script.path()).prefix, Some(prefix("first")));
    script.worker(Body::Prefix(prefix("second")));
    let kept = script.worker(note("a"));
    script.worker(compaction("s", kept));
    assert_eq!(project(&script.path()).prefix, Some(prefix("second")));
}

#[test]
fn the_content_of_a_result_is_what_was_journaled() {
    let mut picture = outcome("a", "look");
    picture.content.push(Content::Image { media_type: "image/png".into(), data: "AA==".into() });
    let seen = of([turn("t", &["a"]), Body::ToolResult(Box::new(picture.clone()))]);
    let Item::ToolResults { results } = &seen.items[1] else { panic!() };
    assert_eq!(results[0].content, picture.content);
}

/// Every call has exactly one result, right after its message and in its order; nothing else is a result.
pub(crate) fn legal(items: &[Item]) -> Result<(), TestCaseError> {
    for (at, item) in items.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &items[before]);
        match item {
            Item::Assistant { message } if message.calls().next().is_some() => {
                let Some(Item::ToolResults { results }) = items.get(at + 1) else {
                    return Err(TestCaseError::fail(format!("no results after {item:?}")));
                };
                let asked: Vec<_> = message.calls().map(|call| &call.id).collect();
                prop_assert_eq!(asked, results.iter().map(|result| &result.call).collect::<Vec<_>>());
            }
            Item::ToolResults { .. } => {
                let asked =
                    matches!(before, Some(Item::Assistant { message }) if message.calls().next().is_some());
                prop_assert!(asked, "results of nothing at {}", at);
            }
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_history_is_shown_legally(tale in tales()) {
        let script = tell(&tale);
        let seen = project(&script.path());
        legal(&seen.items)?;

        let mut mended = script;
        for stand_in in seen.dangling.clone() {
            mended.worker(Body::ToolResult(Box::new(stand_in)));
        }
        let again = project(&mended.path());
        prop_assert_eq!(again.items, seen.items);
        prop_assert!(again.dangling.is_empty());
    }

    #[test]
    fn a_longer_path_only_adds_at_the_end(tale in tales()) {
        let script = tell(&tale);
        let path = script.path();
        let whole = project(&path);
        let mut growing = Projector::default();
        for (at, entry) in path.iter().enumerate() {
            growing.push(entry);
            prop_assert!(whole.items.starts_with(growing.settled()), "at {}", at);
            let so_far = project(&path[..=at]);
            if so_far.dangling.is_empty() {
                prop_assert!(whole.items.starts_with(&so_far.items), "at {}", at);
            }
            prop_assert_eq!(growing.clone().finish(), so_far);
        }
    }

    /// Wherever it keeps from, a compacted history is the goal, the summary, and the history that begins there.
    #[test]
    fn a_compaction_shows_what_it_keeps_as_it_is(older in tales(), newer in tales(), cuts in prop::array::uniform2(any::<prop::sample::Index>())) {
        let mut script = tell(&older);
        let mut kept = 0;
        for (n, cut) in cuts.iter().enumerate() {
            let here = cut.index(script.path().len());
            let from = script.path()[here].id;
            script.worker(compaction(&format!("summary {n}"), from));
            newer.iter().for_each(|event| tell_one(&mut script, event));
            kept = if here >= kept { here } else { kept };

            let path = script.path();
            prop_assert_eq!(last_compaction(&path).map(|cut| cut.kept), Some(kept));
            let mut expected = project(&path[kept..].iter().copied().filter(|entry| {
                !matches!(entry.body, Body::Compaction(_))
            }).collect::<Vec<_>>());
            let shown = last_compaction(&path).map(|cut| summary::shown(cut.compacted)).unwrap();
            expected.items.insert(0, Item::User { text: shown });
            if assignment(&path).is_some_and(|at| at < kept) {
                expected.items.insert(0, user("Do <this> & that"));
            }
            let seen = project(&path);
            prop_assert_eq!(&seen, &expected);
            legal(&seen.items)?;
        }
    }

    #[test]
    fn what_is_no_history_changes_nothing(tale in tales()) {
        let quiet: Vec<Event> = tale.iter().filter(|event| !matches!(event, Event::Noise)).cloned().collect();
        prop_assert_eq!(project(&tell(&tale).path()), project(&tell(&quiet).path()));
    }
}
