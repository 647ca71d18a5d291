//! What a claim must survive: policies, checks, baselines, evidence and certificates.
//!
//! Nothing here trusts the worker. Whatever can't be judged is inconclusive, never accepted.

pub mod certificate;
pub mod check;
pub mod checks;
pub mod compare;
pub mod condition;
mod evidence;
pub mod examiner;
mod freeze;
mod globs;
mod judge;
mod protection;
pub mod reports;
mod room;
mod text;
pub mod validate;
pub mod verdict;

pub use certificate::{Bill, Certificate, CertificateError, Discrepancy, Predicate};
pub use check::{Check, Needs, Scene};
pub use examiner::{Examination, Examiner, PolicyError, Setup};
pub use judge::Judgement;
pub use validate::{Problem, validate};
pub use verdict::{REFUTATION_LIMIT, decide, refutation_text};
