//! What the host and the containing helper say to each other, over a socket that only they hold.
//!
//! The host sends one [`Order`] (its length, JSON, then the bytes for stdin), and may send [`STOP`]. The helper
//! answers with [`Report`]s, one JSON object a line. When the host's end closes, the host is gone.

use std::{
    ffi::OsString,
    io::{self, Read},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use countersign_protocol::Exit;
use serde::{Deserialize, Serialize};

/// The argument by which a program knows that it was started as the helper.
pub(super) const MARKER: &str = "__contain";

/// Both sides are of one build; anything else is refused.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The one message after the order: end it, politely first.
pub(super) const STOP: u8 = b's';

/// The most bytes an order's JSON may have, so that garbage can't ask for all memory.
const ORDER_LIMIT: u32 = 64 * 1024 * 1024;

/// Text for a process: bytes, as the system has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Text(Vec<u8>);

impl From<OsString> for Text {
    fn from(text: OsString) -> Self {
        Self(text.into_vec())
    }
}

impl Text {
    /// As the system takes it.
    pub(super) fn as_os(&self) -> &std::ffi::OsStr {
        std::ffi::OsStr::from_bytes(&self.0)
    }
}

/// What the helper is to start.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) version: String,
    pub(super) argv: Vec<Text>,
    pub(super) cwd: Text,
    pub(super) environment: Vec<(Text, Text)>,
    /// How many bytes for stdin follow; `None` is `/dev/null`.
    pub(super) stdin: Option<u64>,
}

impl Order {
    /// Its bytes on the socket, without those for stdin.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let json = serde_json::to_vec(self)?;
        let length = u32::try_from(json.len()).ok().filter(|length| *length <= ORDER_LIMIT);
        let length = length.ok_or_else(|| io::Error::other("the command is too long"))?;
        Ok([&length.to_be_bytes()[..], &json].concat())
    }

    /// Reads it from the socket.
    pub(super) fn decode(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        if length > ORDER_LIMIT {
            return Err(io::Error::other("not an order"));
        }
        let mut json = Vec::new();
        from.take(length.into()).read_to_end(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }
}

/// What the helper says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    /// It could not start the command. Nothing runs.
    Failed {
        /// At what.
        step: Step,
        /// The system's error number; 0 where there is none.
        errno: i32,
    },
    /// The command ended, and everything that it started, but for the survivors.
    Ended {
        /// How the command itself ended.
        exit: Exit,
        /// Whether it was still running when it was told to stop.
        stopped: bool,
        /// `None`: all dead. Else something could not be killed: the ids, as far as they were seen.
        survivors: Option<Vec<i32>>,
    },
}

/// What failed before the command ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// The helper is of another build.
    Version,
    /// Becoming the one to whom descendants return.
    Contain,
    /// Entering the folder.
    Folder,
    /// Starting the program.
    Program,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_comes_through_byte_for_byte() {
        let text = |bytes: &[u8]| Text(bytes.to_vec());
        let order = Order {
            version: VERSION.into(),
            argv: vec![text(b"sh"), text(b"-c"), text("echo '\u{e4}\n\"".as_bytes())],
            cwd: text(b"/tmp/\xff"),
            environment: vec![(text(b"A"), text(b"=b\xfe"))],
            stdin: Some(3),
        };
        assert_eq!(Order::decode(&*order.encode().unwrap()).unwrap(), order);
    }

    #[test]
    fn garbage_is_refused() {
        assert!(Order::decode(&b"\xff\xff\xff\xff{}"[..]).is_err());
        assert!(Order::decode(&b"\0\0\0\x02"[..]).is_err());
        assert!(Order::decode(&b""[..]).is_err());
    }
}
