//! The runs in the state directory, and how people name them.

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use countersign::{
    Globals, World,
    journal::{FileStore, StoreError, branch},
    protocol::{BlobId, Body, Entry, Lane, RunId, entry::Ended},
};

use crate::{fail, output};

/// The runs of a state directory.
pub(crate) struct Runs {
    dir: PathBuf,
}

/// A run's journal as far as it can be read.
pub(crate) struct Read {
    /// The run.
    pub(crate) run: RunId,
    /// Its folder.
    pub(crate) dir: PathBuf,
    /// The entries that are whole, in order.
    pub(crate) entries: Vec<Entry>,
    /// Their hashes.
    pub(crate) hashes: Vec<BlobId>,
    /// Why there are not more, where something is wrong.
    pub(crate) damage: Option<String>,
}

impl Runs {
    /// Those that the flags and the environment point to.
    pub(crate) fn of(world: &World, globals: &Globals) -> anyhow::Result<Self> {
        Ok(Self { dir: world.state_dir(globals)?.join("runs") })
    }

    /// All runs, newest first. A state directory that does not exist yet holds none.
    pub(crate) fn list(&self) -> anyhow::Result<Vec<RunId>> {
        let shown = self.dir.display();
        let folder = match std::fs::read_dir(&self.dir) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).with_context(|| format!("can't list the runs in {shown}")),
        };
        let mut runs = Vec::new();
        for entry in folder {
            let entry = entry.with_context(|| format!("can't list the runs in {shown}"))?;
            runs.extend(entry.file_name().to_str().and_then(|name| name.parse::<RunId>().ok()));
        }
        runs.sort_unstable_by(|a, b| b.cmp(a));
        Ok(runs)
    }

    /// The run whose id starts so.
    pub(crate) fn find(&self, start: &str) -> anyhow::Result<RunId> {
        let runs = self.list()?;
        match matching(&runs, start).as_slice() {
            [one] => Ok(*one),
            [] => {
                let place = self.dir.display();
                Err(fail::usage(
                    format!("there is no run `{start}` in {place}"),
                    "`countersign runs` lists them",
                ))
            }
            many => {
                let listed: Vec<_> = many.iter().map(ToString::to_string).collect();
                let several = format!("`{start}` is the start of {} runs: {}", many.len(), listed.join(", "));
                Err(fail::usage(several, "give more of the id"))
            }
        }
    }

    /// A run's folder.
    pub(crate) fn dir(&self, run: &RunId) -> PathBuf {
        self.dir.join(run.to_string())
    }

    /// Reads a run's journal as far as it is whole.
    pub(crate) fn read(&self, run: RunId) -> anyhow::Result<Read> {
        read(run, &self.dir(&run))
    }
}

/// Reads the journal in a folder as far as it is whole.
pub(crate) fn read(run: RunId, dir: &Path) -> anyhow::Result<Read> {
    let (loaded, damage) = FileStore::read_prefix(dir).map_err(|error| match error {
        StoreError::Missing(_) => fail::usage(format!("{error}"), "`countersign runs` lists the runs"),
        error => error.into(),
    })?;
    let damage = damage.map(|damage| damage.to_string());
    Ok(Read { run, dir: dir.to_owned(), entries: loaded.entries, hashes: loaded.hashes, damage })
}

impl Read {
    /// Says on stderr what is wrong with the journal; gives the exit code for it.
    pub(crate) fn exit_code(&self) -> std::process::ExitCode {
        let Some(damage) = &self.damage else { return std::process::ExitCode::SUCCESS };
        output::note(&format!(
            "{} {}",
            output::paint(output::BAD.bold(), "error:"),
            crate::text::block(damage)
        ));
        std::process::ExitCode::FAILURE
    }
}

/// How the run ended on the branch that goes on; `None` while it has not, and once it was resumed or forked.
pub(crate) fn outcome(entries: &[Entry]) -> Option<&Ended> {
    let path = branch(entries, Lane::Run);
    let last =
        path.into_iter().rev().find(|entry| matches!(entry.body, Body::Outcome(_) | Body::Resume(_)))?;
    match &last.body {
        Body::Outcome(ended) => Some(ended),
        _ => None,
    }
}

/// The runs whose ids start so; dashes and upper case don't matter.
fn matching(runs: &[RunId], start: &str) -> Vec<RunId> {
    let plain = |text: &str| text.replace('-', "").to_lowercase();
    let start = plain(start);
    runs.iter().filter(|run| plain(&run.to_string()).starts_with(&start)).copied().collect()
}

/// How many characters of their ids tell these runs apart; at least eight.
pub(crate) fn telling_length(runs: &[RunId]) -> usize {
    let mut ids: Vec<_> = runs.iter().map(ToString::to_string).collect();
    ids.sort_unstable();
    let shared = |pair: &[String]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or(0).max(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(texts: &[&str]) -> Vec<RunId> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn any_unique_start_names_a_run() {
        let runs = ids(&["01940000-0000-7000-8000-0000000000aa", "01940000-0000-7000-8000-0000000000ab"]);
        assert_eq!(matching(&runs, "01940000-0000-7000-8000-0000000000ab"), runs[1..]);
        assert_eq!(matching(&runs, "019400000000700080000000000000AB"), runs[1..]);
        assert_eq!(matching(&runs, "0194").len(), 2);
        assert!(matching(&runs, "0195").is_empty());
        assert_eq!(telling_length(&runs), 36);
        assert_eq!(telling_length(&runs[..1]), 8);
    }
}
