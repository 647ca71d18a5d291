//! The policy's last condition: a CEL expression over what the checks came to.
//!
//! CEL has no side effects and no cost limit of its own, so its length, nesting and comprehensions are bounded
//! before it is parsed. A fact that is missing makes it inconclusive; `false` refutes.

use std::{collections::BTreeMap, sync::Arc};

use cel::{Context, Env, Value};
use countersign_protocol::{CheckReport, CheckStatus, Finding};
use serde::Serialize;

use crate::check::{failed, inconclusive, passed};

/// The longest condition, in bytes.
const LENGTH: usize = 2_000;
/// The deepest nesting of brackets.
const NESTING: usize = 12;
/// The most comprehensions (`all`, `exists`, `exists_one`, `map`, `filter`).
const COMPREHENSIONS: usize = 2;

/// A condition that parses and keeps within the bounds.
#[derive(Debug, Clone)]
pub struct Condition {
    source: String,
}

/// What a check came to, as a condition sees it. Counts are there only where the check reports tests.
#[derive(Debug, Clone, Serialize)]
struct CheckFacts {
    status: CheckStatus,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    counts: Option<CountFacts>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct CountFacts {
    passed: i64,
    failed: i64,
    skipped: i64,
}

/// How much the claim changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DiffFacts {
    /// Files added, removed or changed.
    pub files: i64,
    /// Lines added.
    pub added: i64,
    /// Lines removed.
    pub removed: i64,
}

impl Condition {
    /// The name of this check in reports.
    pub const NAME: &'static str = "accept.when";

    /// The condition of this source.
    ///
    /// # Errors
    /// Where it is too large, or no CEL.
    pub fn new(source: &str) -> Result<Self, String> {
        if source.len() > LENGTH {
            return Err(format!("it is longer than {LENGTH} bytes"));
        }
        if nesting(source) > NESTING {
            return Err(format!("its brackets nest deeper than {NESTING}"));
        }
        let comprehension = |name| source.matches(&format!(".{name}(")).count();
        let comprehensions: usize =
            ["all", "exists", "exists_one", "map", "filter"].into_iter().map(comprehension).sum();
        if comprehensions > COMPREHENSIONS {
            return Err(format!("it has more than {COMPREHENSIONS} comprehensions"));
        }
        Env::stdlib().compile(source).map_err(|errors| format!("it is no CEL expression: {errors}"))?;
        Ok(Self { source: source.into() })
    }

    /// Decides it over the reports on the claim and on the base tree.
    #[must_use]
    pub fn decide(&self, now: &[CheckReport], baseline: &[CheckReport], diff: DiffFacts) -> CheckReport {
        let needs = "mend `accept.when`: a check that reports tests has `passed`, `failed` and `skipped`";
        match self.evaluate(now, baseline, diff) {
            Ok(Value::Bool(true)) => passed(Self::NAME, format!("`{}` holds", self.source)),
            Ok(Value::Bool(false)) => {
                let statement = format!("the policy's condition does not hold: `{}`", self.source);
                let finding = Finding { statement: statement.clone(), ..Finding::default() };
                failed(Self::NAME, statement, vec![finding])
            }
            Ok(other) => {
                let reason = format!("`{}` is a {:?}, neither true nor false", self.source, other.type_of());
                inconclusive(Self::NAME, reason, needs)
            }
            Err(error) => inconclusive(Self::NAME, format!("`{}`: {error}", self.source), needs),
        }
    }

    fn evaluate(
        &self,
        now: &[CheckReport],
        baseline: &[CheckReport],
        diff: DiffFacts,
    ) -> Result<Value, String> {
        let env = Arc::new(Env::stdlib());
        let program = env.compile(&self.source).map_err(|errors| errors.to_string())?;
        let mut context = Context::with_env(env);
        let unfit = |error: cel::SerializationError| error.to_string();
        context.add_variable("checks", facts(now)).map_err(unfit)?;
        context.add_variable("baseline", facts(baseline)).map_err(unfit)?;
        context.add_variable("diff", diff).map_err(unfit)?;
        program.execute(&context).map_err(|error| error.to_string())
    }
}

fn facts(reports: &[CheckReport]) -> BTreeMap<&str, CheckFacts> {
    let count = |tests: u64| i64::try_from(tests).unwrap_or(i64::MAX);
    let fact = |report: &CheckReport| CheckFacts {
        status: report.status,
        counts: report.tests.as_ref().map(|tests| CountFacts {
            passed: count(tests.counts.passed),
            failed: count(tests.counts.failed),
            skipped: count(tests.counts.skipped),
        }),
    };
    reports.iter().map(|report| (report.check.as_str(), fact(report))).collect()
}

/// The deepest nesting of brackets, those in strings included: too strict does no harm here.
fn nesting(source: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use countersign_protocol::{TestCounts, Tests};

    use super::*;

    fn report(name: &str, passed: u64, failed: u64) -> CheckReport {
        let counts = TestCounts { passed, failed, skipped: 0 };
        let tests = Some(Tests { counts, ..Tests::default() });
        CheckReport { tests, ..crate::check::passed(name, "") }
    }

    fn status(source: &str) -> CheckStatus {
        let now = [report("tests", 5, 0), passed("no-stubs", "")];
        let before = [report("tests", 4, 1)];
        let diff = DiffFacts { files: 3, added: 10, removed: 2 };
        Condition::new(source).unwrap().decide(&now, &before, diff).status
    }

    #[test]
    fn conditions_over_checks_baseline_and_diff() {
        let shipped = "checks.tests.passed >= baseline.tests.passed && diff.files < 40";
        assert_eq!(status(shipped), CheckStatus::Passed);
        assert_eq!(status("checks.tests.passed > baseline.tests.passed + 1"), CheckStatus::Failed);
        assert_eq!(status("checks['no-stubs'].status == 'passed'"), CheckStatus::Passed);
        assert_eq!(status("diff.added - diff.removed <= 8"), CheckStatus::Passed);
        assert_eq!(status("checks.all(name, checks[name].status == 'passed')"), CheckStatus::Passed);
    }

    #[test]
    fn what_is_missing_or_no_answer_is_inconclusive() {
        assert_eq!(status("checks.lint.passed > 0"), CheckStatus::Inconclusive);
        assert_eq!(status("checks['no-stubs'].passed > 0"), CheckStatus::Inconclusive);
        assert_eq!(status("nothing == 1"), CheckStatus::Inconclusive);
        assert_eq!(status("diff.files + 1"), CheckStatus::Inconclusive);
        assert_eq!(status("'true'"), CheckStatus::Inconclusive);
    }

    #[test]
    fn costly_or_wrong_sources_are_refused() {
        for source in ["1 +", "", &"(".repeat(40), &format!("{}1", "1+".repeat(2000))] {
            assert!(Condition::new(source).is_err(), "{source}");
        }
        let nested = "[1,2].all(a, [1,2].all(b, [1,2].all(c, a == b)))";
        assert!(Condition::new(nested).is_err());
    }
}
