//! One entry as one line: its JSON, then what chains it to the line before, then its hash.
//!
//! ```text
//! {"id":…,"parent":…,"lane":…,"seq":…,"at":…,"type":…, body …,"left":1,"prev":"…","hash":"…"}
//! ```
//!
//! `left` says how many lines of the same commit follow, so that a commit that was cut short is seen.
//! `prev` is the hash of the line before in the file. `hash` is blake3 over the parent entry's hash, the hash of
//! the line before (32 zero bytes for each that there is not), and the line's own bytes up to `,"hash":`.
//! A body that is longer than [`BODY_LIMIT`] lies in a blob: in its place stands `"type":…,"body_blob":"…"`.
//! A line is always checked over the bytes as they were written; nothing is serialised anew for it.

use blake3::Hash;
use countersign_protocol::{BlobId, Body, Entry, EntryId, Lane};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Blobs, StoreError, Wrong};

/// The longest body that stays in its line, in bytes of JSON.
pub const BODY_LIMIT: usize = 64 * 1024;

/// More than any line can be long: a body, and the fixed parts around it.
pub(crate) const LINE_LIMIT: usize = BODY_LIMIT + 4096;

const HASH_KEY: &[u8] = b",\"hash\":\"";
const HASH_TAIL: usize = HASH_KEY.len() + 64 + 2;

/// What comes before the body.
#[derive(Serialize)]
struct Front<'a> {
    id: EntryId,
    parent: Option<EntryId>,
    lane: Lane,
    seq: u64,
    at: &'a Timestamp,
}

/// Everything in a line but a body that lies in it.
#[derive(Debug, Deserialize)]
pub(crate) struct Envelope {
    pub(crate) id: EntryId,
    pub(crate) parent: Option<EntryId>,
    lane: Lane,
    pub(crate) seq: u64,
    at: Timestamp,
    #[serde(rename = "type")]
    kind: String,
    body_blob: Option<BlobId>,
    pub(crate) left: u64,
    pub(crate) prev: Option<BlobId>,
}

/// The hashes that a line is chained to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Links {
    pub(crate) parent: Option<Hash>,
    pub(crate) prev: Option<Hash>,
}

/// A line that is ready to be written.
pub(crate) struct Encoded {
    /// The line, its end of line included.
    pub(crate) line: Vec<u8>,
    pub(crate) hash: Hash,
    /// The body, where it is to lie in a blob.
    pub(crate) blob: Option<Vec<u8>>,
}

/// Writes an entry as a line; `left` lines of its commit follow.
pub(crate) fn encode(entry: &Entry, left: usize, links: Links) -> Result<Encoded, StoreError> {
    let kind = entry.body.kind();
    let fail = |source| StoreError::Encode { kind, source };
    let front = Front { id: entry.id, parent: entry.parent, lane: entry.lane, seq: entry.seq, at: &entry.at };
    let mut line = serde_json::to_vec(&front).map_err(fail)?;
    let body = serde_json::to_vec(&entry.body).map_err(fail)?;
    line.pop(); // the closing brace
    line.push(b',');
    let blob = if body.len() > BODY_LIMIT {
        line.extend_from_slice(
            format!("\"type\":\"{kind}\",\"body_blob\":\"{}\"", BlobId::of(&body)).as_bytes(),
        );
        Some(body)
    } else {
        line.extend_from_slice(&body[1..body.len() - 1]); // without its braces
        None
    };
    let prev = links.prev.map_or("null".into(), |hash| format!("\"{}\"", hash.to_hex()));
    line.extend_from_slice(format!(",\"left\":{left},\"prev\":{prev}").as_bytes());
    let (line, hash) = sealed(line, links);
    Ok(Encoded { line, hash, blob })
}

/// The line with its hash at the end.
pub(crate) fn sealed(mut line: Vec<u8>, links: Links) -> (Vec<u8>, Hash) {
    let hash = chain_hash(links, &line);
    line.extend_from_slice(HASH_KEY);
    line.extend_from_slice(hash.to_hex().as_bytes());
    line.extend_from_slice(b"\"}\n");
    (line, hash)
}

fn chain_hash(links: Links, bytes: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    for link in [links.parent, links.prev] {
        hasher.update(&link.map_or([0; 32], |hash| *hash.as_bytes()));
    }
    hasher.update(bytes);
    hasher.finalize()
}

/// A line as it was read, without its end of line. Nothing but its shape has been checked.
pub(crate) struct Line<'a> {
    pub(crate) envelope: Envelope,
    bytes: &'a [u8],
    hashed: &'a [u8],
    hash: &'a [u8],
}

