//! JUnit XML, in the shapes that pytest, Surefire, Gradle, jest, gotestsum and nextest write.

use countersign_protocol::{TestCounts, TestState};
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::{ReportError, Roll};

pub(super) fn read(files: &[String]) -> Result<Roll, ReportError> {
    if files.is_empty() {
        return Err(ReportError::Absent { expected: "a JUnit XML file that the command writes" });
    }
    let mut roll = Roll::default();
    for file in files {
        roll.join(document(file)?);
    }
    Ok(roll)
}

/// A `testsuite` that is open: its name, what its attributes announce, and what was counted in it.
struct Suite {
    name: String,
    announced: Option<u64>,
    counted: TestCounts,
}

/// A `testcase` that is open.
struct Case {
    name: String,
    state: TestState,
    /// It stands for a file that could not be loaded, not for a test that has a name.
    unloaded: bool,
}

fn document(text: &str) -> Result<Roll, ReportError> {
    let mut reader = Reader::from_str(text);
    let (mut roll, mut suites, mut case) = (Roll::default(), Vec::<Suite>::new(), None::<Case>);
    let (mut depth, mut seen_root) = (0_u64, false);
    loop {
        let event = reader.read_event().map_err(|error| malformed(&reader, &error.to_string()))?;
        match event {
            Event::Start(start) => {
                if depth == 0 && !matches!(start.local_name().as_ref(), b"testsuites" | b"testsuite") {
                    return Err(malformed(&reader, "its root is neither testsuites nor testsuite"));
                }
                depth += 1;
                seen_root = true;
                open(&start, &mut suites, &mut case)?;
            }
            Event::Empty(start) => {
                seen_root = seen_root || matches!(start.local_name().as_ref(), b"testsuites" | b"testsuite");
                open(&start, &mut suites, &mut case)?;
                close(start.local_name().as_ref(), &mut suites, &mut case, &mut roll)?;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                close(end.local_name().as_ref(), &mut suites, &mut case, &mut roll)?;
            }
            Event::Eof if depth > 0 => {
                return Err(ReportError::Unfinished { what: "the JUnit file ends in the middle".into() });
            }
            Event::Eof if !seen_root => return Err(malformed(&reader, "it is empty")),
            Event::Eof => return Ok(roll),
            _ => {}
        }
    }
}

fn open(start: &BytesStart<'_>, suites: &mut Vec<Suite>, case: &mut Option<Case>) -> Result<(), ReportError> {
    match start.local_name().as_ref() {
        b"testsuite" => suites.push(Suite {
            name: attribute(start, "name")?.unwrap_or_default(),
            announced: attribute(start, "tests")?.and_then(|n| n.trim().parse().ok()),
            counted: TestCounts::default(),
        }),
        b"testcase" => {
            let suite = suites.last().map(|suite| suite.name.clone()).unwrap_or_default();
            let class = attribute(start, "classname")?.filter(|class| !class.is_empty()).unwrap_or(suite);
            let name = attribute(start, "name")?.unwrap_or_default();
            let left_out = matches!(
                attribute(start, "status")?.as_deref(),
                Some("notrun" | "disabled" | "skipped" | "Skipped" | "ignored")
            );
            let state = if left_out { TestState::Skipped } else { TestState::Passed };
            *case = Some(Case { name: format!("{class}::{name}"), state, unloaded: false });
        }
        b"failure" | b"error" => {
            if let Some(case) = case {
                case.state = TestState::Failed;
                case.unloaded |= attribute(start, "message")?.as_deref() == Some("collection failure");
            }
        }
        b"skipped" => {
            if let Some(case) = case.as_mut().filter(|case| case.state == TestState::Passed) {
                case.state = TestState::Skipped;
            }
        }
        _ => {}
    }
    Ok(())
}

fn close(
    element: &[u8],
    suites: &mut Vec<Suite>,
    case: &mut Option<Case>,
    roll: &mut Roll,
) -> Result<(), ReportError> {
    match element {
        b"testcase" => {
            let Some(case) = case.take() else { return Ok(()) };
            if let Some(suite) = suites.last_mut() {
                match case.state {
                    TestState::Passed => suite.counted.passed += 1,
                    TestState::Failed => suite.counted.failed += 1,
                    TestState::Skipped => suite.counted.skipped += 1,
                }
            }
            if case.unloaded { roll.count(case.state, 1) } else { roll.test(case.name, case.state) }
        }
        b"testsuite" => {
            let Some(suite) = suites.pop() else { return Ok(()) };
            let counted = suite.counted;
            // Some writers count a test twice that fails in its body and again in its clean-up.
            let differs = suite.announced.is_some_and(|announced| announced != counted.total());
            if differs && counted.failed == 0 {
                let announced = suite.announced.unwrap_or_default();
                let what = format!(
                    "suite `{}` announces {announced} tests and lists {}",
                    suite.name,
                    counted.total()
                );
                return Err(ReportError::Contradiction { what });
            }
            if let Some(outer) = suites.last_mut() {
                outer.counted.passed += counted.passed;
                outer.counted.failed += counted.failed;
                outer.counted.skipped += counted.skipped;
            }
        }
        _ => {}
    }
    Ok(())
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Result<Option<String>, ReportError> {
    let found =
        start.try_get_attribute(name).map_err(|error| ReportError::Malformed { what: error.to_string() })?;
    found
        .map(|attribute| attribute.unescape_value().map(std::borrow::Cow::into_owned))
        .transpose()
        .map_err(|error| ReportError::Malformed { what: format!("attribute {name}: {error}") })
}

fn malformed(reader: &Reader<&[u8]>, what: &str) -> ReportError {
    ReportError::Malformed { what: format!("the JUnit file, at byte {}: {what}", reader.buffer_position()) }
}
