//! What a lane sends, as bytes: a frozen prefix and one fragment an item, each encoded once.
//!
//! Earlier fragments are never encoded again, so each request extends the last one byte for byte, and the work of a
//! turn depends on what is new.

use bytes::Bytes;
use countersign_protocol::{BlobId, Item, entry::Prefix};

use crate::{Encoder, ModelSpec};

/// Tokens that a provider may add to what is sent: its own words around tools and roles. Anthropic's documentation
/// names up to 530 for tool use.
const PROVIDER_ALLOWANCE: u64 = 1_024;

/// A part of a request, encoded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// The bytes, without any cache marker.
    pub bytes: Bytes,
    /// Where a cache marker may be put in, in bytes. Markers are no part of what providers compare.
    pub marker_at: Option<usize>,
}

impl Fragment {
    /// A fragment that takes no marker.
    #[must_use]
    pub fn plain(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), marker_at: None }
    }
}

/// The prefix and the history of a lane, as bytes.
#[derive(Debug, Clone)]
pub struct Prompt {
    prefix: Fragment,
    items: Vec<Fragment>,
    prefix_hash: blake3::Hash,
    chain: blake3::Hash,
    bytes: u64,
}

impl Prompt {
    /// A prompt without a history.
    #[must_use]
    pub fn new(encoder: &dyn Encoder, spec: &ModelSpec, prefix: &Prefix) -> Self {
        let prefix = encoder.prefix(spec, prefix);
        let hash = blake3::hash(&prefix.bytes);
        let bytes = prefix.bytes.len() as u64;
        Self { prefix, items: Vec::new(), prefix_hash: hash, chain: hash, bytes }
    }

    /// Puts an item at the end.
    pub fn push(&mut self, encoder: &dyn Encoder, item: &Item) {
        let fragment = encoder.item(item);
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.chain.as_bytes()).update(&fragment.bytes);
        self.chain = hasher.finalize();
        self.bytes += fragment.bytes.len() as u64 + 1;
        self.items.push(fragment);
    }

    /// The front.
    #[must_use]
    pub const fn prefix(&self) -> &Fragment {
        &self.prefix
    }

    /// The items, in order.
    #[must_use]
    pub fn items(&self) -> &[Fragment] {
        &self.items
    }

    /// How many items it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether it holds no item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The length of the cacheable part of a request, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hash of the front's bytes.
    #[must_use]
    pub fn prefix_hash(&self) -> BlobId {
        self.prefix_hash.into()
    }

    /// The hash over the front and every item after it: h₀ = blake3(front), hₙ = blake3(hₙ₋₁ ‖ itemₙ).
    #[must_use]
    pub fn chain(&self) -> BlobId {
        self.chain.into()
    }
}

/// The most tokens that a request with this prompt can hold: what the provider counted for an earlier, shorter one
/// (`last`: its bytes and its tokens), and a token for each byte that is new, since no tokenizer makes more tokens than
/// bytes.
#[must_use]
pub fn prompt_bound(prompt: &Prompt, last: Option<(u64, u64)>) -> u64 {
    let (bytes, tokens) = last.unwrap_or((0, PROVIDER_ALLOWANCE));
    tokens + prompt.bytes().saturating_sub(bytes)
}
