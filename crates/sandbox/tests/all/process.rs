//! Commands end when they should, whole, and with everything that they started.

use std::time::Duration;

use countersign_protocol::{BlobId, Exit};
use countersign_sandbox::{
    Command, Contained, Containment, ProcessGroup, Sandbox, SpawnError, Streams, process::SPILL_LIMIT,
};
use tokio_util::sync::CancellationToken;

use crate::support::{LONG, alive, all_dead, contained, mark, run, shell, text, wait_for};

/// Runs a line that leaves processes behind, and sees that it ended by itself and they are dead.
async fn leaves_nobody(line: &str) -> String {
    let mark = mark();
    let finished = shell(&line.replace("MARK", &mark)).await;
    assert_eq!(finished.exit, Exit::Code(0), "{line}");
    assert_eq!(alive(&mark), Vec::<String>::new(), "{line}");
    text(&finished.stdout.tail)
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipe_neither_delays_nor_survives() {
    assert_eq!(leaves_nobody("sleep MARK & echo ok").await, "ok\n");
    assert_eq!(
        leaves_nobody("nohup sleep MARK & echo ok").await.replace("nohup: ignoring input\n", ""),
        "ok\n"
    );
}

#[tokio::test]
async fn a_background_child_that_keeps_writing_neither_delays_nor_survives() {
    assert!(leaves_nobody("echo ok; while :; do echo MARK; done & exit 0").await.contains("ok\n"));
}

#[tokio::test]
async fn what_leaves_the_session_is_dead_too() {
    assert_eq!(leaves_nobody("setsid sleep MARK & echo x").await, "x\n");
    assert_eq!(leaves_nobody("( ( setsid sleep MARK & ) & ); echo x").await, "x\n");
    assert_eq!(leaves_nobody("for i in $(seq 40); do setsid sleep MARK & done; echo x").await, "x\n");
    assert_eq!(
        leaves_nobody(
            "setsid sh -c 'trap \"\" TERM HUP INT; sleep MARK; sleep MARK' >/dev/null 2>&1 & echo x"
        )
        .await,
        "x\n"
    );
}

#[tokio::test]
async fn a_chain_of_forks_that_runs_from_the_signals_is_outrun() {
    let folder = tempfile::tempdir().unwrap();
    let line = "c() { echo >>links; (c &) }; (c &); while [ $(wc -l <links) -lt 30 ]; do sleep 0.01; done";
    let command = Command::shell(format!(": >links; {line}"), folder.path()).timeout(LONG);
    let finished = run(&contained(), command).await.unwrap();
    assert_eq!(finished.exit, Exit::Code(0));
    let links = || std::fs::read(folder.path().join("links")).unwrap().len();
    let at_the_end = links();
    assert!(at_the_end >= 30);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(links(), at_the_end, "the chain goes on");
}

#[tokio::test]
async fn one_that_ignores_the_polite_signal_is_killed_at_its_timeout() {
    let sandboxes: [&dyn Sandbox; 2] = [&contained(), &ProcessGroup::new()];
    for sandbox in sandboxes {
        let mark = mark();
        let line = format!("trap '' TERM; sleep {mark} & sleep {mark}; sleep {mark}");
        let finished =
            run(sandbox, Command::shell(line, "/tmp").timeout(Duration::from_millis(300))).await.unwrap();
        assert_eq!(finished.exit, Exit::Timeout);
        assert!(all_dead(&mark));
    }
}

#[tokio::test]
async fn one_that_is_cancelled_can_clean_up_first() {
    let sandboxes: [&dyn Sandbox; 2] = [&contained(), &ProcessGroup::new()];
    for sandbox in sandboxes {
        let mark = mark();
        let line = format!("trap 'echo cleaned; exit 3' TERM; echo ready; sleep {mark} & wait");
        let cancel = CancellationToken::new();
        let seen = mark.clone();
        let canceller = {
            let cancel = cancel.clone();
            tokio::task::spawn_blocking(move || {
                assert!(wait_for(|| alive(&seen).len() > 1));
                cancel.cancel();
            })
        };
        let finished = sandbox.run(Command::shell(line, "/tmp").timeout(LONG), &cancel).await.unwrap();
        canceller.await.unwrap();
        assert_eq!(finished.exit, Exit::Cancelled);
        assert_eq!(text(&finished.stdout.tail), "ready\ncleaned\n");
        assert!(all_dead(&mark));
    }
}

#[tokio::test]
async fn a_run_that_was_cancelled_before_it_began_ends_at_once() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let mark = mark();
    let finished = contained().run(Command::shell(format!("sleep {mark}"), "/tmp"), &cancel).await.unwrap();
    assert_eq!(finished.exit, Exit::Cancelled);
    assert_eq!(alive(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn a_dropped_run_leaves_nobody() {
    let sandboxes: [&dyn Sandbox; 2] = [&contained(), &ProcessGroup::new()];
    for sandbox in sandboxes {
        let mark = mark();
        let line = format!("sleep {mark} & sleep {mark}; sleep {mark}");
        let cancel = CancellationToken::new();
        let mut running = sandbox.run(Command::shell(line, "/tmp").timeout(LONG), &cancel);
        let started = async {
            while alive(&mark).len() < 3 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::select! {
            finished = &mut running => panic!("it ended: {finished:?}"),
            () = started => {}
        }
        drop(running);
        assert!(all_dead(&mark));
    }
}

#[tokio::test]
async fn a_command_that_kills_its_helper_is_an_error_never_a_result() {
    let mark = mark();
    let line = format!("sleep {mark} & kill -9 $PPID; sleep {mark}");
    let error = run(&contained(), Command::shell(line, "/tmp").timeout(LONG)).await.unwrap_err();
    assert!(matches!(error, SpawnError::HelperLost { .. }), "{error}");
    assert!(all_dead(&mark));
}

#[tokio::test]
async fn nothing_can_be_asked_of_a_person() {
    assert_eq!(text(&shell("cat | wc -c; read x; echo $?").await.stdout.tail).trim(), "0\n1");
    assert_ne!(shell("exec 3<>/dev/tty").await.exit, Exit::Code(0));
    let folder = tempfile::tempdir().unwrap();
    let line =
        "git init -q . && echo a >f && git add f && git -c user.name=a -c user.email=a@b commit; echo $?";
    let finished = run(&contained(), Command::shell(line, folder.path()).timeout(LONG)).await.unwrap();
    assert_eq!(finished.exit, Exit::Code(0));
    assert!(text(&finished.stdout.tail).ends_with("1\n"), "a commit without a message must end by itself");
    let finished = shell("python3 -c 'input()'").await;
    assert_ne!(finished.exit, Exit::Timeout);
    assert!(!finished.exit.success());
}

#[tokio::test]
async fn the_bytes_for_stdin_arrive_whole_whether_they_are_read_or_not() {
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 253) as u8).collect();
    let sandboxes: [&dyn Sandbox; 2] = [&contained(), &ProcessGroup::new()];
    for sandbox in sandboxes {
        let command = Command::argv(["cat"], "/tmp").stdin(bytes.clone()).timeout(LONG);
        assert_eq!(run(sandbox, command).await.unwrap().stdout.hash, BlobId::of(&bytes));
        let command = Command::argv(["true"], "/tmp").stdin(bytes.clone()).timeout(LONG);
        assert_eq!(run(sandbox, command).await.unwrap().exit, Exit::Code(0));
    }
}

#[tokio::test]
async fn an_exit_is_told_as_it_was() {
    let sandboxes: [&dyn Sandbox; 2] = [&contained(), &ProcessGroup::new()];
    for sandbox in sandboxes {
        for (line, exit) in [
            ("exit 0", Exit::Code(0)),
            ("exit 7", Exit::Code(7)),
            ("kill -9 $$", Exit::Signal(9)),
            ("kill -SEGV $$", Exit::Signal(11)),
            ("kill -TERM $$", Exit::Signal(15)),
            ("no-such-command-anywhere", Exit::Code(127)),
            ("-x", Exit::Code(127)),
            ("kill 0", Exit::Signal(15)),
        ] {
            let finished = run(sandbox, Command::shell(line, "/tmp").timeout(LONG)).await.unwrap();
            assert_eq!(finished.exit, exit, "{line}: {}", text(&finished.stdout.tail));
        }
    }
}

#[tokio::test]
async fn a_large_output_is_kept_bounded_and_counted_whole() {
    let folder = tempfile::tempdir().unwrap();
    let spill = folder.path().join("out");
    let command = Command::shell("head -c 100000000 /dev/zero; printf end", "/tmp").keep(1000).spill(&spill);
    let finished = run(&contained(), command.timeout(LONG)).await.unwrap();
    assert_eq!(finished.exit, Exit::Code(0));
    assert_eq!((finished.stdout.total, finished.stdout.tail.len()), (100_000_003, 1000));
    assert!(finished.stdout.tail.ends_with(b"\0end"));
    assert!(finished.stdout.total < SPILL_LIMIT);
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(std::fs::File::open(&spill).unwrap()).unwrap();
    assert_eq!(finished.stdout.hash, hasher.finalize().into());
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&spill).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn streams_come_merged_in_order_or_apart() {
    let line = "echo one; echo two >&2; echo three";
    assert_eq!(text(&shell(line).await.stdout.tail), "one\ntwo\nthree\n");
    let folder = tempfile::tempdir().unwrap();
    let command = Command::shell(line, "/tmp").streams(Streams::Separate).spill(folder.path().join("out"));
    let finished = run(&contained(), command.timeout(LONG)).await.unwrap();
    assert_eq!(text(&finished.stdout.tail), "one\nthree\n");
    assert_eq!(text(&finished.stderr.tail), "two\n");
    assert_eq!(std::fs::read(finished.stderr.spilled.unwrap()).unwrap(), b"two\n");
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let error = run(&contained(), Command::argv(["no-such-program", "x"], "/tmp")).await.unwrap_err();
    assert!(error.to_string().contains("`no-such-program`: No such file"), "{error}");
    let error = run(&contained(), Command::shell("true", "/no/such/folder")).await.unwrap_err();
    assert!(
        matches!(&error, SpawnError::Folder { .. }) && error.to_string().contains("/no/such/folder"),
        "{error}"
    );
    let error = run(&contained(), Command::shell("true", "/dev/null")).await.unwrap_err();
    assert!(matches!(error, SpawnError::Folder { .. }), "{error}");
    for argv in [&[][..], &[""], &["a\0b"]] {
        let error = run(&contained(), Command::argv(argv.iter().copied(), "/tmp")).await.unwrap_err();
        assert!(matches!(error, SpawnError::Invalid(_)), "{error}");
    }
    let error =
        run(&contained(), Command::shell("true", "/tmp").spill("/no/such/folder/x")).await.unwrap_err();
    assert!(error.to_string().contains("/no/such/folder/x"), "{error}");
}

#[tokio::test]
async fn a_helper_that_is_missing_or_none_is_an_error() {
    let error = run(&Contained::with_helper("/no/helper"), Command::shell("true", "/tmp")).await.unwrap_err();
    assert!(
        matches!(error, SpawnError::Helper { .. }) && error.to_string().contains("/no/helper"),
        "{error}"
    );
    for program in ["true", "cat", "echo"] {
        let sandbox = Contained::with_helper(format!("/bin/{program}"));
        let error = run(&sandbox, Command::shell("true", "/tmp")).await.unwrap_err();
        assert!(matches!(error, SpawnError::HelperLost { .. }), "{program}: {error}");
    }
}

#[tokio::test]
async fn a_program_beside_the_folder_is_found_from_the_folder_it_starts_in() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/bin/echo", folder.path().join("check")).unwrap();
    let command = Command::argv(["./check", "$HOME", "a b"], folder.path()).env("X", "1").timeout(LONG);
    assert_eq!(text(&run(&contained(), command).await.unwrap().stdout.tail), "$HOME a b\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_do_not_mix() {
    let runs = (0..24)
        .map(|n| tokio::spawn(async move { (n, shell(&format!("sleep 0.0{n}; echo {n}; exit {n}")).await) }));
    for run in runs.collect::<Vec<_>>() {
        let (n, finished) = run.await.unwrap();
        assert_eq!((finished.exit, text(&finished.stdout.tail)), (Exit::Code(n), format!("{n}\n")));
    }
}

#[test]
fn each_sandbox_says_what_it_contains() {
    assert_eq!(contained().containment(), Containment::DESCENDANTS);
    assert_eq!(ProcessGroup::new().containment(), Containment::PROCESS_GROUP);
    assert!(!ProcessGroup::new().containment().descendants_die);
    assert!(contained().containment().to_string().contains("files and the network are not limited"));
}
