//! The examiner with real processes, real git and real projects: what must be refuted, and what must not.

#![allow(clippy::unwrap_used)] // helpers of tests: what goes wrong here ends the test

mod attacks;
mod cargo;
mod ground;
mod honest;
mod judge;
mod project;
mod pytest;
