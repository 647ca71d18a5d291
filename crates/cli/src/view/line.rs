//! What happened, as a line for a person: a pure function of an entry.

use countersign::protocol::{
    Body, CheckReport, CheckStatus, Claim, Entry, Finding, Lane, ToolResult, Verdict, Vote,
    entry::{Cause, Charge, Ground, ToolOutcome, Turn},
};
use serde_json::Value;

use crate::{
    output::{BAD, FAINT, GOOD, STRONG, WARN, paint},
    text::{count, dollars, grouped, one_line},
};

/// The longest that a text of someone else's gets on one line.
const WIDTH: usize = 160;

/// How a line is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Something happened.
    Plain,
    /// It speaks for the claim.
    Good,
    /// It speaks against the claim, or failed.
    Bad,
    /// A person should know.
    Warn,
}

/// A line for a person, and what stands under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Whose doing it is.
    pub(crate) lane: Lane,
    /// How it is to be taken.
    pub(crate) mark: Mark,
    /// The line itself, harmless for a terminal.
    pub(crate) text: String,
    /// Lines under it, harmless too.
    pub(crate) under: Vec<String>,
}

impl Line {
    /// The line as it is printed, with styles.
    pub(crate) fn render(&self) -> String {
        let (sign, style) = match self.mark {
            Mark::Plain => (' ', FAINT),
            Mark::Good => ('✓', GOOD),
            Mark::Bad => ('✗', BAD),
            Mark::Warn => ('!', WARN),
        };
        let lane = paint(STRONG, &format!("{:<10}", self.lane));
        let under = self.under.iter().map(|line| format!("\n             {line}"));
        format!("{lane} {} {}{}", paint(style, &sign.to_string()), self.text, under.collect::<String>())
    }
}

/// What a person is told of an entry; `None` where it would only be noise.
pub(crate) fn line(entry: &Entry) -> Option<Line> {
    use Mark::{Bad, Good, Plain, Warn};
    let (mark, text, under) = match &entry.body {
        Body::Run(ground) => (Plain, format!("run {}", ground.run), ground_lines(ground)),
        Body::Resume(_) => (Plain, "the run goes on".into(), vec![]),
        Body::Branch { .. } => (Plain, "a new branch begins".into(), vec![]),
        Body::Baseline { report } => (Plain, format!("baseline {}", check_text(report)), vec![]),
        Body::Turn(turn) => (Plain, said(turn)?, vec![]),
        Body::ToolCall { name, arguments, .. } => (Plain, call_text(name, arguments), vec![]),
        Body::ToolResult(outcome) => (Bad, failure(outcome)?, vec![]),
        Body::Claim(claim) => (Plain, claim_text(claim), vec![]),
        Body::Blocked { reason, needs } => {
            (Warn, format!("blocked: {}", short(reason)), vec![needs_text(needs)])
        }
        Body::Check { report, .. } => check_line(report),
        Body::Verdict { claim, verdict, .. } => {
            let (mark, text, under) = verdict_line(verdict);
            (mark, format!("claim {claim} {text}"), under)
        }
        // The worker's agreement is its claim.
        Body::Vote(vote) if vote.agree && vote.actor == Lane::Worker => return None,
        Body::Vote(vote) => (if vote.agree { Good } else { Bad }, vote_text(vote), vec![]),
        Body::Notice { text, .. } => (Warn, short(text), vec![]),
        Body::Message { cause: Cause::Correction, text } => {
            (Warn, format!("asked again: {}", short(text)), vec![])
        }
        Body::Message { cause: Cause::Steer, text } => {
            (Warn, format!("told by a person: {}", short(text)), vec![])
        }
        Body::Charge(charge) => (Warn, call_failed(charge)?, vec![]),
        Body::Compaction(compacted) => {
            let tokens = grouped(compacted.tokens_before);
            (Plain, format!("history of {tokens} tokens summarised"), vec![])
        }
        // The end is told by itself; the rest is bookkeeping, or said by another entry.
        Body::Prefix(_)
        | Body::Message { .. }
        | Body::Snapshot { .. }
        | Body::Reservation(_)
        | Body::Outcome(_) => return None,
    };
    Some(Line { lane: speaker(entry), mark, text, under })
}

/// Whose doing it is, whichever lane keeps the record.
fn speaker(entry: &Entry) -> Lane {
    match &entry.body {
        Body::Claim(_) | Body::Blocked { .. } => Lane::Worker,
        Body::Baseline { .. } | Body::Check { .. } | Body::Verdict { .. } => Lane::Verifier,
        Body::Charge(charge) => charge.actor,
        Body::Vote(vote) => vote.actor,
        _ => entry.lane,
    }
}

fn short(text: &str) -> String {
    one_line(text, WIDTH)
}

