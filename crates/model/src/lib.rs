//! The model call: request encoders, stream decoders, prices, retry, and the scripted model.
//!
//! A request is a concatenation of fragments ([`Prompt`]), each encoded once by the [`Encoder`] of the API, so that
//! it extends the one before byte for byte. A [`Model`] sends it: [`HttpModel`] to a provider, with the retries that
//! are safe, [`ScriptedModel`] to a file of steps. What comes back goes through a [decoder](decode).

mod call;
pub mod catalogue;
pub mod decode;
mod encode;
mod error;
mod http;
mod prompt;
mod provider;
mod scripted;

pub use call::{Answer, Attempt, CallReport, Model, ModelSpec, Request};
pub use encode::{AnthropicMessages, Encoder, OpenAiChat};
pub use error::{CallError, ConnectError, Trouble};
pub use http::{HttpModel, connect};
pub use prompt::{Fragment, Prompt, prompt_bound, prompt_estimate};
pub use provider::{MaxTokensField, Provider, ProviderModel};
pub use scripted::{ScriptError, ScriptedModel, scripted};
