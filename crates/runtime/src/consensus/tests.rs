//! No order of messages, no duplicate, stale or foreign one leads to `completed`; every run ends once.

use countersign_protocol::Finding;
use proptest::prelude::*;

use super::*;

fn tree(n: u8) -> TreeId {
    format!("{n:040x}").parse().unwrap()
}

fn claim(n: u32) -> Claim {
    Claim { claim: ClaimId(n), summary: "done".into(), evidence: vec![], implicit: false }
}

fn accepted() -> Verdict {
    Verdict::Accepted { summary: "nothing refutes it".into(), objections: vec![] }
}

fn refuted(why: &str) -> Verdict {
    let finding = Finding { statement: why.into(), ..Finding::default() };
    Verdict::Refuted { summary: why.into(), findings: vec![finding] }
}

fn vote(actor: Lane, n: u32, t: u8, agree: bool) -> Event {
    Event::Voted(Vote { actor, claim: ClaimId(n), tree: tree(t), agree, reason: String::new() })
}

fn ended(commands: &[Command]) -> Option<Outcome> {
    commands.iter().find_map(|command| match command {
        Command::End { outcome, .. } => Some(*outcome),
        _ => None,
    })
}

fn honest() -> Vec<Event> {
    vec![
        Event::Claimed(claim(1)),
        Event::Snapshot { claim: ClaimId(1), tree: tree(1) },
        Event::Judged { claim: ClaimId(1), tree: tree(1), verdict: accepted() },
        vote(Lane::Supervisor, 1, 1, true),
        Event::Live { claim: ClaimId(1), tree: tree(1) },
    ]
}

#[test]
fn three_votes_on_the_same_bytes_complete() {
    let mut consensus = Consensus::new(5);
    let commands: Vec<_> = honest().into_iter().flat_map(|event| consensus.step(event)).collect();
    assert_eq!(ended(&commands), Some(Outcome::Completed));
    assert!(
        matches!(commands.last(), Some(Command::End { agreed: Some((ClaimId(1), t)), .. }) if *t == tree(1))
    );
}

#[test]
fn no_step_of_the_honest_way_can_be_left_out() {
    for missing in 0..honest().len() {
        let mut consensus = Consensus::new(5);
        let mut events = honest();
        events.remove(missing);
        let commands: Vec<_> = events.into_iter().flat_map(|event| consensus.step(event)).collect();
        assert_eq!(ended(&commands), None, "without step {missing}");
    }
}

#[test]
fn a_workspace_that_moved_after_the_votes_is_not_completed() {
    let mut consensus = Consensus::new(5);
    let mut events = honest();
    *events.last_mut().unwrap() = Event::Live { claim: ClaimId(1), tree: tree(2) };
    let commands: Vec<_> = events.into_iter().flat_map(|event| consensus.step(event)).collect();
    let returned = Command::ReturnToWorker { claim: ClaimId(1), refutation: Refutation::WorkspaceMoved };
    assert_eq!(commands.last(), Some(&returned));
}

#[test]
fn the_same_tree_is_not_judged_twice() {
    let mut consensus = Consensus::new(5);
    let _ = consensus.step(Event::Claimed(claim(1)));
    let _ = consensus.step(Event::Snapshot { claim: ClaimId(1), tree: tree(1) });
    let _ = consensus.step(Event::Judged { claim: ClaimId(1), tree: tree(1), verdict: refuted("a") });
    let _ = consensus.step(Event::Claimed(claim(2)));
    let commands = consensus.step(Event::Snapshot { claim: ClaimId(2), tree: tree(1) });
    assert!(matches!(
        commands.as_slice(),
        [Command::ReturnToWorker { refutation: Refutation::SameTree { earlier: ClaimId(1), .. }, .. }]
    ));
    assert_eq!(consensus.refutations(), 2);
}

#[test]
fn three_refutations_for_one_reason_stall_unless_the_policy_refuses_first() {
    for (max, outcome) in [(5, Outcome::Stalled), (3, Outcome::Refused), (2, Outcome::Refused)] {
        let mut consensus = Consensus::new(max);
        let mut end = None;
        for n in 1..=3 {
            let _ = consensus.step(Event::Claimed(claim(n)));
            let _ = consensus.step(Event::Snapshot { claim: ClaimId(n), tree: tree(n as u8) });
            let judged =
                Event::Judged { claim: ClaimId(n), tree: tree(n as u8), verdict: refuted("the same") };
            end = end.or(ended(&consensus.step(judged)));
        }
        assert_eq!(end, Some(outcome), "max_refutations = {max}");
    }
}

