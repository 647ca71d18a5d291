//! `runs`: the runs in the state directory, newest first.

use std::process::ExitCode;

use countersign::{
    journal::ledger,
    protocol::{Body, Entry, Money, Outcome, RunId},
};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    context::Context,
    output,
    state::{Runs, outcome, telling_length},
    table::table,
    text::{dollars, one_line},
};

/// A run in one line.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "listed")]
struct Row {
    run: RunId,
    began: Option<Timestamp>,
    /// `None` while it has none, and where the journal can't be read.
    outcome: Option<Outcome>,
    turns: u64,
    money: Option<Money>,
    goal: String,
    /// What is wrong with its journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
}

pub(crate) fn run(context: &Context) -> anyhow::Result<ExitCode> {
    let runs = context.runs()?;
    let ids = runs.list()?;
    let rows: Vec<_> = ids.iter().map(|&run| row(&runs, run)).collect();
    if context.flags.json {
        rows.iter().try_for_each(output::print_json)?;
    } else if rows.is_empty() {
        output::note("there are no runs yet: `countersign run TASK.toml` begins one");
    } else {
        output::print(&render(&rows, telling_length(&ids)))?;
    }
    for row in &rows {
        if let Some(damage) = &row.damage {
            output::note(&format!("{}: {}", row.run, crate::text::block(damage)));
        }
    }
    Ok(if rows.iter().any(|row| row.damage.is_some()) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn row(runs: &Runs, run: RunId) -> Row {
    let (entries, damage) = match runs.read(run) {
        Ok(read) => (read.entries, read.damage),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let account = ledger::spent(&entries).total;
    Row {
        run,
        began: entries.first().map(|entry| entry.at),
        outcome: outcome(&entries).map(|ended| ended.outcome),
        turns: account.spent.turns,
        money: (account.unpriced == 0).then_some(account.spent.money),
        goal: goal(&entries).to_owned(),
        damage,
    }
}

fn goal(entries: &[Entry]) -> &str {
    match entries.first().map(|entry| &entry.body) {
        Some(Body::Run(ground)) => &ground.goal,
        _ => "",
    }
}

fn render(rows: &[Row], id_length: usize) -> String {
    let cells = rows.iter().map(|row| {
        [
            row.run.to_string().chars().take(id_length).collect(),
            row.began.map(|at| at.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default(),
            match (&row.damage, row.outcome) {
                (Some(_), _) => "damaged".into(),
                (None, Some(outcome)) => outcome.to_string(),
                (None, None) => "unfinished".into(),
            },
            row.turns.to_string(),
            dollars(row.money),
            one_line(&row.goal, 60),
        ]
    });
    table(["run", "began (UTC)", "outcome", ">turns", ">cost", "goal"], cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_one_row() {
        let row = |outcome, damage: Option<&str>| Row {
            run: "01940000-0000-7000-8000-0000000000aa".parse().unwrap(),
            began: Some(Timestamp::UNIX_EPOCH),
            outcome,
            turns: 12,
            money: Some("0.25".parse().unwrap()),
            goal: "Make the tests pass\nby fixing \u{1b}[31mcalc.py".into(),
            damage: damage.map(str::to_owned),
        };
        let rows = [row(Some(Outcome::Completed), None), row(None, None), row(None, Some("line 3"))];
        insta::assert_snapshot!(render(&rows, 8));
    }
}
