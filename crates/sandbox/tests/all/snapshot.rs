//! A snapshot holds exactly what the workspace holds.

use std::{fs, os::unix::net::UnixListener, path::Path};

use countersign_sandbox::{Mode, SnapshotError, Snapshots};

use crate::ground::{Ground, content, git_in, paths};

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

#[tokio::test]
async fn every_kind_of_workspace_has_a_base() {
    let empty = Ground::plain();
    assert_eq!(empty.snapshots().await.1.as_str(), EMPTY_TREE);

    let plain = Ground::plain();
    plain.write("a", "1").write("b/c", "2");
    let (snapshots, base) = plain.snapshots().await;
    assert_eq!(paths(&snapshots, &base).await, ["a", "b/c"]);

    let without_commits = Ground::repository();
    without_commits.write("a", "1");
    let (snapshots, base) = without_commits.snapshots().await;
    assert_eq!(paths(&snapshots, &base).await, ["a"]);

    let dirty = Ground::repository();
    dirty.write("same", "1").write("edited", "1").write("removed", "1").commit();
    dirty.write("edited", "2").write("untracked", "3").remove("removed");
    let (snapshots, base) = dirty.snapshots().await;
    let files = content(&snapshots, &base).await;
    let expected = [("edited", "2"), ("same", "1"), ("untracked", "3")];
    assert_eq!(files, expected.map(|(path, text)| (path.into(), text.into())).into());
}

#[tokio::test]
async fn the_tree_is_the_one_that_git_itself_makes() {
    let ground = Ground::repository();
    ground.write("a.txt", "a\r\nb\r\n").write("dir/run.sh", "#!/bin/sh\n").executable("dir/run.sh", true);
    ground
        .write("dir.x", "sorts between")
        .write("dir/sub/z", [0, 159, 146, 150])
        .link("dir/link", "../a.txt");
    let (snapshots, base) = ground.snapshots().await;
    ground.git(&["add", "-A"]);
    assert_eq!(base.as_str(), ground.git(&["write-tree"]));
    ground
        .executable("dir/run.sh", false)
        .executable("a.txt", true)
        .remove("dir/link")
        .write("dir/link", "file");
    let tree = snapshots.take().await.unwrap();
    ground.git(&["add", "-A"]);
    assert_eq!(tree.as_str(), ground.git(&["write-tree"]));
    assert_ne!(tree, base);
}

#[tokio::test]
async fn names_and_content_are_kept_as_they_are() {
    let ground = Ground::plain();
    let names = [
        "-rf",
        "--",
        "new\nline",
        "quo\"te",
        "back\\slash",
        "tab\t",
        " lead",
        "trail ",
        "*",
        "?[a]",
        "\u{e4}\u{2603}",
        "a\u{308}",
        "#x",
        "!y",
        "$(touch z)",
        "\u{1}",
        ":(top)x",
        "dir with blank/-x",
    ];
    for (number, name) in names.iter().enumerate() {
        ground.write(name, format!("line {number}\r\n$Id$ no end"));
    }
    let (snapshots, base) = ground.snapshots().await;
    let files = content(&snapshots, &base).await;
    assert_eq!(files.len(), names.len());
    for (number, name) in names.iter().enumerate() {
        assert_eq!(files[*name], format!("line {number}\r\n$Id$ no end").into_bytes(), "{name:?}");
    }
    for name in names {
        ground.write(name, "other");
    }
    let tree = snapshots.take().await.unwrap();
    assert!(content(&snapshots, &tree).await.values().all(|bytes| bytes == b"other"));
    let changed: Vec<_> =
        snapshots.changes(&base, &tree).await.unwrap().into_iter().map(|c| c.path).collect();
    assert_eq!(changed, paths(&snapshots, &tree).await);
    let mut added: Vec<_> =
        snapshots.added_lines(&base, &tree).await.unwrap().into_iter().map(|line| line.path).collect();
    added.sort();
    assert_eq!(added, changed);
}

