//! The wire: recorded and broken responses, and what becomes of them.

mod conformance;
mod faults;
mod kinds;
mod support;
