//! The keys of a role.

use super::{MODEL, key, table};
use crate::schema::{Kind, Table, Without};

const LEVELS: &[&str] = &["none", "workspace", "container"];

/// A role: `agents/*.toml`.
pub static ROLE: Table = Table {
    title: "a role",
    keys: &[
        key("name", Kind::Text, Without::Refused, "The name by which tasks ask for it."),
        key(
            "kind",
            Kind::Choice(&["worker", "verifier", "supervisor"]),
            Without::Refused,
            "What it does in a run: a worker does the task, a verifier tries to refute the claim that it is \
             done, a supervisor watches budget and progress.",
        ),
        key("description", Kind::Text, Without::Otherwise("none"), "One line for lists."),
        key(
            "model",
            MODEL,
            Without::Otherwise("the task, the configuration's default, or a flag names it"),
            "The model, as `provider/model`. A supervisor without one decides by rules alone.",
        ),
        key("prompt", Kind::Text, Without::Refused, "The first section of the system prompt."),
        key(
            "tools",
            Kind::List(&Kind::Text),
            Without::Otherwise("the tools of its kind"),
            "The names of its tools, in any order. A verifier may have none that writes files.",
        ),
        key(
            "guidelines",
            Kind::List(&Kind::Text),
            Without::Default("[]"),
            "Rules of conduct, one a line of the system prompt.",
        ),
        key(
            "skills",
            Kind::List(&Kind::Text),
            Without::Default("[]"),
            "Folders of skills, relative to this file. Each skill is a folder with a `SKILL.md`, and enters \
             the prompt as one line of an index.",
        ),
        key(
            "max_output_tokens",
            Kind::Integer(1),
            Without::Otherwise("the model's own limit, at most 8192"),
            "The most that one answer may hold.",
        ),
        key(
            "review_every",
            Kind::Integer(1),
            Without::Otherwise("no reviews"),
            "A supervisor with a model looks at the run each time the worker has taken this many turns.",
        ),
        key(
            "compaction",
            Kind::Table(&COMPACTION),
            Without::Otherwise("its defaults"),
            "When and how its history is compacted.",
        ),
        key(
            "sandbox",
            Kind::Table(&SANDBOX),
            Without::Otherwise("its defaults"),
            "What its processes are kept from.",
        ),
    ],
    slips: &[
        ("system", "write `prompt`"),
        ("system_prompt", "write `prompt`"),
        ("instructions", "write `prompt`, or one rule a line in `guidelines`"),
        ("role", "write `kind`"),
        ("max_tokens", "write `max_output_tokens`"),
    ],
};

static COMPACTION: Table = table(
    "the compaction of a role",
    &[
        key(
            "reserve_tokens",
            Kind::Integer(0),
            Without::Default("16384"),
            "Compaction comes when less than this much of the window is free.",
        ),
        key(
            "keep_recent_tokens",
            Kind::Integer(0),
            Without::Default("20000"),
            "How much of the newest history stays verbatim.",
        ),
    ],
);

static SANDBOX: Table = table(
    "the sandbox of a role",
    &[
        key(
            "level",
            Kind::Choice(LEVELS),
            Without::Default("\"none\""),
            "`none`: processes are contained (own session, no stdin, bounded output, killed with all \
             descendants) but not isolated. `workspace`: they write only there. `container`: they run in \
             one. This version gives `none` alone.",
        ),
        key(
            "network",
            Kind::Boolean,
            Without::Default("true"),
            "Whether processes may use the network. The level `none` can't keep them from it.",
        ),
        key(
            "fallback",
            Kind::Choice(LEVELS),
            Without::Otherwise("the run is refused"),
            "The level to go on with where the machine can't give the one asked for.",
        ),
    ],
);
