//! The judge's word, weighed.

use countersign_protocol::{Finding, Verdict};
use countersign_verify::Judgement;
use tokio_util::sync::CancellationToken;

use crate::project::{CALC, FIX, Project, accepted, unittest_policy};

async fn weighed(objections: &str, findings: Vec<Finding>, accept: bool) -> Verdict {
    let mut policy = unittest_policy();
    policy["judge"] = serde_json::json!({ "role": "verifier", "objections": objections });
    let project = Project::new(CALC, policy).await;
    let examination = project.claim(&[("calc.py", FIX)]).await;
    accepted(&examination);
    let copy = examination.copy.as_ref().expect("a copy for the judge").path().to_path_buf();
    assert_eq!(std::fs::read_to_string(copy.join("calc.py")).unwrap(), FIX);
    let judgement = Judgement { accept, summary: "word".into(), findings };
    let verdict = project.examiner.weigh(&examination, judgement, &CancellationToken::new()).await;
    drop(examination);
    assert!(!copy.exists(), "the copy goes with the examination");
    verdict
}

fn finding(command: Option<&str>, place: Option<(&str, u64)>) -> Finding {
    Finding {
        statement: "it is wrong".into(),
        command: command.map(Into::into),
        file: place.map(|(file, _)| file.into()),
        line: place.map(|(_, line)| line),
    }
}

#[tokio::test]
async fn a_command_that_fails_or_a_place_that_exists_refutes() {
    let command = "python3 -c 'import calc; assert calc.add(1, 1) == 3, calc.add(1, 1)'";
    let Verdict::Refuted { findings, .. } = weighed("note", vec![finding(Some(command), None)], false).await
    else {
        panic!("a failing command refutes")
    };
    assert!(findings[0].statement.contains("The host ran it: exit 1"), "{findings:?}");
    let place = weighed("note", vec![finding(None, Some(("./calc.py", 2)))], false).await;
    assert!(matches!(place, Verdict::Refuted { .. }), "{place:?}");
}

#[tokio::test]
async fn what_the_host_can_not_see_is_an_objection() {
    for unseen in [
        finding(Some("python3 -c 'import calc; assert calc.add(1, 1) == 2'"), None),
        finding(Some("no-such-command"), None),
        finding(None, Some(("calc.py", 99))),
        finding(None, Some(("gone.py", 1))),
        finding(None, None),
    ] {
        let noted = weighed("note", vec![unseen.clone()], false).await;
        assert!(matches!(&noted, Verdict::Accepted { objections, .. } if objections.len() == 1), "{noted:?}");
        let counted = weighed("refute", vec![unseen], false).await;
        assert!(matches!(counted, Verdict::Refuted { .. }), "{counted:?}");
    }
    // A refutation without any finding is an objection too.
    assert!(matches!(weighed("refute", Vec::new(), false).await, Verdict::Refuted { .. }));
}

#[tokio::test]
async fn an_acceptance_does_not_outweigh_a_failed_check() {
    assert!(matches!(weighed("note", Vec::new(), true).await, Verdict::Accepted { .. }));
    let mut policy = unittest_policy();
    policy["judge"] = serde_json::json!({ "role": "verifier" });
    let project = Project::new(CALC, policy).await;
    let examination = project.examine().await;
    assert!(examination.copy.is_none(), "no judge is asked about a failed check");
    let judgement = Judgement { accept: true, summary: "fine".into(), findings: Vec::new() };
    let verdict = project.examiner.weigh(&examination, judgement, &CancellationToken::new()).await;
    assert!(matches!(verdict, Verdict::Refuted { .. }));
}
