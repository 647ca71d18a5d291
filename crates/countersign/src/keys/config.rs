//! The keys of the configuration.

use super::{MODEL, MONEY, SPAN, key, table};
use crate::schema::{Key, Kind, Table, Without};

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
        key(
            "stream_usage",
            Kind::Boolean,
            Without::Otherwise("true"),
            "Whether a chat request asks for the usage at the end of the stream. A few servers refuse the question.",
        ),
        key(
            "assistant_after_tools",
            Kind::Boolean,
            Without::Otherwise("false"),
            "Whether the server wants an assistant message between tool results and a user message.",
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
