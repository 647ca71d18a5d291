use std::path::Path;

use countersign_protocol::{Lane, entry::Cause};

use super::*;
use crate::{
    line::BODY_LIMIT,
    testing::{Script, intent, message, note, result, turn},
};

/// A small journal as bytes, with the length of each commit in bytes and entries.
struct Sample {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Behind each commit: the offset, and the number of entries.
    commits: Vec<(usize, usize)>,
}

fn sample(commits: &[usize]) -> Sample {
    let mut script = Script::new();
    script.worker(message(Cause::Assignment, "Mend it: ‘é€’"));
    script.worker(turn("I look.", &["a", "b"]));
    script.worker(intent("a"));
    script.worker(result("a", "€"));
    script.add(Lane::Verifier, note("x"));
    script.entries.truncate(commits.iter().sum());
    let mut sample = Sample { bytes: Vec::new(), entries: script.entries, commits: Vec::new() };
    let mut chain = Chain::default();
    for size in commits {
        let from = chain.len();
        for encoded in chain.extend(&sample.entries[from..from + size]).unwrap() {
            sample.bytes.extend_from_slice(&encoded.line);
        }
        sample.commits.push((sample.bytes.len(), from + size));
    }
    assert_eq!(chain.len(), sample.entries.len());
    sample
}

fn read(bytes: &[u8]) -> Scan {
    scan_bytes(bytes, Path::new("journal.jsonl"), &Blobs::at("/nowhere")).unwrap()
}

#[test]
fn every_cut_leaves_whole_commits() {
    let sample = sample(&[1, 2, 3]);
    for cut in 0..=sample.bytes.len() {
        let (end, count) = sample.commits.iter().copied().rfind(|(end, _)| *end <= cut).unwrap_or((0, 0));
        let scan = read(&sample.bytes[..cut]);
        assert!(scan.damage.is_none(), "cut at {cut}: {:?}", scan.damage);
        assert_eq!(scan.entries, sample.entries[..count], "cut at {cut}");
        assert_eq!((scan.end, scan.torn), (end as u64, (cut - end) as u64), "cut at {cut}");
        assert_eq!(scan.chain.len(), count);
    }
}

#[test]
fn a_torn_end_may_hold_anything() {
    let sample = sample(&[1, 2, 3]);
    for garbage in [&b"\xe2\x82"[..], &[0; 5000], &[b'x'; 3 * LINE_LIMIT], b"{\"id\":"] {
        let scan = read(&[&sample.bytes, garbage].concat());
        assert!(scan.damage.is_none());
        assert_eq!((scan.entries.len(), scan.torn), (6, garbage.len() as u64));
    }
}

#[test]
fn every_flipped_bit_is_found() {
    let sample = sample(&[1, 2]);
    let last = sample.bytes.len() - 1;
    for at in 0..=last {
        for bit in 0..8 {
            let mut bytes = sample.bytes.clone();
            bytes[at] ^= 1 << bit;
            let scan = read(&bytes);
            // Without its end of line the last commit looks as if it were torn; it is not read and not hidden.
            let found = if at == last { scan.torn > 0 } else { scan.damage.is_some() };
            assert!(found, "bit {bit} of byte {at}");
            assert_eq!(scan.entries, sample.entries[..scan.entries.len()], "bit {bit} of byte {at}");
        }
    }
}

/// Takes the lines apart, changes their list, and says what is then wrong where.
fn rearranged(change: impl FnOnce(&mut Vec<Vec<u8>>)) -> (u64, String, u64) {
    let sample = sample(&[1, 2, 1, 1, 1]);
    let mut lines: Vec<Vec<u8>> =
        sample.bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    change(&mut lines);
    let scan = read(&lines.concat());
    let damage = scan.damage.expect("it is found");
    assert_eq!(scan.entries.len() as u64, damage.readable);
    assert_eq!(scan.entries, sample.entries[..scan.entries.len()]);
    (damage.line, damage.wrong.to_string(), damage.readable)
}

