//! The keys of roles, policies, tasks and configuration files.

mod config;
mod policy;
mod role;
mod task;

use countersign_protocol::{ModelRef, Money, Span};

use crate::schema::{Form, Key, Kind, Table, Without, parses};

pub use config::CONFIG;
pub use policy::POLICY;
pub use role::ROLE;
pub use task::TASK;

const MODEL: Kind = Kind::Formed(Form {
    what: "a model",
    example: "\"anthropic/claude-sonnet-5-5\"",
    check: parses::<ModelRef>,
});
const MONEY: Kind =
    Kind::Formed(Form { what: "an amount of US dollars", example: "\"2.00\"", check: parses::<Money> });
const SPAN: Kind = Kind::Formed(Form { what: "a span of time", example: "\"45m\"", check: parses::<Span> });

const fn key(name: &'static str, kind: Kind, without: Without, meaning: &'static str) -> Key {
    Key { name, kind, without, meaning }
}

const fn table(title: &'static str, keys: &'static [Key]) -> Table {
    Table { title, keys, slips: &[] }
}