#[tokio::test]
async fn a_file_and_a_folder_can_change_places() {
    let ground = Ground::plain();
    ground.write("a", "file").write("b/c/d", "deep").write("l/x", "1");
    let (snapshots, base) = ground.snapshots().await;
    ground.remove("a").write("a/b", "below").remove("b").write("b", "flat").remove("l").link("l", "/etc");
    let tree = snapshots.take().await.unwrap();
    let files = content(&snapshots, &tree).await;
    let expected = [("a/b", "below"), ("b", "flat"), ("l", "/etc")];
    assert_eq!(files, expected.map(|(path, text)| (path.into(), text.into())).into());
    ground.remove("a").write("a", "file").remove("b").write("b/c/d", "deep").remove("l").write("l/x", "1");
    assert_eq!(snapshots.take().await.unwrap(), base);
}

#[tokio::test]
async fn an_edit_of_the_same_length_with_its_time_set_back_is_seen() {
    let ground = Ground::plain();
    ground.write("f", "11111");
    let file = ground.workspace().join("f");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let set_back = || fs::File::options().write(true).open(&file).unwrap().set_modified(long_ago).unwrap();
    set_back();
    let (snapshots, base) = ground.snapshots().await;
    // At once, within the same tick of the clock as like as not.
    for n in 0..20 {
        fs::write(&file, format!("{n:05}")).unwrap();
        set_back();
        let tree = snapshots.take().await.unwrap();
        assert_eq!(snapshots.read(&tree, "f").await.unwrap().unwrap(), format!("{n:05}").into_bytes());
        assert_ne!(tree, base);
    }
    // And where the times of the file are old enough to be trusted.
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    let settled = snapshots.take().await.unwrap();
    fs::write(&file, "22222").unwrap();
    set_back();
    assert_ne!(snapshots.take().await.unwrap(), settled);
}

#[tokio::test]
async fn ignored_files_stay_out_but_for_those_that_are_tracked() {
    let ground = Ground::repository();
    ground.write(".gitignore", "*.log\n/out\n").write("sub/.gitignore", "!keep.log\ngen/\n");
    ground.write(".git/info/exclude", "*.mine\n");
    ground.write("tracked.log", "1").write("out/tracked", "1").commit();
    for path in ["a.log", "out/b", "sub/keep.log", "sub/gen/x", "x.mine", "src/a", "__pycache__/x", "m.pyc"] {
        ground.write(path, "2");
    }
    let (snapshots, base) = ground.snapshots().await;
    let expected = [".gitignore", "out/tracked", "src/a", "sub/.gitignore", "sub/keep.log", "tracked.log"]
        .map(String::from);
    assert_eq!(paths(&snapshots, &base).await, expected);
    // Removed and made again, it is still tracked; removed for good, it is gone.
    ground.remove("tracked.log");
    assert_eq!(paths(&snapshots, &snapshots.take().await.unwrap()).await.len(), expected.len() - 1);
    ground.write("tracked.log", "1");
    assert_eq!(snapshots.take().await.unwrap(), base);
}

#[tokio::test]
async fn cargo_builds_are_left_out_only_of_cargo_projects() {
    let ground = Ground::plain();
    ground.write("Cargo.toml", "").write("target/debug/x", "1").write("sub/target/y", "2");
    let (snapshots, base) = ground.snapshots().await;
    assert_eq!(paths(&snapshots, &base).await, ["Cargo.toml", "sub/target/y"]);
    let other = Ground::plain();
    other.write("target/x", "1");
    let (snapshots, base) = other.snapshots().await;
    assert_eq!(paths(&snapshots, &base).await, ["target/x"]);
}

#[tokio::test]
async fn a_workspace_below_its_repository_has_the_rules_from_above() {
    let ground = Ground::repository();
    ground
        .write(".gitignore", "*.tmp\n")
        .write("crate/src", "1")
        .write("crate/kept.tmp", "1")
        .write("other", "1");
    ground.commit();
    ground.write("crate/left.tmp", "1");
    let below = ground.workspace().join("crate");
    let (snapshots, base) = Snapshots::create(&ground.beside("store"), &below).await.unwrap();
    assert_eq!(paths(&snapshots, &base).await, ["kept.tmp", "src"]);
}

