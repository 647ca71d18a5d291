//! The ground: frozen before the worker starts; and verifying parts that fail.

use std::sync::Arc;

use countersign_protocol::CheckReport;
use countersign_sandbox::ProcessGroup;
use countersign_verify::{
    Check, Examiner, PolicyError, Scene, Setup,
    check::{failed, passed},
};
use futures_util::future::BoxFuture;

use crate::project::{CALC, FIX, Project, accepted, inconclusive, refuted, report, unittest_policy, write};

fn plugin_policy(argv: serde_json::Value) -> serde_json::Value {
    serde_json::json!({ "name": "p", "check": [{ "name": "asks", "plugin": argv, "timeout": "5s", "confirm": 1 }] })
}

const PLUGIN: &str = "import json, sys, words\nq = json.load(sys.stdin)\nchanged = [c['path'] for c in q['changes']]\nopen(q['copy'] + '/calc.py')\nprint(json.dumps({'status': words.FAILED if 'bad.txt' in changed else 'passed', 'summary': str(q['protocol']), 'findings': [{'statement': 'bad.txt is bad', 'file': 'bad.txt'}]}))\n";

#[tokio::test]
async fn a_plugin_judges_and_is_frozen_with_its_own_folder() {
    let beside = [("checks/asks.py", PLUGIN), ("checks/words.py", "FAILED = 'failed'\n")];
    let argv = serde_json::json!(["python3", "checks/asks.py"]);
    let project = Project::with(CALC, plugin_policy(argv), &beside, Vec::new()).await.unwrap();
    // What lies there later, or in the workspace under the same name, is not what runs.
    let evil = "print('{\"status\": \"passed\", \"summary\": \"evil\"}')\n";
    write(&project.dir.path().join("policies"), &[("checks/asks.py", evil)]);
    let examination = project.claim(&[("calc.py", FIX), ("checks/asks.py", evil), ("words.py", "")]).await;
    accepted(&examination);
    assert_eq!(report(&examination, "asks").summary, "1");
    assert_eq!(refuted(&project.claim(&[("bad.txt", "")]).await, "asks"), "bad.txt is bad");
}

#[tokio::test]
async fn a_plugin_that_crashes_hangs_or_babbles_accepts_nothing() {
    for script in [
        "exit 3",
        "kill -9 $$",
        "sleep 60",
        "echo fine",
        "true",
        "echo '{\"status\": \"ok\", \"summary\": \"\"}'",
        "echo '{\"status\": \"passed\", \"summary\": \"\"}'; exit 1",
        "echo '{\"status\": \"passed\"}'",
    ] {
        let project = Project::new(CALC, plugin_policy(serde_json::json!(["sh", "-c", script]))).await;
        inconclusive(&project.claim(&[("calc.py", FIX)]).await);
    }
}

/// A rule of an embedder.
struct Licences;

impl Check for Licences {
    fn name(&self) -> &str {
        "licences"
    }

    fn run<'a>(&'a self, scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport> {
        Box::pin(async move {
            match scene.copy.join("LICENSE").is_file() {
                true => passed(self.name(), "there is a licence"),
                false => failed(self.name(), "there is no LICENSE", Vec::new()),
            }
        })
    }
}

struct Panics;

impl Check for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    fn run<'a>(&'a self, _scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport> {
        Box::pin(async { panic!("lost") })
    }
}

#[tokio::test]
async fn an_embedders_check_counts_and_its_panic_accepts_nothing() {
    let extra: Vec<Arc<dyn Check>> = vec![Arc::new(Licences)];
    let project = Project::with(CALC, unittest_policy(), &[], extra).await.unwrap();
    assert!(refuted(&project.claim(&[("calc.py", FIX)]).await, "licences").is_empty());
    accepted(&project.claim(&[("LICENSE", "mine")]).await);
    let project = Project::with(CALC, unittest_policy(), &[], vec![Arc::new(Panics)]).await.unwrap();
    assert!(inconclusive(&project.claim(&[("calc.py", FIX)]).await).contains("panicked"));
    let twice: Vec<Arc<dyn Check>> = vec![Arc::new(Licences), Arc::new(Licences)];
    let taken = Project::with(CALC, unittest_policy(), &[], twice).await;
    assert!(matches!(taken.err(), Some(PolicyError::Invalid { .. })));
}

#[tokio::test]
async fn a_resumed_run_keeps_its_ground_and_baseline() {
    let hidden = CALC[2].1.replace("add(2, 3), 5)", "add(20, 30), 50)");
    let mut policy = unittest_policy();
    policy["check"][0]["overlay"] = "held-out".into();
    let beside = [("held-out/tests/test_calc.py", hidden.as_str())];
    let mut project = Project::with(CALC, policy.clone(), &beside, Vec::new()).await.unwrap();
    let at = project.dir.path().canonicalize().unwrap();
    std::fs::remove_dir_all(at.join("policies")).unwrap();
    let setup = Setup {
        policy: serde_json::from_value(policy).unwrap(),
        policy_dir: at.join("policies"),
        snapshots: Arc::clone(&project.snapshots),
        sandbox: Arc::new(ProcessGroup::new()),
        base: project.base.clone(),
        scratch: at.join("scratch"),
        blobs: at.join("blobs"),
        goal: String::new(),
        extra: Vec::new(),
    };
    let baseline = project.examiner.baseline(&Default::default()).await;
    project.examiner = Examiner::prepare(setup).await.unwrap();
    project.examiner.adopt_baseline(baseline);
    let table = "def add(a, b):\n    return {(2, 3): 5, (0, 0): 0, (-1, -4): -5}.get((a, b))\n";
    refuted(&project.claim(&[("calc.py", table)]).await, "tests");
    accepted(&project.claim(&[("calc.py", FIX)]).await);
}

#[tokio::test]
async fn a_stopped_examination_accepts_nothing() {
    let project = Project::new(CALC, unittest_policy()).await;
    write(&project.workspace(), &[("calc.py", FIX)]);
    let candidate = project.snapshots.take().await.unwrap();
    let cancel = tokio_util::sync::CancellationToken::new();
    cancel.cancel();
    inconclusive(&project.examiner.examine(&candidate, &cancel, &mut |_| {}).await);
}
