//! `edit`: what is found, what changes, what stays.

use countersign_protocol::BlobId;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Bench;
use crate::matching::{Edit, EditError, apply};

fn one(text: &str, old: &str, new: &str) -> Result<String, EditError> {
    apply(text, &[Edit { old_text: old.into(), new_text: new.into() }])
}

fn arguments(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"old_text": old, "new_text": new}]})
}

#[test]
fn only_the_matched_span_changes() {
    for (what, text, old, new, expected) in [
        ("exact", "a\nb\nc\n", "b", "B", "a\nB\nc\n"),
        ("LF text in a CRLF file", "a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n"),
        ("CRLF text in an LF file", "a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
        ("CRLF file, text of one line", "a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"),
        ("a span that begins inside of a line end", "a\r\nb\r\n", "\nb", "\nc", "a\r\nc\r\n"),
        ("mixed line ends", "a\nb\r\nc\r\nd\n", "b\nc", "x\ny", "a\nx\r\ny\r\nd\n"),
        ("byte order mark and CRLF", "\u{feff}a\r\nb\r\n", "a\nb", "x", "\u{feff}x\r\n"),
        ("a byte order mark in the text", "\u{feff}a\n", "\u{feff}a", "\u{feff}x", "\u{feff}x\n"),
        ("no newline at the end", "a\nlast", "last", "new", "a\nnew"),
        ("no newline at the end, one in the text", "a\nlast", "last\n", "new\n", "a\nnew"),
        (
            "quotes elsewhere stay",
            "x = \u{201c}q\u{201d} \t\ny = \u{2018}z\u{2019}\n",
            "y = 'z'",
            "y = 1",
            "x = \u{201c}q\u{201d} \t\ny = 1\n",
        ),
        ("blanks at line ends", "if a:   \n    b\t\nc\n", "if a:\n    b\n", "if x:\n", "if x:\nc\n"),
        ("a blank that the line lacks", "foo\nbar\n", "foo ", "baz", "baz\nbar\n"),
        ("dashes and full-width letters", "a\u{2014}b \u{ff21}\n", "a-b A", "c", "c\n"),
        ("deletion", "a\nb\nc\n", "b\n", "", "a\nc\n"),
    ] {
        assert_eq!(one(text, old, new).as_deref(), Ok(expected), "{what}");
    }
}

#[test]
fn what_is_not_unique_or_not_there_is_refused() {
    let lines = |result: Result<String, EditError>| match result {
        Err(EditError::Ambiguous { count, lines, .. }) => (count, lines),
        other => panic!("{other:?}"),
    };
    assert_eq!(lines(one("x\ny\nx\n", "x", "z")), (2, "1, 3".into()));
    assert_eq!(lines(one("aaa", "aa", "b")), (2, "1, 1".into()));
    assert_eq!(lines(one("\u{201c}x\u{201d}\n\u{201f}x\u{201d}\n", "\"x\"", "z")), (2, "1, 2".into()));
    assert_eq!(one("a", "", "b"), Err(EditError::Empty { index: 0 }));
    assert_eq!(one("a", "a", "a"), Err(EditError::Nothing));
    assert!(matches!(one("foobar\n", "foo bar ", "z"), Err(EditError::Missing { .. })));
    assert!(matches!(one("let xy;\n", "let x ", "z"), Err(EditError::Missing { .. })));
    let Err(EditError::Missing { near, .. }) =
        one("fn one() {}\nfn total(a: u8) {}\n", "fn total(b: u8) {}\n", "")
    else {
        panic!("found what is not there")
    };
    assert!(near.contains("line 2: `fn total(a: u8) {}`"), "{near}");
}

#[test]
fn all_edits_are_looked_for_in_the_text_as_it_was() {
    let edit = |old: &str, new: &str| Edit { old_text: old.into(), new_text: new.into() };
    assert_eq!(apply("a b c", &[edit("c", "a"), edit("a", "c")]).as_deref(), Ok("c b a"));
    let overlap = apply("abcd", &[edit("bcd", "x"), edit("abc", "y")]);
    assert_eq!(overlap, Err(EditError::Overlap { first: 0, second: 1 }));
    let missing = apply("a b", &[edit("a", "b"), edit("zzz", "y")]);
    assert!(matches!(missing, Err(EditError::Missing { index: 1, .. })));
}

proptest! {
    /// Whatever is folded to find it: what is before and after the span stays byte for byte.
    #[test]
    fn the_rest_stays_byte_for_byte(
        before in "[ab\u{201c}\u{2014}\u{fb01} \t]{0,8}(\r\n|\n)",
        quote in "[\u{201c}\u{201d}\"]",
        after in "(\r\n|\n)[ab\u{201c}\u{2014}\u{fb01} \t\r\n]{0,8}",
    ) {
        let text = format!("{before}{quote}unique{quote}{after}");
        prop_assert_eq!(one(&text, "\"unique\"", "N"), Ok(format!("{before}N{after}")));
    }
}

#[tokio::test]
async fn a_file_is_edited_and_the_change_is_shown() {
    let bench = Bench::new();
    bench.file("src/a.rs", "one\ntwo\nthree\n");
    let outcome = bench.run(&[("edit", arguments("src/a.rs", "two", "2"))]).await.remove(0);
    let text = super::text(&outcome);
    assert!(text.contains("Edited `src/a.rs` (1 replacement)") && text.contains("-two\n+2"), "{text}");
    assert_eq!(bench.content("src/a.rs"), "one\n2\nthree\n");
    assert_eq!(outcome.files[0].content, Some(BlobId::of(b"one\n2\nthree\n")));
}

#[tokio::test]
async fn a_failed_edit_leaves_the_file_alone() {
    let bench = Bench::new();
    bench.file("a", "one\ntwo\n");
    bench.file("latin", b"caf\xe9\n");
    let both = json!({"path": "a", "edits": [
        {"old_text": "one", "new_text": "1"}, {"old_text": "nowhere", "new_text": "x"},
    ]});
    for (given, part) in [
        (both, "edits[1].old_text is not in it"),
        (arguments("a", "one", "one"), "change nothing"),
        (arguments("latin", "caf", "x"), "not UTF-8"),
        (arguments("missing", "a", "b"), "does not exist"),
        (arguments(".", "a", "b"), "is a folder"),
    ] {
        let (text, failed) = bench.call("edit", given).await;
        assert!(failed && text.contains(part), "{text}");
    }
    assert_eq!(bench.content("a"), "one\ntwo\n");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_must_be_read_again() {
    let bench = Bench::new();
    bench.file("a", "one\n");
    bench.call("read", json!({"path": "a"})).await;
    bench.file("a", "one\ntwo\n");
    let (text, failed) = bench.call("edit", arguments("a", "one", "1")).await;
    assert!(failed && text.contains("read it again"), "{text}");
    assert_eq!(bench.content("a"), "one\ntwo\n");
    bench.call("read", json!({"path": "./a", "limit": 1})).await;
    assert!(!bench.call("edit", arguments("a", "one", "1")).await.1);
    assert!(!bench.call("edit", arguments("a", "two", "2")).await.1, "its own edit counted as a change");
    bench.context.remember("a", BlobId::of(b"what it was before a resume"));
    assert!(bench.call("edit", arguments("a", "1", "one")).await.1);
}