#[tokio::test]
async fn a_repository_above_that_tracks_nothing_here_hides_nothing() {
    let ground = Ground::repository();
    ground.write(".gitignore", "*\n").write(".profile", "1").commit();
    ground.write("project/a", "1");
    let below = ground.workspace().join("project");
    let (snapshots, base) = Snapshots::create(&ground.beside("store"), &below).await.unwrap();
    assert_eq!(paths(&snapshots, &base).await, ["a"]);
}

#[tokio::test]
async fn every_form_of_index_is_read() {
    let ground = Ground::repository();
    ground.write(".gitignore", "*.log\n").write("a.log", "1").write("dir/b.log", "1").commit();
    let all = [".gitignore", "a.log", "dir/b.log"];
    ground.git(&["worktree", "add", "-q", "../linked"]);
    let linked = ground.beside("linked");
    let take = async |store: &str, workspace: &Path| {
        let (snapshots, base) = Snapshots::create(&ground.beside(store), workspace).await.unwrap();
        paths(&snapshots, &base).await
    };
    assert_eq!(take("of-linked", &linked).await, all);
    git_in(&linked, &["update-index", "--split-index"]);
    assert_eq!(take("of-split", &linked).await, all);
    ground.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "elsewhere"]);
    assert!(!ground.workspace().join("dir").exists());
    assert_eq!(take("of-sparse", &ground.workspace()).await, all[..2]);

    let other = Ground::plain();
    other.git(&["init", "-q", "--object-format=sha256"]);
    other.write(".gitignore", "*.log\n").write("a.log", "1").commit();
    assert_eq!(take("of-sha256", &other.workspace()).await, all[..2]);
}

#[tokio::test]
async fn an_index_that_cannot_be_read_is_an_error() {
    let ground = Ground::repository();
    ground.write("a", "1").commit();
    ground.write(".git/index", "garbage that is long enough to be an index, were it one");
    let error = Snapshots::create(&ground.beside("store"), &ground.workspace()).await.unwrap_err();
    assert!(
        matches!(&error, SnapshotError::Git { command, .. } if command.starts_with("ls-files")),
        "{error}"
    );
}

#[tokio::test]
async fn a_store_is_opened_again_with_its_frozen_rules() {
    let ground = Ground::plain();
    ground.write(".gitignore", "*.log\n").write("a", "1").write("x.log", "1");
    let (first, base) = ground.snapshots().await;
    drop(first);
    ground.write(".gitignore", "a\n");
    let snapshots = Snapshots::open(&ground.beside("store"), &ground.workspace()).await.unwrap();
    assert_eq!(snapshots.base(), &base);
    assert_eq!(paths(&snapshots, &snapshots.take().await.unwrap()).await, [".gitignore", "a"]);
}

#[tokio::test]
async fn another_folder_is_taken_whole() {
    let ground = Ground::plain();
    ground.write(".gitignore", "*\n");
    let (snapshots, _) = ground.snapshots().await;
    let other = Ground::repository();
    other.write(".gitignore", "a\n").write("a", "1").write("m.pyc", "2");
    let tree = snapshots.take_folder(&other.workspace()).await.unwrap();
    assert_eq!(paths(&snapshots, &tree).await, [".gitignore", "a", "m.pyc"]);
}

#[tokio::test]
async fn what_no_tree_can_hold_is_refused_by_name() {
    let ground = Ground::plain();
    ground.write("a", "1").write("ignored/x", "1").write(".gitignore", "ignored\n");
    let _at_the_base = UnixListener::bind(ground.workspace().join("old.sock")).unwrap();
    let (snapshots, base) = ground.snapshots().await;
    assert_eq!(snapshots.warnings(), ["`old.sock` is a socket and not in the snapshot"]);
    let _ignored = UnixListener::bind(ground.workspace().join("ignored/s")).unwrap();
    assert_eq!(snapshots.take().await.unwrap(), base);

    let fifo = ground.workspace().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let error = snapshots.take().await.unwrap_err();
    assert!(matches!(&error, SnapshotError::SpecialFile { path, .. } if path == "pipe"), "{error}");
    fs::remove_file(fifo).unwrap();

    ground.write("sub/.GIT/x", "1");
    let error = snapshots.take().await.unwrap_err();
    assert!(matches!(&error, SnapshotError::GitLike { path } if path == "sub/.GIT"), "{error}");
    ground.remove("sub");

    let odd = std::os::unix::ffi::OsStrExt::from_bytes(b"odd\xff");
    fs::write(ground.workspace().join::<&std::ffi::OsStr>(odd), "1").unwrap();
    let error = snapshots.take().await.unwrap_err();
    assert!(matches!(&error, SnapshotError::NotUtf8 { lossy } if lossy == "odd\u{fffd}"), "{error}");
}

