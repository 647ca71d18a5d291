//! Weighing the judge's word: what it says is evidence only where the host can see it too.

use std::time::Duration;

use countersign_protocol::{Exit, Finding, Verdict, policy::Objections};
use countersign_sandbox::Command;
use tokio_util::sync::CancellationToken;

use crate::{
    Examination, Examiner,
    evidence::{self, Outputs},
    text,
};

/// The longest that a judge's command may take.
const TIMEOUT: Duration = Duration::from_secs(600);
/// How many runs of it must fail.
const RUNS: u32 = 2;
/// How many findings are looked at; a judge that has more has said enough.
const FINDINGS: usize = 20;
/// How much of the output's end is shown, in bytes.
const SHOWN: usize = 1_500;

/// What the judge said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it accepts the claim.
    pub accept: bool,
    /// Why, in a sentence or two.
    pub summary: String,
    /// What it found.
    pub findings: Vec<Finding>,
}

/// What the host makes of one finding.
enum Weight {
    /// It refutes: the command failed here too, or the place exists.
    Evidence(Finding),
    /// It is an opinion.
    Objection(Finding),
    /// The host could not look.
    Unknown(String),
}

impl Examiner {
    /// Weighs the judge's word on a candidate that the host's checks did not refute.
    ///
    /// A finding is evidence where its command fails when the host runs it, twice, in fresh copies of the
    /// candidate; or where it names a file and a line that are there. Anything else is an objection, which
    /// counts as the policy says. An acceptance never outweighs the host's own verdict.
    pub async fn weigh(
        &self,
        examination: &Examination,
        judgement: Judgement,
        cancel: &CancellationToken,
    ) -> Verdict {
        if !matches!(examination.verdict, Verdict::Accepted { .. }) {
            return examination.verdict.clone();
        }
        if judgement.accept {
            return Verdict::Accepted { summary: judgement.summary, objections: judgement.findings };
        }
        let mut findings = judgement.findings;
        findings.truncate(FINDINGS);
        if findings.is_empty() {
            findings.push(Finding { statement: judgement.summary.clone(), ..Finding::default() });
        }
        let (mut evidence, mut objections) = (Vec::new(), Vec::new());
        for finding in findings {
            match self.weigh_one(examination, finding, cancel).await {
                Weight::Evidence(finding) => evidence.push(finding),
                Weight::Objection(finding) => objections.push(finding),
                Weight::Unknown(reason) => {
                    let needs = "mend what kept the host from looking, then resume".into();
                    return Verdict::Inconclusive { reason, needs };
                }
            }
        }
        if evidence.is_empty() && self.objections() == Objections::Note {
            let summary = format!("no finding of the judge was confirmed; it said: {}", judgement.summary);
            return Verdict::Accepted { summary, objections };
        }
        evidence.append(&mut objections);
        Verdict::Refuted { summary: judgement.summary, findings: evidence }
    }

    async fn weigh_one(
        &self,
        examination: &Examination,
        finding: Finding,
        cancel: &CancellationToken,
    ) -> Weight {
        if let Some(command) = &finding.command {
            match self.fails(examination, command, cancel).await {
                Ok(Some(shown)) => {
                    let statement = format!("{}\n{shown}", finding.statement);
                    return Weight::Evidence(Finding { statement, ..finding });
                }
                Ok(None) => {}
                Err(reason) => return Weight::Unknown(reason),
            }
        }
        let (Some(file), Some(line)) = (&finding.file, finding.line) else {
            return Weight::Objection(finding);
        };
        let path = file.strip_prefix("./").unwrap_or(file);
        match self.snapshots().read(&examination.candidate, path).await {
            Ok(Some(bytes)) if line >= 1 && line <= lines(&bytes) => Weight::Evidence(finding),
            Ok(_) => Weight::Objection(finding),
            Err(error) => Weight::Unknown(error.to_string()),
        }
    }

    /// How the command fails in fresh copies of the candidate; `None` where it does not, or is not there.
    async fn fails(
        &self,
        examination: &Examination,
        line: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, String> {
        let mut shown = None;
        for _ in 0..RUNS {
            let room = self.room().enter(self.snapshots(), Some(&examination.candidate)).await?;
            let temporary = room.temporary();
            let command = Command::shell(line, room.copy()).timeout(TIMEOUT);
            let outputs = Outputs { temporary: &temporary, blobs: self.blobs() };
            let ran = evidence::run(self.sandbox(), command, line, outputs, cancel).await?;
            match ran.evidence.exit {
                Exit::Cancelled => return Err("the run was stopped".into()),
                // Neither success, nor a command that is not there, nor one that never ends says anything about the work.
                Exit::Code(0 | 126 | 127) | Exit::Timeout => return Ok(None),
                exit => {
                    let end = text::tail(&ran.evidence.tail, SHOWN).trim_end();
                    shown = Some(format!("The host ran it: {exit}. Its output ends:\n{end}"));
                }
            }
        }
        Ok(shown)
    }
}

fn lines(bytes: &[u8]) -> u64 {
    let ends = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    ends + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}
