//! A shell command that must succeed in the copy, with its tests compared by name with the base tree's.

use std::{
    fs,
    path::{Path, PathBuf},
};

use countersign_protocol::{
    CheckReport, CheckStatus, Evidence, Finding, TestCounts, Tests, TreeId,
    policy::{CheckSpec, ReportKind},
};
use countersign_sandbox::{Command, Streams};
use futures_util::future::BoxFuture;

use crate::{
    Check, Needs, Scene,
    check::inconclusive,
    compare::{Conclusion, Observed, compare},
    evidence::{self, Outputs},
    globs,
    reports::{self, Output, ReportError},
    text,
};

/// How much of the output's end the worker is shown, in bytes.
const SHOWN: usize = 2_000;
/// The largest report file, in bytes.
const REPORT: u64 = 64 * 1024 * 1024;

/// Runs a command and judges it by its exit and its report.
#[derive(Debug)]
pub struct CommandCheck {
    spec: CheckSpec,
    run: String,
    overlay: Option<TreeId>,
}

impl CommandCheck {
    /// The check of a specification that has a `run` line. `overlay` are its held-out files.
    #[must_use]
    pub fn new(spec: CheckSpec, overlay: Option<TreeId>) -> Option<Self> {
        let run = spec.run.clone()?;
        Some(Self { spec, run, overlay })
    }

    async fn attempt(&self, scene: &Scene<'_>) -> CheckReport {
        let name = &self.spec.name;
        let mend = "see the error above; the check could not be run at all";
        if let Err(error) = self.clear_reports(scene.copy) {
            return inconclusive(name, error, mend);
        }
        let outputs = Outputs { temporary: scene.temporary, blobs: scene.blobs };
        let command = self.command(scene);
        let ran = match evidence::run(scene.sandbox, command, &self.run, outputs, scene.cancel).await {
            Ok(ran) => ran,
            Err(reason) => return inconclusive(name, reason, mend),
        };
        let observed = Observed { exit: ran.evidence.exit, tests: self.read_report(scene, &ran) };
        let conclusion = compare(scene.baseline, &observed);
        let tests = observed.tests.and_then(Result::ok);
        let mut report = match self.overlay {
            None => self.open_report(&conclusion, &ran.evidence),
            Some(_) => self.held_out_report(&conclusion, tests.as_ref().map(|tests| tests.counts)),
        };
        let mut evidence = ran.evidence;
        if self.overlay.is_some() {
            // The judge reads it and the certificate carries it; the whole lies in the blobs.
            evidence.tail = "(held out)".into();
        }
        report.evidence.push(evidence);
        report.tests = tests;
        report
    }

    fn command(&self, scene: &Scene<'_>) -> Command {
        let streams = match self.spec.report {
            // The names of binaries come on stderr, between the tests' lines on stdout.
            ReportKind::CargoTest | ReportKind::None | ReportKind::Junit(_) => Streams::Merged,
            _ => Streams::Separate,
        };
        // Compiled files that lie in the tree are not loaded: they need not be what their sources say.
        let bytecode = scene.temporary.join("pycache");
        let mut command = Command::shell(&self.run, scene.copy)
            .timeout(self.spec.timeout.get())
            .streams(streams)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONPYCACHEPREFIX", bytecode.to_string_lossy());
        if self.spec.report == ReportKind::Pytest
            && let Ok(file) = shlex::try_quote(&pytest_report(scene).to_string_lossy())
        {
            let options = format!("-p no:cacheprovider -o junit_family=xunit2 --junitxml={file}");
            command = command.env("PYTEST_ADDOPTS", options);
        }
        command
    }

    /// Takes away reports that lie in the tree, so that none but this run's is read.
    fn clear_reports(&self, copy: &Path) -> Result<(), String> {
        let ReportKind::Junit(pattern) = &self.spec.report else { return Ok(()) };
        for file in files(copy, pattern) {
            fs::remove_file(&file).map_err(|error| format!("cannot remove {}: {error}", file.display()))?;
        }
        Ok(())
    }

