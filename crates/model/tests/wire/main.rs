//! The wire: recorded and broken responses, and what becomes of them.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "all of it is tests and what helps them")]

mod any_bytes;
mod calls;
mod conformance;
mod endings;
mod errors;
mod replay;
mod support;
mod usage;
