//! Server-sent events out of bytes that arrive in any pieces.
//!
//! The rules are those of the HTML standard, with two exceptions that real providers force on a reader: an event
//! with a name and no data is an event (some report errors so), and the last event of a stream needs no blank line.
//! A parser that follows the standard drops both.

use std::collections::VecDeque;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its `event:` line; `None` where there was none.
    pub name: Option<String>,
    /// Its `data:` lines, joined with line feeds.
    pub data: String,
}

/// An event, or a body without events, that is larger than any answer of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the server sent more than {limit} bytes in one piece: this is no answer of a model; check the base URL"
)]
pub struct EventTooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// The most bytes that one event may have.
pub const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// What some servers put before the first line.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads events out of bytes. Where the bytes are cut makes no difference; each byte is looked at once.
#[derive(Debug)]
pub struct SseReader {
    /// The line that is being read.
    line: Vec<u8>,
    /// Whether the last line ended with a carriage return, so that a line feed now belongs to it.
    after_return: bool,
    /// Whether a line has been taken: only the first may begin with a byte order mark.
    begun: bool,
    name: Option<String>,
    data: Option<String>,
    /// The bytes of the event's lines so far.
    size: usize,
    limit: usize,
    events: VecDeque<SseEvent>,
}

impl Default for SseReader {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }
}

impl SseReader {
    /// A reader at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A reader with its own limit for one event, in bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            after_return: false,
            begun: false,
            name: None,
            data: None,
            size: 0,
            limit,
            events: VecDeque::new(),
        }
    }

    /// Takes the next bytes. Whole events wait for [`next_event`](Self::next_event), also after an error.
    ///
    /// # Errors
    /// An event is larger than the limit; the rest of the stream can't be read.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        let mut rest = bytes;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &rest[..end.unwrap_or(rest.len())];
            self.size += part.len();
            if self.size > self.limit {
                return Err(EventTooLarge { limit: self.limit });
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_return = rest[end] == b'\r';
            self.end_line();
            rest = &rest[end + 1..];
        }
        Ok(())
    }

    /// The next whole event.
    pub fn next_event(&mut self) -> Option<SseEvent> {
        self.events.pop_front()
    }

    /// The stream ended in order: gives the last event where no blank line came after it. Not to be called for a
    /// broken connection, whose last event may be half of one.
    pub fn finish(&mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.take_event()
    }

    fn end_line(&mut self) {
        let bytes = std::mem::take(&mut self.line);
        let mut line = bytes.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch();
        } else {
            self.field(line);
        }
        self.line = bytes;
        self.line.clear();
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = colon.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match name {
            b"event" => self.name = Some(value.into_owned()).filter(|name| !name.is_empty()),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                }
                None => self.data = Some(value.into_owned()),
            },
            // A comment, `id`, `retry`, or a field of a later standard.
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        let event = self.take_event();
        self.events.extend(event);
    }

    fn take_event(&mut self) -> Option<SseEvent> {
        self.size = 0;
        let (name, data) = (self.name.take(), self.data.take());
        (name.is_some() || data.is_some()).then(|| SseEvent { name, data: data.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: Option<&str>, data: &str) -> SseEvent {
        SseEvent { name: name.map(Into::into), data: data.into() }
    }

    fn read(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut reader = SseReader::new();
        let mut events = Vec::new();
        for piece in pieces {
            reader.push(piece).unwrap();
            events.extend(std::iter::from_fn(|| reader.next_event()));
        }
        events.extend(reader.finish());
        events
    }

    #[test]
    fn every_kind_of_line_end_is_one() {
        let expected = vec![event(Some("a"), "1"), event(None, "2\n3")];
        for end in ["\n", "\r\n", "\r"] {
            let stream = "event: a\ndata: 1\n\ndata: 2\ndata:3\n\n".replace('\n', end);
            assert_eq!(read(&[stream.as_bytes()]), expected, "{end:?}");
        }
        assert_eq!(
            read(&[b"event: a\r", b"\ndata: 1\r", b"\n\r", b"\ndata: 2\r\ndata:3\r", b"\n\r\n"]),
            expected
        );
    }

    #[test]
    fn comments_unknown_fields_and_a_byte_order_mark_are_no_data() {
        let stream = b"\xEF\xBB\xBF: hello\nid: 7\nretry: 10\nwhat: ever\n\ndata: x\n\n";
        assert_eq!(read(&[stream]), [event(None, "x")]);
        assert_eq!(read(&[b"\xEF", b"\xBB", b"\xBFdata: x\n\n"]), [event(None, "x")]);
    }

    #[test]
    fn one_space_after_the_colon_is_dropped_and_no_more() {
        assert_eq!(read(&[b"data:  x\n\ndata:y\n\n"]), [event(None, " x"), event(None, "y")]);
    }

    #[test]
    fn an_event_without_data_and_one_without_a_blank_line_are_events() {
        assert_eq!(read(&[b"event: error\n\n"]), [event(Some("error"), "")]);
        assert_eq!(read(&[b"data: last"]), [event(None, "last")]);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_split_characters_are_not() {
        assert_eq!(read(&[b"data: a\xFFb\n\n"]), [event(None, "a\u{fffd}b")]);
        assert_eq!(read(&[b"data: \xF0\x9F", b"\x98", b"\x80\n\n"]), [event(None, "😀")]);
    }

    #[test]
    fn a_large_event_is_read_and_one_over_the_limit_is_an_error() {
        let mut reader = SseReader::with_limit(100);
        reader.push(format!("data: small\n\ndata: {}\n\n", "x".repeat(94)).as_bytes()).unwrap();
        assert_eq!(reader.push(&[b'x'; 101]), Err(EventTooLarge { limit: 100 }));
        assert_eq!(std::iter::from_fn(|| reader.next_event()).count(), 2);

        let lines = "data: 0123456789\n".repeat(10);
        assert!(SseReader::with_limit(100).push(lines.as_bytes()).is_err(), "many lines are one event");
    }

    /// What a stream is made of, and what could be taken for it.
    const TOKENS: [&[u8]; 11] = [
        "data: é😀".as_bytes(),
        b"event: e",
        b"\r",
        b"\n",
        b"\r\n",
        b"\n\n",
        b": c",
        BYTE_ORDER_MARK,
        b"\xFF",
        b"data",
        b":",
    ];

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(
            tokens in proptest::collection::vec(proptest::sample::select(&TOKENS[..]), 0..40),
            sizes in proptest::collection::vec(1usize..9, 1..40),
        ) {
            let bytes = tokens.concat();
            let mut rest = bytes.as_slice();
            let mut pieces = Vec::new();
            for size in sizes {
                let (piece, left) = rest.split_at(size.min(rest.len()));
                pieces.push(piece);
                rest = left;
            }
            pieces.push(rest);
            prop_assert_eq!(read(&pieces), read(&[&bytes]));
        }
    }
}
