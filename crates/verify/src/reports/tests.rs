//! Report readers against real output of the runners, and against output that must not be believed.

use countersign_protocol::{TestCounts, TestState, Tests, policy::ReportKind};

use super::{Output, ReportError, read};

fn stdout(kind: &ReportKind, text: &str) -> Result<Tests, ReportError> {
    read(kind, &Output { stdout: text, root: "/copy", ..Output::default() }).expect("a kind with a report")
}

fn counts(passed: u64, failed: u64, skipped: u64) -> TestCounts {
    TestCounts { passed, failed, skipped }
}

fn state(tests: &Tests, name: &str) -> TestState {
    *tests.by_name.get(name).unwrap_or_else(|| panic!("`{name}` is not in {:#?}", tests.by_name))
}

#[test]
fn cargo_names_tests_by_binary_and_doctests_without_lines() {
    let tests = stdout(&ReportKind::CargoTest, include_str!("fixtures/cargo.txt")).unwrap();
    assert_eq!(tests.counts, counts(5, 0, 2));
    assert_eq!(tests.by_name.len(), 7);
    assert_eq!(state(&tests, "calc (src/lib.rs): tests::adds"), TestState::Passed);
    assert_eq!(state(&tests, "calc (src/lib.rs): tests::slow"), TestState::Skipped);
    assert_eq!(state(&tests, "it (tests/it.rs): outside"), TestState::Passed);
    assert_eq!(state(&tests, "calc (doc): src/lib.rs - add"), TestState::Passed);
    assert_eq!(state(&tests, "calc (doc): src/lib.rs - add #3"), TestState::Skipped);
}

#[test]
fn cargo_output_of_tests_does_not_hide_or_forge_results() {
    let quiet = stdout(&ReportKind::CargoTest, include_str!("fixtures/cargo-quiet.txt")).unwrap();
    assert_eq!((quiet.counts, quiet.by_name.len()), (counts(5, 0, 2), 0));
    let failing = stdout(&ReportKind::CargoTest, include_str!("fixtures/cargo-fails.txt")).unwrap();
    assert_eq!(failing.counts, counts(5, 1, 2));
    assert_eq!(state(&failing, "calc (src/lib.rs): tests::fails"), TestState::Failed);
    // Here a passing test prints a result line of its own: the line is the test's output, not the runner's.
    let noisy = stdout(&ReportKind::CargoTest, include_str!("fixtures/cargo-nocapture.txt")).unwrap();
    assert_eq!(noisy.counts, counts(5, 0, 2));
}

#[test]
fn cargo_without_a_whole_report_is_an_error() {
    let not_built = stdout(&ReportKind::CargoTest, include_str!("fixtures/cargo-nobuild.txt"));
    assert!(matches!(not_built, Err(ReportError::NotBuilt { .. })), "{not_built:?}");
    let cut = include_str!("fixtures/cargo.txt").split("test outside").next().unwrap();
    assert!(matches!(stdout(&ReportKind::CargoTest, cut), Err(ReportError::Unfinished { .. })));
    assert!(matches!(stdout(&ReportKind::CargoTest, "all tests passed\n"), Err(ReportError::Absent { .. })));
    let forged = "running 2 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
    assert!(matches!(stdout(&ReportKind::CargoTest, forged), Err(ReportError::Contradiction { .. })));
}

#[test]
fn pytest_is_read_from_its_file_and_from_its_text() {
    let text = include_str!("fixtures/pytest-verbose.txt");
    let file = [include_str!("fixtures/pytest.xml").to_owned()];
    let both = Output { stdout: text, junit: &file, ..Output::default() };
    let tests = read(&ReportKind::Pytest, &both).unwrap().unwrap();
    assert_eq!(tests.counts, counts(5, 4, 2));
    assert_eq!(state(&tests, "p.test_p::test_par[a b]"), TestState::Passed);
    assert_eq!(state(&tests, "p.test_p.TestK::test_m"), TestState::Passed);
    assert_eq!(state(&tests, "p.test_p::test_xf"), TestState::Skipped);
    assert_eq!(state(&tests, "p.test_p::test_late"), TestState::Failed);
    assert!(!tests.by_name.keys().any(|name| name.contains("test_broken")), "a file is no test");

    let alone = stdout(&ReportKind::Pytest, text).unwrap();
    assert_eq!(state(&alone, "p/test_p.py::test_par[a b]"), TestState::Passed);
    assert_eq!(state(&alone, "p/test_p.py::test_skip"), TestState::Skipped);
    assert_eq!(state(&alone, "p/test_p.py::test_late"), TestState::Failed);
}

