//! The certificate of a completed run: an in-toto statement whose subject is the certified tree.

mod audit;

use std::{io::Write as _, path::Path};

use countersign_protocol::{BlobId, CheckReport, Claim, Entry, Money, RunId, Spent, TreeId, Verdict, Vote};
use countersign_sandbox::Containment;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The type of every in-toto statement of version 1.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// The type of the predicate.
pub const PREDICATE_TYPE: &str = "https://countersign.dev/certificate/v1";

/// The proof of a completed run, in the shape that other supply-chain tools read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// Always [`STATEMENT_TYPE`].
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// What is certified: one subject, the workspace's content.
    pub subject: Vec<Subject>,
    /// Always [`PREDICATE_TYPE`].
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// What is certified about it.
    pub predicate: Predicate,
}

/// What a statement is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// A name for people: the last part of the workspace's path.
    pub name: String,
    /// Its content.
    pub digest: Digest,
}

/// The content of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// The git tree id.
    #[serde(rename = "gitTree")]
    pub git_tree: TreeId,
}

/// What is certified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// The run.
    pub run: RunId,
    /// What was asked.
    pub goal: String,
    /// The workspace's content as the task began.
    pub base: TreeId,
    /// The worker's claim.
    pub claim: Claim,
    /// What each check came to on the certified tree, with its evidence.
    pub checks: Vec<CheckReport>,
    /// The verifier's answer.
    pub verdict: Verdict,
    /// The votes of worker, verifier and supervisor.
    pub votes: Vec<Vote>,
    /// What the run used.
    pub bill: Bill,
    /// The hash of the policy as the journal holds it.
    pub policy: BlobId,
    /// The hash of the journal's last entry when the certificate was issued.
    pub journal_head: BlobId,
    /// What the processes of the run were truly contained by.
    pub containment: Containment,
    /// The version of countersign that issued it.
    pub version: String,
    /// When it was issued.
    pub issued: Timestamp,
}

/// What a run used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bill {
    /// What the providers bill; `None` where a price is not known.
    pub money: Option<Money>,
    /// Tokens and turns, of all actors. Its own `money` is the part whose price is known.
    pub spent: Spent,
}

/// What can't be done with a certificate's file.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// It can't be read or written.
    #[error("cannot {action} the certificate {path}: {source}")]
    Io {
        /// What was to be done.
        action: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not a certificate.
    #[error("{path} is not a certificate: {source}")]
    Malformed {
        /// The file.
        path: String,
        /// What was wrong.
        source: serde_json::Error,
    },
}

/// Where a certificate and its journal do not agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discrepancy {
    /// The part of the certificate.
    pub part: &'static str,
    /// What was expected, and what is there.
    pub message: String,
}

impl Certificate {
    /// A certificate for this workspace's name, content and predicate.
    #[must_use]
    pub fn issue(workspace: &Path, tree: TreeId, predicate: Predicate) -> Self {
        let name = subject_name(workspace);
        Self {
            statement_type: STATEMENT_TYPE.into(),
            subject: vec![Subject { name, digest: Digest { git_tree: tree } }],
            predicate_type: PREDICATE_TYPE.into(),
            predicate,
        }
    }

    /// Its bytes: always the same for the same certificate.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        json
    }

    /// The hash of its bytes.
    #[must_use]
    pub fn digest(&self) -> BlobId {
        BlobId::of(self.to_json().as_bytes())
    }

    /// Writes it, durably and whole.
    ///
    /// # Errors
    /// Where the file can't be written.
    pub fn write(&self, path: &Path) -> Result<(), CertificateError> {
        let failed =
            |source| CertificateError::Io { action: "write", path: path.display().to_string(), source };
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        file.write_all(self.to_json().as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }

    /// Reads one.
    ///
    /// # Errors
    /// Where there is none, or it is not one.
    pub fn read(path: &Path) -> Result<Self, CertificateError> {
        let shown = || path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| CertificateError::Io {
            action: "read",
            path: shown(),
            source,
        })?;
        serde_json::from_slice(&bytes).map_err(|source| CertificateError::Malformed { path: shown(), source })
    }

    /// Where it and the journal do not agree; empty where they do. `hashes` are those of the entries, in order.
    #[must_use]
    pub fn check(&self, entries: &[Entry], hashes: &[BlobId]) -> Vec<Discrepancy> {
        audit::check(self, entries, hashes)
    }
}

/// The last part of the workspace's path.
fn subject_name(workspace: &Path) -> String {
    workspace.file_name().map_or_else(|| "workspace".into(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests;
