//! Loading what users write: right files, wrong files, and what is said of them.

// What helps the tests is a part of them.
#![allow(clippy::unwrap_used)]

mod bench;
mod build;
mod files;
mod layers;
mod prepare;
mod reference;
mod shipped;
