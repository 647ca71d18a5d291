//! A small project, its policy, and a claim on it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use countersign_protocol::{CheckReport, CheckStatus, Policy, TreeId, Verdict};
use countersign_sandbox::{ProcessGroup, Snapshots};
use countersign_verify::{Check, Examination, Examiner, PolicyError, Setup};
use tokio_util::sync::CancellationToken;

/// Adds wrongly; its tests say so.
pub(crate) const CALC: &[(&str, &str)] = &[
    ("calc.py", "def add(a, b):\n    return a - b\n"),
    ("tests/__init__.py", ""),
    (
        "tests/test_calc.py",
        "import unittest\nfrom calc import add\n\n\nclass Add(unittest.TestCase):\n    def test_small(self):\n        \
         self.assertEqual(add(2, 3), 5)\n\n    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n\n    def \
         test_negative(self):\n        self.assertEqual(add(-1, -4), -5)\n",
    ),
];

pub(crate) const FIX: &str = "def add(a, b):\n    return a + b\n";

/// The policy of the calculator: its tests by name, protected.
pub(crate) fn unittest_policy() -> serde_json::Value {
    serde_json::json!({
        "name": "p",
        "protected": ["tests/**"],
        "check": [{ "name": "tests", "run": "python3 -m unittest discover -s tests -t . -v", "report": "unittest", "timeout": "60s", "confirm": 1 }],
    })
}

/// A run's folders; removed at the end.
pub(crate) struct Project {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) snapshots: Arc<Snapshots>,
    pub(crate) base: TreeId,
    pub(crate) examiner: Examiner,
}

pub(crate) fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

impl Project {
    pub(crate) async fn new(files: &[(&str, &str)], policy: serde_json::Value) -> Self {
        Self::with(files, policy, &[], Vec::new()).await.unwrap()
    }

    /// With files beside the policy, and checks of an embedder.
    pub(crate) async fn with(
        files: &[(&str, &str)],
        policy: serde_json::Value,
        beside: &[(&str, &str)],
        extra: Vec<Arc<dyn Check>>,
    ) -> Result<Self, PolicyError> {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
        write(&at("workspace"), files);
        write(&at("policies"), beside);
        std::fs::create_dir_all(at("policies")).unwrap();
        let (snapshots, base) = Snapshots::create(&at("store"), &at("workspace")).await.unwrap();
        let snapshots = Arc::new(snapshots);
        let policy: Policy = serde_json::from_value(policy).unwrap();
        let setup = Setup {
            policy,
            policy_dir: at("policies"),
            snapshots: Arc::clone(&snapshots),
            sandbox: Arc::new(ProcessGroup::new()),
            base: base.clone(),
            scratch: at("scratch"),
            blobs: at("blobs"),
            goal: "Fix calc.py so that its tests pass.".into(),
            extra,
        };
        let mut examiner = Examiner::prepare(setup).await?;
        examiner.baseline(&CancellationToken::new()).await;
        Ok(Self { dir, snapshots, base, examiner })
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("workspace")
    }

    /// What the worker leaves, and what it comes to.
    pub(crate) async fn claim(&self, files: &[(&str, &str)]) -> Examination {
        write(&self.workspace(), files);
        self.examine().await
    }

    pub(crate) async fn examine(&self) -> Examination {
        let candidate = self.snapshots.take().await.unwrap();
        let mut seen = Vec::new();
        let cancel = CancellationToken::new();
        let examination = self
            .examiner
            .examine(&candidate, &cancel, &mut |report: &CheckReport| seen.push(report.clone()))
            .await;
        assert_eq!(seen, examination.reports, "each report is told as it comes");
        examination
    }
}

pub(crate) fn report<'a>(examination: &'a Examination, check: &str) -> &'a CheckReport {
    let found = examination.reports.iter().find(|report| report.check == check);
    found.unwrap_or_else(|| panic!("no report of {check}: {:#?}", examination.reports))
}

pub(crate) fn accepted(examination: &Examination) {
    assert!(matches!(examination.verdict, Verdict::Accepted { .. }), "{:#?}", examination.reports);
}

/// Refuted by this check; answers with its findings as one text.
pub(crate) fn refuted(examination: &Examination, check: &str) -> String {
    assert!(matches!(examination.verdict, Verdict::Refuted { .. }), "{:#?}", examination.reports);
    let report = report(examination, check);
    assert_eq!(report.status, CheckStatus::Failed, "{:#?}", examination.reports);
    report.findings.iter().map(|finding| finding.statement.as_str()).collect::<Vec<_>>().join("\n")
}

pub(crate) fn inconclusive(examination: &Examination) -> String {
    match &examination.verdict {
        Verdict::Inconclusive { reason, needs } => format!("{reason} / {needs}"),
        other => panic!("{other:?}: {:#?}", examination.reports),
    }
}
