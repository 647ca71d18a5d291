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
/// The part of it that may come anew with what is new in the history.
const TURN_ALLOWANCE: u64 = 256;
/// The most tokens that a picture takes. They go by its size, so that a small file may take more than it has bytes.
const IMAGE_TOKENS: u64 = 6_000;

/// A part of a request, encoded once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    /// The bytes, without any cache marker.
    pub bytes: Bytes,
    /// Where a cache marker may be put in, in bytes. Markers are no part of what providers compare.
    pub marker_at: Option<usize>,
    /// How many pictures it holds.
    pub images: u64,
    /// How many of its bytes are pictures.
    pub image_bytes: u64,
}

impl Fragment {
    /// A fragment that takes no marker.
    #[must_use]
    pub fn plain(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), marker_at: None, images: 0, image_bytes: 0 }
    }
}

/// The prefix and the history of a lane, as bytes.
#[derive(Debug, Clone)]
pub struct Prompt {
    prefix: Fragment,
    items: Vec<Fragment>,
    asked: usize,
    after_results: bool,
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
        Self {
            prefix,
            items: Vec::new(),
            asked: 0,
            after_results: false,
            prefix_hash: hash,
            chain: hash,
            bytes,
        }
    }

    /// Puts an item at the end.
    pub fn push(&mut self, encoder: &dyn Encoder, item: &Item) {
        if matches!(item, Item::Assistant { .. }) {
            self.asked = self.items.len();
        }
        let fragment = encoder.item(item, self.after_results);
        self.after_results = matches!(item, Item::ToolResults { .. });
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

    /// How many items the request held that the model answered last.
    #[must_use]
    pub const fn asked(&self) -> usize {
        self.asked
    }

    /// Whether its last item is the results of tools.
    #[must_use]
    pub const fn after_results(&self) -> bool {
        self.after_results
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
/// bytes. Pictures and what the provider adds by itself are allowed for.
#[must_use]
pub fn prompt_bound(prompt: &Prompt, last: Option<(u64, u64)>) -> u64 {
    let (counted_bytes, counted_tokens) = last.unwrap_or_default();
    let allowance = if last.is_some() { TURN_ALLOWANCE } else { PROVIDER_ALLOWANCE };
    let (text, pictures) = new_since(prompt, counted_bytes);
    counted_tokens + text + pictures * IMAGE_TOKENS + allowance
}

/// About how many tokens a request with this prompt holds, at `bytes_a_token`.
#[must_use]
pub fn prompt_estimate(prompt: &Prompt, last: Option<(u64, u64)>, bytes_a_token: u64) -> u64 {
    /// Providers count a picture by its sides; this is one of about a megapixel.
    const PICTURE: u64 = 1_600;
    let (counted_bytes, counted_tokens) = last.unwrap_or_default();
    let (text, pictures) = new_since(prompt, counted_bytes);
    counted_tokens + text / bytes_a_token.max(1) + pictures * PICTURE
}

/// What the prompt holds beyond its first bytes: bytes of text, and pictures.
fn new_since(prompt: &Prompt, counted_bytes: u64) -> (u64, u64) {
    let mut end = prompt.bytes;
    let (mut images, mut image_bytes) = (0, 0);
    for fragment in prompt.items.iter().rev() {
        if end <= counted_bytes {
            break;
        }
        images += fragment.images;
        image_bytes += fragment.image_bytes;
        end -= fragment.bytes.len() as u64 + 1;
    }
    (prompt.bytes.saturating_sub(counted_bytes).saturating_sub(image_bytes), images)
}
