use std::collections::BTreeSet;

use countersign_protocol::{Item, entry::Cause};
use proptest::prelude::*;

use super::*;
use crate::{
    project,
    projection::tests::legal,
    testing::{
        Script, message, note, result,
        story::{Event, tales, tell, tell_one},
        touched, turn,
    },
};

const LIMITS: Limits = Limits { window: 10_000, reserve: 2_000, keep_recent: 1_000, summary: 300 };

fn began() -> Script {
    let mut script = Script::new();
    script.worker(message(Cause::Assignment, "the goal"));
    script
}

/// A turn with one call, and its result of this many tokens.
fn step(script: &mut Script, tokens: usize) -> EntryId {
    let turn = script.worker(turn("", &["c"]));
    script.worker(result("c", &"x".repeat(tokens * 3)));
    turn
}

fn planned(script: &Script, limits: &Limits) -> Option<Plan> {
    plan(&script.path(), estimate, limits)
}

/// Carries a plan out.
fn carry_out(script: &mut Script, plan: Plan, summary: &str) {
    script.worker(Body::Compaction(plan.compacted(summary.into())));
}

#[test]
fn it_is_needed_once_the_reserve_is_touched() {
    assert!(!needed(8_000, 10_000, 2_000));
    assert!(needed(8_001, 10_000, 2_000));
    assert!(needed(1, 10_000, 20_000), "a reserve larger than the window");
}

#[test]
fn the_newest_history_stays() {
    let mut script = began();
    let steps: Vec<EntryId> = (0..20).map(|_| step(&mut script, 400)).collect();
    let plan = planned(&script, &LIMITS).unwrap();
    assert_eq!(plan.kept_from, steps[18], "two steps of some 400 tokens are within 1,000");
    assert_eq!(plan.asked_over, script.path().len());
    assert!(plan.tokens_before > 8_000 && plan.tokens_after < 1_500, "{plan:?}");
}

#[test]
fn a_step_that_is_larger_than_the_tail_may_be_stays_whole() {
    let mut script = began();
    step(&mut script, 1_000);
    let large = step(&mut script, 5_000);
    assert_eq!(planned(&script, &LIMITS).unwrap().kept_from, large);

    let mut script = began();
    step(&mut script, 1_000);
    let large = script.worker(note(&"w".repeat(15_000)));
    assert_eq!(planned(&script, &LIMITS).unwrap().kept_from, large, "one message alone");
}

#[test]
fn results_that_leave_no_room_are_summarised_too() {
    let mut script = began();
    step(&mut script, 500);
    step(&mut script, 8_400);
    let plan = planned(&script, &LIMITS).unwrap();
    assert!(plan.tokens_after < 500, "{plan:?}");
    carry_out(&mut script, plan, "all");
    let seen = project(&script.path());
    assert_eq!(seen.items.len(), 2, "goal and summary");
    assert!(seen.dangling.is_empty());
}

#[test]
fn what_was_not_answered_is_never_summarised_away() {
    let mut script = began();
    step(&mut script, 2_000);
    step(&mut script, 2_000);
    let asked = script.worker(note("Why?"));
    script.worker(note("And how?"));
    let plan = planned(&script, &Limits { keep_recent: 0, ..LIMITS }).unwrap();
    assert_eq!(plan.kept_from, asked);
}

#[test]
fn a_call_in_flight_keeps_its_turn() {
    let mut script = began();
    step(&mut script, 5_000);
    let open = script.worker(turn("", &["a", "b"]));
    script.worker(result("a", &"x".repeat(6_000)));
    assert_eq!(planned(&script, &LIMITS).unwrap().kept_from, open);
}

#[test]
fn nothing_is_planned_that_would_not_help() {
    assert_eq!(planned(&Script::new(), &LIMITS), None);
    assert_eq!(planned(&began(), &LIMITS), None);
    let mut script = began();
    script.worker(note(&"w".repeat(30_000)));
    assert_eq!(planned(&script, &LIMITS), None, "one message fills the window");

    let mut script = began();
    (0..3).for_each(|_| _ = step(&mut script, 100));
    assert_eq!(planned(&script, &LIMITS), None, "the summary could be longer than what it replaces");
}

#[test]
fn a_fixed_part_that_fills_the_window_ends_it() {
    let mut script = began();
    let prefix = countersign_protocol::entry::Prefix {
        model: "scripted/a".parse().unwrap(),
        sections: vec![countersign_protocol::entry::Section { name: "a".into(), text: "p".repeat(27_000) }],
        tools: vec![],
        cause: countersign_protocol::entry::PrefixCause::Start,
    };
    script.worker(Body::Prefix(prefix));
    (0..10).for_each(|_| _ = step(&mut script, 300));
    assert_eq!(planned(&script, &LIMITS), None, "no compaction brings it under the threshold");
}

#[test]
fn a_request_that_would_overflow_is_made_over_less() {
    let mut script = began();
    (0..6).for_each(|_| _ = step(&mut script, 1_000));
    let last = step(&mut script, 3_990);
    let limits = Limits { keep_recent: 4_200, ..LIMITS };
    let plan = planned(&script, &limits).unwrap();
    assert_eq!(plan.kept_from, last);
    let path = script.path();
    assert_eq!(path[plan.asked_over].id, last, "the tail is left out of the request, being kept anyway");
    let asked = project(&path[..plan.asked_over]).items;
    assert!(project(&path).items.starts_with(&asked), "the request stays on the warm prefix");
}

