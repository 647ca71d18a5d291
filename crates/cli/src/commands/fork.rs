//! `fork`: opens a new branch of a run from an earlier entry.

use std::{collections::BTreeMap, process::ExitCode};

use anyhow::Context as _;
use clap::Args;
use countersign::{
    journal::{FileStore, Journal, leaves},
    protocol::{Body, Entry, EntryId, Lane, RunId},
};
use serde::Serialize;

use crate::{context::Context, fail, output};

/// Open a new branch of a run from an earlier entry.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign fork 0196f3 --at 57\n\n\
    Prints from where each lane goes on, and how to go on. Nothing is deleted: the old branch stays in the journal. \
    The workspace's files stay as they are.\n\
    Exit codes: 0, 1 where the journal can't be written, 2 where there is no such run or entry.")]
pub(crate) struct ForkArgs {
    /// The run: its id, or any unique start of it.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The last entry of the old branch that the new one keeps: its number, its id, or a unique start of the id
    /// [default: the last one before the run's end].
    #[arg(long, value_name = "ENTRY")]
    pub(crate) at: Option<String>,
}

/// A new branch, as a program reads it.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "fork")]
struct Forked {
    run: RunId,
    at: u64,
    /// The entry that each lane goes on from, by its place in the journal.
    leaves: BTreeMap<Lane, u64>,
}

pub(crate) async fn run(context: &Context, args: &ForkArgs) -> anyhow::Result<ExitCode> {
    let runs = context.runs()?;
    let run = runs.find(&args.run)?;
    let store = FileStore::open(&runs.dir(&run))?;
    let (journal, loaded) = Journal::spawn(Box::new(store))?;
    let entries = &loaded.entries;
    let at = match &args.at {
        Some(name) => find(entries, name)?,
        None => last_open(entries).context("the journal is empty: there is nothing to branch from")?,
    };
    let kept = &entries[..=entries.iter().position(|entry| entry.id == at.id).unwrap_or_default()];
    let branches = branches(entries, kept);
    journal
        .append_many(branches.iter().map(|(lane, leaf)| (*lane, Body::Branch { leaf: *leaf })).collect())
        .await?;
    journal.close().await?;
    let seq =
        |leaf: Option<EntryId>| kept.iter().find(|entry| Some(entry.id) == leaf).map_or(1, |leaf| leaf.seq);
    let leaves = branches.iter().map(|(lane, leaf)| (*lane, seq(*leaf))).collect();
    let forked = Forked { run, at: at.seq, leaves };
    if context.flags.json {
        output::print_json(&forked)?;
    } else {
        output::print(&render(&forked))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The entry that a number, an id, or a unique start of an id names.
fn find<'a>(entries: &'a [Entry], name: &str) -> anyhow::Result<&'a Entry> {
    let help = "`countersign log RUN` shows the entries with their numbers";
    let by_seq = name.parse::<u64>().ok().and_then(|seq| entries.iter().find(|entry| entry.seq == seq));
    if let Some(entry) = by_seq {
        return Ok(entry);
    }
    let plain = |text: &str| text.replace('-', "").to_lowercase();
    let start = plain(name);
    let matching: Vec<_> =
        entries.iter().filter(|entry| plain(&entry.id.to_string()).starts_with(&start)).collect();
    match matching.as_slice() {
        [one] => Ok(one),
        [] => Err(fail::usage(format!("there is no entry `{name}` in this run"), help)),
        many => Err(fail::usage(format!("`{name}` is the start of {} entries' ids", many.len()), help)),
    }
}

/// The last entry before the run's end: after an outcome there is nothing to go on with.
fn last_open(entries: &[Entry]) -> Option<&Entry> {
    entries.iter().rfind(|entry| !matches!(entry.body, Body::Outcome(_)))
}

/// The leaf that each lane goes on from: the one it had when `kept` was all there was.
fn branches(entries: &[Entry], kept: &[Entry]) -> Vec<(Lane, Option<EntryId>)> {
    let (now, then) = (leaves(entries), leaves(kept));
    now.keys().map(|lane| (*lane, then.get(lane).copied())).collect()
}

fn render(forked: &Forked) -> String {
    let mut lines = vec![format!("a new branch of run {} begins after entry {}", forked.run, forked.at)];
    lines.extend(forked.leaves.iter().map(|(lane, leaf)| format!("  {lane:<10} goes on from entry {leaf}")));
    lines.push("The workspace's files stay as they are: put them as the new branch should find them.".into());
    lines.push(format!("next: countersign resume {}", forked.run));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::story::story;

    #[test]
    fn an_entry_is_named_by_number_id_or_start() {
        let story = story();
        let id = story[4].id.to_string();
        for name in ["5", &id, &id.replace('-', "")] {
            assert_eq!(find(&story, name).unwrap().seq, 5, "{name}");
        }
        for name in ["0", "999", "01940000", "xyz"] {
            assert!(find(&story, name).is_err(), "{name}");
        }
    }

    #[test]
    fn without_a_place_a_fork_begins_before_the_end() {
        let story = story();
        assert_eq!(last_open(&story).unwrap().seq, story.len() as u64 - 1);
        assert_eq!(last_open(&[]), None);
    }

    #[test]
    fn every_lane_goes_back_to_where_it_was() {
        let story = story();
        // The verifier and the run's outcome come after entry 6: there the verifier had not begun.
        let at: BTreeMap<_, _> = branches(&story, &story[..6]).into_iter().collect();
        assert_eq!(at[&Lane::Worker], Some(story[5].id));
        assert_eq!(at[&Lane::Supervisor], Some(story[4].id));
        assert_eq!(at[&Lane::Run], Some(story[1].id));
        assert_eq!(at[&Lane::Verifier], None);
    }
}
