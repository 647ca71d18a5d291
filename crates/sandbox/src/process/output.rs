//! What a command wrote: the end in memory, the whole in a file, both bounded.

use std::path::PathBuf;

use countersign_protocol::BlobId;

/// How many bytes of a stream go to its file at most; what comes after is dropped and counted.
pub const SPILL_LIMIT: u64 = 256 * 1024 * 1024;

/// One output stream of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The last bytes, at most as many as were to be kept.
    pub tail: Vec<u8>,
    /// How many bytes there were in all.
    pub total: u64,
    /// The file with the whole, where one was named. It has the first [`SPILL_LIMIT`] bytes.
    pub spilled: Option<PathBuf>,
    /// How many bytes at the end the file lacks; 0 where no file was named.
    pub dropped: u64,
    /// The hash of all bytes, also of those that were not kept.
    pub hash: BlobId,
}
