//! Embeds countersign with a check of its own: no `print()` in library code.

use std::{path::Path, sync::Arc};

use countersign::{
    Run,
    protocol::{CheckReport, Finding, Outcome},
    verify::{
        Check, Scene,
        check::{failed, inconclusive, passed},
    },
};
use futures_util::future::BoxFuture;

/// No added line of a Python file may begin with `print(`.
struct NoPrint;

impl Check for NoPrint {
    fn name(&self) -> &str {
        "no-print"
    }

    fn run<'a>(&'a self, scene: &'a Scene<'a>) -> BoxFuture<'a, CheckReport> {
        Box::pin(async move {
            let added = match scene.snapshots.added_lines(scene.base, scene.candidate).await {
                Ok(added) => added,
                Err(error) => return inconclusive("no-print", error.to_string(), "look at the snapshots"),
            };
            let prints = added
                .into_iter()
                .filter(|line| line.path.ends_with(".py") && line.text.trim().starts_with("print("));
            let findings: Vec<Finding> = prints
                .map(|line| Finding {
                    statement: "print() in library code".into(),
                    file: Some(line.path),
                    line: Some(line.line),
                    ..Finding::default()
                })
                .collect();
            match findings.len() {
                0 => passed("no-print", "no print() was added"),
                calls => failed("no-print", format!("{calls} calls of print()"), findings),
            }
        })
    }
}

#[tokio::main]
#[allow(clippy::print_stdout)] // a program for the terminal
async fn main() -> anyhow::Result<()> {
    countersign::sandbox::helper_entry();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let run = Run::builder()
        .goal("report([]) must return \"mean: none\" and not fail.")
        .workspace(here.join("project"))
        .copy(true)
        .policy(here.join("policy-rust.toml").display().to_string())
        .model("worker", format!("scripted/{}", here.join("worker.toml").display()))
        .check(Arc::new(NoPrint))
        .build()?;
    let mut handle = run.start().await?;
    let mut events = handle.take_events();
    tokio::spawn(async move {
        while let Ok(entry) = events.recv().await {
            println!("{} {}", entry.lane, entry.body.kind());
        }
    });
    let ended = handle.outcome().await;
    println!("{} after {} refutations: {}", ended.outcome, ended.refutations, ended.reason);
    anyhow::ensure!(
        ended.outcome == Outcome::Completed && ended.refutations == 1,
        "it should be refuted once"
    );
    Ok(())
}
