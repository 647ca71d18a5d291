//! A made-up run for tests: a claim that is refuted, a second one that all agree on.

use countersign::protocol::{
    Arguments, AssistantMessage, BlobId, Block, Body, Budget, CallId, CheckReport, CheckStatus, Claim,
    ClaimId, Content, Entry, Exit, Finding, Lane, ModelRef, Money, Outcome, Policy, ReservationId, Role,
    RoleKind, RunId, Stop, StopClass, ToolCall, TreeId, Usage, Verdict, Vote,
    entry::{
        Cause, Charge, Ended, Ground, Prefix, PrefixCause, Purpose, Reservation, Section, Sent, ToolOutcome,
        Turn,
    },
    policy::{JudgeSpec, ProtectedChange},
    role::{Compaction, SandboxSpec},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

/// The run's id.
pub(crate) const RUN: &str = "01940000-0000-7000-8000-0000000000aa";

/// Puts entries together as a journal would.
#[derive(Debug, Default)]
pub(crate) struct Story {
    pub(crate) entries: Vec<Entry>,
    reservations: u64,
    turns: [u64; 4],
    now: SignedDuration,
}

impl Story {
    /// Appends an entry to a lane, a second after the last.
    pub(crate) fn add(&mut self, lane: Lane, body: Body) -> &mut Self {
        let seq = self.entries.len() as u64 + 1;
        let last = self.entries.iter().rev().find(|entry| entry.lane == lane).or(self.entries.first());
        let parent = match last.map(|entry| &entry.body) {
            Some(Body::Branch { leaf }) => leaf.or(Some(self.entries[0].id)),
            _ => last.map(|entry| entry.id),
        };
        let id = format!("01940000-0000-7000-8000-{seq:012}").parse().unwrap();
        self.now += SignedDuration::from_secs(1);
        let at = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 * 56) + self.now;
        self.entries.push(Entry { id, parent, lane, seq, at, body });
        self
    }

    /// Lets time pass.
    pub(crate) fn wait(&mut self, seconds: i64) -> &mut Self {
        self.now += SignedDuration::from_secs(seconds);
        self
    }

    /// A model call of an actor: reservation, charge and turn.
    pub(crate) fn turn(&mut self, lane: Lane, usage: Usage, blocks: Vec<Block>) -> &mut Self {
        self.turn_sent(lane, usage, blocks, "prefix", true)
    }

    /// The same, with what is said of the bytes sent.
    pub(crate) fn turn_sent(
        &mut self,
        lane: Lane,
        usage: Usage,
        blocks: Vec<Block>,
        prefix: &str,
        extends: bool,
    ) -> &mut Self {
        let reservation = self.reserve(lane, Purpose::Turn);
        self.charge(lane, reservation, Purpose::Turn, usage, true);
        let turn = &mut self.turns[lane as usize];
        *turn += 1;
        let body = Turn {
            turn: *turn,
            message: AssistantMessage { blocks },
            stop: Stop { class: StopClass::ToolUse, raw: None },
            executable: true,
            usage,
            sent: Sent {
                bytes: usage.prompt_total() * 4,
                prefix: BlobId::of(prefix.as_bytes()),
                chain: BlobId::of(&self.entries.len().to_le_bytes()),
                extends,
            },
        };
        self.add(lane, Body::Turn(Box::new(body)))
    }

    /// Sets a call's worst case aside.
    pub(crate) fn reserve(&mut self, actor: Lane, purpose: Purpose) -> ReservationId {
        self.reservations += 1;
        let reservation = ReservationId(self.reservations);
        let body = Reservation {
            reservation,
            actor,
            purpose,
            prompt_tokens: 9_000,
            output_tokens: 900,
            money: None,
        };
        self.add(Lane::Supervisor, Body::Reservation(body));
        reservation
    }

    /// Settles a call, at two millionths of a dollar a token.
    pub(crate) fn charge(
        &mut self,
        actor: Lane,
        reservation: ReservationId,
        purpose: Purpose,
        usage: Usage,
        answered: bool,
    ) -> &mut Self {
        let error = (!answered).then(|| "fake: 503 overloaded".to_owned());
        let money = Some(Money::from_pico(u128::from(usage.total()) * 2_000_000));
        let body = Charge { reservation, actor, purpose, answered, attempts: 1, usage, money, error };
        self.add(Lane::Supervisor, Body::Charge(body))
    }

    /// A prefix of an actor.
    pub(crate) fn prefix(
        &mut self,
        lane: Lane,
        model: &str,
        sections: &[(&str, &str)],
        cause: PrefixCause,
    ) -> &mut Self {
        let sections = sections.iter().map(|&(name, text)| Section { name: name.into(), text: text.into() });
        let body =
            Prefix { model: model.parse().unwrap(), sections: sections.collect(), tools: vec![], cause };
        self.add(lane, Body::Prefix(body))
    }
}

