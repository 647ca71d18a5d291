//! What a model can do: tool contracts, argument repair, the built-in tools, locks and the scheduler.
//!
//! A message's calls go through [`take`], which decides without doing anything, and [`execute`], which runs what
//! was taken. Nothing here decides that a run ends.

mod builtin;
mod context;
mod control;
mod execute;
mod files;
mod folding;
pub mod limits;
mod locks;
mod mask;
mod matching;
mod names;
mod paths;
mod repair;
mod schema;
mod take;
#[cfg(test)]
mod tests;
mod text;
mod tool;
mod toolset;
mod walk;

pub use context::{ContextError, ToolContext};
pub use control::Control;
pub use execute::execute;
pub use mask::SHORTEST_SECRET;
pub use repair::repair;
pub use take::{Planned, Taken, take};
pub use tool::{Effect, Tool, ToolOutput};
pub use toolset::{Toolset, ToolsetError};
