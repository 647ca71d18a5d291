//! A program of the user's: JSON on its stdin, a JSON verdict on its stdout.
//!
//! Input: `{"protocol": 1, "check", "goal", "copy", "base", "candidate", "changes": [{path, kind, …}],
//! "patch": {text, truncated}, "baseline": report or null}`. Output: `{"status": "passed" | "failed" |
//! "inconclusive", "summary", "findings": [{"statement", "command"?, "file"?, "line"?}]}` and exit 0. Anything else
//! (a crash, a timeout, other words, silence) is inconclusive.
//!
//! The program and each argument that names a file beside the policy are frozen before the worker starts. It
//! runs in a folder of its own, not in the copy, whose path is in the input.

use std::path::Path;

use countersign_protocol::{CheckReport, CheckStatus, Exit, Finding, policy::CheckSpec};
use countersign_sandbox::{Change, Command, Patch, Streams};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::{
    Check, Needs, Scene,
    check::inconclusive,
    evidence::{self, Outputs},
    freeze::FrozenProgram,
    text,
};

/// The version of the words that host and plug-in exchange.
pub const PLUGIN_PROTOCOL: u32 = 1;

/// The most of the diff that a plug-in is given, in bytes.
const PATCH: usize = 256 * 1024;
/// The most findings and the longest statement that are taken from a plug-in.
const FINDINGS: usize = 50;
const STATEMENT: usize = 4_000;

/// Asks a program.
#[derive(Debug)]
pub struct Plugin {
    spec: CheckSpec,
    program: FrozenProgram,
}

#[derive(Serialize)]
struct Question<'a> {
    protocol: u32,
    check: &'a str,
    goal: &'a str,
    copy: &'a Path,
    base: &'a str,
    candidate: &'a str,
    changes: &'a [Change],
    patch: Patch,
    baseline: Option<&'a CheckReport>,
}

#[derive(Deserialize)]
struct Answer {
    status: CheckStatus,
    summary: String,
    #[serde(default)]
    findings: Vec<Finding>,
}

impl Plugin {
    pub(crate) const fn new(spec: CheckSpec, program: FrozenProgram) -> Self {
        Self { spec, program }
    }

    async fn ask(&self, scene: &Scene<'_>) -> CheckReport {
        match self.try_ask(scene).await {
            Ok(report) => report,
            Err((reason, ran)) => {
                let mut report = inconclusive(&self.spec.name, reason, "mend the plug-in program");
                report.evidence.extend(ran.map(|ran| ran.evidence));
                report
            }
        }
    }

    async fn try_ask(&self, scene: &Scene<'_>) -> Result<CheckReport, (String, Option<evidence::Ran>)> {
        let early = |reason: String| (reason, None);
        let patch = scene.snapshots.patch(scene.base, scene.candidate, PATCH).await;
        let question = Question {
            protocol: PLUGIN_PROTOCOL,
            check: &self.spec.name,
            goal: scene.goal,
            copy: scene.copy,
            base: scene.base.as_str(),
            candidate: scene.candidate.as_str(),
            changes: scene.changes,
            patch: patch.map_err(|error| early(error.to_string()))?,
            baseline: scene.baseline,
        };
        let stdin = serde_json::to_vec(&question).map_err(|error| early(error.to_string()))?;
        let home = scene.temporary.join("plugin");
        let argv = self.program.thaw(scene.snapshots, &home).await.map_err(early)?;
        let shown = self.spec.plugin.clone().unwrap_or_default().join(" ");
        let command = Command::argv(argv, &home)
            .timeout(self.spec.timeout.get())
            .streams(Streams::Separate)
            .stdin(stdin);
        let outputs = Outputs { temporary: scene.temporary, blobs: scene.blobs };
        let ran =
            evidence::run(scene.sandbox, command, &shown, outputs, scene.cancel).await.map_err(early)?;
        match ran.evidence.exit {
            Exit::Code(0) => {}
            exit => return Err((format!("the plug-in gave no verdict: {exit}"), Some(ran))),
        }
        let answer = match serde_json::from_str::<Answer>(&ran.stdout) {
            Ok(answer) if ran.whole => answer,
            Ok(_) => return Err(("the plug-in's answer is too large".into(), Some(ran))),
            Err(error) => return Err((format!("the plug-in's answer is no verdict: {error}"), Some(ran))),
        };
        Ok(self.report(answer, ran))
    }

    fn report(&self, answer: Answer, ran: evidence::Ran) -> CheckReport {
        let summary = text::head(&answer.summary, STATEMENT);
        let mut findings = answer.findings;
        findings.truncate(FINDINGS);
        for finding in &mut findings {
            finding.statement = text::head(&finding.statement, STATEMENT);
        }
        if answer.status != CheckStatus::Passed && findings.is_empty() {
            findings.push(Finding { statement: summary.clone(), ..Finding::default() });
        }
        CheckReport {
            check: self.spec.name.clone(),
            status: answer.status,
            summary,
            findings,
            evidence: vec![ran.evidence],
            tests: None,
        }
    }
}

impl Check for Plugin {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn needs(&self) -> Needs {
        Needs { confirm: self.spec.confirm, ..Needs::default() }
    }

    fn run<'a>(&'a self, scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport> {
        Box::pin(self.ask(scene))
    }
}
