//! Whole-system tests: the binary, a scripted model server, real processes, real git, real signals.

mod bad_input;
mod containment;
mod examples;
mod outcomes;
mod prefix;
mod resume;
mod supervisor;
