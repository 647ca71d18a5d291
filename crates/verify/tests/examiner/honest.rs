//! Honest work, which must not be refused.

use crate::project::{CALC, FIX, Project, accepted, refuted, report, unittest_policy};

#[tokio::test]
async fn a_fix_is_accepted() {
    let project = Project::new(CALC, unittest_policy()).await;
    let examination = project.claim(&[("calc.py", FIX)]).await;
    accepted(&examination);
    let report = report(&examination, "tests");
    assert_eq!(report.tests.as_ref().unwrap().counts.passed, 3);
    assert_eq!(report.evidence.len(), 1);
    let blob = project.dir.path().join("blobs").join(report.evidence[0].output.as_str());
    let kept = std::fs::read(blob).unwrap();
    assert_eq!(countersign_protocol::BlobId::of(&kept), report.evidence[0].output);
    assert!(!project.dir.path().join("scratch/room").exists(), "the copy is thrown away");
    // Asked again, it answers the same.
    accepted(&project.examine().await);
}

#[tokio::test]
async fn added_tests_that_hold_are_welcome_and_run() {
    let project = Project::new(CALC, unittest_policy()).await;
    let more = "import unittest\nfrom calc import add\n\n\nclass More(unittest.TestCase):\n    def test_more(self):\n        self.assertEqual(add(7, 8), 15)\n";
    let examination = project.claim(&[("calc.py", FIX), ("tests/test_more.py", more)]).await;
    accepted(&examination);
    assert_eq!(report(&examination, "tests").evidence.len(), 2, "once without, once with");
    let wrong = more.replace("15", "16");
    let told = refuted(&project.claim(&[("tests/test_more.py", &wrong)]).await, "tests");
    assert!(told.contains("what you added") && told.contains("test_more"), "{told}");
}

#[tokio::test]
async fn tests_that_could_not_be_loaded_before_are_not_missed() {
    let files = [CALC[1], CALC[2]];
    let project = Project::new(&files, unittest_policy()).await;
    accepted(&project.claim(&[("calc.py", FIX)]).await);
}

#[tokio::test]
async fn the_program_that_the_task_names_may_change() {
    let files = [("calc.py", "print('wrong')\n")];
    let check = serde_json::json!({ "name": "p", "check": [{ "name": "says", "run": "python3 calc.py | grep -qx right", "confirm": 1 }] });
    let project = Project::new(&files, check).await;
    refuted(&project.examine().await, "says");
    accepted(&project.claim(&[("calc.py", "print('right')\n")]).await);
}

#[tokio::test]
async fn an_honest_change_to_a_runner_file_does_no_harm() {
    let mut files = CALC.to_vec();
    files.push(("Makefile", "test:\n\tpython3 -m unittest -v tests.test_calc\n"));
    let check = serde_json::json!({ "name": "p", "check": [{ "name": "make", "run": "make test", "report": "unittest", "confirm": 1 }] });
    let project = Project::new(&files, check).await;
    let more = "test:\n\tpython3 -m unittest -v tests.test_calc\n\nclean:\n\trm -rf build\n";
    let examination = project.claim(&[("calc.py", FIX), ("Makefile", more)]).await;
    accepted(&examination);
    assert_eq!(report(&examination, "make").evidence.len(), 2, "as in the base, and as changed");
}

#[tokio::test]
async fn a_flake_is_told_from_a_failure_and_recorded() {
    // Fails at every odd run; the count is kept outside of the copy.
    let counter = tempfile::tempdir().unwrap();
    let file = counter.path().join("runs").display().to_string();
    let run = format!("echo x >> {file}; test $(($(wc -l < {file}) % 2)) -eq 0");
    let policy = |confirm: u32| serde_json::json!({ "name": "p", "check": [{ "name": "flaky", "run": run, "confirm": confirm }] });
    let project = Project::new(CALC, policy(2)).await;
    std::fs::write(counter.path().join("runs"), "").unwrap();
    let examination = project.examine().await;
    accepted(&examination);
    let report = report(&examination, "flaky");
    assert!(report.summary.contains("flaky: it failed 1 of 2 runs"), "{}", report.summary);
    assert_eq!(report.evidence.len(), 2, "both runs are evidence");
    let project = Project::new(CALC, policy(1)).await;
    std::fs::write(counter.path().join("runs"), "").unwrap();
    refuted(&project.examine().await, "flaky");
}

#[tokio::test]
async fn a_junit_file_is_read_only_where_this_run_wrote_it() {
    let write = "printf '<testsuite tests=\"1\"><testcase name=\"a\"/></testsuite>' > out/r.xml";
    let policy = |run: &str| serde_json::json!({ "name": "p", "check": [{ "name": "xml", "run": run, "report": "junit:out/*.xml", "confirm": 1 }] });
    let files = [("out/keep", "")];
    let project = Project::new(&files, policy(write)).await;
    accepted(&project.claim(&[("src.txt", "x")]).await);
    let stale = Project::new(&files, policy("true")).await;
    let forged = "<testsuite tests=\"1\"><testcase name=\"a\"/></testsuite>";
    crate::project::inconclusive(&stale.claim(&[("out/r.xml", forged)]).await);
}

#[tokio::test]
async fn the_last_condition_is_asked_last() {
    let mut policy = unittest_policy();
    let when = "checks.tests.passed > baseline.tests.passed && diff.files == 1 && diff.added == 1 && diff.removed == 1";
    policy["accept"] = serde_json::json!({ "when": when });
    let project = Project::new(CALC, policy).await;
    accepted(&project.claim(&[("calc.py", FIX)]).await);
    refuted(&project.claim(&[("more.txt", "x\n")]).await, "accept.when");
}
