//! Trees are compared, put together, read and written out exactly.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt};

use countersign_sandbox::{ChangeKind, Mode, SnapshotError, Snapshots};
use proptest::prelude::*;

use crate::ground::{Ground, content, paths};

#[tokio::test]
async fn changes_name_what_became_of_each_file() {
    let ground = Ground::plain();
    for path in ["edited", "gone", "moved", "run", "turned", "both", "same"] {
        ground.write(path, format!("{path}\n"));
    }
    let (snapshots, base) = ground.snapshots().await;
    ground.write("edited", "x").remove("gone").remove("moved").write("to", "moved\n").executable("run", true);
    ground.remove("turned").link("turned", "same").write("both", "x").executable("both", true);
    let tree = snapshots.take().await.unwrap();
    let changes = snapshots.changes(&base, &tree).await.unwrap();
    let seen: Vec<_> = changes.iter().map(|c| (c.path.as_str(), c.kind, c.old_mode, c.new_mode)).collect();
    let (file, run, link) = (Some(Mode::File), Some(Mode::Executable), Some(Mode::Link));
    let expected = [
        ("both", ChangeKind::Modified, file, run),
        ("edited", ChangeKind::Modified, file, file),
        ("gone", ChangeKind::Removed, file, None),
        ("moved", ChangeKind::Removed, file, None),
        ("run", ChangeKind::ModeChanged, file, run),
        ("to", ChangeKind::Added, None, file),
        ("turned", ChangeKind::ModeChanged, file, link),
    ];
    assert_eq!(seen, expected);
    assert!(changes[2].old_object.is_some() && changes[2].new_object.is_none());
    assert_eq!(changes[3].old_object, changes[5].new_object, "the same content has the same name");
    assert_eq!(snapshots.changes(&tree, &tree).await.unwrap(), []);
}

#[tokio::test]
async fn a_patch_is_text_says_binary_and_is_cut_after_a_line() {
    let ground = Ground::plain();
    ground.write("a", "one\ntwo\n").write("bin", [0, 1, 2]);
    let (snapshots, base) = ground.snapshots().await;
    ground.write("a", "one\n2\n").write("bin", [0, 1, 3]);
    let tree = snapshots.take().await.unwrap();
    let whole = snapshots.patch(&base, &tree, 100_000).await.unwrap();
    assert!(!whole.truncated);
    assert!(whole.text.contains("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"), "{}", whole.text);
    assert!(whole.text.contains("Binary files a/bin and b/bin differ\n"), "{}", whole.text);
    for limit in [0, 1, 50, whole.text.len() - 1, whole.text.len()] {
        let cut = snapshots.patch(&base, &tree, limit).await.unwrap();
        assert_eq!(cut.truncated, limit < whole.text.len());
        assert!(cut.text.len() <= limit && whole.text.starts_with(&cut.text));
        assert!(cut.text.is_empty() || cut.text.ends_with('\n'));
    }
}