fn ground_lines(ground: &Ground) -> Vec<String> {
    let models = ground.roles.iter().map(|role| match &role.model {
        Some(model) => format!("{} {}", role.kind, short(&model.to_string())),
        None => format!("{} by rules", role.kind),
    });
    let models: Vec<_> = models.collect();
    let budget = &ground.budget;
    let money = budget.money.map(|money| format!("{}, ", dollars(Some(money))));
    let tokens = budget.tokens.map(|tokens| format!("{} tokens, ", grouped(tokens)));
    vec![
        format!("goal       {}", short(&ground.goal)),
        format!("workspace  {}", short(&ground.workspace.display().to_string())),
        format!(
            "policy     {} ({})",
            short(&ground.policy.name),
            count(ground.policy.checks.len() as u64, "check")
        ),
        format!("models     {}", models.join(" · ")),
        format!(
            "budget     {}{}{}, {}",
            money.unwrap_or_default(),
            tokens.unwrap_or_default(),
            count(budget.turns, "turn"),
            budget.wall
        ),
    ]
}

fn said(turn: &Turn) -> Option<String> {
    let text = short(&turn.message.text());
    (!text.is_empty()).then_some(text)
}

/// A call in one line: the tool, and what matters of its arguments.
pub(crate) fn call_text(name: &str, arguments: &Value) -> String {
    const TELLING: [&str; 5] = ["command", "path", "pattern", "glob", "summary"];
    let told = TELLING.iter().find_map(|key| arguments.get(key)).and_then(Value::as_str);
    let told = told.map_or_else(|| arguments.to_string(), str::to_owned);
    format!("{} {}", short(name), short(&told))
}

fn failure(outcome: &ToolOutcome) -> Option<String> {
    if !outcome.is_error {
        return None;
    }
    let name = short(&outcome.name);
    Some(match outcome.exit {
        Some(exit) => format!("{name} failed: {exit}"),
        None => format!("{name} failed: {}", short(&result_text(outcome))),
    })
}

fn result_text(outcome: &ToolOutcome) -> String {
    let ToolOutcome { call, name, content, is_error, .. } = outcome.clone();
    ToolResult { call, name, content, is_error }.text()
}

fn claim_text(claim: &Claim) -> String {
    let how = if claim.implicit { "stops without a call, which is claim" } else { "says it is done: claim" };
    format!("{how} {}: {}", claim.claim, short(&claim.summary))
}

fn needs_text(needs: &str) -> String {
    format!("needs: {}", short(needs))
}

fn check_text(report: &CheckReport) -> String {
    format!("{}: {}", short(&report.check), short(&report.summary))
}

fn check_line(report: &CheckReport) -> (Mark, String, Vec<String>) {
    let mark = match report.status {
        CheckStatus::Passed => Mark::Good,
        CheckStatus::Failed => Mark::Bad,
        CheckStatus::Inconclusive => Mark::Warn,
    };
    (mark, format!("check {}", check_text(report)), vec![])
}

/// What a verdict says, apart from its claim's number.
pub(crate) fn verdict_line(verdict: &Verdict) -> (Mark, String, Vec<String>) {
    match verdict {
        Verdict::Accepted { summary, objections } => {
            (Mark::Good, format!("accepted: {}", short(summary)), findings(objections))
        }
        Verdict::Refuted { summary, findings: found } => {
            (Mark::Bad, format!("refuted: {}", short(summary)), findings(found))
        }
        Verdict::Inconclusive { reason, needs } => {
            (Mark::Warn, format!("could not be judged: {}", short(reason)), vec![needs_text(needs)])
        }
    }
}

/// The first few findings, one a line.
fn findings(found: &[Finding]) -> Vec<String> {
    const SHOWN: usize = 5;
    let mut lines: Vec<_> = found.iter().take(SHOWN).map(finding).collect();
    if found.len() > SHOWN {
        lines.push(format!("… and {} more", found.len() - SHOWN));
    }
    lines
}

fn finding(finding: &Finding) -> String {
    let place = finding.file.as_deref().map(|file| match finding.line {
        Some(line) => format!("{}:{line}: ", short(file)),
        None => format!("{}: ", short(file)),
    });
    let shown_by = finding.command.as_deref().map(|command| format!(" (see: {})", short(command)));
    format!("- {}{}{}", place.unwrap_or_default(), short(&finding.statement), shown_by.unwrap_or_default())
}

fn vote_text(vote: &Vote) -> String {
    let how = if vote.agree { "agrees to end on" } else { "does not agree to" };
    format!("{how} claim {}: {}", vote.claim, short(&vote.reason))
}

fn call_failed(charge: &Charge) -> Option<String> {
    let error = charge.error.as_deref()?;
    Some(format!("a model call failed after {}: {}", count(charge.attempts.into(), "attempt"), short(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::story::story;

    #[test]
    fn a_run_reads_as_a_story() {
        let lines = story().iter().filter_map(line).map(|line| line.render()).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(anstream::adapter::strip_str(&lines).to_string());
    }

    #[test]
    fn what_a_model_wrote_cannot_steer_the_terminal() {
        for line in story().iter().filter_map(line) {
            let all = line.under.join("") + &line.text;
            assert!(!all.contains(['\u{1b}', '\n', '\r']), "{all:?}");
        }
    }
}
