//! Holding a certificate against its journal: all that it says must be there, before the head that it names.

use std::collections::BTreeMap;

use countersign_protocol::{
    BlobId, Body, ClaimId, Entry, Lane, TreeId, Usage, Verdict, budget::Spent, entry::Ground,
};

use super::{Certificate, Discrepancy, PREDICATE_TYPE, STATEMENT_TYPE};

/// The actors whose votes make a run complete.
const VOTERS: [Lane; 3] = [Lane::Worker, Lane::Verifier, Lane::Supervisor];

pub(super) fn check(certificate: &Certificate, entries: &[Entry], hashes: &[BlobId]) -> Vec<Discrepancy> {
    let mut audit = Audit { certificate, found: Vec::new() };
    audit.statement();
    let head = hashes.iter().position(|hash| *hash == certificate.predicate.journal_head);
    let Some(entries) = head.and_then(|head| entries.get(..=head)) else {
        audit.differs("journal_head", "no entry of the journal has this hash");
        return audit.found;
    };
    match entries.first().map(|entry| &entry.body) {
        Some(Body::Run(ground)) => audit.ground(ground, entries),
        _ => audit.differs("run", "the journal does not begin with a run"),
    }
    audit.claim(entries);
    audit.votes(entries);
    audit.bill(entries);
    audit.found
}

struct Audit<'a> {
    certificate: &'a Certificate,
    found: Vec<Discrepancy>,
}

impl Audit<'_> {
    fn differs(&mut self, part: &'static str, message: impl Into<String>) {
        self.found.push(Discrepancy { part, message: message.into() });
    }

    fn same<T: PartialEq + std::fmt::Debug>(&mut self, part: &'static str, said: &T, journaled: &T) {
        if said != journaled {
            self.differs(part, format!("the certificate says {said:?}, the journal {journaled:?}"));
        }
    }

    fn tree(&self) -> Option<&TreeId> {
        self.certificate.subject.first().map(|subject| &subject.digest.git_tree)
    }

    fn statement(&mut self) {
        if self.certificate.statement_type != STATEMENT_TYPE
            || self.certificate.predicate_type != PREDICATE_TYPE
        {
            self.differs("_type", format!("expected {STATEMENT_TYPE} with a {PREDICATE_TYPE}"));
        }
        if self.certificate.subject.len() != 1 {
            self.differs("subject", "a certificate has exactly one subject");
        }
    }

    fn ground(&mut self, ground: &Ground, entries: &[Entry]) {
        let said = &self.certificate.predicate;
        self.same("run", &said.run, &ground.run);
        self.same("goal", &said.goal, &ground.goal);
        self.same("base", &said.base, &ground.base);
        match serde_json::to_vec(&ground.policy) {
            Ok(policy) => self.same("policy", &said.policy, &BlobId::of(&policy)),
            Err(error) => self.differs("policy", error.to_string()),
        }
        let name = super::subject_name(&ground.workspace);
        if self.certificate.subject.first().is_some_and(|subject| subject.name != name) {
            self.differs("subject", format!("the workspace's name is {name}"));
        }
        let resumed = entries.iter().filter_map(|entry| match &entry.body {
            Body::Resume(resume) => Some(&resume.version),
            _ => None,
        });
        if !std::iter::once(&ground.version).chain(resumed).any(|version| *version == said.version) {
            self.differs("version", format!("no session of the run was of version {}", said.version));
        }
    }

    /// The claim, its snapshot, the checks on it and the verdict.
    fn claim(&mut self, entries: &[Entry]) {
        let said = &self.certificate.predicate;
        let (id, tree) = (said.claim.claim, self.tree().cloned());
        let on_it = |claim: ClaimId, on: &TreeId| claim == id && Some(on) == tree.as_ref();
        let (mut claimed, mut taken, mut checks, mut verdict) = (None, false, Vec::new(), None);
        for entry in entries {
            match &entry.body {
                Body::Claim(claim) if claim.claim == id => claimed = Some(claim),
                Body::Snapshot { claim, tree } if on_it(*claim, tree) => taken = true,
                Body::Check { claim, tree, report } if on_it(*claim, tree) => checks.push(report),
                Body::Verdict { claim, tree, verdict: given } if on_it(*claim, tree) => verdict = Some(given),
                _ => {}
            }
        }
        if claimed != Some(&said.claim) {
            self.differs("claim", format!("the journal's claim {id} is another one, or missing"));
        }
        if !taken {
            self.differs("subject", format!("no snapshot of claim {id} has this tree"));
        }
        // A run that was cut off in the middle of an examination has made some of its checks twice.
        let last = checks.len().checked_sub(said.checks.len()).map(|start| &checks[start..]);
        if !last.is_some_and(|last| last.iter().copied().eq(&said.checks)) {
            self.differs("checks", format!("the journal's checks of claim {id} are other ones"));
        }
        if verdict != Some(&said.verdict) {
            self.differs(
                "verdict",
                format!("the journal's verdict on claim {id} is another one, or missing"),
            );
        }
        if !matches!(said.verdict, Verdict::Accepted { .. }) {
            self.differs("verdict", "it is no acceptance");
        }
    }

    fn votes(&mut self, entries: &[Entry]) {
        let said = &self.certificate.predicate;
        let (id, tree) = (said.claim.claim, self.tree().cloned());
        if said.votes.len() != VOTERS.len() {
            self.differs("votes", format!("{} votes, not {}", said.votes.len(), VOTERS.len()));
        }
        for actor in VOTERS {
            let Some(vote) = said.votes.iter().find(|vote| vote.actor == actor) else {
                self.differs("votes", format!("the {actor} has no vote"));
                continue;
            };
            if !vote.agree || vote.claim != id || Some(&vote.tree) != tree.as_ref() {
                self.differs("votes", format!("the {actor} does not agree to this claim and this tree"));
            }
            let journaled = |entry: &Entry| matches!(&entry.body, Body::Vote(other) if other == vote);
            if !entries.iter().any(journaled) {
                self.differs("votes", format!("the vote of the {actor} is not in the journal"));
            }
        }
    }

    /// The charges, and the worst case of each call that was cut off before its charge.
    fn bill(&mut self, entries: &[Entry]) {
        let mut spent = Spent::default();
        let mut open = BTreeMap::new();
        for entry in entries {
            let charge = match &entry.body {
                Body::Reservation(reservation) => {
                    open.insert(reservation.reservation, reservation);
                    continue;
                }
                Body::Charge(charge) => charge,
                _ => continue,
            };
            open.remove(&charge.reservation);
            spent.usage += charge.usage;
            spent.turns += u64::from(charge.answered);
            spent.money = spent.money.plus(charge.money.unwrap_or_default());
        }
        for reservation in open.into_values() {
            spent.usage.input = spent.usage.input.saturating_add(reservation.prompt_tokens);
            spent.usage.output = spent.usage.output.saturating_add(reservation.output_tokens);
            spent.money = spent.money.plus(reservation.money.unwrap_or_default());
        }
        let said = self.certificate.predicate.bill.clone();
        let tokens = |usage: Usage| (usage.input, usage.cache_read, usage.cache_write, usage.output);
        self.same("bill", &tokens(said.spent.usage), &tokens(spent.usage));
        self.same("bill", &said.spent.turns, &spent.turns);
        self.same("bill", &said.spent.money, &spent.money);
        if said.money.is_some_and(|money| money != spent.money) {
            self.differs("bill", "its money is not the sum of the journal's charges");
        }
    }
}
