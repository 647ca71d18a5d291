//! A certificate that its journal bears out, and every way in which it might not.

use std::path::PathBuf;

use countersign_protocol::{
    Body, Budget, CheckReport, Claim, ClaimId, Entry, EntryId, Lane, Money, Policy, RunId, Spent, TreeId,
    Usage, Verdict, Vote,
    entry::{Charge, Ground, Purpose},
};
use countersign_sandbox::Containment;

use super::*;

fn tree(digit: char) -> TreeId {
    digit.to_string().repeat(40).parse().unwrap()
}

fn vote(actor: Lane) -> Vote {
    Vote { actor, claim: ClaimId(1), tree: tree('b'), agree: true, reason: "fine".into() }
}

fn report() -> CheckReport {
    crate::check::passed("tests", "3 passed")
}

fn accepted() -> Verdict {
    Verdict::Accepted { summary: "1 checks passed".into(), objections: Vec::new() }
}

fn claim() -> Claim {
    Claim { claim: ClaimId(1), summary: "done".into(), evidence: Vec::new(), implicit: false }
}

fn ground(run: RunId) -> Ground {
    let policy: Policy = serde_json::from_value(serde_json::json!({ "name": "p" })).unwrap();
    Ground {
        run,
        version: "0.1.0".into(),
        goal: "fix it".into(),
        workspace: PathBuf::from("/w/calc"),
        roles: Vec::new(),
        policy,
        policy_dir: PathBuf::from("/p"),
        extra_checks: vec![],
        budget: Budget::default(),
        base: tree('a'),
    }
}

fn journal(run: RunId) -> (Vec<Entry>, Vec<BlobId>) {
    let charge = Charge {
        reservation: countersign_protocol::ReservationId(1),
        actor: Lane::Worker,
        purpose: Purpose::Turn,
        answered: true,
        attempts: 1,
        usage: Usage { input: 10, output: 2, ..Usage::default() },
        money: Some(Money::from_pico(7)),
        error: None,
    };
    let mut bodies = vec![
        Body::Run(Box::new(ground(run))),
        Body::Charge(charge),
        Body::Claim(claim()),
        Body::Snapshot { claim: ClaimId(1), tree: tree('b') },
        Body::Check { claim: ClaimId(1), tree: tree('b'), report: report() },
        Body::Verdict { claim: ClaimId(1), tree: tree('b'), verdict: accepted() },
    ];
    bodies.extend([Lane::Worker, Lane::Verifier, Lane::Supervisor].map(|lane| Body::Vote(vote(lane))));
    let entries: Vec<Entry> = bodies
        .into_iter()
        .enumerate()
        .map(|(index, body)| Entry {
            id: EntryId::new(),
            parent: None,
            lane: Lane::Run,
            seq: index as u64 + 1,
            at: Timestamp::UNIX_EPOCH,
            body,
        })
        .collect();
    let hashes = (0..entries.len()).map(|index| BlobId::of(&[u8::try_from(index).unwrap()])).collect();
    (entries, hashes)
}

fn sound() -> (Certificate, Vec<Entry>, Vec<BlobId>) {
    let run = RunId::new();
    let (entries, hashes) = journal(run);
    let spent = Spent {
        money: Money::from_pico(7),
        usage: Usage { input: 10, output: 2, ..Usage::default() },
        turns: 1,
    };
    let predicate = Predicate {
        run,
        goal: "fix it".into(),
        base: tree('a'),
        claim: claim(),
        checks: vec![report()],
        verdict: accepted(),
        votes: [Lane::Worker, Lane::Verifier, Lane::Supervisor].map(vote).to_vec(),
        bill: Bill { money: Some(Money::from_pico(7)), spent },
        policy: BlobId::of(&serde_json::to_vec(&ground(run).policy).unwrap()),
        journal_head: hashes.last().unwrap().clone(),
        containment: Containment::DESCENDANTS,
        version: "0.1.0".into(),
        issued: Timestamp::UNIX_EPOCH,
    };
    (Certificate::issue(&PathBuf::from("/w/calc"), tree('b'), predicate), entries, hashes)
}

#[test]
fn a_certificate_survives_its_file_and_its_journal() {
    let (certificate, entries, hashes) = sound();
    assert_eq!(certificate.check(&entries, &hashes), []);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("certificate.json");
    certificate.write(&path).unwrap();
    let read = Certificate::read(&path).unwrap();
    assert_eq!((&read, read.digest()), (&certificate, certificate.digest()));
    let json: serde_json::Value = serde_json::from_str(&certificate.to_json()).unwrap();
    assert_eq!(json["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(json["subject"][0]["digest"]["gitTree"], tree('b').as_str());
    std::fs::write(&path, "{}").unwrap();
    assert!(matches!(Certificate::read(&path), Err(CertificateError::Malformed { .. })));
}

#[test]
fn every_changed_part_is_found() {
    type Change = fn(&mut Certificate);
    let changes: [(&str, Change); 15] = [
        ("_type", |c| c.predicate_type.push('x')),
        ("subject", |c| c.subject[0].digest.git_tree = tree('c')),
        ("subject", |c| c.subject[0].name = "other".into()),
        ("run", |c| c.predicate.run = RunId::new()),
        ("goal", |c| c.predicate.goal = "nothing".into()),
        ("base", |c| c.predicate.base = tree('c')),
        ("claim", |c| c.predicate.claim.summary = "more".into()),
        ("checks", |c| c.predicate.checks[0].summary = "9 passed".into()),
        ("checks", |c| c.predicate.checks.push(report())),
        ("verdict", |c| {
            c.predicate.verdict = Verdict::Accepted { summary: "x".into(), objections: Vec::new() }
        }),
        ("votes", |c| c.predicate.votes[2].agree = false),
        ("votes", |c| drop(c.predicate.votes.pop())),
        ("bill", |c| c.predicate.bill.spent.usage.output = 1),
        ("policy", |c| c.predicate.policy = BlobId::of(b"another")),
        ("journal_head", |c| c.predicate.journal_head = BlobId::of(b"another")),
    ];
    for (part, change) in changes {
        let (mut certificate, entries, hashes) = sound();
        change(&mut certificate);
        let found = certificate.check(&entries, &hashes);
        assert!(found.iter().any(|one| one.part == part), "{part}: {found:?}");
        assert_ne!(certificate.digest(), sound().0.digest());
    }
}

#[test]
fn what_the_journal_lacks_is_not_certified() {
    for kind in ["claim", "snapshot", "check", "verdict", "vote", "charge"] {
        let (certificate, mut entries, mut hashes) = sound();
        let at = entries.iter().position(|entry| entry.body.kind() == kind).unwrap();
        entries.remove(at);
        hashes.remove(at);
        assert!(!certificate.check(&entries, &hashes).is_empty(), "{kind}");
    }
    // Votes that came after the head that the certificate names do not count.
    let (mut certificate, entries, hashes) = sound();
    certificate.predicate.journal_head = hashes[5].clone();
    assert!(certificate.check(&entries, &hashes).iter().any(|one| one.part == "votes"));
    // An examination that was cut off and made again is no contradiction.
    let (certificate, mut entries, mut hashes) = sound();
    entries.insert(4, entries[4].clone());
    hashes.insert(4, BlobId::of(b"again"));
    assert_eq!(certificate.check(&entries, &hashes), []);
}
