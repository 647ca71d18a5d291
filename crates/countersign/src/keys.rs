//! The keys of roles, policies, tasks and configuration files.

use countersign_protocol::{ModelRef, Money, Span, policy::ReportKind};

use crate::schema::{Form, Key, Kind, Table, Without, parses};

const MODEL: Kind = Kind::Formed(Form {
    what: "a model",
    example: "\"anthropic/claude-sonnet-4-5\"",
    check: parses::<ModelRef>,
});
const MONEY: Kind =
    Kind::Formed(Form { what: "an amount of US dollars", example: "\"2.00\"", check: parses::<Money> });
const SPAN: Kind = Kind::Formed(Form { what: "a span of time", example: "\"45m\"", check: parses::<Span> });
const LEVELS: &[&str] = &["none", "workspace", "container"];

const fn key(name: &'static str, kind: Kind, without: Without, meaning: &'static str) -> Key {
    Key { name, kind, without, meaning }
}

const fn table(title: &'static str, keys: &'static [Key]) -> Table {
    Table { title, keys, slips: &[] }
}

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
        key("network", Kind::Boolean, Without::Default("false"), "Whether the command may use the network."),
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

/// A configuration file: `config.toml`.
pub static CONFIG: Table = Table {
    title: "the configuration",
    keys: &[
        key(
            "defaults",
            Kind::Table(&DEFAULTS),
            Without::Otherwise("its defaults"),
            "What a task uses that doesn't say otherwise.",
        ),
        key(
            "providers",
            Kind::Named(&PROVIDER),
            Without::Otherwise("the shipped providers"),
            "Where models are, by the name that stands before the slash of `provider/model`.",
        ),
    ],
    slips: &[("provider", "write `[providers.NAME]`"), ("models", "write `[[providers.NAME.models]]`")],
};

static DEFAULTS: Table = table(
    "the defaults of the configuration",
    &[
        key("worker", Kind::Text, Without::Default("\"worker\""), "The worker's role."),
        key("verifier", Kind::Text, Without::Otherwise("the policy's judge"), "The verifier's role."),
        key("supervisor", Kind::Text, Without::Default("\"supervisor\""), "The supervisor's role."),
        key("policy", Kind::Text, Without::Default("\"default\""), "The policy."),
        key(
            "model",
            MODEL,
            Without::Otherwise("the roles' models"),
            "The model of workers and verifiers that name none, and of the shipped ones whatever they name.",
        ),
    ],
);

static PROVIDER: Table = Table {
    title: "a provider",
    keys: &[
        key(
            "api",
            Kind::Choice(&["anthropic-messages", "openai-chat", "openai-responses", "gemini"]),
            Without::Otherwise("refused, but for shipped providers"),
            "How its requests and answers are written.",
        ),
        key(
            "base_url",
            Kind::Text,
            Without::Otherwise("refused, but for shipped providers"),
            "Where it listens, beginning with `http://` or `https://`.",
        ),
        key(
            "api_key_env",
            Kind::Text,
            Without::Otherwise("no key is sent"),
            "The name of the environment variable that holds the key; never the key.",
        ),
        key("models", Kind::Tables(&MODEL_ENTRY), Without::Default("[]"), "Its models."),
        key(
            "max_retries",
            Kind::Integer(0),
            Without::Otherwise("3"),
            "How often a failed request is sent again, at most.",
        ),
        key(
            "idle_timeout",
            SPAN,
            Without::Otherwise("ten minutes"),
            "How long the server may stay silent, before the answer or within it.",
        ),
        key(
            "max_tokens_field",
            Kind::Choice(&["max_tokens", "max_completion_tokens"]),
            Without::Otherwise("by the server's address"),
            "How a chat request names the limit of the answer.",
        ),
        key(
            "replay_reasoning",
            Kind::Boolean,
            Without::Otherwise("true"),
            "Whether reasoning that the server sent goes back to it.",
        ),
    ],
    slips: &[
        ("api_key", "write the variable's NAME in `api_key_env`, and keep the key out of files"),
        ("key", "write the variable's NAME in `api_key_env`, and keep the key out of files"),
        ("url", "write `base_url`"),
        ("type", "write `api`"),
    ],
};

static MODEL_ENTRY: Table = Table {
    title: "a model of a provider",
    keys: &[
        key("id", Kind::Text, Without::Refused, "The provider's own id of the model."),
        key(
            "context_window",
            Kind::Integer(1),
            Without::Otherwise(
                "that of the catalogue; refused but for servers on this machine, which get 32768",
            ),
            "Tokens of prompt and answer together.",
        ),
        key(
            "max_output_tokens",
            Kind::Integer(1),
            Without::Otherwise("that of the catalogue, or 8192, or the window where it is smaller"),
            "Tokens of one answer.",
        ),
        key(
            "price",
            Kind::Table(&PRICE),
            Without::Otherwise("that of the catalogue, or unknown"),
            "US dollars a million tokens, as text. Without it no run with a money budget starts.",
        ),
        key(
            "tiers",
            Kind::Tables(&TIER),
            Without::Default("[]"),
            "Other prices for large prompts. The highest that the prompt exceeds prices the whole request.",
        ),
    ],
    slips: &[
        ("name", "write `id`"),
        ("window", "write `context_window`"),
        ("max_tokens", "write `max_output_tokens`"),
    ],
};

static PRICE: Table = Table { title: "the price of a model", keys: RATES, slips: RATE_SLIPS };

static TIER: Table = Table {
    title: "a price tier of a model",
    keys: &[
        key(
            "above",
            Kind::Integer(1),
            Without::Refused,
            "The tier holds when the prompt is larger than this.",
        ),
        key("input", MONEY, Without::Refused, INPUT),
        key("cache_read", MONEY, Without::Otherwise("the input rate"), CACHE_READ),
        key("cache_write", MONEY, Without::Otherwise("the input rate"), CACHE_WRITE),
        key("cache_write_1h", MONEY, Without::Otherwise("twice the input rate"), CACHE_WRITE_1H),
        key("output", MONEY, Without::Refused, OUTPUT),
    ],
    slips: RATE_SLIPS,
};

const INPUT: &str = "Prompt tokens that are neither read from nor written to the cache.";
const CACHE_READ: &str = "Prompt tokens read from the cache.";
const CACHE_WRITE: &str = "Prompt tokens written to the cache for the short retention.";
const CACHE_WRITE_1H: &str = "Prompt tokens written for one hour.";
const OUTPUT: &str = "Output tokens, reasoning included.";

const RATES: &[Key] = &[
    key("input", MONEY, Without::Refused, INPUT),
    key("cache_read", MONEY, Without::Otherwise("the input rate"), CACHE_READ),
    key("cache_write", MONEY, Without::Otherwise("the input rate"), CACHE_WRITE),
    key("cache_write_1h", MONEY, Without::Otherwise("twice the input rate"), CACHE_WRITE_1H),
    key("output", MONEY, Without::Refused, OUTPUT),
];

const RATE_SLIPS: &[(&str, &str)] =
    &[("cached", "write `cache_read`"), ("cached_input", "write `cache_read`")];
