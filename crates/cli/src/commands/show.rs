//! `show`: one run's state and bill.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use countersign::{
    journal::ledger::{self, Account},
    protocol::{
        Body, CheckReport, CheckStatus, ClaimId, Entry, Lane, Money, RunId, TreeId, Usage, Verdict,
        entry::{Ended, Ground},
    },
};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    context::Context,
    output::{self, STRONG, paint},
    state::{Read, outcome},
    table::table,
    text::{count, dollars, grouped, one_line},
    view::{end::meaning, line::verdict_line},
};

/// Show one run: its state, its claims and verdicts, its bill by actor, its branches.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign show 0196f3\n\n\
    Prints the run's ground, each claim with its checks and verdict, and what each actor has used.\n\
    Exit codes: 0, 1 where the journal can't be read in full, 2 where there is no such run.")]
pub(crate) struct ShowArgs {
    /// The run: its id, or any unique start of it.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

/// A run as it stands.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "shown")]
struct Shown<'a> {
    run: RunId,
    began: Option<Timestamp>,
    last: Option<Timestamp>,
    entries: usize,
    sessions: usize,
    ground: Option<&'a Ground>,
    claims: Vec<ShownClaim<'a>>,
    bill: Vec<BillRow>,
    branches: Vec<ShownBranch>,
    outcome: Option<&'a Ended>,
    folder: PathBuf,
}

#[derive(Debug, Serialize)]
struct ShownClaim<'a> {
    claim: ClaimId,
    seq: u64,
    summary: &'a str,
    implicit: bool,
    tree: Option<&'a TreeId>,
    checks: Vec<&'a CheckReport>,
    verdict: Option<&'a Verdict>,
}

#[derive(Debug, Serialize)]
struct BillRow {
    /// `None`: all actors together.
    actor: Option<Lane>,
    turns: u64,
    usage: Usage,
    /// `None` where a price is not known.
    money: Option<Money>,
    /// Calls whose real price is not known yet; they count at their worst case.
    open: u64,
}

#[derive(Debug, Serialize)]
struct ShownBranch {
    lane: Lane,
    seq: u64,
    /// The entry that it goes on from, by its place in the journal.
    from: u64,
}

pub(crate) fn run(context: &Context, args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let runs = context.runs()?;
    let read = runs.read(runs.find(&args.run)?)?;
    let shown = shown(&read);
    if context.flags.json {
        output::print_json(&shown)?;
    } else {
        output::print(&render(&shown))?;
    }
    Ok(read.exit_code())
}

fn shown(read: &Read) -> Shown<'_> {
    let entries = &read.entries;
    let ground = entries.iter().find_map(|entry| match &entry.body {
        Body::Run(ground) => Some(&**ground),
        _ => None,
    });
    let resumes = entries.iter().filter(|entry| matches!(entry.body, Body::Resume(_))).count();
    let branches = entries.iter().filter_map(|entry| match &entry.body {
        Body::Branch { leaf } => {
            let from = entries.iter().find(|one| Some(one.id) == *leaf).map_or(1, |leaf| leaf.seq);
            Some(ShownBranch { lane: entry.lane, seq: entry.seq, from })
        }
        _ => None,
    });
    Shown {
        run: read.run,
        began: entries.first().map(|entry| entry.at),
        last: entries.last().map(|entry| entry.at),
        entries: entries.len(),
        sessions: resumes + 1,
        ground,
        claims: claims(entries),
        bill: bill(entries),
        branches: branches.collect(),
        outcome: outcome(entries),
        folder: read.dir.clone(),
    }
}

/// The claims in the order in which they were made, each with what became of it.
fn claims(entries: &[Entry]) -> Vec<ShownClaim<'_>> {
    let mut claims: Vec<ShownClaim<'_>> = Vec::new();
    for entry in entries {
        let of = match &entry.body {
            Body::Claim(claim) => {
                claims.push(ShownClaim {
                    claim: claim.claim,
                    seq: entry.seq,
                    summary: &claim.summary,
                    implicit: claim.implicit,
                    tree: None,
                    checks: Vec::new(),
                    verdict: None,
                });
                continue;
            }
            Body::Snapshot { claim, .. } | Body::Check { claim, .. } | Body::Verdict { claim, .. } => *claim,
            _ => continue,
        };
        // After a fork a number can come again: what follows belongs to the latest claim of that number.
        let Some(shown) = claims.iter_mut().rfind(|shown| shown.claim == of) else { continue };
        match &entry.body {
            Body::Snapshot { tree, .. } => shown.tree = Some(tree),
            Body::Check { report, .. } => shown.checks.push(report),
            Body::Verdict { verdict, .. } => shown.verdict = Some(verdict),
            _ => {}
        }
    }
    claims
}

