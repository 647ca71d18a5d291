//! What is wrong with a role or policy whose keys and types are right.

use countersign_protocol::{Policy, Role, RoleKind, role::SandboxLevel};
use countersign_tools::{Toolset, ToolsetError};

use crate::{
    diagnose::{Diagnostic, Findings, LoadError},
    document::missing,
    lookup::Found,
    nearest::did_you_mean,
};

/// What is wrong with a role.
pub(crate) fn role(found: &Found<Role>) -> Result<(), LoadError> {
    let (role, document) = (&found.value, &found.document);
    let mut findings = Findings::default();
    for (key, text) in [("name", &role.name), ("prompt", &role.prompt)] {
        if text.trim().is_empty() {
            findings.add(document.error(&[key], format!("the {key} of a role can't be empty")));
        }
    }
    if role.name.contains(['=', '/']) || role.name.contains(char::is_control) {
        findings.add(document.error(&["name"], "a role's name holds no `/`, `=` or control character"));
    }
    tools(found, &mut findings);
    for (index, folder) in role.skills.iter().enumerate() {
        let path = found.dir.join(folder);
        if !path.is_dir() {
            let error = missing(&path, &folder.display().to_string());
            let place = document.error(&["skills", &index.to_string()], error.message.clone());
            findings.add(Diagnostic { place: place.place, ..error });
        }
    }
    if role.review_every.is_some() && role.kind != RoleKind::Supervisor {
        let error = document.error(&["review_every"], format!("a {} makes no reviews", role.kind));
        findings.add(error.help("take `review_every` out; it belongs to a supervisor with a model"));
    }
    if role.sandbox.fallback.is_some_and(|fallback| rank(fallback) > rank(role.sandbox.level)) {
        let error =
            document.error(&["sandbox", "fallback"], "the fallback is stricter than the level itself");
        findings.add(error.help("write the stricter one as `level`"));
    }
    findings.finish().map(|_| ())
}

fn tools(found: &Found<Role>, findings: &mut Findings) {
    let (role, document) = (&found.value, &found.document);
    for (index, name) in role.tools.iter().flatten().enumerate() {
        let Err(error) = Toolset::role_names(role.kind, Some(std::slice::from_ref(name))) else { continue };
        let diagnostic = match error {
            ToolsetError::Unknown { .. } => {
                let known = Toolset::builtin_names();
                let help = did_you_mean(name, known.iter().copied())
                    .unwrap_or_else(|| format!("the tools are {}", known.join(", ")));
                Diagnostic::error(format!("there is no tool `{name}`")).help(help)
            }
            error => Diagnostic::error(error.to_string()),
        };
        let place = document.error(&["tools", &index.to_string()], "").place;
        findings.add(Diagnostic { place, ..diagnostic });
    }
}

/// How much a level keeps away.
const fn rank(level: SandboxLevel) -> u8 {
    match level {
        SandboxLevel::None => 0,
        SandboxLevel::Workspace => 1,
        SandboxLevel::Container => 2,
    }
}

/// What is wrong with a policy.
pub(crate) fn policy(found: &Found<Policy>) -> Result<(), LoadError> {
    let (policy, document) = (&found.value, &found.document);
    let mut findings = Findings::default();
    if policy.name.trim().is_empty() {
        findings.add(document.error(&["name"], "the name of a policy can't be empty"));
    }
    for problem in countersign_verify::validate(policy, &found.dir) {
        let keys: Vec<_> = problem.key.split(['.', '[', ']']).filter(|key| !key.is_empty()).collect();
        findings.add(document.error(&keys, problem.message));
    }
    findings.finish().map(|_| ())
}
