//! Why a call failed, as types: what to do about it depends on the class, never on a message.

use std::fmt;

use countersign_protocol::Api;

use crate::decode::ErrorClass;

/// Why a call failed. No message holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The key is missing, wrong, or may not do this.
    #[error("{0}. The key is not accepted: check the variable that holds it")]
    Auth(Trouble),
    /// The account has no money or allowance left; waiting does not help.
    #[error("{0}. The account has nothing left: add credit, or use another provider")]
    Quota(Trouble),
    /// Too many requests or tokens for the moment, after all retries.
    #[error("{0}. The provider limits the rate of calls: go on later")]
    RateLimit(Trouble),
    /// The provider has no capacity, or failed, after all retries.
    #[error("{0}. The provider is overloaded or not well: go on later")]
    Overloaded(Trouble),
    /// The prompt does not fit the model's window.
    #[error("{0}. The prompt is too long for the model's window")]
    ContextTooLong(Trouble),
    /// The request is wrong, or there is no such model or address; sent again it stays wrong.
    #[error("{0}. The request is not accepted: check the model's name, the base URL and the API")]
    BadRequest(Trouble),
    /// The model, or a filter of the provider's, refused to answer.
    #[error("{0}. The model refused: put the task in other words, or use another model")]
    Refused(Trouble),
    /// The server can't be reached, or the connection broke, after all retries that are safe.
    #[error("{0}. Check that the server is running and that the network reaches it")]
    Network(Trouble),
    /// The response is not what the API sends, or ended before its end.
    #[error("{0}. Check the base URL and the API")]
    Protocol(Trouble),
    /// The script has no step for this call.
    #[error("{0}")]
    Script(Trouble),
    /// The call was stopped by the host.
    #[error("the call was stopped")]
    Cancelled,
}

/// What went wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The provider's name.
    pub provider: String,
    /// The response's HTTP status, where there was a response.
    pub status: Option<u16>,
    /// The provider's own words, or what was seen.
    pub message: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What follows is a sentence of its own.
        let message = self.message.trim_end_matches(['.', ' ']);
        match self.status {
            Some(status) => write!(f, "{} (status {status}): {message}", self.provider),
            None => write!(f, "{}: {message}", self.provider),
        }
    }
}

impl CallError {
    /// What a provider reported, as the class that says what to do about it.
    #[must_use]
    pub fn reported(class: ErrorClass, trouble: Trouble) -> Self {
        match class {
            ErrorClass::Auth | ErrorClass::Forbidden => Self::Auth(trouble),
            ErrorClass::Quota => Self::Quota(trouble),
            ErrorClass::RateLimit => Self::RateLimit(trouble),
            ErrorClass::Overloaded | ErrorClass::Server | ErrorClass::ModelOutput => {
                Self::Overloaded(trouble)
            }
            ErrorClass::ContextOverflow => Self::ContextTooLong(trouble),
            ErrorClass::InvalidRequest | ErrorClass::NotFound => Self::BadRequest(trouble),
            ErrorClass::BadBody => Self::Protocol(trouble),
        }
    }

    /// Whether the same call may succeed if it is made again later.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        matches!(self, Self::RateLimit(_) | Self::Overloaded(_) | Self::Network(_))
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
