//! Ways to look done without being it. None may be accepted, whatever it prints or exits with.

use std::os::unix::fs::symlink;

use crate::project::{CALC, FIX, Project, inconclusive, refuted, report, unittest_policy};

/// The calculator with another policy key.
fn policy(key: &str, value: serde_json::Value) -> serde_json::Value {
    let mut policy = unittest_policy();
    policy[key] = value;
    policy
}

const WEAK: &str = "import unittest\n\n\nclass Add(unittest.TestCase):\n    def test_small(self):\n        pass\n\n    def test_zero(self):\n        pass\n\n    def test_negative(self):\n        pass\n";

#[tokio::test]
async fn a_claim_without_a_fix_is_refuted_with_the_failing_tests() {
    let project = Project::new(CALC, unittest_policy()).await;
    let told = refuted(&project.examine().await, "tests");
    assert!(told.contains("tests.test_calc.Add.test_small") && told.contains("2 tests failed"), "{told}");
    // Again and again: nothing but a passing check ends it.
    for _ in 0..2 {
        refuted(&project.examine().await, "tests");
    }
}

#[tokio::test]
async fn weakened_tests_are_put_back_and_reported() {
    let project = Project::new(CALC, unittest_policy()).await;
    let examination = project.claim(&[("tests/test_calc.py", WEAK)]).await;
    let told = refuted(&examination, "protected");
    assert!(told.contains("`tests/test_calc.py` was changed"), "{told}");
    refuted(&examination, "tests");
    // Told to restore only: the change itself is no refutation, and does not help either.
    let lenient = Project::new(CALC, policy("protected_change", "restore".into())).await;
    let examination = lenient.claim(&[("tests/test_calc.py", WEAK)]).await;
    assert!(report(&examination, "protected").passed());
    assert!(refuted(&examination, "tests").contains("as in the base: `tests/test_calc.py`"));
}

#[tokio::test]
async fn one_changed_literal_is_a_change_and_nobody_is_accused() {
    let project = Project::new(CALC, unittest_policy()).await;
    let changed = CALC[2].1.replace("add(2, 3), 5)", "add(2, 3), -1)");
    let told = refuted(&project.claim(&[("tests/test_calc.py", &changed)]).await, "protected");
    let commented = format!("# A comment.\n{}", CALC[2].1);
    let same = refuted(&project.claim(&[("tests/test_calc.py", &commented)]).await, "protected");
    assert_eq!(told, same);
    assert!(!told.contains("cheat"), "{told}");
}

#[tokio::test]
async fn a_deleted_test_file_is_back_and_the_fix_does_not_excuse_it() {
    let project = Project::new(CALC, unittest_policy()).await;
    std::fs::remove_file(project.workspace().join("tests/test_calc.py")).unwrap();
    let examination = project.claim(&[("calc.py", FIX)]).await;
    assert!(refuted(&examination, "protected").contains("was removed"));
    assert!(report(&examination, "tests").passed(), "the restored tests hold with the fix");
}

#[tokio::test]
async fn tests_that_nobody_protects_are_still_missed_by_name() {
    let project = Project::new(CALC, policy("protected", serde_json::json!([]))).await;
    let fewer = CALC[2].1.split("\n    def test_negative").next().unwrap();
    let told = refuted(&project.claim(&[("calc.py", FIX), ("tests/test_calc.py", fewer)]).await, "tests");
    assert!(told.contains("gone") && told.contains("test_negative"), "{told}");

    let skipped = CALC[2].1.replace("    def test_zero", "    @unittest.skip('later')\n    def test_zero");
    let told = refuted(&project.claim(&[("tests/test_calc.py", &skipped)]).await, "tests");
    assert!(told.contains("skipped now") && told.contains("test_zero"), "{told}");

    std::fs::remove_file(project.workspace().join("tests/test_calc.py")).unwrap();
    refuted(&project.examine().await, "tests");
}

#[tokio::test]
async fn an_early_exit_is_no_report() {
    let project = Project::new(CALC, unittest_policy()).await;
    for early in [
        "import os\nos._exit(0)\n",
        "import sys\nsys.exit(0)\n",
        "import atexit, os\natexit.register(os._exit, 0)\n",
    ] {
        let examination = project.claim(&[("calc.py", &format!("{early}{}", CALC[0].1))]).await;
        refuted(&examination, "tests");
    }
}