    fn read_report(&self, scene: &Scene<'_>, ran: &evidence::Ran) -> Option<Result<Tests, ReportError>> {
        if self.spec.report == ReportKind::None {
            return None;
        }
        let paths = match &self.spec.report {
            ReportKind::Junit(pattern) => {
                let found = files(scene.copy, pattern).into_iter();
                found.filter(|file| file.symlink_metadata().is_ok_and(|data| data.is_file())).collect()
            }
            ReportKind::Pytest => {
                Some(pytest_report(scene)).into_iter().filter(|file| file.is_file()).collect()
            }
            _ => Vec::new(),
        };
        let read = paths.iter().map(|path| report_file(path)).collect::<Result<Vec<_>, _>>();
        let junit = match read {
            Ok(junit) => junit,
            Err(error) => return Some(Err(error)),
        };
        if !ran.whole && junit.is_empty() {
            let what = "its output is too large to be read whole".into();
            return Some(Err(ReportError::Malformed { what }));
        }
        let root = scene.copy.to_string_lossy();
        let output = Output { stdout: &ran.stdout, stderr: &ran.stderr, junit: &junit, root: &root };
        reports::read(&self.spec.report, &output)
    }

    fn open_report(&self, conclusion: &Conclusion, evidence: &Evidence) -> CheckReport {
        let name = &self.spec.name;
        let findings = match conclusion.status {
            CheckStatus::Passed => Vec::new(),
            CheckStatus::Inconclusive => statements(&conclusion.reasons),
            CheckStatus::Failed => {
                let end = text::tail(&evidence.tail, SHOWN).trim_end();
                let reasons = conclusion.reasons.join("; ");
                let statement = if end.is_empty() {
                    format!("check `{name}` failed: {reasons}. It printed nothing.")
                } else {
                    format!("check `{name}` failed: {reasons}. Its output ends:\n{end}")
                };
                vec![Finding { statement, command: Some(self.run.clone()), ..Finding::default() }]
            }
        };
        self.report(conclusion.status, conclusion.summary.clone(), findings)
    }

    /// A report that says nothing of what only the held-out files could tell.
    fn held_out_report(&self, conclusion: &Conclusion, counts: Option<TestCounts>) -> CheckReport {
        let name = &self.spec.name;
        let counts = counts.map_or_else(
            || "no report of its tests".to_owned(),
            |counts| {
                format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped)
            },
        );
        let findings = match conclusion.status {
            CheckStatus::Passed => Vec::new(),
            CheckStatus::Inconclusive => statements(&conclusion.reasons),
            CheckStatus::Failed => statements(&[format!(
                "held-out check `{name}` failed: {counts}. Its tests are not shown; it tries what the task asks for \
                 with inputs of its own."
            )]),
        };
        self.report(conclusion.status, format!("held out; {counts}"), findings)
    }

    fn report(&self, status: CheckStatus, summary: String, findings: Vec<Finding>) -> CheckReport {
        let check = self.spec.name.clone();
        CheckReport { check, status, summary, findings, evidence: Vec::new(), tests: None }
    }
}

impl Check for CommandCheck {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn needs(&self) -> Needs {
        Needs {
            copy: true,
            baseline: true,
            confirm: self.spec.confirm,
            overlay: self.overlay.clone(),
            counterfactual: self.spec.counterfactual,
        }
    }

    fn run<'a>(&'a self, scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport> {
        Box::pin(self.attempt(scene))
    }
}

fn statements(reasons: &[String]) -> Vec<Finding> {
    reasons.iter().map(|reason| Finding { statement: reason.clone(), ..Finding::default() }).collect()
}

/// Outside of the copy, so that none can lie there beforehand.
fn pytest_report(scene: &Scene<'_>) -> PathBuf {
    scene.temporary.join("pytest.xml")
}

fn report_file(path: &Path) -> Result<String, ReportError> {
    let malformed = |what: String| ReportError::Malformed { what: format!("{}: {what}", path.display()) };
    let size = fs::metadata(path).map_err(|error| malformed(error.to_string()))?.len();
    if size > REPORT {
        return Err(malformed(format!("it is larger than {REPORT} bytes")));
    }
    fs::read_to_string(path).map_err(|error| malformed(error.to_string()))
}

/// The files of the copy that a report's path or glob means. Links are not followed.
fn files(copy: &Path, pattern: &Path) -> Vec<PathBuf> {
    let pattern = pattern.to_string_lossy();
    let Ok(glob) = globs::compile(&pattern) else { return Vec::new() };
    let matcher = glob.compile_matcher();
    let (mut found, mut folders) = (Vec::new(), vec![copy.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if path.strip_prefix(copy).is_ok_and(|relative| matcher.is_match(relative)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