impl<'a> Line<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Wrong> {
        let nul = bytes.iter().filter(|byte| **byte == 0).count();
        if nul > 0 {
            return Err(Wrong::Nul(nul));
        }
        let at = bytes.len().checked_sub(HASH_TAIL).ok_or(Wrong::NoHash)?;
        let (hashed, tail) = bytes.split_at(at);
        let hash = tail.strip_prefix(HASH_KEY).and_then(|rest| rest.strip_suffix(b"\"}"));
        let hash = hash.ok_or(Wrong::NoHash)?;
        let envelope = serde_json::from_slice(bytes).map_err(Wrong::Unparsable)?;
        Ok(Self { envelope, bytes, hashed, hash })
    }

    /// The line's hash, if its bytes are those that it was made of.
    ///
    /// `prev` is the hash of the line that really is before it. A line that is whole but was written behind
    /// another one is told apart from one whose bytes were changed.
    pub(crate) fn check(&self, links: Links) -> Result<Hash, Wrong> {
        let claimed = match &self.envelope.prev {
            Some(prev) => Some(Hash::from_hex(prev.as_str()).map_err(|_| Wrong::Changed)?),
            None => None,
        };
        let hash = chain_hash(Links { prev: claimed, ..links }, self.hashed);
        if hash.to_hex().as_bytes() != self.hash {
            return Err(Wrong::Changed);
        }
        if claimed == links.prev { Ok(hash) } else { Err(Wrong::Unlinked) }
    }

    /// The entry, its body fetched from its blob where it lies there.
    pub(crate) fn entry(self, blobs: &Blobs) -> Result<Entry, Wrong> {
        let Envelope { id, parent, lane, seq, at, kind, body_blob, .. } = self.envelope;
        let body: Body = match body_blob {
            None => serde_json::from_slice(self.bytes),
            Some(blob) => {
                let body = blobs.get(&blob).map_err(|error| Wrong::Body(error.to_string()))?;
                serde_json::from_slice(&body)
            }
        }
        .map_err(Wrong::Unreadable)?;
        if body.kind() != kind {
            return Err(Wrong::Misplaced(format!("its body is a `{}`, not a `{kind}`", body.kind())));
        }
        Ok(Entry { id, parent, lane, seq, at, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Script, message};
    use countersign_protocol::entry::Cause;

    fn script() -> Script {
        let mut script = Script::new();
        script.worker(message(Cause::Assignment, "Mend the bug: \u{2018}é\u{2019}\n"));
        script
    }

    #[test]
    fn a_line_is_the_entrys_own_json_and_its_links() {
        let script = script();
        let root = encode(&script.entries[0], 0, Links { parent: None, prev: None }).unwrap();
        let links = Links { parent: Some(root.hash), prev: Some(root.hash) };
        let next = encode(&script.entries[1], 0, links).unwrap();
        for (encoded, entry) in [(&root, &script.entries[0]), (&next, &script.entries[1])] {
            let own = serde_json::to_string(entry).unwrap();
            let line = String::from_utf8(encoded.line.clone()).unwrap();
            assert!(line.starts_with(own.strip_suffix('}').unwrap()), "{line}");
        }
        let lines = [root.line, next.line].concat();
        insta::assert_snapshot!("lines", String::from_utf8(lines).unwrap());
    }

    #[test]
    fn a_long_body_leaves_its_line() {
        let mut script = script();
        script.worker(message(Cause::Steer, &"x".repeat(BODY_LIMIT)));
        let encoded = encode(&script.entries[2], 0, Links { parent: None, prev: None }).unwrap();
        assert!(encoded.line.len() < 1000);
        let body = encoded.blob.unwrap();
        assert_eq!(serde_json::from_slice::<Body>(&body).unwrap(), script.entries[2].body);
        let line = String::from_utf8(encoded.line).unwrap();
        assert!(line.contains(&format!("\"type\":\"message\",\"body_blob\":\"{}\"", BlobId::of(&body))));
    }

    #[test]
    fn no_body_has_a_key_of_the_lines_own() {
        let script = script();
        for entry in &script.entries {
            let body = serde_json::to_value(&entry.body).unwrap();
            for key in ["id", "parent", "lane", "seq", "at", "left", "prev", "hash", "body_blob"] {
                assert!(body.get(key).is_none(), "{key} in {}", entry.body.kind());
            }
        }
    }
}
