//! The scripted model: answers from a file of steps, for demonstrations, tests and dry runs without spending.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{CallReport, Encoder, Model, ModelSpec, Request};

/// A model that answers from a file of steps.
#[derive(Debug)]
pub struct ScriptedModel {
    spec: ModelSpec,
}

/// Why a script can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file can't be read.
    #[error("can't read the script {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// The file is not a script.
    #[error("{}: {message}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
        /// Where in the file, in bytes.
        span: Option<std::ops::Range<usize>>,
        /// The file's text, for showing the place.
        text: String,
    },
}

/// Reads a script.
///
/// # Errors
/// The file can't be read, or is not a script: an unknown key, a wrong type, no step.
pub fn scripted(path: &Path) -> Result<ScriptedModel, ScriptError> {
    let _ = path;
    unimplemented!()
}

impl Model for ScriptedModel {
    fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    fn encoder(&self) -> &dyn Encoder {
        unimplemented!()
    }

    fn call<'a>(&'a self, request: Request<'a>, cancel: &'a CancellationToken) -> BoxFuture<'a, CallReport> {
        let _ = (request, cancel);
        unimplemented!()
    }
}
