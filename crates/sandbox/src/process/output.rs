//! What a command wrote: the end in memory, the whole in a file, both bounded.

use std::{
    io,
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use countersign_protocol::BlobId;
use tokio::{fs::File, io::AsyncWriteExt, net::unix::pipe, sync::oneshot, task::JoinHandle};

use super::SpawnError;

/// How many bytes of a stream go to its file at most; what comes after is dropped and counted.
pub const SPILL_LIMIT: u64 = 256 * 1024 * 1024;

/// How many bytes are taken from a pipe at once.
const CHUNK: usize = 64 * 1024;

/// How many bytes are still taken after the command ended. More than any pipe holds by default: it only binds
/// where a process that is not the command's keeps on writing.
const REST_LIMIT: usize = 16 * 1024 * 1024;

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

impl Captured {
    /// A stream that nothing was written to.
    pub(super) fn nothing() -> Self {
        Self { tail: Vec::new(), total: 0, spilled: None, dropped: 0, hash: BlobId::of(b"") }
    }
}

/// The reading of one output stream, on its way in a task of its own until it is finished or dropped.
pub(super) struct Capture {
    task: JoinHandle<Result<Captured, SpawnError>>,
    ended: oneshot::Sender<()>,
}

impl Capture {
    /// Starts to read the pipe. The file is opened before anything else happens.
    pub(super) fn start(pipe: OwnedFd, keep: usize, file: Option<PathBuf>) -> Result<Self, SpawnError> {
        let pipe = pipe::Receiver::from_owned_fd(pipe)
            .map_err(|source| SpawnError::Output { file: None, source })?;
        let sink = Sink::open(keep, file)?;
        let (ended, end) = oneshot::channel();
        Ok(Self { task: tokio::spawn(read(pipe, sink, end)), ended })
    }

    /// Takes what is still in the pipe, without waiting for those who hold it open, and ends the reading.
    pub(super) async fn finish(self) -> Result<Captured, SpawnError> {
        // The task may have come to the end of the pipe by itself.
        let _ = self.ended.send(());
        self.task.await.map_err(|lost| SpawnError::Output { file: None, source: io::Error::other(lost) })?
    }
}

async fn read(
    pipe: pipe::Receiver,
    mut sink: Sink,
    mut end: oneshot::Receiver<()>,
) -> Result<Captured, SpawnError> {
    let mut chunk = vec![0; CHUNK];
    loop {
        tokio::select! {
            biased;
            _ = &mut end => break,
            ready = pipe.readable() => ready.map_err(|source| sink.failed(source))?,
        }
        match pipe.try_read(&mut chunk) {
            Ok(0) => return sink.finish().await,
            Ok(count) => sink.take(&chunk[..count]).await,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(source) => return Err(SpawnError::Output { file: None, source }),
        }
    }
    // Asked of the system directly: the runtime may not have heard yet that there is something to read.
    let mut rest = 0;
    while rest < REST_LIMIT {
        match rustix::io::read(&pipe, &mut chunk) {
            Ok(0) | Err(rustix::io::Errno::AGAIN) => break,
            Ok(count) => {
                rest += count;
                sink.take(&chunk[..count]).await;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(source) => return Err(SpawnError::Output { file: None, source: source.into() }),
        }
    }
    sink.finish().await
}

/// Where the bytes of one stream go.
struct Sink {
    keep: usize,
    tail: Vec<u8>,
    total: u64,
    hasher: blake3::Hasher,
    file: Option<(PathBuf, File)>,
    /// How many bytes the file takes.
    limit: u64,
    written: u64,
    /// The first failure to write the file. Reading goes on, so that the command is not held up.
    error: Option<io::Error>,
}

impl Sink {
    fn open(keep: usize, file: Option<PathBuf>) -> Result<Self, SpawnError> {
        let file = file.map(open_private).transpose()?;
        let (tail, hasher) = (Vec::new(), blake3::Hasher::new());
        Ok(Self { keep, tail, total: 0, hasher, file, limit: SPILL_LIMIT, written: 0, error: None })
    }

    async fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.hasher.update(bytes);
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > self.keep.saturating_mul(2).max(CHUNK) {
            self.cut();
        }
        let room = usize::try_from(self.limit - self.written).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        if let (Some((_, file)), None) = (&mut self.file, &self.error) {
            match file.write_all(part).await {
                Ok(()) => self.written += part.len() as u64,
                Err(error) => self.error = Some(error),
            }
        }
    }

    fn cut(&mut self) {
        let over = self.tail.len().saturating_sub(self.keep);
        self.tail.drain(..over);
    }

    fn failed(&mut self, source: io::Error) -> SpawnError {
        SpawnError::Output { file: self.file.take().map(|(path, _)| path), source }
    }

    async fn finish(mut self) -> Result<Captured, SpawnError> {
        if let (Some((_, file)), None) = (&mut self.file, &self.error) {
            self.error = file.flush().await.err();
        }
        if let Some(source) = self.error.take() {
            return Err(self.failed(source));
        }
        self.cut();
        self.tail.shrink_to_fit();
        let dropped = if self.file.is_some() { self.total - self.written } else { 0 };
        let spilled = self.file.map(|(path, _)| path);
        Ok(Captured {
            tail: self.tail,
            total: self.total,
            spilled,
            dropped,
            hash: self.hasher.finalize().into(),
        })
    }
}

/// Opens a file that only its owner can read: output may hold what nobody else should see.
fn open_private(path: PathBuf) -> Result<(PathBuf, File), SpawnError> {
    match std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path) {
        Ok(file) => Ok((path, File::from_std(file))),
        Err(source) => Err(SpawnError::Output { file: Some(path), source }),
    }
}

/// The file for stderr beside the one for stdout.
pub(super) fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".stderr");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_file_takes_no_more_than_its_limit_and_the_rest_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut sink = Sink { limit: 10, ..Sink::open(3, Some(path.clone())).unwrap() };
        for part in [&b"012345"[..], b"6789ab", b"cdef"] {
            sink.take(part).await;
        }
        let captured = sink.finish().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"0123456789");
        assert_eq!((captured.total, captured.dropped, &captured.tail[..]), (16, 6, &b"def"[..]));
        assert_eq!(captured.hash, BlobId::of(b"0123456789abcdef"));
    }

    #[tokio::test]
    async fn the_tail_is_the_end_whatever_the_parts() {
        let bytes: Vec<u8> = (0..400_000_u32).map(|n| (n % 251) as u8).collect();
        for (keep, part) in [(0, 1000), (1, 7), (1000, 64 * 1024), (100_000, 333), (usize::MAX, 4096)] {
            let mut sink = Sink::open(keep, None).unwrap();
            for part in bytes.chunks(part) {
                sink.take(part).await;
                assert!(sink.tail.len() <= keep.saturating_mul(2).max(CHUNK), "the tail grows without bound");
            }
            let captured = sink.finish().await.unwrap();
            assert_eq!(captured.tail, bytes[bytes.len().saturating_sub(keep)..]);
        }
    }
}
