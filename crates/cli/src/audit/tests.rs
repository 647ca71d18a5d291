//! Made-up runs, one for each cause of a miss.

use countersign::protocol::{
    Body, EntryId, Lane, ModelRef, Money, Price, Rates, Usage,
    entry::{Compacted, PrefixCause, Purpose},
};

use super::{Audit, Kind, audit, miss::Cause};
use crate::view::story::{Story, ground, story, text, usage};

const FRONT: [(&str, &str); 2] = [("prompt", "You work."), ("place", "/work")];

fn price(_: &ModelRef) -> Option<Price> {
    let dollars = |text: &str| text.parse::<Money>().unwrap();
    let rates = Rates {
        input: dollars("3"),
        cache_read: Some(dollars("0.3")),
        cache_write: Some(dollars("3.75")),
        cache_write_1h: None,
        output: dollars("15"),
    };
    Some(Price { rates, tiers: vec![] })
}

fn begun() -> Story {
    let mut story = Story::default();
    story.add(Lane::Run, Body::Run(Box::new(ground())));
    story.prefix(Lane::Worker, "fake/one", &FRONT, PrefixCause::Start);
    story.turn(Lane::Worker, usage(0, 0, 8_000, 10), vec![text("one")]);
    story
}

fn of(story: &Story) -> Audit {
    audit(&story.entries, &price)
}

/// The cause of the last turn's miss.
fn last_cause(story: &Story) -> Option<Cause> {
    let turns = &of(story).lanes[0].turns;
    turns.last().and_then(|turn| turn.miss.as_ref()).map(|miss| miss.cause.clone())
}

#[test]
fn a_hit_and_noise_are_no_miss() {
    let mut story = begun();
    story.turn(Lane::Worker, usage(0, 8_000, 200, 10), vec![]);
    assert_eq!(last_cause(&story), None);
    story.turn(Lane::Worker, usage(1_024, 7_176, 100, 10), vec![]);
    assert_eq!(last_cause(&story), None);
    assert_eq!(of(&story).total.missed, 0);
}

#[test]
fn one_token_over_the_noise_floor_is_a_miss_with_its_price() {
    let mut story = begun();
    story.turn(Lane::Worker, usage(1_125, 6_975, 0, 10), vec![]);
    let audit = of(&story);
    let miss = audit.lanes[0].turns[1].miss.clone().unwrap();
    assert_eq!((miss.tokens, miss.cause), (1_025, Cause::Unexplained));
    // 1,025 tokens at 3.00 in place of 0.30 dollars a million.
    assert_eq!(miss.extra, Some("0.0027675".parse().unwrap()));
    assert_eq!((audit.total.missed, audit.total.missed_extra), (1_025, "0.0027675".parse().unwrap()));
}

#[test]
fn what_was_written_again_counts_at_the_price_of_writing() {
    let mut story = begun();
    story.turn(Lane::Worker, usage(1_000, 0, 8_000, 10), vec![]);
    let miss = of(&story).lanes[0].turns[1].miss.clone().unwrap();
    assert_eq!((miss.tokens, miss.extra), (8_000, Some("0.02685".parse().unwrap())));
}

#[test]
fn another_model_has_another_cache() {
    let mut story = begun();
    story.prefix(Lane::Worker, "fake/two", &FRONT, PrefixCause::ModelChanged);
    story.turn_sent(Lane::Worker, usage(8_100, 0, 0, 10), vec![], "other", false);
    assert_eq!(last_cause(&story), Some(Cause::ModelChanged));
}

#[test]
fn a_changed_prefix_names_its_section() {
    let mut story = begun();
    let front = [FRONT[0], ("place", "/elsewhere"), ("skills", "none")];
    story.prefix(Lane::Worker, "fake/one", &front, PrefixCause::RoleChanged);
    story.turn_sent(Lane::Worker, usage(8_100, 0, 0, 10), vec![], "other", false);
    let sections = vec!["place".into(), "skills".into()];
    assert_eq!(last_cause(&story), Some(Cause::PrefixChanged { sections }));
}

#[test]
fn a_compaction_explains_the_miss_of_the_next_turn_alone() {
    let mut story = begun();
    let summary = story.reserve(Lane::Worker, Purpose::Summary);
    story.charge(Lane::Worker, summary, Purpose::Summary, usage(0, 8_000, 0, 400), true);
    let kept_from: EntryId = story.entries[0].id;
    story.add(
        Lane::Worker,
        Body::Compaction(Compacted {
            summary: "It began.".into(),
            kept_from,
            files_read: vec![],
            files_written: vec![],
            tokens_before: 8_000,
        }),
    );
    story.turn_sent(Lane::Worker, usage(3_000, 0, 0, 10), vec![], "prefix", false);
    assert_eq!(last_cause(&story), Some(Cause::Compaction));
    story.turn(Lane::Worker, usage(3_100, 0, 0, 10), vec![]);
    assert_eq!(last_cause(&story), Some(Cause::Unexplained));

    let lane = &of(&story).lanes[0];
    assert_eq!((lane.others[0].kind, lane.others[0].calls), (Kind::Summaries, 1));
    assert_eq!(lane.turns.len(), 3);
}

