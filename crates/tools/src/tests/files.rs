//! `read` and `write`.

use std::{fs, os::unix::fs::PermissionsExt as _, os::unix::fs::symlink};

use countersign_protocol::{BlobId, Content, entry::FileAction};
use serde_json::json;

use super::Bench;
use crate::limits::{MAX_BYTES, MAX_LINES};

#[tokio::test]
async fn read_shows_whole_lines_and_how_to_go_on() {
    let bench = Bench::new();
    let lines: Vec<String> = (1..=MAX_LINES + 10).map(|number| format!("line {number}")).collect();
    bench.file("long", lines.join("\n"));
    let (text, failed) = bench.call("read", json!({"path": "long"})).await;
    assert!(!failed && text.starts_with("line 1\n"));
    assert!(
        text.ends_with("line 2000\n[lines 1-2000 of 2010; go on with offset=2001]"),
        "{}",
        &text[text.len() - 99..]
    );
    let (text, _) = bench.call("read", json!({"path": "long", "offset": 2001})).await;
    assert!(text.starts_with("line 2001\n") && text.ends_with("line 2010"));
    let (text, _) = bench.call("read", json!({"path": "long", "offset": 5, "limit": 2})).await;
    assert_eq!(text, "line 5\nline 6\n[lines 5-6 of 2010; go on with offset=7]");
    let (text, failed) = bench.call("read", json!({"path": "long", "offset": 9999})).await;
    assert!(failed && text.contains("has 2010 lines"), "{text}");
}

#[tokio::test]
async fn read_stops_before_a_line_that_does_not_fit() {
    let bench = Bench::new();
    let wide = "é".repeat(MAX_BYTES / 2 - 5);
    bench.file("wide", format!("{wide}\nsecond line\n"));
    let (text, _) = bench.call("read", json!({"path": "wide"})).await;
    assert!(text.ends_with("é\n[lines 1-1 of 2; go on with offset=2]"));
    bench.file("wider", format!("{}\nshort\n", "x".repeat(MAX_BYTES)));
    let (text, failed) = bench.call("read", json!({"path": "wider"})).await;
    assert!(!failed && text.contains("line 1 has 51201 bytes") && text.contains("offset=2"), "{text}");
    assert_eq!(bench.call("read", json!({"path": "wider", "offset": 2})).await.0, "short\n");
}

#[tokio::test]
async fn read_says_what_it_cannot_show() {
    let bench = Bench::new();
    bench.file("src/main.rs", "");
    bench.file("blob", b"\x00\x01\xff".repeat(100));
    bench.file("latin", b"caf\xe9 is not UTF-8, the rest of it is\n");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.root().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    for (path, failed, part) in [
        ("src", true, "is a folder: list it with `ls`"),
        ("src/mian.rs", true, "near it are main.rs"),
        ("scr/main.rs", true, "near it are src"),
        ("pipe", true, "not a regular file"),
        ("/dev/null", true, "outside the workspace"),
        ("src/main.rs/x", true, "can't be used"),
        ("src/main.rs", false, "[the file is empty]"),
        ("blob", false, "binary, 300 bytes, blake3"),
        ("latin", false, "not all of it is UTF-8"),
    ] {
        let (text, is_error) = bench.call("read", json!({"path": path})).await;
        assert!(is_error == failed && text.contains(part), "{path}: {text}");
    }
}

#[tokio::test]
async fn read_shows_pictures_as_pictures() {
    let bench = Bench::new();
    bench.file("dot.png", b"\x89PNG\r\n\x1a\n0000");
    let outcome = bench.run(&[("read", json!({"path": "dot.png"}))]).await.remove(0);
    let image = Content::Image { media_type: "image/png".into(), data: "iVBORw0KGgowMDAw".into() };
    assert_eq!(outcome.content[1], image);
}

#[tokio::test]
async fn read_tells_what_it_really_read() {
    let bench = Bench::new();
    bench.file("a", "text");
    symlink("a", bench.root().join("link")).unwrap();
    let outcome = bench.run(&[("read", json!({"path": "./link"}))]).await.remove(0);
    let touch = &outcome.files[0];
    assert_eq!((touch.path.as_str(), touch.action), ("a", FileAction::Read));
    assert_eq!(touch.content, Some(BlobId::of(b"text")));
    assert!(bench.run(&[("read", json!({"path": "missing"}))]).await[0].files.is_empty());
}

#[tokio::test]
async fn write_stores_the_given_bytes_and_keeps_the_mode() {
    let bench = Bench::new();
    for content in ["", "no newline", "crlf\r\n", "\u{feff}bom\n"] {
        let (text, failed) = bench.call("write", json!({"path": "new/deep/file", "content": content})).await;
        assert!(!failed, "{text}");
        assert_eq!(bench.content("new/deep/file"), content);
    }
    bench.file("run.sh", "old");
    let script = bench.root().join("run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    let outcome = bench.run(&[("write", json!({"path": "run.sh", "content": "new"}))]).await.remove(0);
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(outcome.files[0].content, Some(BlobId::of(b"new")));
    let entries = fs::read_dir(bench.root()).unwrap().count();
    assert_eq!(entries, 2, "a temporary file was left behind");
    let fresh = fs::metadata(bench.root().join("new/deep/file")).unwrap().permissions().mode();
    assert_ne!(fresh & 0o044, 0, "others could not read a new file under the usual umask: {fresh:o}");
}

#[tokio::test]
async fn a_write_that_changes_nothing_says_so() {
    let bench = Bench::new();
    bench.file("a", "same");
    let outcome = bench.run(&[("write", json!({"path": "a", "content": "same"}))]).await.remove(0);
    assert!(super::text(&outcome).contains("Unchanged"));
    assert_eq!(outcome.files[0].action, FileAction::Read);
}

#[tokio::test]
async fn writing_follows_links_inside_and_never_out() {
    let bench = Bench::new();
    let out = bench.outside();
    fs::write(out.join("victim"), "untouched").unwrap();
    bench.file("real.md", "old");
    symlink("real.md", bench.root().join("inside.md")).unwrap();
    symlink(out.join("victim"), bench.root().join("notes.md")).unwrap();
    symlink(&out, bench.root().join("outbox")).unwrap();
    symlink(out.join("absent"), bench.root().join("dangling")).unwrap();

    let (_, failed) = bench.call("write", json!({"path": "inside.md", "content": "new"})).await;
    assert!(!failed && bench.content("real.md") == "new");
    assert!(fs::symlink_metadata(bench.root().join("inside.md")).unwrap().is_symlink());
    for path in ["notes.md", "outbox/a", "outbox/deep/a", "dangling", "../out/a"] {
        let (text, failed) = bench.call("write", json!({"path": path, "content": "x"})).await;
        assert!(
            failed && text.contains("outside the workspace") && text.contains(out.to_str().unwrap()),
            "{text}"
        );
        let edit = json!({"path": path, "edits": [{"old_text": "untouched", "new_text": "x"}]});
        assert!(bench.call("edit", edit).await.1);
    }
    assert_eq!(fs::read_to_string(out.join("victim")).unwrap(), "untouched");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
}

#[tokio::test]
async fn a_read_only_copy_is_not_written() {
    let mut bench = Bench::new();
    bench.file("a", "x");
    bench.context = bench.context.clone().read_only();
    for (name, arguments) in [
        ("write", json!({"path": "a", "content": "y"})),
        ("edit", json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]})),
    ] {
        let (text, failed) = bench.call(name, arguments).await;
        assert!(failed && text.contains("read-only"), "{text}");
    }
    assert_eq!(bench.content("a"), "x");
}
