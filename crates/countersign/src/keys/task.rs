//! The keys of a task.

use super::{MODEL, MONEY, SPAN, key};
use crate::schema::{Kind, Table, Without};

/// A task: `task.toml`.
pub static TASK: Table = Table {
    title: "a task",
    keys: &[
        key("goal", Kind::Text, Without::Refused, "What is asked."),
        key(
            "workspace",
            Kind::Text,
            Without::Default("\".\""),
            "The folder to work in, relative to this file.",
        ),
        key(
            "copy",
            Kind::Boolean,
            Without::Default("false"),
            "Whether to work in a copy of the workspace, made in the state directory, and leave the original as \
             it is.",
        ),
        key(
            "worker",
            Kind::Text,
            Without::Default("\"worker\""),
            "The worker's role: a name, or a path relative to this file.",
        ),
        key(
            "verifier",
            Kind::Text,
            Without::Otherwise("the policy's judge"),
            "The verifier's role, where the policy has a judge.",
        ),
        key("supervisor", Kind::Text, Without::Default("\"supervisor\""), "The supervisor's role."),
        key(
            "policy",
            Kind::Text,
            Without::Default("\"default\""),
            "What a claim must survive: a name, or a path relative to this file.",
        ),
        key(
            "models",
            Kind::Values(&MODEL),
            Without::Otherwise("the roles' models"),
            "Models by `worker`, `verifier`, `supervisor` or a role's name. `scripted/PATH` is a script, \
             relative to this file.",
        ),
        key("budget", Kind::Table(&BUDGET), Without::Otherwise("its defaults"), "What the run may use."),
    ],
    slips: &[
        ("task", "write `goal`"),
        ("prompt", "write `goal`; a prompt belongs to a role"),
        ("judge", "write `verifier`; whether there is a judge is the policy's choice"),
        ("model", "write `[models]` with `worker = \"provider/model\"`"),
    ],
};

static BUDGET: Table = Table {
    title: "the budget of a task",
    keys: &[
        key("money", MONEY, Without::Otherwise("no limit"), "US dollars, as text."),
        key("tokens", Kind::Integer(1), Without::Otherwise("no limit"), "Tokens, in and out."),
        key(
            "turns",
            Kind::Integer(1),
            Without::Default("100"),
            "Model calls that are answered, of all actors.",
        ),
        key("wall", SPAN, Without::Default("\"1h\""), "Time from the start, verification included."),
        key(
            "verification_share",
            Kind::Share,
            Without::Default("0.2"),
            "The share that is held back so that the last claim can be judged.",
        ),
    ],
    slips: &[
        ("time", "write `wall`"),
        ("dollars", "write `money`"),
        ("cost", "write `money`"),
        ("max_refutations", "it belongs to the policy"),
    ],
};