#[test]
fn pytest_parts_that_disagree_are_an_error() {
    let file = [include_str!("fixtures/pytest-clean.xml").to_owned()];
    let text = include_str!("fixtures/pytest-quiet.txt");
    let read_with = |text: &str| {
        read(&ReportKind::Pytest, &Output { stdout: text, junit: &file, ..Output::default() }).unwrap()
    };
    assert_eq!(read_with(text).unwrap().counts, counts(3, 0, 1));
    let forged = read_with("=== 4 passed in 0.01s ===\n");
    assert!(matches!(forged, Err(ReportError::Contradiction { .. })), "{forged:?}");
    // Without the file, quiet text has counts only.
    let quiet = stdout(&ReportKind::Pytest, text).unwrap();
    assert_eq!((quiet.counts, quiet.by_name.len()), (counts(3, 0, 1), 0));
    assert_eq!(stdout(&ReportKind::Pytest, "=== no tests ran in 0.01s ===").unwrap().counts.total(), 0);
    assert!(matches!(stdout(&ReportKind::Pytest, "1 passed"), Err(ReportError::Absent { .. })));
}

#[test]
fn unittest_names_are_the_same_in_old_and_new_versions() {
    let old = include_str!("fixtures/unittest-3.8.18.txt");
    let new = include_str!("fixtures/unittest-3.11.7.txt");
    let read_err =
        |text| read(&ReportKind::Unittest, &Output { stderr: text, ..Output::default() }).unwrap().unwrap();
    let (old, new) = (read_err(old), read_err(new));
    assert_eq!(old.by_name, new.by_name);
    assert_eq!(state(&new, "tests.test_a.A.test_ok"), TestState::Passed);
    assert_eq!(state(&new, "tests.test_a.A.test_noise"), TestState::Passed);
    assert_eq!(state(&new, "tests.test_a.A.test_sub"), TestState::Failed);
    assert_eq!(state(&new, "tests.test_a.A.test_skip"), TestState::Skipped);
    assert_eq!(state(&new, "tests.test_a.A.test_xf"), TestState::Skipped);
    assert_eq!(state(&new, "tests.test_a.A.test_xs"), TestState::Failed);
    assert!(!new.by_name.keys().any(|name| name.contains("_FailedTest")), "a file is no test");
}

#[test]
fn unittest_counts_stand_alone_when_quiet_and_must_be_whole() {
    let quiet = "..s.\n----------------------------------------------------------------------\nRan 4 tests in 0.001s\n\nOK (skipped=1)\n";
    let tests = stdout(&ReportKind::Unittest, quiet).unwrap();
    assert_eq!((tests.counts, tests.by_name.len()), (counts(3, 0, 1), 0));
    let cut = "test_a (m.A.test_a) ... ok\n";
    assert!(matches!(stdout(&ReportKind::Unittest, cut), Err(ReportError::Unfinished { .. })));
    // A program that prints a larger summary than what ran by name is not believed.
    let forged = format!("{cut}\nRan 7 tests in 0.001s\n\nOK\n");
    assert!(matches!(stdout(&ReportKind::Unittest, &forged), Err(ReportError::Contradiction { .. })));
    assert!(matches!(stdout(&ReportKind::Unittest, "OK\n"), Err(ReportError::Absent { .. })));
    let none = "\n----------------------------------------------------------------------\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n";
    assert_eq!(stdout(&ReportKind::Unittest, none).unwrap().counts.total(), 0);
}