#[test]
fn bytes_that_do_not_extend_the_last_ones_are_our_own_doing() {
    let mut story = begun();
    story.turn_sent(Lane::Worker, usage(8_100, 0, 0, 10), vec![], "prefix", false);
    assert_eq!(last_cause(&story), Some(Cause::Broken));
    story.turn_sent(Lane::Worker, usage(8_200, 0, 0, 10), vec![], "other bytes, same entry", true);
    assert_eq!(last_cause(&story), Some(Cause::Broken));
}

#[test]
fn idling_is_measured_to_the_request_and_depends_on_the_retention_paid_for() {
    let mut short = begun();
    short.wait(301).turn(Lane::Worker, usage(8_100, 0, 0, 10), vec![]);
    assert_eq!(last_cause(&short), Some(Cause::Expired { idle_seconds: 302 }));

    let mut long = Story::default();
    long.add(Lane::Run, Body::Run(Box::new(ground())));
    let hour = Usage { cache_write: 8_000, cache_write_1h: 8_000, ..Usage::default() };
    long.turn(Lane::Worker, hour, vec![]);
    long.wait(301).turn(Lane::Worker, usage(8_100, 0, 0, 10), vec![]);
    let miss = of(&long).lanes[0].turns[1].miss.clone().unwrap();
    assert_ne!(miss.cause, Cause::Expired { idle_seconds: 302 });
}

#[test]
fn a_provider_without_a_cache_is_said_so() {
    let mut story = Story::default();
    story.add(Lane::Run, Body::Run(Box::new(ground())));
    story.prefix(Lane::Worker, "local/one", &FRONT, PrefixCause::Start);
    story.turn(Lane::Worker, usage(8_000, 0, 0, 10), vec![]);
    story.turn(Lane::Worker, usage(8_100, 0, 0, 10), vec![]);
    assert_eq!(last_cause(&story), Some(Cause::NoCache));
}

#[test]
fn nothing_is_said_where_the_provider_reported_nothing() {
    let mut story = begun();
    story.turn(Lane::Worker, Usage { estimated: true, ..usage(9_000, 0, 0, 10) }, vec![]);
    assert_eq!(last_cause(&story), None);
}

#[test]
fn a_branch_is_compared_with_its_own_past_and_all_money_counts() {
    let mut story = begun();
    let root = story.entries.iter().rfind(|entry| matches!(entry.body, Body::Turn(_))).unwrap().id;
    story.turn(Lane::Worker, usage(0, 8_000, 90_000, 10), vec![text("a long way off")]);
    let left = story.entries.last().unwrap().seq;
    story.add(Lane::Worker, Body::Branch { leaf: Some(root) });
    story.turn(Lane::Worker, usage(0, 8_000, 100, 10), vec![text("another way")]);

    let audit = of(&story);
    let lane = &audit.lanes[0];
    assert!(lane.turns.iter().all(|turn| turn.seq != left));
    assert!(lane.turns.iter().all(|turn| turn.miss.is_none()), "{lane:?}");
    assert_eq!((lane.others[0].kind, lane.others[0].calls), (Kind::Elsewhere, 1));
    assert_eq!(audit.total.usage.total(), 8_010 + 98_010 + 8_110);
}

#[test]
fn an_answer_lost_in_a_crash_is_paid_for_and_is_no_turn() {
    let mut story = begun();
    let lost = story.reserve(Lane::Worker, Purpose::Turn);
    story.charge(Lane::Worker, lost, Purpose::Turn, usage(0, 8_000, 500, 10), true);
    story.turn(Lane::Worker, usage(0, 8_000, 100, 10), vec![]);
    let lane = &of(&story).lanes[0];
    assert_eq!(
        lane.others.iter().map(|others| (others.kind, others.calls)).collect::<Vec<_>>(),
        [(Kind::Elsewhere, 1)]
    );
    assert_eq!(lane.turns[1].money, Some(Money::from_pico(8_110 * 2_000_000)));
}

#[test]
fn the_books_of_a_whole_run_agree_with_its_charges() {
    let story = story();
    let audit = audit(&story, &price);
    let mut used = Usage::default();
    for entry in &story {
        if let Body::Charge(charge) = &entry.body {
            used += charge.usage;
        }
    }
    assert_eq!(audit.total.usage, used);
    assert_eq!(audit.lanes.iter().map(|lane| lane.lane).collect::<Vec<_>>(), [Lane::Worker, Lane::Verifier]);
    assert_eq!(audit.lanes[0].others[0].kind, Kind::Failed);
}
