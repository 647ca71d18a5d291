//! `cargo test` as text: one block for each test binary and each crate's documentation tests.

use std::path::Path;

use countersign_protocol::TestState;

use super::{ReportError, Roll, number, pattern};

pattern!(BINARY, r"^\s*Running (?:unittests )?(\S.*?) \((.+)\)$");
pattern!(DOCUMENTATION, r"^\s*Doc-tests (\S+)$");
pattern!(BEGIN, r"^running (\d+) tests?$");
pattern!(TEST, r"^test (.+?) \.\.\. (.*)$");
pattern!(
    END,
    r"^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; \d+ filtered out"
);
pattern!(STATE, r"^(ok|FAILED|ignored(?:,.*)?|bench:.*)(?: <[\d.]+s>)?$");
pattern!(BUILD_FAILED, r"(?m)^error(?:\[E\d+\])?: .*$");
pattern!(DOCTEST_LINE, r" \(line \d+\)");

/// One test binary's tests, between `running n tests` and `test result:`.
struct Block {
    announced: u64,
    named: Vec<(String, TestState)>,
    /// A test whose own output came between its name and its result.
    pending: Option<String>,
    /// Once the failures' captured output begins, nothing but the result counts.
    in_failures: bool,
}

pub(super) fn read(text: &str) -> Result<Roll, ReportError> {
    let mut roll = Roll::default();
    let mut binary = String::new();
    let mut block: Option<Block> = None;
    let mut blocks = 0;
    for line in text.lines() {
        if let Some(open) = &mut block {
            if let Some(end) = END.captures(line) {
                let counts = [1, 2, 3, 4].map(|n| number(&end[n]));
                close(&mut roll, &binary, open, counts)?;
                block = None;
                blocks += 1;
            } else {
                open.line(line);
            }
        } else if let Some(begin) = BEGIN.captures(line) {
            block = Some(Block {
                announced: number(&begin[1]),
                named: Vec::new(),
                pending: None,
                in_failures: false,
            });
        } else if END.is_match(line) {
            return Err(ReportError::Contradiction { what: format!("`{line}` ends tests that never began") });
        } else if let Some(running) = BINARY.captures(line) {
            binary = format!("{} ({}): ", stem(&running[2]), &running[1]);
        } else if let Some(crate_) = DOCUMENTATION.captures(line) {
            binary = format!("{} (doc): ", &crate_[1]);
        }
    }
    if let Some(open) = block {
        let what = format!("{}{} tests began and their result is missing", binary, open.announced);
        return Err(ReportError::Unfinished { what });
    }
    match (blocks, BUILD_FAILED.find(text)) {
        (0, Some(error)) => Err(ReportError::NotBuilt { what: error.as_str().into() }),
        (0, None) => Err(ReportError::Absent { expected: "the text of `cargo test`" }),
        _ => Ok(roll),
    }
}

impl Block {
    fn line(&mut self, line: &str) {
        if line == "failures:" {
            self.in_failures = true;
        } else if self.in_failures {
        } else if let Some(test) = TEST.captures(line) {
            match state(&test[2]) {
                Some(state) => self.named.push((test[1].into(), state)),
                None => self.pending = Some(test[1].into()),
            }
        } else if let Some(state) = state(line)
            && let Some(name) = self.pending.take()
        {
            self.named.push((name, state));
        }
    }
}

fn state(text: &str) -> Option<TestState> {
    let found = STATE.captures(text.trim_end())?;
    Some(match &found[1] {
        "FAILED" => TestState::Failed,
        skipped if skipped.starts_with("ignored") => TestState::Skipped,
        _ => TestState::Passed,
    })
}

/// Books a block whose result line has come. Quiet output names no test; then its counts are all there is.
fn close(
    roll: &mut Roll,
    binary: &str,
    block: &Block,
    [passed, failed, ignored, measured]: [u64; 4],
) -> Result<(), ReportError> {
    let total = passed.saturating_add(failed).saturating_add(ignored).saturating_add(measured);
    let named = |state| block.named.iter().filter(|(_, seen)| *seen == state).count() as u64;
    let contradiction = |what| Err(ReportError::Contradiction { what: format!("{binary}{what}") });
    if block.announced != total {
        return contradiction(format!("{} tests were announced and {total} have a result", block.announced));
    }
    if block.named.is_empty() {
        roll.count(TestState::Passed, passed + measured);
        roll.count(TestState::Failed, failed);
        roll.count(TestState::Skipped, ignored);
        return Ok(());
    }
    let seen = [TestState::Passed, TestState::Failed, TestState::Skipped].map(named);
    if seen != [passed + measured, failed, ignored] {
        return contradiction(format!(
            "the result says {passed} passed, {failed} failed, {ignored} ignored; by name they are {seen:?}"
        ));
    }
    for (name, state) in &block.named {
        // A documentation test is named by its line, which any edit above it moves.
        let name = DOCTEST_LINE.replace(name, "");
        roll.test(format!("{binary}{name}"), *state);
    }
    Ok(())
}

/// The binary's name without the hash that cargo appends.
fn stem(path: &str) -> String {
    let file = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    match file.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => name.into(),
        _ => file.into_owned(),
    }
}
