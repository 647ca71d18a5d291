//! What happens now: a fold over the entries so far.

use countersign::protocol::{Body, Budget, CheckStatus, ClaimId, Entry, Lane, Spent, entry::Purpose};

use super::line::call_text;
use crate::text::{count, dollars, grouped, one_line};

/// What each actor is doing, the claim in question, and what of the budget is used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    worker: String,
    verifier: String,
    claim: Option<Examined>,
    budget: Option<Budget>,
    spent: Spent,
    price_unknown: bool,
}

#[derive(Debug, Clone)]
struct Examined {
    claim: ClaimId,
    passed: usize,
    ran: usize,
    of: usize,
}

impl Status {
    /// Takes one more entry in.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Run(ground) => {
                self.budget = Some(ground.budget);
                "runs the checks on the workspace as it is".clone_into(&mut self.verifier);
                let of = ground.policy.checks.len();
                self.claim = Some(Examined { claim: ClaimId(0), passed: 0, ran: 0, of });
            }
            Body::Resume(resume) => self.budget = Some(resume.budget),
            Body::Reservation(reservation) => {
                let doing = match reservation.purpose {
                    Purpose::Turn => "waits for the model",
                    Purpose::Summary => "summarises its history",
                    Purpose::Review => "reviews the run",
                };
                if reservation.actor == Lane::Worker {
                    self.verifier.clear();
                }
                self.set(reservation.actor, doing.into());
            }
            Body::ToolCall { name, arguments, .. } => {
                self.set(entry.lane, format!("runs {}", one_line(&call_text(name, arguments), 60)));
            }
            Body::Turn(_) => self.set(entry.lane, "has an answer".into()),
            Body::ToolResult(_) => self.set(entry.lane, "has a result".into()),
            Body::Claim(claim) => self.examine(claim.claim),
            Body::Check { report, .. } => self.checked(report.status),
            Body::Verdict { .. } => {
                self.verifier.clear();
                self.worker.clear();
            }
            Body::Charge(charge) => {
                self.spent.usage += charge.usage;
                self.spent.turns += u64::from(charge.answered);
                match charge.money {
                    Some(money) => self.spent.money += money,
                    None => self.price_unknown = true,
                }
            }
            _ => {}
        }
    }

    /// The rows, one for each thing that goes on, and the last for the budget.
    pub(crate) fn rows(&self) -> Vec<String> {
        let row = |lane: Lane, doing: &str| (!doing.is_empty()).then(|| format!("{lane:<10}   {doing}"));
        let mut rows: Vec<_> = [row(Lane::Worker, &self.worker), row(Lane::Verifier, &self.verifier)]
            .into_iter()
            .flatten()
            .collect();
        if let Some(examined) = self.claim.as_ref().filter(|examined| examined.claim != ClaimId(0)) {
            let Examined { claim, passed, ran, of } = examined;
            rows.push(format!(
                "{:<10}   {ran} of {of} checks run, {passed} passed",
                format!("claim {claim}")
            ));
        }
        rows.push(format!("{:<10}   {}", "budget", self.used()));
        rows
    }

    fn set(&mut self, lane: Lane, doing: String) {
        match lane {
            Lane::Worker => self.worker = doing,
            Lane::Verifier => self.verifier = doing,
            Lane::Run | Lane::Supervisor => {}
        }
    }

    fn examine(&mut self, claim: ClaimId) {
        "waits for the verdict".clone_into(&mut self.worker);
        "runs the checks in a copy".clone_into(&mut self.verifier);
        let of = self.claim.as_ref().map_or(0, |last| last.of);
        self.claim = Some(Examined { claim, passed: 0, ran: 0, of });
    }

    fn checked(&mut self, status: CheckStatus) {
        if let Some(examined) = &mut self.claim {
            examined.ran += 1;
            examined.passed += usize::from(status == CheckStatus::Passed);
            // The host adds checks of its own, as that of protected paths.
            examined.of = examined.of.max(examined.ran);
        }
    }

    fn used(&self) -> String {
        let budget = self.budget.unwrap_or_default();
        let of = |limit: Option<String>| limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
        let money = (!self.price_unknown).then_some(self.spent.money);
        format!(
            "{}{} · {} of {} · {}{} tokens",
            dollars(money),
            of(budget.money.map(|money| dollars(Some(money)))),
            self.spent.turns,
            count(budget.turns, "turn"),
            grouped(self.spent.usage.total()),
            of(budget.tokens.map(grouped)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::story::story;

    #[test]
    fn the_rows_follow_the_run() {
        let mut status = Status::default();
        let mut seen = String::new();
        let mut last = String::new();
        for entry in story() {
            status.apply(&entry);
            let rows = status.rows().join("\n");
            if rows != last {
                seen += &format!("after {} {}\n{rows}\n\n", entry.seq, entry.body.kind());
                last = rows;
            }
        }
        insta::assert_snapshot!(seen);
    }
}