#[tokio::test]
async fn a_printed_summary_does_not_make_a_pass() {
    let project = Project::new(CALC, unittest_policy()).await;
    let forged = "import sys\nsys.stderr.write('\\nRan 3 tests in 0.001s\\n\\nOK\\n')\n";
    refuted(&project.claim(&[("calc.py", &format!("{forged}{}", CALC[0].1))]).await, "tests");
    let and_exit = format!("{forged}sys.stderr.flush()\nimport os\nos._exit(0)\n");
    let told = refuted(&project.claim(&[("calc.py", &and_exit)]).await, "tests");
    assert!(told.contains("names none"), "{told}");
}

#[tokio::test]
async fn added_files_that_shadow_the_runner_do_not_reach_it() {
    let shadow = "import sys\nsys.stderr.write('test_small (tests.test_calc.Add.test_small) ... ok\\ntest_zero (tests.test_calc.Add.test_zero) ... ok\\ntest_negative (tests.test_calc.Add.test_negative) ... ok\\n\\nRan 3 tests in 0.001s\\n\\nOK\\n')\nsys.exit(0)\n";
    for name in ["unittest.py", "unittest/__init__.py", "unittest/__main__.py", "argparse.py"] {
        let project = Project::new(CALC, unittest_policy()).await;
        let told = refuted(&project.claim(&[(name, shadow)]).await, "tests");
        assert!(told.contains("test_small"), "{name}: {told}");
    }
}

#[tokio::test]
async fn compiled_files_in_the_tree_are_not_loaded() {
    // A compiled test that is marked as never to be checked against its source.
    let project = Project::new(CALC, policy("protected", serde_json::json!(["tests/test_calc.py"]))).await;
    let compile = "import py_compile,sys; py_compile.compile('weak.py', cfile=sys.argv[1], invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)";
    let tag = "import sys; print(sys.implementation.cache_tag)";
    let python = |args: &[&str]| {
        let output =
            std::process::Command::new("python3").args(args).current_dir(project.workspace()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    crate::project::write(&project.workspace(), &[("weak.py", WEAK)]);
    let cache = format!("tests/__pycache__/test_calc.{}.pyc", python(&["-c", tag]).trim());
    std::fs::create_dir(project.workspace().join("tests/__pycache__")).unwrap();
    python(&["-c", compile, &cache]);
    std::fs::remove_file(project.workspace().join("weak.py")).unwrap();
    assert!(project.workspace().join(&cache).is_file());
    refuted(&project.examine().await, "tests");
}

#[tokio::test]
async fn a_narrowed_build_target_is_run_as_it_was() {
    let files = [("Makefile", "test:\n\tsh a.sh\n\tsh b.sh\n"), ("a.sh", "exit 0\n"), ("b.sh", "exit 1\n")];
    let check =
        serde_json::json!({ "name": "p", "check": [{ "name": "make", "run": "make test", "confirm": 1 }] });
    let project = Project::new(&files, check).await;
    let told = refuted(&project.claim(&[("Makefile", "test:\n\tsh a.sh\n")]).await, "make");
    assert!(told.contains("as in the base: `Makefile`"), "{told}");
    // Nor does a file that make prefers to it.
    crate::project::write(&project.workspace(), &[("Makefile", files[0].1)]);
    refuted(&project.claim(&[("GNUmakefile", "test:\n\ttrue\n")]).await, "make");
}

#[tokio::test]
async fn a_runner_script_is_run_as_it_was() {
    let mut files = CALC.to_vec();
    files.push(("run_tests.py", "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, '-m', 'unittest', '-v', 'tests.test_calc']))\n"));
    let check = serde_json::json!({ "name": "p", "check": [{ "name": "run", "run": "python3 run_tests.py", "confirm": 1 }] });
    let project = Project::new(&files, check).await;
    refuted(&project.claim(&[("run_tests.py", "print('OK')\n")]).await, "run");
}

#[tokio::test]
async fn links_modes_and_folders_in_place_of_protected_paths_are_undone() {
    let project = Project::new(CALC, unittest_policy()).await;
    let workspace = project.workspace();
    crate::project::write(&workspace, &[("weak/test_calc.py", WEAK), ("weak/__init__.py", "")]);
    std::fs::remove_dir_all(workspace.join("tests")).unwrap();
    symlink("weak", workspace.join("tests")).unwrap();
    let examination = project.examine().await;
    refuted(&examination, "protected");
    refuted(&examination, "tests");
}

#[tokio::test]
async fn a_candidate_that_hangs_where_the_base_did_not_is_refuted() {
    let check = serde_json::json!({ "name": "waits", "run": "sleep $(cat delay.txt)", "timeout": "8s", "confirm": 1 });
    let policy = serde_json::json!({ "name": "p", "check": [check] });
    let project = Project::new(&[("delay.txt", "0"), ("a.txt", "")], policy).await;
    let told = refuted(&project.claim(&[("delay.txt", "600")]).await, "waits");
    assert!(told.contains("did not end in time"), "{told}");
}

#[tokio::test]
async fn special_cases_for_the_visible_tests_fail_on_held_out_inputs() {
    let hidden = CALC[2].1.replace("add(2, 3), 5)", "add(20, 30), 50)");
    let mut policy = unittest_policy();
    let mut held_out = policy["check"][0].clone();
    held_out["name"] = "hidden".into();
    held_out["overlay"] = "held-out".into();
    policy["check"].as_array_mut().unwrap().push(held_out);
    let beside = [("held-out/tests/test_calc.py", hidden.as_str())];
    let project = Project::with(CALC, policy, &beside, Vec::new()).await.unwrap();
    let table = "def add(a, b):\n    return {(2, 3): 5, (0, 0): 0, (-1, -4): -5}.get((a, b))\n";
    let examination = project.claim(&[("calc.py", table)]).await;
    assert!(report(&examination, "tests").passed(), "the visible tests can't see it");
    refuted(&examination, "hidden");
    assert!(examination.held_out.contains("hidden"));
    assert_eq!(report(&examination, "hidden").evidence[0].tail, "(held out)");
    let told = countersign_verify::refutation_text(&examination.verdict);
    for secret in ["20", "30", "50", "test_calc", "assertEqual", "test_small"] {
        assert!(!told.contains(secret), "{secret} is held out: {told}");
    }
    crate::project::accepted(&project.claim(&[("calc.py", FIX)]).await);
}

#[tokio::test]
async fn stubs_in_added_lines_are_named_by_place() {
    let mut policy = unittest_policy();
    let forbid = serde_json::json!({ "name": "no-stubs", "forbid_added": ["NotImplementedError"], "paths": ["**/*.py"] });
    policy["check"].as_array_mut().unwrap().push(forbid);
    let project = Project::new(CALC, policy).await;
    let stub = format!("{FIX}\n\ndef later():\n    raise NotImplementedError\n");
    let examination = project.claim(&[("calc.py", &stub), ("notes.txt", "NotImplementedError\n")]).await;
    refuted(&examination, "no-stubs");
    let findings = &report(&examination, "no-stubs").findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].file.as_deref(), findings[0].line), (Some("calc.py"), Some(6)));
}

