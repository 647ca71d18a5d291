//! Follows a run to its end: tells its entries to whoever looks on, and hands on their wish to stop.

use std::{collections::VecDeque, io, path::PathBuf, pin::pin, process::ExitCode, sync::Arc};

use countersign::{
    journal::FileStore,
    protocol::{Body, Entry, RunId, entry::Ended},
    runtime::{RunHandle, Stopper},
};
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::broadcast::{self, error::RecvError, error::TryRecvError};

use crate::{
    cli, output,
    signals::{self, Asked},
    view::{
        end::end,
        painter::{Pace, Painter},
    },
};

/// An entry as observers see it: the entry itself, and the run that it is of.
#[derive(Debug, Serialize)]
pub(crate) struct Observed<'a> {
    /// Left out where the entry names the run itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunId>,
    #[serde(flatten)]
    entry: &'a Entry,
}

impl<'a> Observed<'a> {
    pub(crate) fn new(run: &'a RunId, entry: &'a Entry) -> Self {
        let named = matches!(entry.body, Body::Run(_));
        Self { run: (!named).then_some(run), entry }
    }
}

/// The last line of a run's JSON.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "outcome")]
struct Last<'a> {
    run: &'a RunId,
    at: Timestamp,
    #[serde(flatten)]
    ended: &'a Ended,
}

/// Entries were lost on the way and are read again from the journal.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "lagged")]
struct Lagged<'a> {
    run: &'a RunId,
    at: Timestamp,
    missed: u64,
}

/// Follows a run to its end. `past` are its entries from earlier sessions, and `dir` is its folder.
pub(crate) async fn follow(
    mut handle: RunHandle,
    dir: PathBuf,
    past: &[Entry],
    flags: &cli::Globals,
) -> anyhow::Result<ExitCode> {
    let run = handle.run();
    let stopper = handle.stopper();
    let mut asked = signals::watch(stopper.clone())?;
    let seen = past.last().map_or(0, |entry| entry.seq);
    let mut feed = Feed { dir, seen, events: handle.take_events(), backlog: VecDeque::new() };
    let mut audience = Audience::new(run, flags, past, stopper);
    let mut outcome = pin!(handle.outcome());
    let ended = loop {
        tokio::select! {
            biased;
            Some(asked) = asked.recv() => audience.asked(asked),
            Some(news) = feed.next() => audience.tell(&news),
            ended = &mut outcome => break ended,
        }
    };
    while let Some(news) = feed.at_hand() {
        audience.tell(&news);
    }
    audience.end(&ended);
    Ok(ExitCode::from(ended.outcome.exit_code()))
}

/// What comes from a run.
enum News {
    /// An entry, durable in the journal.
    Entry(Arc<Entry>),
    /// So many entries came faster than they could be told. They follow, from the journal.
    Lagged(u64),
}

/// A run's entries, each once and in order, whatever the channel loses.
struct Feed {
    dir: PathBuf,
    seen: u64,
    events: broadcast::Receiver<Arc<Entry>>,
    backlog: VecDeque<News>,
}

impl Feed {
    /// The next news; `None` once nothing more can come.
    async fn next(&mut self) -> Option<News> {
        while self.backlog.is_empty() {
            let received = self.events.recv().await;
            if matches!(received, Err(RecvError::Closed)) {
                return None;
            }
            self.take(received);
        }
        self.backlog.pop_front()
    }

    /// News that are there without waiting.
    fn at_hand(&mut self) -> Option<News> {
        while self.backlog.is_empty() {
            match self.events.try_recv() {
                Ok(entry) => self.take(Ok(entry)),
                Err(TryRecvError::Lagged(missed)) => self.take(Err(RecvError::Lagged(missed))),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
        }
        self.backlog.pop_front()
    }

    fn take(&mut self, received: Result<Arc<Entry>, RecvError>) {
        match received {
            Ok(entry) if entry.seq <= self.seen => {}
            Ok(entry) if entry.seq == self.seen + 1 => self.push(entry),
            Ok(entry) => {
                self.read_again();
                if entry.seq > self.seen {
                    self.push(entry);
                }
            }
            Err(RecvError::Lagged(missed)) => {
                self.backlog.push_back(News::Lagged(missed));
                self.read_again();
            }
            Err(RecvError::Closed) => {}
        }
    }

    /// Takes what is missing from the journal. Where it can't be read, what still comes is told all the same.
    fn read_again(&mut self) {
        match FileStore::read(&self.dir) {
            Ok(loaded) => loaded.entries.into_iter().map(Arc::new).for_each(|entry| self.push(entry)),
            Err(error) => tracing::warn!(%error, "entries are missing and the journal can't be read"),
        }
    }

    fn push(&mut self, entry: Arc<Entry>) {
        if entry.seq > self.seen {
            self.seen = entry.seq;
            self.backlog.push_back(News::Entry(entry));
        }
    }
}

/// Whoever looks on. Once stdout is closed nobody does, and the run is stopped, to be resumed.
struct Audience {
    run: RunId,
    stopper: Stopper,
    gone: bool,
    form: Form,
}

enum Form {
    Json,
    People(Box<Painter>),
}

impl Audience {
    fn new(run: RunId, flags: &cli::Globals, past: &[Entry], stopper: Stopper) -> Self {
        let form = if flags.json {
            Form::Json
        } else {
            let mut painter = Painter::new(Pace::choose(flags.quiet));
            past.iter().for_each(|entry| painter.recall(entry));
            Form::People(Box::new(painter))
        };
        Self { run, stopper, gone: false, form }
    }

