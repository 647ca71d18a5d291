//! Bodies that lie beside a journal, each under the hash of its bytes.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
};

use countersign_protocol::BlobId;

use crate::{StoreError, disk};

/// A folder of blobs. A blob is whole or not there at all: it gets its name once it is durable.
#[derive(Debug, Clone)]
pub struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    /// The blobs of this folder, which need not exist yet.
    #[must_use]
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Where the blob lies, or would.
    #[must_use]
    pub fn path(&self, id: &BlobId) -> PathBuf {
        self.folder.join(id.as_str())
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the bytes, durably. Bytes that are there already are not written again.
    ///
    /// # Errors
    /// Where the write fails.
    pub fn put(&self, bytes: &[u8]) -> Result<BlobId, StoreError> {
        let id = BlobId::of(bytes);
        if self.get(&id).is_err() {
            disk::create_folder(&self.folder)?;
            let path = self.path(&id);
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)
                .map_err(StoreError::io("making a blob", &self.folder))?;
            file.write_all(bytes).map_err(StoreError::io("writing a blob", &path))?;
            file.as_file().sync_all().map_err(StoreError::io("syncing a blob", &path))?;
            file.persist(&path).map_err(|error| StoreError::io("naming a blob", &path)(error.error))?;
        }
        // Also for one that was there: its writer may have been killed before this.
        disk::sync_folder(&self.folder)?;
        Ok(id)
    }

    /// The blob's bytes, checked against its hash.
    ///
    /// # Errors
    /// Where it is missing, can't be read, or was changed.
    pub fn get(&self, id: &BlobId) -> Result<Vec<u8>, StoreError> {
        let path = self.path(id);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(StoreError::Blob { path, reason: "it is missing".into() });
            }
            Err(error) => return Err(StoreError::io("reading a blob", path)(error)),
        };
        if BlobId::of(&bytes) != *id {
            return Err(StoreError::Blob {
                path,
                reason: "its bytes are not those that its name stands for".into(),
            });
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_is_what_was_put_or_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::at(dir.path().join("blobs"));
        let id = blobs.put(b"bytes").unwrap();
        assert_eq!(blobs.get(&id).unwrap(), b"bytes");
        assert!(matches!(blobs.get(&BlobId::of(b"other")), Err(StoreError::Blob { .. })));

        fs::write(blobs.path(&id), b"bytez").unwrap();
        assert!(matches!(blobs.get(&id), Err(StoreError::Blob { .. })));
        blobs.put(b"bytes").unwrap();
        assert_eq!(blobs.get(&id).unwrap(), b"bytes", "putting it again mends it");
        let names: Vec<_> = fs::read_dir(blobs.folder()).unwrap().collect();
        assert_eq!(names.len(), 1, "nothing but the blob is left");
    }

    #[cfg(unix)]
    #[test]
    fn blobs_are_their_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::at(dir.path().join("blobs"));
        let id = blobs.put(b"secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(blobs.folder()), mode(&blobs.path(&id))), (0o700, 0o600));
    }
}
