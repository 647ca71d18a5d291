//! Durable changes to files and folders.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::StoreError;

/// Makes a folder, and those above it, for its owner alone. It is durable when this returns.
pub(crate) fn create_folder(path: &Path) -> Result<(), StoreError> {
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(StoreError::io("making the folder", path))?;
    for made in missing {
        // A relative path of one part lies in the working directory.
        let above = made.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync_folder(above)?;
    }
    Ok(())
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(StoreError::io("syncing the folder", path))
}

/// Options for a file that is its owner's alone.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Replaces a file's content: whole and durable, or not at all.
pub(crate) fn replace(folder: &Path, name: &str, content: &[u8]) -> Result<(), StoreError> {
    let path = folder.join(name);
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(StoreError::io("writing", &path))?;
    sync_folder(folder)
}

/// Copies the end of a file to the first free `torn-<n>.bin` beside it, durably.
pub(crate) fn keep_tail(folder: &Path, file: &mut File, from: u64) -> Result<PathBuf, StoreError> {
    for n in 1_u32.. {
        let path = folder.join(format!("torn-{n}.bin"));
        let mut kept = match private().write(true).create_new(true).open(&path) {
            Ok(kept) => kept,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(StoreError::io("keeping a torn end", path)(error)),
        };
        let mut copy = || -> io::Result<()> {
            io::Seek::seek(file, io::SeekFrom::Start(from))?;
            io::copy(file, &mut kept)?;
            kept.sync_all()
        };
        copy().map_err(StoreError::io("keeping a torn end", &path))?;
        sync_folder(folder)?;
        return Ok(path);
    }
    Err(StoreError::Invalid(format!("{} holds too many torn ends", folder.display())))
}
