//! The limits of what one call gives back. The descriptions that models read are built from these numbers.

/// The most lines in one result.
pub const MAX_LINES: usize = 2_000;
/// The most bytes in one result.
pub const MAX_BYTES: usize = 50 * 1024;
/// The most characters of one line that `grep` shows.
pub const GREP_LINE_CHARS: usize = 500;
/// Matches that `grep` shows where the call names no limit.
pub const GREP_MATCHES: usize = 100;
/// Paths that `find` shows where the call names no limit.
pub const FIND_PATHS: usize = 1_000;
/// Seconds that a command may take where the call names none.
pub const BASH_TIMEOUT: u64 = 120;
/// Seconds that a command may take at most.
pub const BASH_TIMEOUT_MAX: u64 = 600;
/// The largest picture that `read` shows, in bytes.
pub const IMAGE_BYTES: u64 = 3 * 1024 * 1024;
/// The largest file that `edit` changes, in bytes.
pub const EDIT_BYTES: u64 = 16 * 1024 * 1024;
/// The largest file that `read` goes through to its end, to count its lines and to know its content, in bytes.
pub const SCAN_BYTES: u64 = 64 * 1024 * 1024;

/// The same number as `MAX_BYTES`, as descriptions say it.
pub(crate) const MAX_KIB: usize = MAX_BYTES / 1024;
