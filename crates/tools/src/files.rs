//! Single files: opening never blocks on what is not a regular file, writing never leaves half a file.

use std::{
    fs::{self, File, Metadata, OpenOptions, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

use countersign_protocol::{BlobId, entry::FileAction, entry::FileTouch};
use rustix::fs::OFlags;

use crate::{
    limits::EDIT_BYTES,
    paths::{PathError, Place},
};

/// Opens a regular file for reading.
pub(crate) fn open(place: &Place) -> Result<(File, Metadata), PathError> {
    let failed = |source| PathError::from_io(place, source);
    // Looked at before it is opened, since opening a device can have an effect; and again after, since only what
    // was opened counts.
    regular(place, &fs::symlink_metadata(&place.real).map_err(failed)?)?;
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(&place.real)
        .map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    regular(place, &metadata)?;
    Ok((file, metadata))
}

fn regular(place: &Place, metadata: &Metadata) -> Result<(), PathError> {
    let given = place.shown.clone();
    match metadata.file_type() {
        kind if kind.is_file() => Ok(()),
        kind if kind.is_dir() => Err(PathError::Folder { given }),
        _ => Err(PathError::Special { given }),
    }
}

/// The whole content of a file that is not too long to be edited.
pub(crate) fn content(place: &Place) -> Result<Vec<u8>, PathError> {
    let (file, metadata) = open(place)?;
    if metadata.len() > EDIT_BYTES {
        return Err(PathError::TooLong { given: place.shown.clone(), bytes: metadata.len() });
    }
    let mut bytes = Vec::new();
    file.take(EDIT_BYTES + 1).read_to_end(&mut bytes).map_err(|source| PathError::from_io(place, source))?;
    Ok(bytes)
}

/// Replaces or creates a file as a whole: a reader sees the old content or the new one. The mode is kept, missing
/// folders are made.
pub(crate) fn replace(place: &Place, bytes: &[u8]) -> Result<(), PathError> {
    let failed = |source| PathError::from_io(place, source);
    let old = match fs::symlink_metadata(&place.real) {
        Ok(metadata) => {
            regular(place, &metadata)?;
            Some(metadata)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let folder = place.real.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut builder = tempfile::Builder::new();
    // A new file gets what the user's umask leaves of this.
    builder.prefix(".countersign-").permissions(Permissions::from_mode(0o666));
    let mut temporary = builder.tempfile_in(folder).map_err(failed)?;
    temporary.write_all(bytes).map_err(failed)?;
    if let Some(old) = old {
        temporary.as_file().set_permissions(old.permissions()).map_err(failed)?;
    }
    temporary.persist(&place.real).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The record that a file was read or written.
pub(crate) fn touch(place: &Place, action: FileAction, content: Option<BlobId>) -> FileTouch {
    FileTouch { path: place.shown.clone(), action, content }
}
