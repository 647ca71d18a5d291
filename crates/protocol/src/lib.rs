//! The words of countersign as plain data: messages, money, claims, evidence, verdicts, votes, journal entries.
//!
//! Nothing here does I/O or waits. Every other crate depends on this one, so that all of them mean
//! the same thing by the same word.

pub mod budget;
pub mod claim;
pub mod duration;
pub mod entry;
pub mod ids;
pub mod message;
pub mod money;
pub mod outcome;
pub mod policy;
pub mod role;
pub mod usage;

pub use budget::{Budget, Spent};
pub use claim::{
    CheckReport, CheckStatus, Claim, Evidence, Exit, Finding, Statement, TestCounts, TestState, Tests,
    Verdict, Vote,
};
pub use duration::Span;
pub use entry::{Body, Entry, Lane};
pub use ids::{BlobId, CallId, ClaimId, EntryId, ModelRef, ReservationId, RunId, TreeId};
pub use message::{
    Api, Arguments, ArgumentsStatus, AssistantMessage, Block, Content, Item, Replay, Stop, StopClass,
    ToolCall, ToolDefinition, ToolResult,
};
pub use money::{Money, Price, PriceTier, Rates};
pub use outcome::Outcome;
pub use policy::Policy;
pub use role::{Role, RoleKind};
pub use usage::Usage;
