//! Loading what users write: right files, wrong files, and what is said of them.

mod bench;
mod files;
mod layers;