/// Tokens of a call.
pub(crate) fn usage(input: u64, cache_read: u64, cache_write: u64, output: u64) -> Usage {
    Usage { input, cache_read, cache_write, output, ..Usage::default() }
}

/// A tree.
pub(crate) fn tree(digit: char) -> TreeId {
    digit.to_string().repeat(40).parse().unwrap()
}

/// A block of visible text.
pub(crate) fn text(text: &str) -> Block {
    Block::Text { text: text.into(), replay: None }
}

/// A block that calls a tool.
pub(crate) fn call(id: &str, name: &str, arguments: &serde_json::Value) -> Block {
    let arguments = Arguments::from_text(arguments.to_string());
    Block::ToolCall(ToolCall { id: CallId(id.into()), name: name.into(), arguments, replay: None })
}

fn role(kind: RoleKind, model: Option<&str>) -> Role {
    Role {
        name: kind.to_string(),
        kind,
        description: None,
        model: model.map(|model| model.parse::<ModelRef>().unwrap()),
        prompt: "You work.".into(),
        tools: None,
        guidelines: vec![],
        skills: vec![],
        max_output_tokens: None,
        review_every: None,
        compaction: Compaction::default(),
        sandbox: SandboxSpec::default(),
    }
}

/// The ground of the made-up run.
pub(crate) fn ground() -> Ground {
    Ground {
        run: RUN.parse::<RunId>().unwrap(),
        version: "0.1.0".into(),
        goal: "Make the tests pass by fixing calc.py.".into(),
        workspace: "/home/ada/calc".into(),
        roles: vec![
            role(RoleKind::Worker, Some("fake/worker")),
            role(RoleKind::Verifier, Some("fake/verifier")),
            role(RoleKind::Supervisor, None),
        ],
        policy: Policy {
            name: "python".into(),
            description: None,
            protected: vec!["tests/**".into()],
            protected_change: ProtectedChange::Refute,
            scope: vec![],
            max_refutations: 2,
            checks: vec![
                serde_json::from_value(
                    json!({"name": "tests", "run": "python3 -m unittest", "report": "unittest"}),
                )
                .unwrap(),
            ],
            judge: Some(JudgeSpec {
                role: "verifier".into(),
                objections: countersign::protocol::policy::Objections::Note,
            }),
            accept: None,
        },
        policy_dir: "/home/ada/calc/.countersign/policies".into(),
        extra_checks: vec![],
        budget: Budget { money: Some("2.00".parse().unwrap()), ..Budget::default() },
        base: tree('a'),
    }
}

fn report(status: CheckStatus, summary: &str) -> CheckReport {
    let (check, findings) = ("tests".into(), vec![]);
    CheckReport { check, status, summary: summary.into(), findings, evidence: vec![], tests: None }
}

fn result(id: &str, name: &str, output: &str, exit: i32) -> Body {
    Body::ToolResult(Box::new(ToolOutcome {
        call: CallId(id.into()),
        name: name.into(),
        content: vec![Content::Text { text: output.into() }],
        is_error: exit != 0,
        exit: Some(Exit::Code(exit)),
        files: vec![],
    }))
}

fn claim(n: u32, summary: &str, implicit: bool) -> Body {
    Body::Claim(Claim { claim: ClaimId(n), summary: summary.into(), evidence: vec![], implicit })
}

