//! Reading a journal file: line by line, each checked before it is believed.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use countersign_protocol::{Body, Entry};

use crate::{
    Blobs, Damage, StoreError, Wrong,
    chain::{Chain, Place},
    line::{LINE_LIMIT, Line, Links},
};

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The entries of all whole commits.
    pub(crate) entries: Vec<Entry>,
    /// Their ids and hashes.
    pub(crate) chain: Chain,
    /// Where the last whole commit ends, in bytes.
    pub(crate) end: u64,
    /// How many bytes after it a write that was cut short has left.
    pub(crate) torn: u64,
    /// The first line that is not what was written. Nothing after it was read.
    pub(crate) damage: Option<Damage>,
}

/// Reads the file at `path`. A line that is wrong ends the reading and is told in [`Scan::damage`].
pub(crate) fn scan(path: &Path, blobs: &Blobs) -> Result<Scan, StoreError> {
    let file = File::open(path).map_err(StoreError::io("opening the journal", path))?;
    scan_bytes(file, path, blobs)
}

fn scan_bytes(input: impl Read, path: &Path, blobs: &Blobs) -> Result<Scan, StoreError> {
    let mut lines = Lines { input: BufReader::with_capacity(1 << 16, input), offset: 0 };
    let mut scan = Scan::default();
    let mut whole = 0; // entries of whole commits
    let mut left = 0; // lines of the present commit that are still to come
    for line in 1.. {
        let offset = lines.offset;
        let read = match lines.next().map_err(StoreError::io("reading the journal", path))? {
            Raw::End => break,
            Raw::TooLong => Err(Wrong::TooLong(LINE_LIMIT)),
            Raw::Whole(bytes) => scan.take(&bytes, left, blobs),
        };
        match read {
            Ok(0) => (left, whole, scan.end) = (0, scan.entries.len(), lines.offset),
            Ok(more) => left = more,
            Err(wrong) => {
                let readable = whole as u64;
                scan.damage = Some(Damage { path: path.into(), line, offset, wrong, readable });
                break;
            }
        }
    }
    scan.entries.truncate(whole);
    scan.chain.truncate(whole);
    scan.torn = if scan.damage.is_none() { lines.offset - scan.end } else { 0 };
    Ok(scan)
}

impl Scan {
    /// Takes one line in, and gives how many lines of its commit are still to come.
    fn take(&mut self, bytes: &[u8], left: u64, blobs: &Blobs) -> Result<u64, Wrong> {
        let line = Line::parse(bytes)?;
        let place = Place { id: line.envelope.id, parent: line.envelope.parent, seq: line.envelope.seq };
        let links = Links { parent: self.chain.parent_hash(place.parent), prev: self.chain.last() };
        let hash = match (line.check(links), self.chain.fits(&place)) {
            (Ok(hash), Ok(())) => hash,
            // Without its parent's hash a line's own can't be made, so it can't be said to be changed.
            (Err(Wrong::Changed), Err(why)) if place.parent.is_some() && links.parent.is_none() => {
                return Err(Wrong::Misplaced(why));
            }
            (Err(wrong), _) => return Err(wrong),
            (Ok(_), Err(why)) => return Err(Wrong::Misplaced(why)),
        };
        let more = line.envelope.left;
        if left > 0 && more != left - 1 {
            return Err(Wrong::Batch);
        }
        let entry = line.entry(blobs)?;
        if matches!(entry.body, Body::Run(_)) != (entry.seq == 1) {
            return Err(Wrong::Misplaced("the first entry, and no other, is the run's ground".into()));
        }
        self.chain.push(entry.id, hash);
        self.entries.push(entry);
        Ok(more)
    }
}

/// One line as it lies in the file.
enum Raw {
    /// Without its end of line.
    Whole(Vec<u8>),
    TooLong,
    /// There is no further end of line: whatever follows was cut short.
    End,
}

/// Reads lines as bytes, and never holds more than one.
struct Lines<R> {
    input: BufReader<R>,
    offset: u64,
}

impl<R: Read> Lines<R> {
    fn next(&mut self) -> io::Result<Raw> {
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(LINE_LIMIT as u64).read_until(b'\n', &mut bytes)?;
        self.offset += read as u64;
        if bytes.pop_if(|last| *last == b'\n').is_some() {
            return Ok(Raw::Whole(bytes));
        }
        Ok(if self.skip_line()? { Raw::TooLong } else { Raw::End })
    }

    /// Skips to behind the next end of line; false where there is none.
    fn skip_line(&mut self) -> io::Result<bool> {
        loop {
            let buffer = self.input.fill_buf()?;
            let newline = buffer.iter().position(|byte| *byte == b'\n');
            let used = newline.map_or(buffer.len(), |at| at + 1);
            self.input.consume(used);
            self.offset += used as u64;
            if newline.is_some() || used == 0 {
                return Ok(newline.is_some());
            }
        }
    }
}

#[cfg(test)]
mod tests;
