//! Whole-system tests: the binary, a scripted model server, real processes, real git, real signals.

// These files are tests and their helpers alone, where a failed unwrap is a failed test.
#![allow(clippy::unwrap_used)]

mod bad_input;
mod compaction;
mod containment;
mod examples;
mod faults;
mod outcomes;
mod prefix;
mod resume;
mod supervisor;