#[tokio::test]
async fn a_store_in_reach_of_the_worker_or_already_used_is_refused() {
    let ground = Ground::plain();
    let inside = ground.workspace().join("state/store");
    let error = Snapshots::create(&inside, &ground.workspace()).await.unwrap_err();
    assert!(matches!(error, SnapshotError::StoreInside { .. }), "{error}");
    assert!(!ground.workspace().join("state").exists());
    ground.snapshots().await;
    let error = Snapshots::create(&ground.beside("store"), &ground.workspace()).await.unwrap_err();
    assert!(matches!(error, SnapshotError::StoreExists { .. }), "{error}");
    let error = Snapshots::open(&ground.beside("nowhere"), &ground.workspace()).await.unwrap_err();
    assert!(matches!(error, SnapshotError::NotAStore { .. }), "{error}");
    let error = Snapshots::create(&ground.beside("new"), &ground.beside("no-workspace")).await.unwrap_err();
    assert!(error.to_string().contains("no-workspace"), "{error}");
}

#[tokio::test]
async fn what_a_crash_left_of_a_store_is_replaced() {
    let ground = Ground::plain();
    ground.write("a", "1");
    let (_, base) = ground.snapshots().await;
    fs::remove_file(ground.beside("store/base.json")).unwrap();
    fs::remove_file(ground.beside("store/git/HEAD")).unwrap();
    assert_eq!(ground.snapshots().await.1, base);
}

#[tokio::test]
async fn a_damaged_store_gives_an_error_never_another_tree() {
    let ground = Ground::plain();
    ground.write("a", "1").write("b", "1");
    let (snapshots, base) = ground.snapshots().await;
    for folder in fs::read_dir(ground.beside("store/git/objects")).unwrap().flatten() {
        fs::remove_dir_all(folder.path()).unwrap();
    }
    ground.write("a", "2");
    assert!(matches!(snapshots.take().await.unwrap_err(), SnapshotError::Git { .. }));
    assert!(snapshots.entries(&base).await.is_err());
    assert!(snapshots.read(&base, "a").await.is_err());
}

#[tokio::test]
async fn a_large_workspace_is_read_again_only_where_it_changed() {
    let ground = Ground::plain();
    for n in 0..3000 {
        ground.write(&format!("d{}/f{n}", n % 50), format!("content {n}"));
    }
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let (snapshots, base) = ground.snapshots().await;
    let packs = || fs::read_dir(ground.beside("store/git/objects/pack")).unwrap().count();
    let before = packs();
    ground.write("d0/f0", "other");
    let tree = snapshots.take().await.unwrap();
    assert_eq!(snapshots.changes(&base, &tree).await.unwrap().len(), 1);
    assert_eq!(packs(), before, "everything was stored again");
    assert_eq!(snapshots.entries(&tree).await.unwrap().len(), 3000);
}

#[tokio::test]
async fn modes_are_kept() {
    let ground = Ground::plain();
    ground.write("plain", "1").write("run", "1").executable("run", true).link("link", "plain");
    let (snapshots, base) = ground.snapshots().await;
    let modes: Vec<_> =
        snapshots.entries(&base).await.unwrap().into_iter().map(|entry| (entry.path, entry.mode)).collect();
    let expected = [("link", Mode::Link), ("plain", Mode::File), ("run", Mode::Executable)];
    assert_eq!(modes, expected.map(|(path, mode)| (path.to_owned(), mode)));
}
