//! A journal as a tree for people: one line an entry, one column a branch.
//!
//! ```text
//! ●       1 12:00:01 run        run         Mend the bug
//! ├─●     2 12:00:02 worker     message     assignment: Mend the bug
//! │ ●     3 12:00:03 worker     turn        I look at it · read {"path":"a.rs"}
//! │ ├─●   4 12:00:04 worker     turn        another answer, on a branch of its own
//! ```

use std::{collections::HashMap, fmt::Write};

use countersign_protocol::{Body, Entry, EntryId};

use crate::gist::{gist, printable};

/// How to draw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeOptions {
    /// The longest line, in characters.
    pub width: usize,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self { width: 120 }
    }
}

/// Draws it: a column a branch, in the order in which they began. Control characters are escaped, so that no text
/// in a journal can command a terminal.
#[must_use]
pub fn render_tree(entries: &[Entry], options: TreeOptions) -> String {
    let columns = Columns::of(entries);
    let digits = entries.last().map_or(1, |entry| entry.seq.to_string().len());
    let mut text = String::new();
    for (row, entry) in entries.iter().enumerate() {
        let says = match entry.body {
            Body::Branch { leaf: Some(leaf) } => match entries[..row].iter().find(|one| one.id == leaf) {
                Some(leaf) => format!("goes on from {}", leaf.seq),
                None => format!("goes on from {leaf}"),
            },
            _ => gist(&entry.body, options.width),
        };
        let line = format!(
            "{} {:>digits$} {} {:<10} {:<11} {}",
            columns.draw(row),
            entry.seq,
            entry.at.strftime("%H:%M:%S"),
            entry.lane,
            entry.body.kind(),
            says,
        );
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}", printable(line.trim_end(), options.width));
    }
    text
}

/// Which column each entry is in, and how long each column goes on.
struct Columns {
    /// Each entry's column.
    of: Vec<usize>,
    /// The column that an entry branches off from, where it begins a new one.
    from: Vec<Option<usize>>,
    /// The last row in which each column is needed: that of its last entry, or of its last branch.
    last: Vec<usize>,
    first: Vec<usize>,
}

impl Columns {
    fn of(entries: &[Entry]) -> Self {
        let mut columns = Self { of: Vec::new(), from: Vec::new(), last: Vec::new(), first: Vec::new() };
        let rows: HashMap<EntryId, usize> =
            entries.iter().enumerate().map(|(row, entry)| (entry.id, row)).collect();
        let mut tips: Vec<usize> = Vec::new(); // the last row of each column
        for (row, entry) in entries.iter().enumerate() {
            let parent = entry.parent.and_then(|parent| rows.get(&parent)).filter(|parent| **parent < row);
            let above = parent.map(|parent| (columns.of[*parent], *parent));
            // The host's lane goes on in the first column; others leave it at once.
            let goes_on = above
                .filter(|(column, parent)| tips[*column] == *parent && entries[*parent].lane == entry.lane);
            let column = goes_on.map_or(tips.len(), |(column, _)| column);
            if column == tips.len() {
                tips.push(row);
                columns.first.push(row);
                columns.last.push(row);
            }
            tips[column] = row;
            columns.last[column] = row;
            let from = if goes_on.is_none() { above.map(|(column, _)| column) } else { None };
            if let Some(from) = from {
                columns.last[from] = row;
            }
            columns.of.push(column);
            columns.from.push(from);
        }
        columns
    }

    /// The columns of one row, as wide as all of them.
    fn draw(&self, row: usize) -> String {
        let here = self.of[row];
        let from = self.from[row].unwrap_or(here);
        let mut text = String::new();
        for column in 0..self.last.len() {
            let crossing = from < column && column < here;
            let alive = self.first[column] <= row && row <= self.last[column];
            let goes_on = row < self.last[column];
            let mark = match (column == here, column == from, alive) {
                (true, ..) => '●',
                (_, true, _) if goes_on => '├',
                (_, true, _) => '╰',
                (.., true) if crossing => '┼',
                (.., true) => '│',
                _ if crossing => '─',
                _ => ' ',
            };
            text.push(mark);
            text.push(if from <= column && column < here { '─' } else { ' ' });
        }
        text.pop();
        text
    }
}

#[cfg(test)]
mod tests;