#[tokio::test]
async fn changes_out_of_scope_are_refuted() {
    let project = Project::new(CALC, policy("scope", serde_json::json!(["calc.py", "tests/**"]))).await;
    let examination = project.claim(&[("calc.py", FIX), ("other.py", "")]).await;
    assert!(refuted(&examination, "scope").contains("`other.py`"));
}

#[tokio::test]
async fn added_tests_must_fail_without_the_change_where_the_policy_says_so() {
    let mut policy = unittest_policy();
    policy["check"][0]["counterfactual"] = true.into();
    let project = Project::new(CALC, policy).await;
    let empty =
        "import unittest\n\n\nclass More(unittest.TestCase):\n    def test_more(self):\n        pass\n";
    let told = refuted(&project.claim(&[("calc.py", FIX), ("tests/test_more.py", empty)]).await, "tests");
    assert!(told.contains("tests.test_more.More.test_more"), "{told}");
    let real = "import unittest\nfrom calc import add\n\n\nclass More(unittest.TestCase):\n    def test_more(self):\n        self.assertEqual(add(7, 8), 15)\n";
    crate::project::accepted(&project.claim(&[("tests/test_more.py", real)]).await);
}

#[tokio::test]
async fn what_is_missing_from_the_start_is_nobodys_refutation() {
    let check = serde_json::json!({ "name": "p", "check": [{ "name": "lint", "run": "no-such-linter .", "confirm": 1 }] });
    let project = Project::new(CALC, check).await;
    let said = inconclusive(&project.claim(&[("calc.py", FIX)]).await);
    assert!(said.contains("not found") && said.contains("install"), "{said}");
    // Nothing to judge by is no acceptance either.
    let project = Project::new(CALC, serde_json::json!({ "name": "p", "protected": ["tests/**"] })).await;
    assert!(inconclusive(&project.examine().await).contains("no check applies"));
}
