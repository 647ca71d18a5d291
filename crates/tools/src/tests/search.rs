//! `grep`, `find` and `ls`.

use serde_json::json;

use super::Bench;
use crate::limits::{GREP_LINE_CHARS, GREP_MATCHES};

fn tree() -> Bench {
    let bench = Bench::new();
    for (path, content) in [
        ("src/b.rs", "fn beta() {}\n// Alpha\n"),
        ("src/a.rs", "// one\nfn alpha() {}\n// two\n"),
        (".github/ci.yml", "run: alpha\n"),
        ("notes.md", "alpha\n"),
        ("target/out.rs", "fn alpha() {}\n"),
        (".git/config", "alpha\n"),
        (".gitignore", "target/\n"),
    ] {
        bench.file(path, content);
    }
    bench
}

#[tokio::test]
async fn grep_shows_lines_in_a_fixed_order() {
    let bench = tree();
    let (text, failed) = bench.call("grep", json!({"pattern": "alpha"})).await;
    assert!(!failed);
    assert_eq!(text, ".github/ci.yml:1:run: alpha\nnotes.md:1:alpha\nsrc/a.rs:2:fn alpha() {}\n");
    let (text, _) =
        bench.call("grep", json!({"pattern": "ALPHA", "ignore_case": true, "glob": "*.rs"})).await;
    assert_eq!(text, "src/a.rs:2:fn alpha() {}\nsrc/b.rs:2:// Alpha\n");
    let (text, _) = bench.call("grep", json!({"pattern": "alpha", "path": "src/a.rs", "context": 1})).await;
    assert_eq!(text, "src/a.rs-1-// one\nsrc/a.rs:2:fn alpha() {}\nsrc/a.rs-3-// two\n");
    let (text, _) = bench.call("grep", json!({"pattern": "alpha", "path": "target"})).await;
    assert_eq!(text, "target/out.rs:1:fn alpha() {}\n");
    let (text, failed) = bench.call("grep", json!({"pattern": "gamma"})).await;
    assert!(!failed && text.contains("no line matches"), "{text}");
}

#[tokio::test]
async fn grep_is_bounded_and_says_so() {
    let bench = Bench::new();
    bench.file("many", "hit\n".repeat(GREP_MATCHES + 1));
    bench.file("wide", format!("hit{}\n", "é".repeat(GREP_LINE_CHARS)));
    bench.file("blob", b"hit\x00hit\n");
    let (text, _) = bench.call("grep", json!({"pattern": "hit"})).await;
    assert_eq!(text.matches("many:").count(), GREP_MATCHES);
    assert!(text.ends_with("[only the first 100 matches: narrow the pattern, path or glob]"), "{text}");
    let (text, _) = bench.call("grep", json!({"pattern": "hit", "path": "wide"})).await;
    assert!(text.contains("… [line cut, 1003 bytes]") && text.chars().count() < 550, "{text}");
    let (text, _) = bench.call("grep", json!({"pattern": "hit", "path": "blob"})).await;
    assert!(text.contains("no line matches"), "{text}");
}

#[tokio::test]
async fn a_bad_pattern_is_an_error_with_its_reason() {
    let bench = tree();
    for (pattern, reason) in [("fn (", "unclosed group"), ("a\nb", "not a regular expression")] {
        let (text, failed) = bench.call("grep", json!({"pattern": pattern})).await;
        assert!(failed && text.contains(reason), "{text}");
    }
    let (text, failed) = bench.call("find", json!({"glob": "src/{a"})).await;
    assert!(failed && text.contains("not a glob"), "{text}");
    let (text, failed) = bench.call("grep", json!({"pattern": "x", "path": "scr"})).await;
    assert!(failed && text.contains("near it are src"), "{text}");
    assert!(bench.call("find", json!({"glob": "*", "path": "/etc"})).await.1);
}

#[tokio::test]
async fn find_matches_names_and_paths() {
    let bench = tree();
    for (arguments, expected) in [
        (json!({"glob": "*.rs"}), "src/a.rs\nsrc/b.rs\n"),
        (json!({"glob": "src/*.rs"}), "src/a.rs\nsrc/b.rs\n"),
        (json!({"glob": "**/*.yml"}), ".github/ci.yml\n"),
        (json!({"glob": "a.*", "path": "src"}), "src/a.rs\n"),
        (json!({"glob": "src"}), "src/\n"),
        (json!({"glob": "*.rs", "path": "target"}), "target/out.rs\n"),
        (
            json!({"glob": "*.rs", "limit": 1}),
            "src/a.rs\n[only the first 1 paths: narrow the glob or the path]",
        ),
        (json!({"glob": "*.py"}), "[nothing matches `*.py` in .]"),
    ] {
        assert_eq!(bench.call("find", arguments.clone()).await, (expected.to_owned(), false), "{arguments}");
    }
}

#[tokio::test]
async fn ls_lists_by_name() {
    let bench = tree();
    std::os::unix::fs::symlink("src", bench.root().join("link")).unwrap();
    let (text, _) = bench.call("ls", json!({})).await;
    assert_eq!(text, ".git/\n.github/\n.gitignore\nlink@\nnotes.md\nsrc/\ntarget/\n");
    assert_eq!(bench.call("ls", json!({"path": "link"})).await.0, "a.rs\nb.rs\n");
    let (text, failed) = bench.call("ls", json!({"path": "notes.md"})).await;
    assert!(failed && text.contains("read it with `read`"), "{text}");
}
