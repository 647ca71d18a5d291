//! Names of things: each is its own type, so that one cannot be passed for another.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What was wrong with a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct InvalidId {
    /// The text as given.
    pub text: String,
    /// What was expected in its place, with an article.
    pub expected: &'static str,
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// A new one, ordered by time (UUID version 7).
            #[must_use]
            #[allow(clippy::new_without_default)]
            pub fn new() -> Self {
                Self(Uuid::now_v7())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Uuid::parse_str(text).map(Self).map_err(|_| InvalidId { text: text.into(), expected: $expected })
            }
        }
    };
}

uuid_id!(
    /// One supervised task, from assignment to outcome. Its folder in the state directory has this name.
    RunId,
    "a run id (a UUID)"
);
uuid_id!(
    /// One entry of a journal. A commit is idempotent by it.
    EntryId,
    "an entry id (a UUID)"
);

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $lengths:pat, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The lower-case hexadecimal text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                match text.len() {
                    $lengths if hex => Ok(Self(text.into())),
                    _ => Err(InvalidId { text: text.into(), expected: $expected }),
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    };
}

hex_id!(
    /// The content of a workspace: a git tree id (SHA-1 or SHA-256).
    TreeId,
    40 | 64,
    "a git tree id (40 or 64 hexadecimal digits)"
);
hex_id!(
    /// A body that lies beside the journal, or the hash of a journal entry: a blake3 hash.
    BlobId,
    64,
    "a blake3 hash (64 hexadecimal digits)"
);

impl BlobId {
    /// The id of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }
}

impl From<blake3::Hash> for BlobId {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash.to_hex().to_string())
    }
}

/// The n-th claim of a run, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClaimId(pub u32);

impl fmt::Display for ClaimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The n-th reservation of a run, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReservationId(pub u64);

/// What ties a tool call to its result within one turn: the provider's own id, or one made by the host
/// where the provider sent none or sent one twice. Providers reuse ids from turn to turn.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A model as users name it: `provider/model`. The model's part may hold slashes of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    /// The provider's name in the configuration, or `scripted`.
    pub provider: String,
    /// The provider's own id of the model.
    pub model: String,
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl FromStr for ModelRef {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
                Ok(Self { provider: provider.into(), model: model.into() })
            }
            _ => Err(InvalidId { text: text.into(), expected: "a model (provider/model)" }),
        }
    }
}

impl TryFrom<String> for ModelRef {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<Self, InvalidId> {
        text.parse()
    }
}

impl From<ModelRef> for String {
    fn from(model: ModelRef) -> String {
        model.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_keeps_the_slashes_of_its_own_part() {
        let model: ModelRef = "openrouter/meta-llama/llama-4".parse().unwrap();
        assert_eq!((model.provider.as_str(), model.model.as_str()), ("openrouter", "meta-llama/llama-4"));
        assert_eq!(model.to_string(), "openrouter/meta-llama/llama-4");
    }

    #[test]
    fn names_of_the_wrong_shape_are_refused() {
        assert!("sonnet".parse::<ModelRef>().is_err());
        assert!("/sonnet".parse::<ModelRef>().is_err());
        assert!("ABCD".parse::<TreeId>().is_err());
        assert!("g".repeat(40).parse::<TreeId>().is_err());
        assert!("a".repeat(40).parse::<TreeId>().is_ok());
        assert!("not-a-uuid".parse::<RunId>().is_err());
    }
}
