//! The checks that a policy's file can ask for.

mod command;
mod forbid;
mod paths;
mod plugin;

pub use command::CommandCheck;
pub use forbid::ForbidAdded;
pub use paths::{ProtectedPaths, Scope};
pub use plugin::{PLUGIN_PROTOCOL, Plugin};