    fn tell(&mut self, news: &News) {
        if self.gone {
            return;
        }
        let told = match (&mut self.form, news) {
            // The outcome is the last line, and comes from the run itself.
            (Form::Json, News::Entry(entry)) if matches!(entry.body, Body::Outcome(_)) => Ok(()),
            (Form::Json, News::Entry(entry)) => output::print_json(&Observed::new(&self.run, entry)),
            (Form::Json, News::Lagged(missed)) => {
                output::print_json(&Lagged { run: &self.run, at: Timestamp::now(), missed: *missed })
            }
            (Form::People(painter), News::Entry(entry)) => painter.show(entry),
            (Form::People(_), News::Lagged(_)) => Ok(()),
        };
        if let Err(error) = told {
            self.leave(&error);
        }
    }

    fn leave(&mut self, error: &io::Error) {
        self.gone = true;
        self.stopper.halt();
        let run = self.run;
        self.note(&format!(
            "stdout can't be written ({error}): the run is halted; `countersign resume {run}` goes on"
        ));
    }

    fn asked(&self, asked: Asked) {
        self.note(match asked {
            Asked::Halt => "halting once this step is written down; Ctrl-C again stops at once",
            Asked::HaltNow => "stopping at once",
        });
    }

    fn note(&self, text: &str) {
        match &self.form {
            Form::People(painter) => painter.aside(text),
            Form::Json => output::note(text),
        }
    }

    /// Tells the end. Where nobody listens any more, the exit code still says it.
    fn end(mut self, ended: &Ended) {
        let Self { run, form, .. } = &mut self;
        let told = match form {
            Form::Json => output::print_json(&Last { run, at: Timestamp::now(), ended }),
            Form::People(painter) => {
                painter.finish();
                output::print(&end(run, ended))
            }
        };
        if let Err(error) = told {
            tracing::debug!(%error, "the end could not be told");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::story::{RUN, ended, story};
    use countersign::protocol::Outcome;

    fn run() -> RunId {
        RUN.parse().unwrap()
    }

    #[test]
    fn each_line_names_its_type_run_and_time_once() {
        for entry in story() {
            let line = serde_json::to_string(&Observed::new(&run(), &entry)).unwrap();
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!((&value["run"], &value["type"]), (&RUN.into(), &entry.body.kind().into()));
            assert!(value["at"].is_string());
            assert_eq!(line.matches(&format!("\"run\":\"{RUN}\"")).count(), 1, "{line}");
        }
    }

    #[test]
    fn the_last_line_is_the_outcome() {
        let line = Last { run: &run(), at: Timestamp::UNIX_EPOCH, ended: &ended(Outcome::Exhausted) };
        insta::assert_json_snapshot!(line);
    }

    fn feed(capacity: usize) -> (broadcast::Sender<Arc<Entry>>, Feed) {
        let (sender, events) = broadcast::channel(capacity);
        (sender, Feed { dir: "/nowhere".into(), seen: 0, events, backlog: VecDeque::new() })
    }

    #[test]
    fn entries_come_once_and_in_order() {
        let (sender, mut feed) = feed(64);
        let story: Vec<_> = story().into_iter().map(Arc::new).collect();
        for entry in story.iter().take(3).chain(story.iter().take(5)) {
            sender.send(Arc::clone(entry)).unwrap();
        }
        let told = std::iter::from_fn(|| feed.at_hand()).filter_map(|news| match news {
            News::Entry(entry) => Some(entry.seq),
            News::Lagged(_) => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_loss_is_said_even_where_the_journal_is_gone() {
        let (sender, mut feed) = feed(2);
        for entry in story() {
            sender.send(Arc::new(entry)).unwrap();
        }
        let first = feed.at_hand();
        assert!(matches!(first, Some(News::Lagged(missed)) if missed > 0));
        assert!(std::iter::from_fn(|| feed.at_hand()).count() > 0);
    }
}
