//! Whole-system tests: the binary, a scripted model server, real processes, real git, real signals.

mod bad_input;
mod compaction;
mod containment;
mod examples;
mod faults;
mod outcomes;
mod prefix;
mod resume;
mod supervisor;
