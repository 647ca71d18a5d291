//! `verify`: checks a certificate, and runs its checks again.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::Args;
use countersign::{
    protocol::{Body, CheckReport, RunId, Verdict, entry::Ground},
    runtime::RunDir,
    sandbox::{self, Snapshots},
    verify::{Certificate, CertificateError, Discrepancy, Examiner, Setup},
};
use tokio_util::sync::CancellationToken;

use crate::{
    context::Context,
    fail,
    finding::{Finding, exit_code},
    state::{self, Read},
};

/// Check a certificate's chain, and run its checks again.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign verify certificate.json --workspace .\n\n\
    Prints one line a step: the certificate's form, the journal's chain, the votes, the workspace's content, \
    each check.\n\
    Exit codes: 0 where everything holds, 1 where something doesn't, 2 where the file can't be read.")]
pub(crate) struct VerifyArgs {
    /// The certificate's file.
    #[arg(value_name = "CERTIFICATE")]
    pub(crate) certificate: PathBuf,
    /// The workspace to check [default: the one that the run was in].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

pub(crate) async fn run(context: &Context, args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let certificate = match Certificate::read(&args.certificate) {
        Ok(certificate) => certificate,
        Err(error @ CertificateError::Io { .. }) => {
            return Err(fail::usage(
                error.to_string(),
                "`countersign show RUN` says where a run's certificate lies",
            ));
        }
        Err(error) => return Err(error.into()),
    };
    let mut findings = Vec::new();
    let mut tell = |finding: Finding| {
        let told = finding.tell(context.flags.json);
        findings.push(finding);
        told
    };
    tell(subject(&certificate))?;
    let Some(state_dir) = home(context, &args.certificate, certificate.predicate.run) else {
        let found = format!(
            "the journal of run {} is neither beside the certificate nor in the state directory",
            certificate.predicate.run
        );
        tell(Finding::broken("journal", found, "name the state directory of the run with --state-dir DIR"))?;
        return Ok(exit_code(&findings));
    };
    let dir = RunDir::new(&state_dir, certificate.predicate.run);
    let read = state::read(certificate.predicate.run, dir.path())?;
    journal(&certificate, &read).into_iter().try_for_each(&mut tell)?;
    let Some(Body::Run(ground)) = read.entries.first().map(|entry| &entry.body) else {
        return Ok(exit_code(&findings));
    };
    let workspace =
        args.workspace.as_ref().map_or_else(|| ground.workspace.clone(), |dir| context.world.resolve(dir));
    match Snapshots::open(&dir.snapshots(), &workspace).await {
        Ok(snapshots) => {
            tell(content(&certificate, &snapshots, &workspace).await)?;
            again(&certificate, &read, ground, &dir, snapshots).await.into_iter().try_for_each(&mut tell)?;
        }
        Err(error) => {
            tell(Finding::broken("content", error.to_string(), "name the workspace with --workspace DIR"))?
        }
    }
    Ok(exit_code(&findings))
}

/// The state directory that holds the run: the one that the certificate lies in, else that of the flags.
fn home(context: &Context, certificate: &Path, run: RunId) -> Option<PathBuf> {
    let certificate = context.world.resolve(certificate);
    let beside = certificate.ancestors().nth(3).map(Path::to_owned);
    let usual = context.world.state_dir(&context.globals).ok();
    let mut candidates = beside.into_iter().chain(usual);
    candidates.find(|state_dir| RunDir::new(state_dir, run).path().join("journal.jsonl").is_file())
}

fn subject(certificate: &Certificate) -> Finding {
    let trees: Vec<_> =
        certificate.subject.iter().map(|subject| subject.digest.git_tree.to_string()).collect();
    match trees.as_slice() {
        [tree] => {
            Finding::holds("certificate", format!("for content {tree}, run {}", certificate.predicate.run))
        }
        many => Finding::broken(
            "certificate",
            format!("it names {} contents; a certificate is about one", many.len()),
            "don't trust it",
        ),
    }
}

/// Whether the journal is whole, and says what the certificate says.
fn journal(certificate: &Certificate, read: &Read) -> Vec<Finding> {
    let distrust = "don't trust it: the certificate, or the journal, was changed after it was written";
    if let Some(damage) = &read.damage {
        return vec![Finding::broken("journal", damage, distrust)];
    }
    let discrepancies = certificate.check(&read.entries, &read.hashes);
    if discrepancies.is_empty() {
        let found = format!(
            "all {} entries follow from one another, and say what the certificate says",
            read.entries.len()
        );
        return vec![Finding::holds("journal", found)];
    }
    let finding = |wrong: Discrepancy| {
        Finding::broken("journal", format!("{}: {}", wrong.part, wrong.message), distrust)
    };
    discrepancies.into_iter().map(finding).collect()
}

/// Whether the workspace is what was certified.
async fn content(certificate: &Certificate, snapshots: &Snapshots, workspace: &Path) -> Finding {
    let shown = workspace.display();
    let Some(subject) = certificate.subject.first() else {
        return Finding::broken("content", "the certificate names none", "don't trust it");
    };
    match snapshots.take().await {
        Ok(tree) if tree == subject.digest.git_tree => {
            Finding::holds("content", format!("{shown} is what was certified"))
        }
        Ok(tree) => Finding::broken(
            "content",
            format!("{shown} holds {tree}, which is not what was certified"),
            "it was changed after the run, or it is another folder: name the right one with --workspace DIR",
        ),
        Err(error) => {
            Finding::broken("content", error.to_string(), "name the workspace with --workspace DIR")
        }
    }
}

/// Runs the policy's checks again on the certified content.
async fn again(
    certificate: &Certificate,
    read: &Read,
    ground: &Ground,
    dir: &RunDir,
    snapshots: Snapshots,
) -> Vec<Finding> {
    let cannot = |error: String| {
        vec![Finding::broken(
            "checks",
            format!("they can't be run again: {error}"),
            "mend that, and verify again",
        )]
    };
    let Some(subject) = certificate.subject.first() else { return Vec::new() };
    let prepared = Examiner::prepare(Setup {
        policy: ground.policy.clone(),
        policy_dir: ground.policy_dir.clone(),
        snapshots: Arc::new(snapshots),
        sandbox: sandbox::best(),
        base: ground.base.clone(),
        scratch: dir.scratch(),
        blobs: dir.blobs(),
        goal: ground.goal.clone(),
        extra: Vec::new(),
    });
    let mut examiner = match prepared.await {
        Ok(examiner) => examiner,
        Err(error) => return cannot(error.to_string()),
    };
    let baseline = read.entries.iter().filter_map(|entry| match &entry.body {
        Body::Baseline { report } => Some(report.clone()),
        _ => None,
    });
    examiner.adopt_baseline(baseline.collect());
    let examination =
        examiner.examine(&subject.digest.git_tree, &CancellationToken::new(), &mut |_| {}).await;
    let mut findings: Vec<_> = examination.reports.iter().map(check).collect();
    findings.push(match &examination.verdict {
        Verdict::Accepted { .. } => {
            Finding::holds("verdict", "the checks, run again, do not refute the claim")
        }
        Verdict::Refuted { summary, .. } => {
            Finding::broken("verdict", format!("refuted: {summary}"), "don't rely on it")
        }
        Verdict::Inconclusive { reason, needs } => {
            Finding::broken("verdict", format!("could not be judged: {reason}"), needs.clone())
        }
    });
    findings
}

fn check(report: &CheckReport) -> Finding {
    let found = format!("{}: {}", report.check, report.summary);
    if report.passed() {
        Finding::holds("check", found)
    } else {
        Finding::broken(
            "check",
            found,
            "the content, or the machine, is not what it was when it was certified",
        )
    }
}
