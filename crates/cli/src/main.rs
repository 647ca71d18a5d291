//! The countersign command line.
fn main() {}
