//! Models behind an HTTP server.

use countersign_protocol::Api;
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::{CallReport, ConnectError, Encoder, Model, ModelSpec, Provider, Request};

/// A provider's model.
#[derive(Debug)]
pub struct HttpModel {
    spec: ModelSpec,
}

/// Makes a model ready to be called. The key is read from the environment.
///
/// # Errors
/// The key is missing or malformed, the base URL is not one, or the API is not spoken by this version.
pub fn connect(provider: &Provider, spec: ModelSpec) -> Result<HttpModel, ConnectError> {
    HttpModel::new(provider, spec, None)
}

impl HttpModel {
    /// Makes a model ready to be called, with a key that the caller holds.
    ///
    /// # Errors
    /// The key is malformed, the base URL is not one, or the API is not spoken by this version.
    pub fn new(
        provider: &Provider,
        spec: ModelSpec,
        key: Option<SecretString>,
    ) -> Result<Self, ConnectError> {
        let _ = (provider.max_retries(), provider.idle_timeout(), key, Api::ALL);
        Ok(Self { spec })
    }
}

impl Model for HttpModel {
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
