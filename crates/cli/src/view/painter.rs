//! Puts a run on a terminal: what happened as lines on stdout, what happens now in place on stderr.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use countersign::protocol::Entry;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use super::{line::line, status::Status};
use crate::output;

/// How much of a run is shown while it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Nothing.
    Quiet,
    /// A line for what happened.
    Lines,
    /// Those lines, and below them what happens now, in place.
    InPlace,
}

impl Pace {
    /// The pace that this terminal, or pipe, can take.
    pub(crate) fn choose(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match (quiet, io::stderr().is_terminal() && !dumb) {
            (true, _) => Self::Quiet,
            (false, true) => Self::InPlace,
            (false, false) => Self::Lines,
        }
    }
}

/// Shows a run's entries as they come.
pub(crate) struct Painter {
    pace: Pace,
    status: Status,
    progress: MultiProgress,
    rows: Vec<ProgressBar>,
}

impl Painter {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { pace, status: Status::default(), progress: MultiProgress::new(), rows: Vec::new() }
    }

    /// Takes in an entry of an earlier session: it counts, and is not told again.
    pub(crate) fn recall(&mut self, entry: &Entry) {
        self.status.apply(entry);
    }

    /// Shows an entry.
    pub(crate) fn show(&mut self, entry: &Entry) -> io::Result<()> {
        if self.pace == Pace::Quiet {
            return Ok(());
        }
        self.status.apply(entry);
        let printed = match line(entry) {
            Some(line) => self.progress.suspend(|| output::print(&line.render())),
            None => Ok(()),
        };
        if self.pace == Pace::InPlace {
            self.draw();
        }
        printed
    }

    /// Says something on stderr, beside what stands in place.
    pub(crate) fn aside(&self, text: &str) {
        self.progress.suspend(|| output::note(text));
    }

    /// Takes away what stood in place.
    pub(crate) fn finish(&mut self) {
        self.rows.drain(..).for_each(|row| row.finish_and_clear());
    }

    fn draw(&mut self) {
        let texts = self.status.rows();
        while self.rows.len() > texts.len() {
            if let Some(row) = self.rows.pop() {
                row.finish_and_clear();
                self.progress.remove(&row);
            }
        }
        while self.rows.len() < texts.len() {
            let first = self.rows.is_empty();
            let row = self.progress.add(ProgressBar::new_spinner().with_style(row_style(first)));
            if first {
                // One row that moves says for all of them that the program is alive.
                row.enable_steady_tick(Duration::from_millis(200));
            }
            self.rows.push(row);
        }
        for (row, text) in self.rows.iter().zip(texts) {
            if row.message() != text {
                row.set_message(text);
                row.tick();
            }
        }
    }
}

fn row_style(moves: bool) -> ProgressStyle {
    // `wide_msg` cuts a row at the terminal's width.
    let template = if moves { "{spinner:.dim} {wide_msg}" } else { "  {wide_msg}" };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}
