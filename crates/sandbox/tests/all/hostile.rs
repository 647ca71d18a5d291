//! Workspaces that try to run code in the host's git, or to hide a change from the snapshot.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::ground::{Ground, content, git_in, paths};

/// A program that leaves a file beside the workspace when it runs.
fn trap(ground: &Ground) -> String {
    let program = ground.beside("trap");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >>{}\ncat\n", ground.beside("ran").display()))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn nothing_in_the_workspaces_git_folder_runs() {
    let ground = Ground::repository();
    ground.write("a", "1").commit();
    let trap = trap(&ground);
    for (key, value) in [
        ("core.fsmonitor", trap.as_str()),
        ("core.editor", &trap),
        ("core.pager", &trap),
        ("core.sshCommand", &trap),
        ("diff.external", &trap),
        ("diff.evil.textconv", &trap),
        ("diff.evil.command", &trap),
        ("filter.evil.clean", &trap),
        ("filter.evil.smudge", &trap),
        ("filter.evil.process", &trap),
        ("filter.evil.required", "true"),
        ("core.hooksPath", &trap),
    ] {
        ground.git(&["config", key, value]);
    }
    for hook in ["pre-commit", "post-index-change", "post-checkout", "reference-transaction"] {
        fs::create_dir_all(ground.workspace().join(".git/hooks")).unwrap();
        fs::copy(&trap, ground.workspace().join(".git/hooks").join(hook)).unwrap();
    }
    ground.write(".gitattributes", "* filter=evil diff=evil\n").write("b", "2");
    let (snapshots, base) = ground.snapshots().await;
    ground.write("a", "3");
    let tree = snapshots.take().await.unwrap();
    snapshots.patch(&base, &tree, 10_000).await.unwrap();
    snapshots.added_lines(&base, &tree).await.unwrap();
    snapshots.materialise(&tree, &ground.beside("copy")).await.unwrap();
    assert!(!ground.beside("ran").exists(), "{}", fs::read_to_string(ground.beside("ran")).unwrap());
    // The trap works: git itself falls into it.
    std::process::Command::new("git").arg("status").current_dir(ground.workspace()).output().unwrap();
    assert!(ground.beside("ran").exists());
}

#[tokio::test]
async fn attributes_change_neither_content_nor_diff() {
    let attributes = "* text eol=crlf ident working-tree-encoding=UTF-16 -diff\n*.txt binary export-ignore\n";
    let ground = Ground::repository();
    ground.write(".gitattributes", attributes).write(".git/info/attributes", attributes);
    ground.write("a.txt", "one\r\n$Id$\n").write("b", "\u{e4}\n");
    let (snapshots, base) = ground.snapshots().await;
    assert_eq!(snapshots.read(&base, "a.txt").await.unwrap().unwrap(), b"one\r\n$Id$\n");
    ground.write("a.txt", "one\r\n$Id$\ntwo\n").write("c.txt", "three\n");
    let tree = snapshots.take().await.unwrap();
    let patch = snapshots.patch(&base, &tree, 10_000).await.unwrap();
    assert!(patch.text.contains("+two\n") && patch.text.contains("+three\n"), "{}", patch.text);
    let copy = ground.beside("copy");
    snapshots.materialise(&tree, &copy).await.unwrap();
    assert_eq!(fs::read(copy.join("a.txt")).unwrap(), b"one\r\n$Id$\ntwo\n");
    assert_eq!(fs::read(copy.join("b")).unwrap(), "\u{e4}\n".as_bytes());
}

