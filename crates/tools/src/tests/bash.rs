//! `bash`, through real processes.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use countersign_protocol::Exit;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Bench, message, text};
use crate::{
    Taken, execute,
    limits::{MAX_BYTES, MAX_LINES},
    take,
};

/// The path of the whole output, as a result tells it.
fn kept(text: &str) -> &Path {
    let from = text.find(" is in ").expect("no file is told") + " is in ".len();
    Path::new(&text[from..from + text[from..].find(": read it").unwrap()])
}

#[tokio::test]
async fn how_a_command_ended_is_always_told() {
    let bench = Bench::new();
    for (command, exit, shown) in [
        ("echo out; echo err >&2", Exit::Code(0), "out\nerr\n[exit 0]"),
        ("printf x", Exit::Code(0), "x\n[exit 0]"),
        ("true", Exit::Code(0), "(no output)\n[exit 0]"),
        ("echo no; exit 3", Exit::Code(3), "no\n[exit 3]"),
        ("kill -9 $$", Exit::Signal(9), "(no output)\n[killed by signal 9: exit 137]"),
    ] {
        let outcome = bench.run(&[("bash", json!({"command": command}))]).await.remove(0);
        assert_eq!((text(&outcome).as_str(), outcome.exit), (shown, Some(exit)), "{command}");
        assert_eq!(outcome.is_error, !exit.success(), "{command}");
    }
    assert_eq!(fs::read_dir(&bench.context.outputs).unwrap().count(), 0, "outputs that were shown were kept");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_a_failure() {
    let bench = Bench::new();
    let given = json!({"command": "echo begun; sleep 600", "timeout": 1});
    let outcome = bench.run(&[("bash", given)]).await.remove(0);
    let text = text(&outcome);
    assert!(outcome.is_error && outcome.exit == Some(Exit::Timeout));
    assert!(text.starts_with("begun\n[timed out after 1 s and was killed: give a longer timeout"), "{text}");
}

/// A call ends when its command has ended: not when all that it started lets go of its output.
#[tokio::test]
async fn what_is_left_running_does_not_hold_the_call() {
    let bench = Bench::new();
    for command in ["sleep 600 & echo ok", "setsid sleep 600 & echo ok", "read x; echo ok"] {
        let outcome = bench.run(&[("bash", json!({"command": command, "timeout": 60}))]).await.remove(0);
        assert!(text(&outcome).contains("ok\n"), "{command}: {}", text(&outcome));
        assert_eq!(outcome.exit, Some(Exit::Code(0)), "{command}");
    }
    let outcome =
        bench.run(&[("bash", json!({"command": "yes >&1 & echo ok", "timeout": 60}))]).await.remove(0);
    assert_eq!(outcome.exit, Some(Exit::Code(0)));
}

#[tokio::test]
async fn the_end_of_a_long_output_is_shown_and_the_whole_is_kept() {
    let bench = Bench::new();
    let (shown, _) = bench.call("bash", json!({"command": "seq 1 3000"})).await;
    assert!(
        shown.starts_with("1001\n") && shown.contains("\n3000\n[Only the last 2000 lines are shown"),
        "{shown}"
    );
    let whole = kept(&shown);
    assert_eq!(fs::read_to_string(whole).unwrap().lines().count(), 3000);
    assert_eq!(fs::metadata(whole).unwrap().permissions().mode() & 0o777, 0o600);
    let (text, failed) = bench.call("read", json!({"path": whole, "limit": 1})).await;
    assert!(!failed && text.starts_with("1\n[lines 1-1 of 3000"), "{text}");
    let (again, _) = bench.call("bash", json!({"command": "seq 1 3000"})).await;
    assert_eq!(shown, again, "the same output gave another result");
}

#[tokio::test]
async fn output_is_cut_in_bytes_at_a_character() {
    let bench = Bench::new();
    let command = "head -c 100000 /dev/zero | sed 's/\\x0/é/g'; echo; echo end";
    let (text, _) = bench.call("bash", json!({"command": command})).await;
    let shown = &text[..text.find("\n[Only").unwrap()];
    assert!(shown.len() <= MAX_BYTES && shown.lines().count() <= MAX_LINES, "{}", shown.len());
    assert!(shown.ends_with("end") && !text.contains('\u{fffd}'));
}

#[tokio::test]
async fn escapes_are_stripped_and_binary_output_is_described() {
    let bench = Bench::new();
    let command = r"for i in $(seq 2000); do printf '\033[38;5;%dmx\033[0m' $i; done";
    let (text, _) = bench.call("bash", json!({"command": command})).await;
    assert_eq!(text, format!("{}\n[exit 0]", "x".repeat(2000)));
    let (text, failed) = bench.call("bash", json!({"command": r"printf '\000\377\001'"})).await;
    assert!(!failed && text.starts_with("[binary, 3 bytes, blake3 "), "{text}");
    assert!(text.contains("first bytes 00ff01]"), "{text}");
    assert_eq!(fs::read(kept(&text)).unwrap(), b"\x00\xff\x01");
}

#[tokio::test]
async fn known_secrets_are_in_no_result_and_no_file() {
    let mut bench = Bench::new();
    let key = "sk-TESTKEY-0123456789";
    bench.context = bench.context.clone().masking([key.to_owned()]);
    bench.file("config", format!("key={key}\n"));
    let coloured =
        format!("printf 'sk-TEST\\033[1mKEY-0123456789\\n'; curl 'http://[::1]:1/?apikey={key}'; echo {key}");
    for (name, arguments) in [
        ("bash", json!({"command": coloured})),
        ("bash", json!({"command": format!("seq 1 3000; echo {key}")})),
        ("read", json!({"path": "config"})),
        ("grep", json!({"pattern": "key"})),
        ("read", json!({"path": key})),
    ] {
        let (text, _) = bench.call(name, arguments).await;
        assert!(!text.contains(key) && text.contains("[secret]"), "{name}: {text}");
    }
    for entry in fs::read_dir(&bench.context.outputs).unwrap() {
        let content = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!content.contains(key) && content.contains("[secret]"));
    }
}

#[tokio::test]
async fn a_cancelled_command_is_told_as_interrupted() {
    let bench = Bench::new();
    let cancel = CancellationToken::new();
    let calls = message(&[
        ("bash", r#"{"command":"touch begun; sleep 600"}"#),
        ("bash", r#"{"command":"touch never"}"#),
    ]);
    let Taken::Batch(batch) = take(&calls, true, &bench.tools) else { panic!("not a batch") };
    let begun = bench.root().join("begun");
    let stop = async {
        while !begun.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (outcomes, ()) = tokio::join!(execute(batch, &bench.tools, &bench.context, &cancel), stop);
    assert_eq!(outcomes[0].exit, Some(Exit::Cancelled));
    assert!(outcomes[0].is_error && text(&outcomes[0]).contains("effect unknown"));
    assert!(outcomes[1].is_error && text(&outcomes[1]).contains("before it ran"));
    assert!(!bench.root().join("never").exists());
}