#[tokio::test]
async fn added_lines_have_their_number_in_the_new_file() {
    let ground = Ground::plain();
    ground.write("a", "1\n2\n3\n4\n5\n");
    let (snapshots, base) = ground.snapshots().await;
    ground.write("a", "0\n1\n2\nx\ny\n4\n5\nend").write("b c", "first\r\n\n+++ b/z\n");
    let tree = snapshots.take().await.unwrap();
    let added = snapshots.added_lines(&base, &tree).await.unwrap();
    let seen: Vec<_> = added.iter().map(|line| (line.path.as_str(), line.line, line.text.as_str())).collect();
    let expected = [
        ("a", 1, "0"),
        ("a", 4, "x"),
        ("a", 5, "y"),
        ("a", 8, "end"),
        ("b c", 1, "first"),
        ("b c", 2, ""),
        ("b c", 3, "+++ b/z"),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_path_reads_as_its_file_or_nothing() {
    let ground = Ground::plain();
    ground.write("dir/a", "1").write("*", "star").link("l", "dir");
    let (snapshots, base) = ground.snapshots().await;
    for (path, content) in [
        ("dir/a", Some("1")),
        ("*", Some("star")),
        ("l", Some("dir")),
        ("dir", None),
        ("dir/", None),
        ("l/a", None),
        ("", None),
        ("/dir/a", None),
        ("./dir/a", None),
        ("none", None),
        ("d*", None),
    ] {
        let read = snapshots.read(&base, path).await.unwrap();
        assert_eq!(read.as_deref(), content.map(str::as_bytes), "{path:?}");
    }
}

#[tokio::test]
async fn composing_makes_each_path_what_it_is_there() {
    let ground = Ground::plain();
    ground
        .write("tests/a", "1")
        .write("tests/b", "1")
        .write("tests.md", "1")
        .write("src", "1")
        .write("run", "1");
    let (snapshots, base) = ground.snapshots().await;
    ground
        .write("tests/a", "2")
        .remove("tests/b")
        .write("tests/c", "2")
        .write("tests.md", "2")
        .write("src", "2");
    ground.executable("run", true);
    let tree = snapshots.take().await.unwrap();
    let paths = ["tests/", "run", "not-there"].map(String::from);
    let composed = snapshots.compose(&tree, &base, &paths).await.unwrap();
    let files = content(&snapshots, &composed).await;
    let expected = [("run", "1"), ("src", "2"), ("tests.md", "2"), ("tests/a", "1"), ("tests/b", "1")];
    assert_eq!(files, expected.map(|(path, text)| (path.into(), text.into())).into());
    assert_eq!(snapshots.entries(&composed).await.unwrap()[0].mode, Mode::File);
    assert_eq!(snapshots.compose(&tree, &base, &[]).await.unwrap(), tree);
}

#[tokio::test]
async fn a_copy_is_written_only_into_a_new_folder_and_whole() {
    let ground = Ground::plain();
    ground
        .write("a/b", "1")
        .write("run", "2")
        .executable("run", true)
        .link("a/l", "../run")
        .link("dead", "/no");
    let (snapshots, base) = ground.snapshots().await;
    let copy = ground.beside("deep/copy");
    snapshots.materialise(&base, &copy).await.unwrap();
    assert_eq!(fs::read(copy.join("a/b")).unwrap(), b"1");
    assert_eq!(fs::metadata(copy.join("run")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::metadata(copy.join("a/b")).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(fs::read_link(copy.join("a/l")).unwrap().to_str(), Some("../run"));
    assert_eq!(fs::read_link(copy.join("dead")).unwrap().to_str(), Some("/no"));
    assert_eq!(snapshots.take_folder(&copy).await.unwrap(), base);
    let error = snapshots.materialise(&base, &copy).await.unwrap_err();
    assert!(matches!(error, SnapshotError::NotEmpty { .. }), "{error}");
}

/// Files by path, such that no file lies where another has a folder.
fn files() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let path = prop::collection::vec("[a-c]{1,2}", 1..4).prop_map(|parts| parts.join("/"));
    let content = prop::collection::vec(any::<u8>(), 0..64);
    prop::collection::btree_map(path, content, 0..12).prop_map(|mut files| {
        let paths: Vec<String> = files.keys().cloned().collect();
        files.retain(|path, _| !paths.iter().any(|other| other.starts_with(&format!("{path}/"))));
        files
    })
}

async fn tree_of(snapshots: &Snapshots, files: &BTreeMap<String, Vec<u8>>) -> countersign_protocol::TreeId {
    let ground = Ground::plain();
    for (path, content) in files {
        ground.write(path, content);
    }
    snapshots.take_folder(&ground.workspace()).await.unwrap()
}

fn lies_in_the_way(path: &str, over: &BTreeMap<String, Vec<u8>>) -> bool {
    over.keys().any(|other| other.starts_with(&format!("{path}/")) || path.starts_with(&format!("{other}/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn trees_are_what_lists_of_files_would_be(one in files(), two in files()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let ground = Ground::plain();
            let (snapshots, _) = ground.snapshots().await;
            let (first, second) = (tree_of(&snapshots, &one).await, tree_of(&snapshots, &two).await);
            assert_eq!(content(&snapshots, &first).await, one);

            let overlaid = snapshots.overlay(&first, &second).await.unwrap();
            let mut expected = one.clone();
            expected.retain(|path, _| !lies_in_the_way(path, &two));
            expected.extend(two.clone());
            assert_eq!(content(&snapshots, &overlaid).await, expected);

            let all: Vec<String> = one.keys().chain(two.keys()).cloned().collect();
            assert_eq!(snapshots.compose(&first, &second, &all).await.unwrap(), second);

            let differ = |path: &&String| one.get(*path) != two.get(*path);
            let mut changed: Vec<String> = all.iter().filter(differ).cloned().collect();
            changed.sort();
            changed.dedup();
            let seen: Vec<_> = snapshots.changes(&first, &second).await.unwrap().into_iter().map(|c| c.path).collect();
            let mut sorted = seen.clone();
            sorted.sort();
            assert_eq!(sorted, changed);

            let copy = ground.beside("copy");
            snapshots.materialise(&second, &copy).await.unwrap();
            assert_eq!(snapshots.take_folder(&copy).await.unwrap(), second);
            assert_eq!(paths(&snapshots, &second).await.len(), two.len());
        });
    }
}
