//! The wire: recorded and broken responses, and what becomes of them.

mod any_bytes;
mod calls;
mod conformance;
mod endings;
mod errors;
mod replay;
mod support;
mod usage;