#[test]
fn nothing_is_cut_away_that_no_request_can_hold() {
    let mut script = began();
    step(&mut script, 9_500);
    step(&mut script, 100);
    assert_eq!(planned(&script, &LIMITS), None);
}

#[test]
fn the_lists_of_files_grow_and_come_from_what_was_done() {
    let mut script = began();
    for (action, path, failed) in [
        (FileAction::Read, "read.rs", false),
        (FileAction::Written, "written.rs", false),
        (FileAction::Written, "failed.rs", true),
    ] {
        // The argument names `c`, which no result does.
        script.worker(turn("", &["c"]));
        script.worker(touched("c", action, path, failed));
        step(&mut script, 600);
    }
    (0..3).for_each(|_| _ = step(&mut script, 600));
    let first = planned(&script, &LIMITS).unwrap();
    assert_eq!(
        (first.files_read.clone(), first.files_written.clone()),
        (vec!["read.rs".into()], vec!["written.rs".into()])
    );
    carry_out(&mut script, first, "first");
    script.worker(turn("", &["c"]));
    script.worker(touched("c", FileAction::Written, "later.rs", false));
    (0..5).for_each(|_| _ = step(&mut script, 600));
    let second = planned(&script, &LIMITS).unwrap();
    assert_eq!(second.files_read, ["read.rs"]);
    assert_eq!(second.files_written, ["later.rs", "written.rs"]);
}

#[test]
fn a_second_compaction_stands_on_the_first() {
    let mut script = began();
    (0..10).for_each(|_| _ = step(&mut script, 500));
    let first = planned(&script, &LIMITS).unwrap();
    carry_out(&mut script, first.clone(), "the door is blue");
    (0..10).for_each(|_| _ = step(&mut script, 500));
    let path = script.path();
    assert!(instruction(last(&path)).contains("the door is blue"));
    let Item::User { text } = &project(&path).items[1] else { panic!() };
    assert!(text.contains("the door is blue"), "and it stands in the history that is summarised");
    let second = planned(&script, &LIMITS).unwrap();
    assert!(second.tokens_after <= first.tokens_after + 100, "{second:?}");
}

#[test]
fn compacting_over_and_over_comes_to_an_end() {
    let mut script = began();
    (0..10).for_each(|_| _ = step(&mut script, 500));
    let mut sizes = Vec::new();
    while let Some(plan) = planned(&script, &LIMITS) {
        sizes.push(plan.tokens_after);
        carry_out(&mut script, plan, &"s".repeat(3 * 300));
        assert!(sizes.len() < 5, "{sizes:?}");
    }
    assert!(!sizes.is_empty() && sizes.is_sorted_by(|one, next| one > next), "{sizes:?}");
}

fn says(item: &Item, words: &str) -> bool {
    matches!(item, Item::User { text } if text.contains(words))
}

proptest! {
    /// A long life: whatever happens, and however often it is compacted between turns.
    #[test]
    fn every_compaction_is_legal_and_helps(lives in prop::collection::vec(tales(), 1..4), keep_recent in 0_u64..4_000) {
        let limits = Limits { window: 16_000, keep_recent, ..LIMITS };
        let mut script = tell(&[]);
        let mut written = BTreeSet::new();
        for (life, tale) in lives.iter().enumerate() {
            tale.iter().for_each(|event: &Event| tell_one(&mut script, event));
            let path = script.path();
            let before = project(&path);
            let Some(plan) = planned(&script, &limits) else { continue };
            prop_assert!(plan.tokens_after < plan.tokens_before);
            prop_assert!(!needed(plan.tokens_after, limits.window, limits.reserve));

            // All that is cut away is in the request, and the request is on the warm prefix.
            let kept = path.iter().position(|entry| entry.id == plan.kept_from).unwrap();
            prop_assert!(plan.asked_over >= kept);
            prop_assert!(before.items.starts_with(&project(&path[..plan.asked_over]).items));
            let older = last(&path).map(|older| older.summary.clone());
            if let Some(older) = &older {
                prop_assert!(instruction(last(&path)).contains(older));
                prop_assert!(says(&before.items[1], older));
            }

            let summary = format!("summary {life}");
            carry_out(&mut script, plan.clone(), &summary);
            let path = script.path();
            let after = project(&path);
            legal(&after.items)?;
            prop_assert_eq!(&after.items[0], &Item::User { text: "Do <this> & that".into() });
            prop_assert!(says(&after.items[1], &summary));
            prop_assert!(before.items.ends_with(&after.items[2..]), "the tail is verbatim");
            prop_assert_eq!(&after.dangling, &before.dangling);
            written.extend(plan.files_written.iter().cloned());
            prop_assert!(written.iter().all(|file| plan.files_written.contains(file)), "lists only grow");
            let again = planned(&script, &limits);
            prop_assert!(again.is_none_or(|again| again.tokens_after < again.tokens_before));
        }
    }
}