#[tokio::test]
async fn index_flags_hide_no_change() {
    let ground = Ground::repository();
    ground.write("skipped", "1").write("assumed", "1").write("sparse/x", "1").commit();
    ground.git(&["update-index", "--skip-worktree", "skipped", "sparse/x"]);
    ground.git(&["update-index", "--assume-unchanged", "assumed"]);
    ground.git(&["config", "core.sparseCheckout", "true"]);
    ground.write("skipped", "2").write("assumed", "2");
    let (snapshots, base) = ground.snapshots().await;
    assert_eq!(snapshots.read(&base, "skipped").await.unwrap().unwrap(), b"2");
    ground.write("skipped", "3").write("assumed", "3").remove("sparse");
    let tree = snapshots.take().await.unwrap();
    assert_eq!(snapshots.changes(&base, &tree).await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_ignore_file_written_later_hides_nothing() {
    let ground = Ground::repository();
    ground.write("src/a", "1").write("src/b", "1").commit();
    let (snapshots, base) = ground.snapshots().await;
    ground.write("src/a", "2").write("src/new", "2");
    ground.write(".gitignore", "*\n").write("src/.gitignore", "*\n").write(".git/info/exclude", "*\n");
    ground.git(&["config", "core.excludesFile", ".gitignore"]);
    ground.git(&["rm", "-q", "-r", "-f", "--cached", "src"]);
    let tree = snapshots.take().await.unwrap();
    let changed: Vec<_> =
        snapshots.changes(&base, &tree).await.unwrap().into_iter().map(|c| c.path).collect();
    assert_eq!(changed, [".gitignore", "src/.gitignore", "src/a", "src/new"]);
}

#[tokio::test]
async fn a_nested_repository_hides_no_file() {
    let ground = Ground::repository();
    ground.write("a", "1").write("vendor/old", "1");
    git_in(&ground.workspace().join("vendor"), &["init", "-q"]);
    git_in(&ground.workspace().join("vendor"), &["add", "-A"]);
    git_in(&ground.workspace().join("vendor"), &["commit", "-q", "-m", "x"]);
    ground.commit();
    let (snapshots, base) = ground.snapshots().await;
    assert_eq!(paths(&snapshots, &base).await, ["a", "vendor/old"]);
    ground.write("src/hidden", "1").write("vendor/old", "2");
    git_in(&ground.workspace().join("src"), &["init", "-q"]);
    let tree = snapshots.take().await.unwrap();
    assert_eq!(paths(&snapshots, &tree).await, ["a", "src/hidden", "vendor/old"]);
    let copy = ground.beside("copy");
    snapshots.materialise(&tree, &copy).await.unwrap();
    assert!(!copy.join(".git").exists() && !copy.join("vendor/.git").exists());
}

#[tokio::test]
async fn a_link_is_a_link_and_never_followed() {
    let ground = Ground::plain();
    let secret = ground.beside("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("key"), "sk-secret").unwrap();
    ground.write("dir/a", "1").write("f", "1");
    let (snapshots, base) = ground.snapshots().await;
    ground.remove("dir").link("dir", secret.to_str().unwrap());
    ground.remove("f").link("f", secret.join("key").to_str().unwrap()).link("loop", "loop").link("up", "..");
    let tree = snapshots.take().await.unwrap();
    let files = content(&snapshots, &tree).await;
    assert_eq!(files.keys().collect::<Vec<_>>(), ["dir", "f", "loop", "up"]);
    assert!(files.values().all(|bytes| !bytes.starts_with(b"sk-")));
    let copy = ground.beside("copy");
    snapshots.materialise(&tree, &copy).await.unwrap();
    assert_eq!(fs::read_link(copy.join("dir")).unwrap(), secret);
    assert_eq!(fs::read_dir(&secret).unwrap().count(), 1);
    // Put back, the folder is a folder again.
    let restored = snapshots.compose(&tree, &base, &["dir".into(), "f".into()]).await.unwrap();
    assert_eq!(paths(&snapshots, &restored).await, ["dir/a", "f", "loop", "up"]);
}

#[tokio::test]
async fn a_kept_file_behind_a_link_is_not_read() {
    let ground = Ground::repository();
    ground.write(".gitignore", "out\n").write("out/tracked", "1").commit();
    let (snapshots, base) = ground.snapshots().await;
    assert_eq!(paths(&snapshots, &base).await, [".gitignore", "out/tracked"]);
    let secret = ground.beside("secret");
    fs::create_dir(&secret).unwrap();
    fs::write(secret.join("tracked"), "sk-secret").unwrap();
    ground.remove("out").link("out", secret.to_str().unwrap());
    let tree = snapshots.take().await.unwrap();
    assert_eq!(paths(&snapshots, &tree).await, [".gitignore"]);
}

#[tokio::test]
async fn one_nul_byte_hides_no_added_line() {
    let ground = Ground::plain();
    ground.write("a.rs", "fn a() {}\n");
    let (snapshots, base) = ground.snapshots().await;
    ground.write("a.rs", "// \0\nfn a() { todo!() }\n");
    let tree = snapshots.take().await.unwrap();
    let added = snapshots.added_lines(&base, &tree).await.unwrap();
    assert!(added.iter().any(|line| line.line == 2 && line.text.contains("todo!()")), "{added:?}");
}