#[test]
fn a_line_that_is_missing_added_or_moved_is_named() {
    let unlinked = Wrong::Unlinked.to_string();
    assert_eq!(rearranged(|lines| _ = lines.remove(4)), (5, unlinked.clone(), 4));
    assert_eq!(rearranged(|lines| lines.swap(4, 5)), (5, unlinked.clone(), 4));
    assert_eq!(rearranged(|lines| lines.insert(5, lines[4].clone())), (6, unlinked.clone(), 5));
    let (line, _, readable) = rearranged(|lines| _ = lines.remove(0));
    assert_eq!((line, readable), (1, 0));
    let (line, _, readable) = rearranged(|lines| lines[2] = b"{}\n".to_vec());
    assert_eq!((line, readable), (3, 1), "of a commit with a bad line nothing is read");
    let (line, ..) = rearranged(|lines| lines.insert(3, b"\n".to_vec()));
    assert_eq!(line, 4, "an empty line is a line");
}

#[test]
fn a_block_that_was_never_written_is_named() {
    let (line, wrong, readable) = rearranged(|lines| lines.insert(3, [&[0; 300][..], b"\n"].concat()));
    assert_eq!((line, wrong.as_str(), readable), (4, "it holds 300 NUL bytes", 3));
    let (line, wrong, _) = rearranged(|lines| lines[3].splice(0..0, [0; 300]).for_each(drop));
    assert_eq!((line, wrong.as_str()), (4, "it holds 300 NUL bytes"));
}

#[test]
fn a_line_without_end_is_not_held() {
    let (line, wrong, _) = rearranged(|lines| lines.insert(3, [&[b'x'; 5 * BODY_LIMIT][..], b"\n"].concat()));
    assert_eq!(line, 4);
    assert!(wrong.contains("longer than"), "{wrong}");
}

/// A line with right hashes, made by someone who knows how.
fn forged(change: impl FnOnce(&mut Entry), left: usize) -> Wrong {
    let mut sample = sample(&[1, 2, 3]);
    let entry = sample.entries.last_mut().unwrap();
    let mut chain = read(&sample.bytes).chain;
    chain.truncate(5);
    change(entry);
    let links = Links { parent: chain.parent_hash(entry.parent), prev: chain.last() };
    let forged = crate::line::encode(entry, left, links).unwrap();
    let lines: Vec<&[u8]> = sample.bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let scan = read(&[&lines[..5].concat(), &forged.line[..]].concat());
    scan.damage.expect("it is found").wrong
}

#[test]
fn a_right_hash_is_not_enough() {
    let first = crate::testing::id(1);
    assert!(matches!(forged(|entry| entry.seq = 9, 0), Wrong::Misplaced(_)));
    assert!(matches!(forged(|entry| entry.id = first, 0), Wrong::Misplaced(_)));
    assert!(matches!(forged(|entry| entry.parent = None, 0), Wrong::Misplaced(_)));
    assert!(matches!(forged(|entry| entry.parent = Some(crate::testing::id(99)), 0), Wrong::Misplaced(_)));
    assert!(matches!(forged(|entry| entry.body = crate::testing::ground(), 0), Wrong::Misplaced(_)));
    assert!(matches!(forged(|_| (), 1), Wrong::Batch));
}

#[test]
fn a_type_of_a_later_version_is_named() {
    let sample = sample(&[1, 5]);
    let text = String::from_utf8(sample.bytes.clone()).unwrap();
    let line = text.lines().nth(1).unwrap();
    let body = line.replace("\"type\":\"message\"", "\"type\":\"hologram\"");
    let links = Links { parent: read(&sample.bytes[..sample.commits[0].0]).chain.last(), prev: None };
    let links = Links { prev: links.parent, ..links };
    let (line, _) = crate::line::sealed(body.split_once(",\"hash\"").unwrap().0.as_bytes().to_vec(), links);
    let scan = read(&[&sample.bytes[..sample.commits[0].0], &line[..]].concat());
    let damage = scan.damage.unwrap();
    assert!(damage.to_string().contains("unknown variant `hologram`"), "{damage}");
    assert!(
        damage.to_string().contains("line 2") && damage.to_string().contains("can still be read: 1"),
        "{damage}"
    );
}
