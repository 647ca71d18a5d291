//! `audit`: both ledgers of a run, turn by turn.

use std::{collections::BTreeMap, process::ExitCode};

use clap::Args;
use countersign::protocol::{ModelRef, Price};

use crate::{
    audit::{Audit, LaneAudit, Total, TurnAudit, audit},
    context::Context,
    output::{self, STRONG, paint},
    table::table,
    text::{count, dollars, grouped, one_line},
};

/// Audit a run turn by turn: window, cache hits, misses and their causes, money.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign audit 0196f3\n\n\
    Prints a table an actor: prompt tokens, those read from and written to the provider's cache, those that were \
    missed and why, and what each call cost; then the totals.\n\
    Exit codes: 0, 1 where the journal can't be read in full, 2 where there is no such run.")]
pub(crate) struct AuditArgs {
    /// The run: its id, or any unique start of it.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

pub(crate) fn run(context: &Context, args: &AuditArgs) -> anyhow::Result<ExitCode> {
    let runs = context.runs()?;
    let read = runs.read(runs.find(&args.run)?)?;
    let prices = prices(context);
    let audit = audit(&read.entries, &|model| prices.get(model).cloned());
    if context.flags.json {
        output::print_json(&audit)?;
    } else {
        output::print(&render(&audit))?;
    }
    Ok(read.exit_code())
}

/// What models cost by the configuration of today. Without one, misses have no price, and all else stands.
fn prices(context: &Context) -> BTreeMap<ModelRef, Price> {
    let models = match context.settings() {
        Ok(settings) => settings.list_models(),
        Err(error) => {
            output::note(&format!("what misses cost is not told, since prices can't be read: {error}"));
            Vec::new()
        }
    };
    models.into_iter().filter_map(|model| Some((model.model, model.price?))).collect()
}

fn render(audit: &Audit) -> String {
    if audit.lanes.is_empty() {
        return "no call was made".into();
    }
    let mut parts: Vec<_> = audit.lanes.iter().map(lane).collect();
    parts.push(format!("{}\n{}", paint(STRONG, "all actors"), total(&audit.total)));
    parts.join("\n\n")
}

fn lane(lane: &LaneAudit) -> String {
    let mut text = paint(STRONG, lane.lane.name());
    if !lane.turns.is_empty() {
        let headings =
            [">turn", ">prompt", ">hit", ">written", ">missed", ">output", ">cost", ">missed cost", "cause"];
        let rows = table(headings, lane.turns.iter().map(turn));
        text = format!("{text}\n{rows}");
    }
    for others in &lane.others {
        let cost = dollars(others.total.known_money());
        let tokens = grouped(others.total.usage.total());
        text += &format!("\n  and {}: {}, {tokens} tokens, {cost}", others.kind, count(others.calls, "call"));
    }
    format!("{text}\n{}", total(&lane.total))
}

fn turn(turn: &TurnAudit) -> [String; 9] {
    let about = if turn.usage.estimated { "≤" } else { "" };
    let miss = turn.miss.as_ref();
    [
        turn.turn.to_string(),
        format!("{about}{}", grouped(turn.prompt)),
        grouped(turn.usage.cache_read),
        grouped(turn.usage.cache_write),
        miss.map(|miss| grouped(miss.tokens)).unwrap_or_default(),
        format!("{about}{}", grouped(turn.usage.output)),
        dollars(turn.money),
        miss.map(|miss| dollars(miss.extra)).unwrap_or_default(),
        miss.map(|miss| one_line(&miss.cause.to_string(), 100)).unwrap_or_default(),
    ]
}

fn total(total: &Total) -> String {
    let usage = &total.usage;
    let prompt = usage.prompt_total();
    let percent = usage.cache_read.saturating_mul(100).checked_div(prompt).unwrap_or_default();
    let unpriced = if total.unpriced == 0 {
        String::new()
    } else {
        format!(" and {} whose price is not known", count(total.unpriced, "call"))
    };
    format!(
        "  total: {} prompt tokens, {percent} % of them hits; {} missed for {}; {} output; {}{unpriced}",
        grouped(prompt),
        grouped(total.missed),
        dollars(Some(total.missed_extra)),
        grouped(usage.output),
        dollars(Some(total.money)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::story::story;

    #[test]
    fn an_audit_reads_turn_by_turn() {
        let text = render(&audit(&story(), &|_| None));
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
        assert_eq!(render(&audit(&[], &|_| None)), "no call was made");
    }
}