#[test]
fn a_workspace_that_cannot_be_snapshotted_goes_back_to_the_worker() {
    let mut consensus = Consensus::new(5);
    let unreadable = |n| Event::Unreadable { claim: ClaimId(n), reason: "`pipe` is a FIFO".into() };
    assert_eq!(consensus.step(unreadable(1)), [], "nothing was claimed");
    let _ = consensus.step(Event::Claimed(claim(1)));
    assert!(matches!(consensus.step(unreadable(1)).as_slice(), [Command::ReturnToWorker { .. }]));
    assert!(consensus.is_working());
}

#[test]
fn nobody_can_stop_a_run_into_completed() {
    let mut consensus = Consensus::new(5);
    let commands = consensus.step(Event::Stopped { outcome: Outcome::Completed, reason: "trust me".into() });
    assert_eq!(ended(&commands), Some(Outcome::Failed));
}

fn any_event() -> impl Strategy<Value = Event> {
    let claims = 1u32..4;
    let trees = 0u8..3;
    prop_oneof![
        claims.clone().prop_map(|n| Event::Claimed(claim(n))),
        (claims.clone(), trees.clone())
            .prop_map(|(n, t)| Event::Snapshot { claim: ClaimId(n), tree: tree(t) }),
        claims.clone().prop_map(|n| Event::Unreadable { claim: ClaimId(n), reason: "a FIFO".into() }),
        (claims.clone(), trees.clone(), 0u8..4).prop_map(|(n, t, kind)| {
            let verdict = match kind {
                0 => refuted("one thing"),
                1 => refuted("another thing"),
                _ => accepted(),
            };
            Event::Judged { claim: ClaimId(n), tree: tree(t), verdict }
        }),
        (claims.clone(), trees.clone(), any::<bool>(), 0usize..4).prop_map(|(n, t, agree, actor)| vote(
            Lane::ALL[actor],
            n,
            t,
            agree
        )),
        (claims, trees).prop_map(|(n, t)| Event::Live { claim: ClaimId(n), tree: tree(t) }),
        Just(Event::Stopped { outcome: Outcome::Halted, reason: "a person".into() }),
    ]
}

/// Whether the events so far hold, in this order, what a completion rests on. Written apart from the machine: it
/// only looks for a subsequence about one claim and one tree.
fn is_justified(events: &[Event], id: ClaimId, agreed: &TreeId) -> bool {
    let wanted: [&dyn Fn(&Event) -> bool; 5] = [
        &|event| matches!(event, Event::Claimed(c) if c.claim == id),
        &|event| matches!(event, Event::Snapshot { claim, tree } if *claim == id && tree == agreed),
        &|event| {
            matches!(event, Event::Judged { claim, tree, verdict: Verdict::Accepted { .. } }
                if *claim == id && tree == agreed)
        },
        &|event| {
            matches!(event, Event::Voted(v)
                if v.actor == Lane::Supervisor && v.agree && v.claim == id && v.tree == *agreed)
        },
        &|event| matches!(event, Event::Live { claim, tree } if *claim == id && tree == agreed),
    ];
    let mut steps = wanted.iter().peekable();
    for event in events {
        if steps.peek().is_some_and(|step| step(event)) {
            steps.next();
        }
    }
    steps.next().is_none()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn completed_only_with_all_votes_about_the_same_claim_and_tree(
        events in prop::collection::vec(any_event(), 0..60), max in 1u32..6,
    ) {
        let mut consensus = Consensus::new(max);
        let mut ends = 0;
        for (at, event) in events.iter().enumerate() {
            for command in consensus.step(event.clone()) {
                if let Command::End { outcome, agreed, .. } = command {
                    ends += 1;
                    if outcome == Outcome::Completed {
                        let (id, agreed) = agreed.unwrap();
                        prop_assert!(is_justified(&events[..=at], id, &agreed));
                    }
                }
            }
        }
        prop_assert!(ends <= 1, "a run ends once");
        let late = consensus.step(Event::Stopped { outcome: Outcome::Failed, reason: String::new() });
        prop_assert_eq!(ends + late.len(), 1, "every run can reach exactly one outcome");
    }

    #[test]
    fn duplicates_change_nothing(copies in prop::collection::vec(1usize..4, 5)) {
        let mut consensus = Consensus::new(5);
        let mut commands = Vec::new();
        for (event, times) in honest().into_iter().zip(copies) {
            for _ in 0..times {
                commands.extend(consensus.step(event.clone()));
            }
        }
        prop_assert_eq!(commands.len(), 5);
        prop_assert_eq!(ended(&commands), Some(Outcome::Completed));
    }

    #[test]
    fn shuffled_honest_messages_complete_only_in_the_one_right_order(order in Just(honest()).prop_shuffle()) {
        let mut consensus = Consensus::new(5);
        let commands: Vec<_> = order.iter().cloned().flat_map(|event| consensus.step(event)).collect();
        prop_assert_eq!(ended(&commands).is_some(), order == honest());
    }
}
