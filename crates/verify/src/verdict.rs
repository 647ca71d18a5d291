//! From reports to a verdict, and from a verdict to what the worker is told. Pure.

use countersign_protocol::{CheckReport, Verdict};

/// The most that the worker is told about a refutation, in bytes.
pub const REFUTATION_LIMIT: usize = 16 * 1024;

/// The verdict of these reports: any failure refutes; else any doubt is inconclusive; else it is accepted.
#[must_use]
pub fn decide(_reports: &[CheckReport]) -> Verdict {
    unimplemented!()
}

/// What the worker is told about a verdict that is not an acceptance, in at most [`REFUTATION_LIMIT`] bytes.
#[must_use]
pub fn refutation_text(_verdict: &Verdict) -> String {
    unimplemented!()
}
