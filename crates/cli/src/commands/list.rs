//! `roles`, `policies`, `models`: what is available, and where each came from.

use std::process::ExitCode;

use countersign::{
    LoadError, Origin,
    protocol::{Money, Policy, Price, Role},
};
use serde_json::{Value, json};

use crate::{
    context::Context,
    output,
    table::table,
    text::{grouped, one_line},
};

/// `roles`.
pub(crate) fn roles(context: &Context) -> anyhow::Result<ExitCode> {
    let listed = context.settings()?.list_roles();
    let sound =
        listed.iter().filter_map(|(name, origin, found)| Some((name, origin, &found.as_ref().ok()?.value)));
    if context.flags.json {
        for (name, origin, role) in sound {
            output::print_json(
                &json!({"type": "role", "name": name, "origin": origin_json(origin), "role": role}),
            )?;
        }
    } else {
        let rows = sound.map(|(name, origin, role)| role_row(name, origin, role));
        output::print(&table(["role", "kind", "model", "what", "origin"], rows))?;
    }
    Ok(broken(listed.iter().filter_map(|(.., found)| found.as_ref().err())))
}

/// `policies`.
pub(crate) fn policies(context: &Context) -> anyhow::Result<ExitCode> {
    let listed = context.settings()?.list_policies();
    let sound =
        listed.iter().filter_map(|(name, origin, found)| Some((name, origin, &found.as_ref().ok()?.value)));
    if context.flags.json {
        for (name, origin, policy) in sound {
            let origin = origin_json(origin);
            output::print_json(&json!({"type": "policy", "name": name, "origin": origin, "policy": policy}))?;
        }
    } else {
        let rows = sound.map(|(name, origin, policy)| policy_row(name, origin, policy));
        output::print(&table(["policy", "checks", "judge", "what", "origin"], rows))?;
    }
    Ok(broken(listed.iter().filter_map(|(.., found)| found.as_ref().err())))
}

/// `models`.
pub(crate) fn models(context: &Context) -> anyhow::Result<ExitCode> {
    let listed = context.settings()?.list_models();
    if context.flags.json {
        for model in &listed {
            let key = model.key.as_ref().map(|(variable, set)| json!({"variable": variable, "set": set}));
            output::print_json(&json!({
                "type": "model",
                "model": model.model,
                "context_window": model.context_window,
                "max_output_tokens": model.max_output_tokens,
                "price": model.price,
                "origin": origin_json(&model.origin),
                "key": key,
            }))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let rows = listed.iter().map(|model| {
        [
            one_line(&model.model.to_string(), 60),
            grouped(model.context_window),
            grouped(model.max_output_tokens),
            price(model.price.as_ref()),
            match &model.key {
                None => "none needed".into(),
                Some((variable, true)) => format!("{variable} is set"),
                Some((variable, false)) => format!("{variable} is not set"),
            },
            origin_text(&model.origin),
        ]
    });
    let headings = ["model", ">window", ">output", "in / hit / write / out, $ a million", "key", "origin"];
    output::print(&table(headings, rows))?;
    Ok(ExitCode::SUCCESS)
}

fn role_row(name: &str, origin: &Origin, role: &Role) -> [String; 5] {
    let model = role.model.as_ref().map_or("none".into(), |model| one_line(&model.to_string(), 50));
    let what = one_line(role.description.as_deref().unwrap_or_default(), 60);
    [one_line(name, 30), role.kind.to_string(), model, what, origin_text(origin)]
}

fn policy_row(name: &str, origin: &Origin, policy: &Policy) -> [String; 5] {
    let checks: Vec<_> = policy.checks.iter().map(|check| one_line(&check.name, 24)).collect();
    let judge = policy.judge.as_ref().map_or("none".into(), |judge| one_line(&judge.role, 24));
    let what = one_line(policy.description.as_deref().unwrap_or_default(), 60);
    [one_line(name, 30), checks.join(", "), judge, what, origin_text(origin)]
}

fn price(price: Option<&Price>) -> String {
    let Some(Price { rates, tiers }) = price else { return "unknown".into() };
    let or_input = |rate: Option<Money>| rate.unwrap_or(rates.input);
    let (hit, write) = (or_input(rates.cache_read), or_input(rates.cache_write));
    let more = if tiers.is_empty() { "" } else { " and more for large prompts" };
    format!("{} / {hit} / {write} / {}{more}", rates.input, rates.output)
}

fn origin_text(origin: &Origin) -> String {
    match origin {
        Origin::Shipped => "shipped".into(),
        Origin::User(path) | Origin::Workspace(path) => one_line(&path.display().to_string(), 120),
    }
}

fn origin_json(origin: &Origin) -> Value {
    match origin {
        Origin::Shipped => json!({"from": "shipped"}),
        Origin::User(path) => json!({"from": "user", "path": path}),
        Origin::Workspace(path) => json!({"from": "workspace", "path": path}),
    }
}

/// Says what is wrong with those that can't be used; gives the exit code for it.
fn broken<'a>(errors: impl Iterator<Item = &'a LoadError>) -> ExitCode {
    let codes = errors.map(|error| {
        output::note(&error.render(true));
        error.exit_code()
    });
    codes.max().map_or(ExitCode::SUCCESS, ExitCode::from)
}
