//! The examiner with real processes, real git and real projects: what must be refuted, and what must not.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // helpers end the test where something goes wrong, and skip aloud

mod attacks;
mod cargo;
mod ground;
mod honest;
mod judge;
mod project;
mod pytest;
