//! The library face of countersign: build a run in Rust, or load it from the files that users write.
