//! Why a call failed, as types: what to do about it depends on the class, never on a message.

use countersign_protocol::Api;

use crate::decode::{ApiError, ErrorClass};

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The key is missing, wrong, or may not do this.
    #[error("{provider} does not accept the key: {message}. Check the variable that holds it")]
    Auth {
        /// The provider.
        provider: String,
        /// Its words.
        message: String,
    },
    /// The account has nothing left.
    #[error("the account at {provider} has nothing left: {message}")]
    Quota {
        /// The provider.
        provider: String,
        /// Its words.
        message: String,
    },
    /// Too many requests or tokens for the moment, after all retries.
    #[error("{provider} limits the rate of calls: {message}")]
    RateLimit {
        /// The provider.
        provider: String,
        /// Its words.
        message: String,
    },
    /// The provider failed or has no capacity, after all retries.
    #[error("{provider} is overloaded or not well: {message}")]
    Overloaded {
        /// The provider.
        provider: String,
        /// Its words.
        message: String,
    },
    /// The prompt does not fit the model's window.
    #[error("{provider} says that the prompt is too long: {message}")]
    ContextTooLong {
        /// The provider.
        provider: String,
        /// Its words.
        message: String,
    },
    /// The request is wrong; sent again it stays wrong.
    #[error("{provider} does not accept the request: {message}")]
    BadRequest {
        /// The provider.
        provider: String,
        /// Its words.
        message: String,
    },
    /// The server can't be reached, or the connection broke.
    #[error("{provider} at {url}: {message}")]
    Network {
        /// The provider.
        provider: String,
        /// Where it was looked for.
        url: String,
        /// What happened.
        message: String,
    },
    /// The response is not what the API sends, or ended before its end.
    #[error("{provider} answered with something else than its API: {message}")]
    Protocol {
        /// The provider.
        provider: String,
        /// What was seen.
        message: String,
    },
    /// The script has no step for this call, or scripts an error.
    #[error("the script {path}: {message}")]
    Script {
        /// The script.
        path: String,
        /// What is missing.
        message: String,
    },
    /// The call was stopped by the host.
    #[error("the call was stopped")]
    Cancelled,
}

impl CallError {
    /// What a provider reported, as the class that says what to do about it.
    #[must_use]
    pub fn reported(provider: &str, error: &ApiError) -> Self {
        let (provider, message) = (provider.to_owned(), error.message.clone());
        match error.class {
            ErrorClass::Auth | ErrorClass::Forbidden => Self::Auth { provider, message },
            ErrorClass::Quota => Self::Quota { provider, message },
            ErrorClass::RateLimit => Self::RateLimit { provider, message },
            ErrorClass::Overloaded | ErrorClass::Server | ErrorClass::ModelOutput => {
                Self::Overloaded { provider, message }
            }
            ErrorClass::ContextOverflow => Self::ContextTooLong { provider, message },
            ErrorClass::InvalidRequest | ErrorClass::NotFound => Self::BadRequest { provider, message },
            ErrorClass::BadBody => Self::Protocol { provider, message },
        }
    }

    /// Whether the same call may succeed if it is made again.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        match self {
            Self::RateLimit { .. }
            | Self::Overloaded { .. }
            | Self::Network { .. }
            | Self::Protocol { .. } => true,
            Self::Auth { .. }
            | Self::Quota { .. }
            | Self::ContextTooLong { .. }
            | Self::BadRequest { .. }
            | Self::Script { .. }
            | Self::Cancelled => false,
        }
    }
}

/// Why a model can't be called at all.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The key is not there.
    #[error("provider `{provider}` needs a key: set the variable {variable}")]
    KeyMissing {
        /// The provider.
        provider: String,
        /// The variable that should hold the key.
        variable: String,
    },
    /// The key can't be sent in a header.
    #[error(
        "the key of provider `{provider}` is malformed: a key has no spaces, line breaks or letters beyond ASCII"
    )]
    KeyMalformed {
        /// The provider.
        provider: String,
    },
    /// The URL is not one of an HTTP server.
    #[error(
        "provider `{provider}`: `base_url` must be the URL of a server, as \"http://127.0.0.1:8080/v1\": {reason}"
    )]
    BaseUrl {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The API is known, but requests can't be written for it.
    #[error(
        "provider `{provider}`: the API `{api}` is not yet spoken by this version; use anthropic-messages or openai-chat"
    )]
    ApiNotSpoken {
        /// The provider.
        provider: String,
        /// The API.
        api: Api,
    },
    /// The HTTP client can't be built.
    #[error("the HTTP client can't be built: {0}")]
    Client(#[source] reqwest::Error),
}
