//! What the tests share: the sandboxes, a word that marks processes, and who of them is alive.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use countersign_sandbox::{Command, Contained, Finished, Sandbox, SpawnError};
use tokio_util::sync::CancellationToken;

/// Long enough that a loaded machine does not reach it, short enough that a hung test ends.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) fn contained() -> Contained {
    Contained::with_helper(env!("CARGO_BIN_EXE_countersign-contain"))
}

pub(crate) async fn run(sandbox: &dyn Sandbox, command: Command) -> Result<Finished, SpawnError> {
    sandbox.run(command, &CancellationToken::new()).await
}

pub(crate) async fn shell(line: &str) -> Finished {
    run(&contained(), Command::shell(line, "/tmp").timeout(LONG)).await.unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A word that no other process has in its arguments: `sleep` takes it as its time.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("9{}.{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes with this word in their arguments.
pub(crate) fn alive(mark: &str) -> Vec<String> {
    let folders = std::fs::read_dir("/proc").unwrap().flatten();
    let names = folders.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| {
            name.bytes().all(|byte| byte.is_ascii_digit())
                && std::fs::read(format!("/proc/{name}/cmdline")).is_ok_and(|line| text(&line).contains(mark))
        })
        .collect()
}

/// Waits until nobody with this word is alive.
pub(crate) fn all_dead(mark: &str) -> bool {
    wait_for(|| alive(mark).is_empty())
}

/// Waits until it holds, or long enough.
pub(crate) fn wait_for(mut holds: impl FnMut() -> bool) -> bool {
    let limit = Instant::now() + LONG;
    while !holds() {
        if Instant::now() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
