//! Server-sent events out of bytes that arrive in any pieces.

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its `event:` line; `None` where there was none.
    pub name: Option<String>,
    /// Its `data:` lines, joined with line feeds.
    pub data: String,
}

/// An event that is larger than any answer of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server sent an event of more than {limit} bytes: this is no answer of a model; check the base URL")]
pub struct EventTooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Reads events out of bytes. Where the bytes are cut makes no difference.
#[derive(Debug, Default)]
pub struct SseReader {}

impl SseReader {
    /// A reader at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes. Whole events wait for [`next_event`](Self::next_event), also after an error.
    ///
    /// # Errors
    /// An event is larger than the limit; the rest of the stream can't be read.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        let _ = bytes;
        unimplemented!()
    }

    /// The next whole event.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        unimplemented!()
    }

    /// The stream ended in order: the last event needs no blank line after it. Not to be called for a broken
    /// connection, whose last event may be half of one.
    pub fn finish(&mut self) {
        unimplemented!()
    }
}
