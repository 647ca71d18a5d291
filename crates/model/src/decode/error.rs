//! What a provider says went wrong, sorted into classes that decide about a retry.

use std::time::Duration;

use countersign_protocol::Api;

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The request is wrong; sent again it stays wrong.
    InvalidRequest,
    /// The key is missing or not accepted.
    Auth,
    /// The key may not do this.
    Forbidden,
    /// No such model or address.
    NotFound,
    /// Too many requests or tokens for the moment.
    RateLimit,
    /// The account has no money or allowance left; waiting does not help.
    Quota,
    /// The provider has no capacity for the moment.
    Overloaded,
    /// The provider failed.
    Server,
    /// The prompt does not fit the model's window.
    ContextOverflow,
    /// The model wrote something that the provider could not read.
    ModelOutput,
    /// The response is not what this API sends.
    BadBody,
}

impl ErrorClass {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::Auth => "auth",
            Self::Forbidden => "forbidden",
            Self::NotFound => "not_found",
            Self::RateLimit => "rate_limit",
            Self::Quota => "quota",
            Self::Overloaded => "overloaded",
            Self::Server => "server",
            Self::ContextOverflow => "context_overflow",
            Self::ModelOutput => "model_output",
            Self::BadBody => "bad_body",
        }
    }
}

/// An error that a provider reported, in a response of its own or inside a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// What kind of thing went wrong.
    pub class: ErrorClass,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Whether it came inside a response that had begun well.
    pub midstream: bool,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// The provider's own words.
    pub message: String,
}

/// Reads an error response: its status, its headers, and its body whatever its form.
#[must_use]
pub fn error_body(api: Api, status: u16, headers: &[(String, String)], body: &[u8]) -> ApiError {
    let _ = (api, status, headers, body);
    unimplemented!()
}