fn bill(entries: &[Entry]) -> Vec<BillRow> {
    let row = |actor, account: &Account| BillRow {
        actor,
        turns: account.spent.turns,
        usage: account.spent.usage,
        money: (account.unpriced == 0).then_some(account.spent.money),
        open: account.open,
    };
    let books = ledger::spent(entries);
    let lanes = books.lanes.iter().map(|(&lane, account)| row(Some(lane), account));
    lanes.chain([row(None, &books.total)]).collect()
}

fn render(shown: &Shown<'_>) -> String {
    let mut parts = vec![head(shown)];
    parts.extend(shown.claims.iter().map(claim));
    parts.push(bill_table(&shown.bill));
    if !shown.branches.is_empty() {
        let branches = shown.branches.iter().map(|branch| {
            format!("  {:<10} goes on from entry {} (entry {})", branch.lane, branch.from, branch.seq)
        });
        parts.push(format!("{}\n{}", paint(STRONG, "branches"), branches.collect::<Vec<_>>().join("\n")));
    }
    parts.join("\n\n")
}

fn head(shown: &Shown<'_>) -> String {
    let at = |at: Option<Timestamp>| {
        at.map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()).unwrap_or_default()
    };
    let mut lines = vec![format!("{}  {}", paint(STRONG, "run"), shown.run)];
    let mut say = |name: &str, value: String| lines.push(format!("  {name:<12} {value}"));
    match shown.outcome {
        Some(ended) => {
            say("outcome", format!("{}: {}", ended.outcome, meaning(ended.outcome)));
            say("why", one_line(&ended.reason, 400));
        }
        None => say("outcome", "none yet: it goes on, or was cut off and can be resumed".into()),
    }
    if let Some(ground) = shown.ground {
        say("goal", one_line(&ground.goal, 400));
        say("workspace", one_line(&ground.workspace.display().to_string(), 400));
        say("policy", one_line(&ground.policy.name, 100));
        for role in &ground.roles {
            let model = role
                .model
                .as_ref()
                .map_or("decides by rules".into(), |model| one_line(&model.to_string(), 100));
            say(&role.kind.to_string(), format!("{} · {model}", one_line(&role.name, 60)));
        }
        say("base", ground.base.to_string());
    }
    say("began", at(shown.began));
    say("last entry", at(shown.last));
    say("journal", format!("{} entries, {}", shown.entries, count(shown.sessions as u64, "session")));
    say("folder", one_line(&shown.folder.display().to_string(), 400));
    if let Some(certificate) = shown.outcome.and_then(|ended| ended.certificate.as_ref()) {
        say("certificate", one_line(&certificate.display().to_string(), 400));
    }
    lines.join("\n")
}

fn claim(claim: &ShownClaim<'_>) -> String {
    let implicit = if claim.implicit { ", implicit" } else { "" };
    let name = paint(STRONG, &format!("claim {}", claim.claim));
    let mut lines = vec![format!("{name} (entry {}{implicit}): {}", claim.seq, one_line(claim.summary, 400))];
    if let Some(tree) = claim.tree {
        lines.push(format!("  snapshot {tree}"));
    }
    for report in &claim.checks {
        let status = match report.status {
            CheckStatus::Passed => "passed",
            CheckStatus::Failed => "failed",
            CheckStatus::Inconclusive => "could not judge",
        };
        lines.push(format!(
            "  check {} {status}: {}",
            one_line(&report.check, 60),
            one_line(&report.summary, 200)
        ));
    }
    match claim.verdict {
        Some(verdict) => {
            let (_, text, under) = verdict_line(verdict);
            lines.push(format!("  {text}"));
            lines.extend(under.into_iter().map(|line| format!("    {line}")));
        }
        None => lines.push("  not judged yet".into()),
    }
    lines.join("\n")
}

fn bill_table(bill: &[BillRow]) -> String {
    let rows = bill.iter().map(|row| {
        let Usage { input, cache_read, cache_write, output, .. } = row.usage;
        let open = if row.open == 0 { String::new() } else { format!("{} open", row.open) };
        [
            row.actor.map_or("all".into(), |lane| lane.to_string()),
            row.turns.to_string(),
            grouped(input),
            grouped(cache_read),
            grouped(cache_write),
            grouped(output),
            dollars(row.money),
            open,
        ]
    });
    table(["bill", ">turns", ">input", ">cache read", ">cache write", ">output", ">cost", ""], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::story::{RUN, story};

    #[test]
    fn a_run_is_shown_with_its_claims_and_bill() {
        let run: RunId = RUN.parse().unwrap();
        let read = Read { run, dir: "/state/runs/x".into(), entries: story(), hashes: vec![], damage: None };
        let text = render(&shown(&read));
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
    }
}
