//! `doctor`: what works here, found by trying, and what to do about the rest.

mod machine;
mod servers;

use std::{path::Path, process::ExitCode};

use crate::{
    context::Context,
    finding::{Finding, exit_code},
};

pub(crate) async fn run(context: &Context) -> anyhow::Result<ExitCode> {
    let json = context.flags.json;
    let mut findings = Vec::new();
    let mut tell = |finding: Finding| {
        let told = finding.tell(json);
        findings.push(finding);
        told
    };
    tell(state_dir(context))?;
    machine::machine().await.into_iter().try_for_each(&mut tell)?;
    keys(context).into_iter().try_for_each(&mut tell)?;
    servers::local().await.into_iter().try_for_each(&mut tell)?;
    Ok(exit_code(&findings))
}

/// Whether runs can be kept, by writing there.
fn state_dir(context: &Context) -> Finding {
    let dir = match context.world.state_dir(&context.globals) {
        Ok(dir) => dir,
        Err(error) => return Finding::broken("state", error.to_string(), "name one with --state-dir DIR"),
    };
    let shown = dir.display();
    match try_writing(&dir) {
        Ok(()) => Finding::holds("state", format!("{shown} can be written")),
        Err(error) => Finding::broken(
            "state",
            format!("{shown} can't be written: {error}"),
            "mend its permissions, or name another folder with --state-dir DIR",
        ),
    }
}

fn try_writing(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    tempfile::NamedTempFile::new_in(dir).map(drop)
}

/// The keys that providers need, by name only.
fn keys(context: &Context) -> Vec<Finding> {
    let models = match context.settings() {
        Ok(settings) => settings.list_models(),
        Err(error) => {
            let next = "mend the file: `countersign check` shows where";
            return vec![Finding::broken("settings", error.to_string(), next)];
        }
    };
    let mut keys: Vec<_> =
        models.into_iter().filter_map(|model| Some((model.model.provider, model.key?))).collect();
    keys.sort_unstable();
    keys.dedup();
    let finding = |(provider, (variable, set)): (String, (String, bool))| {
        if set {
            Finding::holds("key", format!("{variable} is set, for {provider}"))
        } else {
            let found = format!("{variable} is not set, so {provider} can't be used");
            Finding::lacking("key", found, format!("export {variable}=… where you want {provider}"))
        }
    };
    keys.into_iter().map(finding).collect()
}