#[test]
fn go_json_and_text_name_tests_by_package() {
    let json = r#"{"Action":"start","Package":"x/calc"}
{"Action":"run","Package":"x/calc","Test":"TestAdd"}
{"Action":"output","Package":"x/calc","Test":"TestAdd","Output":"--- PASS: TestForged (0.00s)\n"}
{"Action":"run","Package":"x/calc","Test":"TestAdd/zero"}
{"Action":"pass","Package":"x/calc","Test":"TestAdd/zero","Elapsed":0}
{"Action":"pass","Package":"x/calc","Test":"TestAdd","Elapsed":0}
{"Action":"run","Package":"x/calc","Test":"TestLater"}
{"Action":"skip","Package":"x/calc","Test":"TestLater","Elapsed":0}
{"Action":"pass","Package":"x/calc","Elapsed":0.01}
"#;
    let tests = stdout(&ReportKind::GoTest, json).unwrap();
    assert_eq!(tests.counts, counts(2, 0, 1));
    assert_eq!(state(&tests, "x/calc.TestAdd/zero"), TestState::Passed);
    let cut: String = json.lines().take(4).map(|line| format!("{line}\n")).collect();
    assert!(matches!(stdout(&ReportKind::GoTest, &cut), Err(ReportError::Unfinished { .. })));

    let text = "=== RUN   TestAdd\n=== RUN   TestAdd/zero\n--- PASS: TestAdd (0.00s)\n    --- PASS: TestAdd/zero (0.00s)\n=== RUN   TestLater\n    calc_test.go:9: later\n--- SKIP: TestLater (0.00s)\nPASS\nok  \tx/calc\t0.002s\n";
    assert_eq!(stdout(&ReportKind::GoTest, text).unwrap(), tests);
    let failed = text.replace("--- PASS: TestAdd (", "--- FAIL: TestAdd (").replace("ok  \t", "FAIL\t");
    assert_eq!(stdout(&ReportKind::GoTest, &failed).unwrap().counts, counts(1, 1, 1));
    let lie = text.replace("--- PASS: TestAdd (", "--- FAIL: TestAdd (");
    assert!(matches!(stdout(&ReportKind::GoTest, &lie), Err(ReportError::Contradiction { .. })));
    let broken = "# x/calc\n./calc.go:3:1: syntax error\nFAIL\tx/calc [build failed]\nFAIL\n";
    assert!(matches!(stdout(&ReportKind::GoTest, broken), Err(ReportError::NotBuilt { .. })));
    // Without -v there is nothing to compare by.
    assert!(matches!(stdout(&ReportKind::GoTest, "ok  \tx/calc\t0.002s\n"), Err(ReportError::Absent { .. })));
}

#[test]
fn node_reads_both_reporters() {
    let tap = stdout(&ReportKind::NodeTest, include_str!("fixtures/node-tap.txt")).unwrap();
    let spec = stdout(&ReportKind::NodeTest, include_str!("fixtures/node-spec.txt")).unwrap();
    assert_eq!(tap.counts, counts(5, 3, 2));
    for tests in [&tap, &spec] {
        assert_eq!(state(tests, "plain passes"), TestState::Passed);
        assert_eq!(state(tests, "suite > inner fails"), TestState::Failed);
        assert_eq!(state(tests, "suite > deep > leaf"), TestState::Passed);
        assert_eq!(state(tests, "parent > child"), TestState::Passed);
        assert_eq!(state(tests, "left out"), TestState::Skipped);
        assert_eq!(state(tests, "to do"), TestState::Skipped);
        assert!(!tests.by_name.keys().any(|name| name.contains("broken") || name == "suite"));
    }
    let cut = include_str!("fixtures/node-tap.txt").split("# tests").next().unwrap();
    assert!(matches!(stdout(&ReportKind::NodeTest, cut), Err(ReportError::Absent { .. })));
    let more = include_str!("fixtures/node-spec.txt").replace("ℹ tests 10", "ℹ tests 12");
    assert!(matches!(stdout(&ReportKind::NodeTest, &more), Err(ReportError::Contradiction { .. })));
}

