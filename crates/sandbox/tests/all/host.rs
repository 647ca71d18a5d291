//! What must hold of the host process as a whole, so each test starts one: this test program again.

use std::process::{Command as Process, Stdio};

use countersign_sandbox::{Command, close_to_others};

use crate::support::{LONG, alive, all_dead, contained, mark, run, text, wait_for};

/// The variable that turns the ignored test below into a host, with the line to run.
const LINE: &str = "SANDBOX_TEST_LINE";

/// The variable that makes it close itself to others.
const CLOSED: &str = "SANDBOX_TEST_CLOSED";

fn host(line: &str) -> Process {
    let mut process = Process::new(std::env::current_exe().unwrap());
    process.args(["--exact", "host::a_host", "--ignored", "--nocapture", "--test-threads=1"]).env(LINE, line);
    process
}

#[tokio::test]
#[ignore = "a host for the tests of this module, started by them"]
async fn a_host() {
    let line = std::env::var(LINE).expect("started by another test");
    if std::env::var_os(CLOSED).is_some() {
        close_to_others().unwrap();
    }
    let command = Command::shell(line, "/tmp").timeout(LONG).keep(64 * 1024 * 1024);
    println!("{}", text(&run(&contained(), command).await.unwrap().stdout.tail));
}

#[test]
fn everything_dies_with_a_killed_host() {
    let mark = mark();
    let line = format!(
        "trap '' TERM HUP; sleep {mark} & setsid sleep {mark} & ( ( setsid sh -c 'trap \"\" TERM HUP; sleep {mark}; \
         sleep {mark}' & ) & ); sleep {mark}"
    );
    let mut host = host(&line).stdout(Stdio::null()).spawn().unwrap();
    // Three sleeps (a shell becomes its last command), and the shell that left with its own.
    assert!(wait_for(|| alive(&mark).len() >= 5), "{:?}", alive(&mark));
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(all_dead(&mark), "{:?}", alive(&mark));
}

#[test]
fn no_key_of_the_host_is_in_an_environment_or_argument() {
    let key = format!("sk-test-{}", mark());
    let line =
        "env; cat /proc/self/environ /proc/$PPID/environ; cat /proc/[0-9]*/cmdline 2>/dev/null; echo seen";
    let output = host(line).env("ANTHROPIC_API_KEY", &key).env("MY_TOKEN", &key).output().unwrap();
    let output = text(&output.stdout);
    assert!(output.contains("seen") && output.contains("GIT_EDITOR=true"), "{output}");
    assert!(!output.contains(&key));
}

#[test]
fn a_closed_host_shows_its_keys_to_no_command() {
    let key = format!("sk-test-{}", mark());
    // The helper's parent is the host.
    let line = "cat /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/environ; echo seen";
    let output = |closed: bool| {
        let mut host = host(line);
        host.env("ANTHROPIC_API_KEY", &key);
        if closed {
            host.env(CLOSED, "1");
        }
        if rustix::process::geteuid().is_root() {
            // Root sees everything, so the host is somebody else.
            std::os::unix::process::CommandExt::uid(&mut host, 65534);
        }
        let output = host.output().unwrap();
        assert!(text(&output.stdout).contains("seen"), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(output(false).contains(&key), "the test sees no keys even where it should");
    assert!(!output(true).contains(&key));
}
