//! `verify`: checks a certificate, and runs its checks again.

use std::path::PathBuf;

use clap::Args;

/// Check a certificate's chain, and run its checks again.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  countersign verify certificate.json --workspace .\n\n\
    Prints one line a step: the certificate's form, the journal's chain, the votes, the workspace's content, \
    each check.\n\
    Exit codes: 0 where everything holds, 1 where something doesn't, 2 where the file can't be read.")]
pub(crate) struct VerifyArgs {
    /// The certificate's file.
    #[arg(value_name = "CERTIFICATE")]
    pub(crate) certificate: PathBuf,
    /// The workspace to check [default: the one that the run was in].
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}