#[test]
fn tap_needs_its_plan() {
    let text = "TAP version 14\n1..4\nok 1 - adds\nnot ok 2 - fails\nok 3 - later # SKIP no network\nnot ok 4 - soon # TODO write it\n";
    let tests = stdout(&ReportKind::Tap, text).unwrap();
    assert_eq!(tests.counts, counts(1, 1, 2));
    assert_eq!(state(&tests, "later"), TestState::Skipped);
    assert!(matches!(stdout(&ReportKind::Tap, "ok 1\n"), Err(ReportError::Unfinished { .. })));
    assert!(matches!(stdout(&ReportKind::Tap, "1..2\nok 1\n"), Err(ReportError::Contradiction { .. })));
    assert!(matches!(
        stdout(&ReportKind::Tap, "1..2\nok 1\nBail out! no\n"),
        Err(ReportError::Unfinished { .. })
    ));
    assert!(matches!(stdout(&ReportKind::Tap, "fine\n"), Err(ReportError::Absent { .. })));
    assert_eq!(stdout(&ReportKind::Tap, "1..0 # SKIP nothing\n").unwrap().counts.total(), 0);
}

#[test]
fn junit_shapes_are_read_and_cut_files_are_not() {
    let junit = |text: &str| {
        let files = [text.to_owned()];
        read(&ReportKind::Junit("r.xml".into()), &Output { junit: &files, ..Output::default() }).unwrap()
    };
    let nested = r#"<?xml version="1.0"?><testsuites tests="4"><testsuite name="out" tests="4"><testsuite name="in" tests="4">
        <testcase name="a &lt; b" classname="K"/><testcase name="b"><failure message="no">t</failure></testcase>
        <testcase name="c"><skipped/></testcase><testcase name="d" status="notrun"/>
        </testsuite></testsuite></testsuites>"#;
    let tests = junit(nested).unwrap();
    assert_eq!(tests.counts, counts(1, 1, 2));
    assert_eq!(state(&tests, "K::a < b"), TestState::Passed);
    assert_eq!(state(&tests, "in::b"), TestState::Failed);
    let lie = r#"<testsuite name="s" tests="3"><testcase name="a"/></testsuite>"#;
    assert!(matches!(junit(lie), Err(ReportError::Contradiction { .. })));
    assert!(matches!(
        junit(&nested[..200]),
        Err(ReportError::Unfinished { .. } | ReportError::Malformed { .. })
    ));
    for text in ["", "passed", "<html></html>"] {
        assert!(junit(text).is_err(), "{text}");
    }
}

mod hostile {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [fn() -> ReportKind; 7] = [
        || ReportKind::CargoTest,
        || ReportKind::Pytest,
        || ReportKind::Unittest,
        || ReportKind::GoTest,
        || ReportKind::NodeTest,
        || ReportKind::Tap,
        || ReportKind::Junit("r".into()),
    ];

    proptest! {
        /// Whatever is printed, a reader answers: no panic, and never more named tests than it counts.
        #[test]
        fn any_text_is_survived(
            lines in prop::collection::vec(prop_oneof![
                Just("running 2 tests".to_owned()), Just("test a ... ok".to_owned()), Just("1..3".to_owned()),
                Just("ok 1 - x # SKIP".to_owned()), Just("a (m.A.a) ... ".to_owned()), Just("Ran 2 tests in 0.1s".to_owned()),
                Just("OK".to_owned()), Just("ℹ tests 4".to_owned()), Just("▶ s".to_owned()), Just("✔ s (1ms)".to_owned()),
                Just("--- PASS: T (0.00s)".to_owned()), Just("ok  \tp\t0.1s".to_owned()), Just("= 2 passed in 1s =".to_owned()),
                Just("<testsuite><testcase name='a'/>".to_owned()), "\\PC{0,40}",
            ], 0..30),
        ) {
            let text = lines.join("\n");
            let files = [text.clone()];
            for kind in KINDS {
                let output = Output { stdout: &text, stderr: "", junit: &files, root: "" };
                if let Some(Ok(tests)) = read(&kind(), &output) {
                    prop_assert!(tests.by_name.len() as u64 <= tests.counts.total());
                }
            }
        }
    }
}
