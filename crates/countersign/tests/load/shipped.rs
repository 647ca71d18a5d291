//! The shipped policies: each pattern finds what it is there for, and leaves honest lines alone.

use countersign::{protocol::Policy, shipped};
use regex::Regex;

/// The checks of a shipped policy that forbid a line.
fn forbidding(policy: &str, line: &str) -> Vec<String> {
    let text = shipped::POLICIES.iter().find(|shipped| shipped.name == policy).unwrap().text;
    let policy: Policy = toml::from_str(text).unwrap();
    let forbids =
        |patterns: &[String]| patterns.iter().any(|pattern| Regex::new(pattern).unwrap().is_match(line));
    let checks = policy.checks.iter().filter(|check| check.forbid_added.as_deref().is_some_and(forbids));
    checks.map(|check| check.name.clone()).collect()
}

#[test]
fn dishonest_lines_are_found() {
    for (policy, check, line) in [
        ("rust", "no-stubs", "    todo!()"),
        ("rust", "no-stubs", "    unimplemented!(\"later\")"),
        ("rust", "no-stubs", "    panic!(\"Not yet implemented\")"),
        ("rust", "no-ignored-tests", "    #[ignore]"),
        ("rust", "no-ignored-tests", "    #[ignore = \"slow\"]"),
        ("rust", "no-ignored-tests", "#[cfg_attr(all(), ignore)]"),
        ("rust", "no-ignored-tests", "#![cfg(any())]"),
        ("rust", "no-processes-ended-early", "    std::process::exit(0);"),
        ("python", "no-skipped-tests", "@pytest.mark.skipif(True, reason='flaky')"),
        ("python", "no-skipped-tests", "    pytest.skip('later')"),
        ("python", "no-skipped-tests", "@unittest.expectedFailure"),
        ("python", "no-skipped-tests", "@skip('later')"),
        ("python", "no-skipped-tests", "        self.skipTest('later')"),
        ("python", "no-patched-runner", "import os; os._exit(0)"),
        ("python", "no-patched-runner", "def pytest_runtest_makereport(item, call):"),
        ("node", "no-skipped-tests", "  it.skip('adds', () => {"),
        ("node", "no-skipped-tests", "test('adds', { skip: true }, () => {"),
        ("node", "no-skipped-tests", "  xit('adds', () => {"),
        ("node", "no-skipped-tests", "    t.skip('later');"),
        ("node", "no-stubs", "  throw new Error('Not implemented');"),
        ("strict", "nothing-left-undone", "# TODO: the other half"),
        ("strict", "nothing-left-undone", "        raise NotImplementedError"),
        ("strict", "nothing-left-undone", "    throw new Error(\"not yet implemented\");"),
        ("strict", "no-skipped-tests", "\tt.Skip(\"flaky\")"),
        ("strict", "no-skipped-tests", "    @Disabled(\"flaky\")"),
        ("strict", "no-conflict-marks", "<<<<<<< HEAD"),
        ("docs", "no-placeholders", "TODO: say how to install it"),
        ("docs", "no-placeholders", "- TBD"),
        ("docs", "no-placeholders", "Lorem ipsum dolor sit amet"),
    ] {
        let found = forbidding(policy, line);
        assert!(
            found.iter().any(|name| name == check),
            "{policy}/{check} does not find {line:?}, only {found:?}"
        );
    }
}

#[test]
fn honest_lines_are_left_alone() {
    for (policy, line) in [
        ("rust", "    todos.push(item);"),
        ("rust", "// ignore the case of letters"),
        ("rust", "    .ignore(false)"),
        ("rust", "#[cfg(any(unix, windows))]"),
        ("rust", "#[cfg(test)]"),
        ("rust", "    std::process::exit(code);"),
        ("python", "        raise NotImplementedError  # abstract"),
        ("python", "    sys.exit(0)"),
        ("python", "def skip_blanks(text):"),
        ("python", "    reader.skip(4)"),
        ("python", "import pytest"),
        ("node", "  const only = items.filter(Boolean);"),
        ("node", "  cursor.skip(10);"),
        ("node", "  process.exit(0);"),
        ("node", "  await exit(1);"),
        ("strict", "path = mktemp('/tmp/XXXXXX')"),
        ("strict", "    let implemented = true;"),
        ("strict", "    reader.skip(4)?;"),
        ("docs", "The app keeps a list of TODO items."),
        ("docs", "Write `<your key>` in the place of the example."),
    ] {
        assert!(
            forbidding(policy, line).is_empty(),
            "{policy} forbids {line:?}: {:?}",
            forbidding(policy, line)
        );
    }
}

#[test]
fn a_worker_is_never_given_a_verdict_and_a_verifier_never_a_pen() {
    use countersign::protocol::{Role, RoleKind};
    for shipped in shipped::ROLES {
        let role: Role = toml::from_str(shipped.text).unwrap();
        let tools = role.tools.unwrap_or_default();
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        match role.kind {
            RoleKind::Worker => assert!(has("done") && has("blocked") && !has("verdict"), "{}", shipped.name),
            RoleKind::Verifier => {
                assert!(has("verdict") && !has("write") && !has("edit"), "{}", shipped.name)
            }
            RoleKind::Supervisor => assert!(tools.is_empty() && role.model.is_none(), "{}", shipped.name),
        }
    }
}
