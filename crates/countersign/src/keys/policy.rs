//! The keys of a policy.

use countersign_protocol::policy::ReportKind;

use super::{SPAN, key, table};
use crate::schema::{Form, Kind, Table, Without};

/// A policy: `policies/*.toml`.
pub static POLICY: Table = Table {
    title: "a policy",
    keys: &[
        key("name", Kind::Text, Without::Refused, "The name by which tasks ask for it."),
        key("description", Kind::Text, Without::Otherwise("none"), "One line for lists."),
        key(
            "protected",
            Kind::List(&Kind::Text),
            Without::Default("[]"),
            "Globs of paths that stay as they are in the base tree, whatever the worker does.",
        ),
        key(
            "protected_change",
            Kind::Choice(&["refute", "restore"]),
            Without::Default("\"refute\""),
            "What a changed or removed protected path does: `refute` the claim, or `restore` it, report it, \
             and judge without the change.",
        ),
        key(
            "scope",
            Kind::List(&Kind::Text),
            Without::Otherwise("all paths may change"),
            "Globs of the only paths that may change.",
        ),
        key(
            "max_refutations",
            Kind::Integer(1),
            Without::Default("5"),
            "After this many refutations the run ends as refused.",
        ),
        key(
            "check",
            Kind::Tables(&CHECK),
            Without::Default("[]"),
            "The checks, in the order in which they run.",
        ),
        key(
            "judge",
            Kind::Table(&JUDGE),
            Without::Otherwise("the checks alone decide"),
            "The verifier agent that looks for a refutation after the checks.",
        ),
        key(
            "accept",
            Kind::Table(&ACCEPT),
            Without::Otherwise("no further condition"),
            "A last condition over the checks' results.",
        ),
    ],
    slips: &[
        ("checks", "write one `[[check]]` table for each check"),
        ("verifier", "write `[judge]` with `role = \"verifier\"`"),
    ],
};

static CHECK: Table = Table {
    title: "a check",
    keys: &[
        key("name", Kind::Text, Without::Refused, "Its name, unique in the policy."),
        key(
            "run",
            Kind::Text,
            Without::Otherwise("one of `run`, `forbid_added` and `plugin` must be there"),
            "A shell command that must succeed in the copy of the workspace.",
        ),
        key(
            "forbid_added",
            Kind::List(&Kind::Text),
            Without::Otherwise("see `run`"),
            "Regular expressions that no added line may match.",
        ),
        key(
            "plugin",
            Kind::List(&Kind::Text),
            Without::Otherwise("see `run`"),
            "A program and its arguments, relative to the policy's file: JSON on its stdin, a JSON verdict \
             on its stdout.",
        ),
        key(
            "report",
            Kind::Formed(Form {
                what: "a kind of report",
                example: "\"cargo-test\"",
                check: |text| ReportKind::try_from(text.to_owned()).map(|_| ()).map_err(|e| e.to_string()),
            }),
            Without::Default("\"none\""),
            "How the command reports its tests: `cargo-test`, `pytest`, `unittest`, `go-test`, `node-test`, \
             `junit:PATH`, `tap`, or `none` for the exit status alone.",
        ),
        key("timeout", SPAN, Without::Default("\"10m\""), "The longest that one run may take."),
        key(
            "confirm",
            Kind::Integer(1),
            Without::Default("2"),
            "How many runs must fail before a failure counts.",
        ),
        key(
            "network",
            Kind::Boolean,
            Without::Default("false"),
            "Whether the command may use the network. Nothing enforces it yet.",
        ),
        key(
            "overlay",
            Kind::Text,
            Without::Otherwise("none"),
            "A folder beside the policy's file, copied over the workspace for this check only; the worker \
             never sees it.",
        ),
        key(
            "counterfactual",
            Kind::Boolean,
            Without::Default("false"),
            "Whether the worker's added tests must fail on the base tree.",
        ),
        key(
            "paths",
            Kind::List(&Kind::Text),
            Without::Otherwise("all paths"),
            "Globs of the paths that this check looks at.",
        ),
    ],
    slips: &[
        ("command", "write `run`"),
        ("cmd", "write `run`"),
        ("forbid", "write `forbid_added`"),
        ("retries", "write `confirm`: how many runs must fail before a failure counts"),
    ],
};

static JUDGE: Table = Table {
    title: "the judge of a policy",
    keys: &[
        key(
            "role",
            Kind::Text,
            Without::Refused,
            "The verifier role, by name or path; a task may choose another.",
        ),
        key(
            "objections",
            Kind::Choice(&["note", "refute"]),
            Without::Default("\"note\""),
            "What a refutation without a failing command or a place does: it is noted in the certificate, or \
             it refutes.",
        ),
    ],
    slips: &[("model", "the model belongs to the role, or to `[models]` of the task")],
};

static ACCEPT: Table = table(
    "the last condition of a policy",
    &[key(
        "when",
        Kind::Text,
        Without::Refused,
        "A CEL expression over `checks`, `baseline` and `diff`. A missing fact is inconclusive, never an \
         acceptance.",
    )],
);