/// The made-up run, start to end.
pub(crate) fn story() -> Vec<Entry> {
    let mut story = Story::default();
    story.add(Lane::Run, Body::Run(Box::new(ground())));
    story.add(Lane::Run, Body::Baseline { report: report(CheckStatus::Failed, "1 of 3 tests failed") });
    story.prefix(Lane::Worker, "fake/worker", &[("prompt", "You work.")], PrefixCause::Start);
    refuted(&mut story);
    agreed(&mut story);
    story.entries
}

fn refuted(story: &mut Story) {
    let bash = json!({"command": "cat missing.txt\necho \u{1b}[31mred"});
    story.turn(
        Lane::Worker,
        usage(2_000, 0, 0, 40),
        vec![text("I look first.\n"), call("c1", "bash", &bash)],
    );
    story.add(
        Lane::Worker,
        Body::ToolCall { call: CallId("c1".into()), name: "bash".into(), arguments: bash },
    );
    story.add(Lane::Worker, result("c1", "bash", "cat: missing.txt: No such file", 1));
    let failed = story.reserve(Lane::Worker, Purpose::Turn);
    story.charge(Lane::Worker, failed, Purpose::Turn, usage(0, 0, 0, 0), false);
    story.turn(Lane::Worker, usage(100, 2_000, 0, 20), vec![text("All tests pass.")]);
    story.add(Lane::Run, claim(1, "All tests pass.", true));
    story.add(Lane::Run, Body::Snapshot { claim: ClaimId(1), tree: tree('b') });
    let check = report(CheckStatus::Failed, "1 of 3 tests failed");
    story.add(Lane::Run, Body::Check { claim: ClaimId(1), tree: tree('b'), report: check });
    let finding = Finding {
        statement: "test_small fails: 2 + 3 is not -1".into(),
        command: Some("python3 -m unittest tests.test_calc".into()),
        file: Some("calc.py".into()),
        line: Some(2),
    };
    let verdict = Verdict::Refuted { summary: "the check tests failed".into(), findings: vec![finding] };
    story.add(Lane::Run, Body::Verdict { claim: ClaimId(1), tree: tree('b'), verdict });
    story.add(
        Lane::Worker,
        Body::Message { cause: Cause::Refutation, text: "Your claim was refuted.".into() },
    );
    story.add(
        Lane::Supervisor,
        Body::Notice { cause: Cause::Budget, text: "Half of the budget is used.".into() },
    );
}

fn agreed(story: &mut Story) {
    let done = json!({"summary": "add() adds."});
    story.turn(Lane::Worker, usage(200, 2_100, 0, 30), vec![call("c1", "done", &done)]);
    story.add(Lane::Run, claim(2, "add() adds.", false));
    story.add(Lane::Run, Body::Snapshot { claim: ClaimId(2), tree: tree('c') });
    let check = report(CheckStatus::Passed, "3 of 3 tests passed");
    story.add(Lane::Run, Body::Check { claim: ClaimId(2), tree: tree('c'), report: check });
    story.turn(Lane::Verifier, usage(1_500, 0, 0, 30), vec![text("I run it.")]);
    let verdict =
        Verdict::Accepted { summary: "3 of 3 tests pass; the judge agrees".into(), objections: vec![] };
    story.add(Lane::Run, Body::Verdict { claim: ClaimId(2), tree: tree('c'), verdict });
    for (actor, reason) in
        [(Lane::Worker, "its claim"), (Lane::Verifier, "accepted"), (Lane::Supervisor, "books settled")]
    {
        let vote = Vote { actor, claim: ClaimId(2), tree: tree('c'), agree: true, reason: reason.into() };
        story.add(Lane::Run, Body::Vote(vote));
    }
    story.add(Lane::Run, Body::Outcome(Box::new(ended(Outcome::Completed))));
}

/// How the made-up run ends, with another outcome.
pub(crate) fn ended(outcome: Outcome) -> Ended {
    Ended {
        outcome,
        reason: "worker, verifier and supervisor agree on claim 2".into(),
        tree: Some(tree('c')),
        turns: 4,
        refutations: 1,
        usage: usage(3_800, 4_100, 0, 120),
        money: Some("0.01604".parse().unwrap()),
        certificate: (outcome == Outcome::Completed)
            .then(|| format!("/state/runs/{RUN}/certificate.json").into()),
    }
}
