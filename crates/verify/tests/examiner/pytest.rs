//! pytest through the file that the host asks it for. Skipped, aloud, where it is not installed.

use countersign_protocol::TestState;

use crate::project::{Project, accepted, refuted, report};

const FILES: &[(&str, &str)] = &[
    ("calc.py", "def add(a, b):\n    return a - b\n"),
    (
        "tests/test_calc.py",
        "from calc import add\n\n\ndef test_small():\n    assert add(2, 3) == 5\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n",
    ),
    ("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"1\"\n"),
];
const FIX: &str = "def add(a, b):\n    return a + b\n";

/// A plug-in that turns every failure into a pass.
const FORGER: &str = "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    outcome = yield\n    outcome.get_result().outcome = 'passed'\n\n\ndef pytest_sessionfinish(session, exitstatus):\n    session.exitstatus = 0\n";

fn installed() -> bool {
    let found = std::process::Command::new("python3").args(["-m", "pytest", "--version"]).output();
    let installed = found.is_ok_and(|output| output.status.success());
    if !installed {
        eprintln!("SKIPPED: `python3 -m pytest` is not installed");
    }
    installed
}

async fn project() -> Project {
    let check = serde_json::json!({ "name": "tests", "run": "python3 -m pytest -q", "report": "pytest", "confirm": 1 });
    Project::new(FILES, serde_json::json!({ "name": "p", "protected": ["tests/**"], "check": [check] })).await
}

#[tokio::test]
async fn tests_are_known_by_name_though_the_output_is_quiet() {
    if !installed() {
        return;
    }
    let project = project().await;
    let told = refuted(&project.examine().await, "tests");
    assert!(told.contains("tests.test_calc::test_small"), "{told}");
    let examination = project.claim(&[("calc.py", FIX)]).await;
    accepted(&examination);
    let tests = report(&examination, "tests").tests.as_ref().unwrap();
    assert_eq!(tests.by_name["tests.test_calc::test_zero"], TestState::Passed);
}

#[tokio::test]
async fn plugins_and_configuration_that_forge_results_do_not_reach_the_runner() {
    if !installed() {
        return;
    }
    for files in [
        &[("conftest.py", FORGER)][..],
        &[("tests/conftest.py", FORGER)],
        &[("pytest.ini", "[pytest]\naddopts = -p forger\n"), ("forger.py", FORGER)],
        &[("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-p forger\"\n"), ("forger.py", FORGER)],
        &[("pytest.py", "raise SystemExit(0)\n")],
        &[("pytest/__main__.py", "print('2 passed in 0.01s')\n"), ("pytest/__init__.py", "")],
        &[
            ("calc.egg-info/entry_points.txt", "[pytest11]\nforger = forger\n"),
            ("calc.egg-info/PKG-INFO", "Metadata-Version: 2.1\nName: calc\nVersion: 1\n"),
            ("forger.py", FORGER),
        ],
    ] {
        let project = project().await;
        let told = refuted(&project.claim(files).await, "tests");
        assert!(told.contains("test_small"), "{files:?}: {told}");
    }
}

#[tokio::test]
async fn deselected_and_skipped_tests_are_missed() {
    if !installed() {
        return;
    }
    let exit = "import os, atexit\natexit.register(lambda: os._exit(0))\n";
    let hide = "import sys\nm = sys.modules.get('pytest')\nm and m.skip('later', allow_module_level=True)\n";
    for early in [exit, hide] {
        let project = project().await;
        refuted(&project.claim(&[("calc.py", &format!("{early}{}", FILES[0].1))]).await, "tests");
    }
}
