//! The sandbox with real processes, real git and real files.

mod host;
mod process;
mod support;
