//! `read`: the start of a file or of a part of it, in whole lines.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Seek as _},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use countersign_protocol::{BlobId, Content, entry::FileAction};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::{Builtin, Work, reads_path};
use crate::{
    ToolContext, ToolOutput, files,
    limits::{IMAGE_BYTES, MAX_BYTES, MAX_KIB, MAX_LINES, SCAN_BYTES},
    paths::{self, Access, PathError, Place},
    text,
};

#[derive(Deserialize, JsonSchema)]
pub(super) struct Arguments {
    path: String,
    /// first line, from 1
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// lines
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

pub(super) fn tool() -> Builtin<Arguments> {
    let description = format!(
        "Read a file. Shows at most {MAX_LINES} lines or {MAX_KIB} KiB; where there is more, it says with which \
         offset to go on. Shows png, jpg, gif and webp as pictures."
    );
    Builtin::new("read", description, reads_path, Work::Reads(read))
        .guideline("Read a file before you change it: an edit must match its text exactly.")
}

fn read(given: &Arguments, context: &ToolContext, _: &CancellationToken) -> Result<ToolOutput, ToolOutput> {
    let place = paths::resolve(context, &given.path, Access::Read)?;
    let (mut file, metadata) = files::open(&place)?;
    let failed = |source| ToolOutput::from(PathError::from_io(&place, source));
    let mut start = Vec::new();
    (&mut file).take(8 * 1024).read_to_end(&mut start).map_err(failed)?;
    file.rewind().map_err(failed)?;
    let (output, hash) = match image_type(&start) {
        Some(media_type) if metadata.len() <= IMAGE_BYTES => picture(media_type, file).map_err(failed)?,
        _ if text::is_binary(&start) => {
            let (total, hash) = hash_of(file).map_err(failed)?;
            let what = text::describe_binary(total, hash.as_str(), &start);
            (ToolOutput::text(format!("{what}. Look at it with a command.")), Some(hash))
        }
        _ => {
            let first = given.offset.unwrap_or(1);
            let limit = given.limit.unwrap_or(u64::MAX).min(MAX_LINES as u64);
            let lines = Lines::scan(file, first, limit, metadata.len()).map_err(failed)?;
            (lines.output(&place), lines.hash)
        }
    };
    if output.is_error {
        return Ok(output);
    }
    if let Some(hash) = &hash {
        context.saw(&place.real, hash.clone());
    }
    Ok(output.touching(files::touch(&place, FileAction::Read, hash)))
}

fn picture(media_type: &str, mut file: File) -> io::Result<(ToolOutput, Option<BlobId>)> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let hash = BlobId::of(&bytes);
    let image = Content::Image { media_type: media_type.into(), data: STANDARD.encode(&bytes) };
    let mut output = ToolOutput::text(format!("{media_type}, {} bytes", bytes.len()));
    output.content.push(image);
    Ok((output, Some(hash)))
}

/// The media type of a picture, by its first bytes.
fn image_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn hash_of(file: File) -> io::Result<(u64, BlobId)> {
    let mut hasher = blake3::Hasher::new();
    let total = io::copy(&mut BufReader::new(file), &mut hasher)?;
    Ok((total, hasher.finalize().into()))
}

/// The lines that are shown, and what is known of the rest.
struct Lines {
    shown: Vec<u8>,
    first: u64,
    /// The last line that is shown; below `first` where none is.
    last: u64,
    /// A line at the place to start that alone is over the limit, and its length.
    over_long: Option<u64>,
    /// All lines, where the file was gone through to its end.
    total: Option<u64>,
    /// The whole file's content, where it was gone through to its end.
    hash: Option<BlobId>,
}

impl Lines {
    /// Goes through a file once, holding no more of it than is shown.
    fn scan(file: File, first: u64, limit: u64, size: u64) -> io::Result<Self> {
        let mut lines =
            Self { shown: Vec::new(), first, last: first - 1, over_long: None, total: None, hash: None };
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        let mut hasher = blake3::Hasher::new();
        let (mut number, mut length, mut full) = (1, 0u64, false);
        let mut line = Vec::new();
        loop {
            let chunk = reader.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            let end = chunk.iter().position(|&byte| byte == b'\n');
            let part = &chunk[..end.map_or(chunk.len(), |newline| newline + 1)];
            hasher.update(part);
            length += part.len() as u64;
            if number >= first && !full && line.len() + part.len() <= MAX_BYTES {
                line.extend_from_slice(part);
            }
            let consumed = part.len();
            reader.consume(consumed);
            if end.is_some() {
                full = full || (number >= first && lines.add(number, &mut line, length, limit));
                (number, length) = (number + 1, 0);
            }
            if full && size > SCAN_BYTES {
                return Ok(lines);
            }
        }
        if length > 0 {
            let _ = full || (number >= first && lines.add(number, &mut line, length, limit));
            number += 1;
        }
        lines.total = Some(number - 1);
        lines.hash = Some(hasher.finalize().into());
        Ok(lines)
    }

    /// Adds a line where it fits; answers whether no more will.
    fn add(&mut self, number: u64, line: &mut Vec<u8>, length: u64, limit: u64) -> bool {
        if self.shown.len() as u64 + length > MAX_BYTES as u64 {
            self.over_long = self.shown.is_empty().then_some(length);
            return true;
        }
        self.shown.append(line);
        self.last = number;
        number + 1 - self.first >= limit
    }

    fn output(&self, place: &Place) -> ToolOutput {
        let path = &place.shown;
        let first = self.first;
        if let Some(length) = self.over_long {
            return ToolOutput::text(format!(
                "[line {first} has {length} bytes, over the limit of {MAX_KIB} KiB: see a part of it with a command, as \
                 `sed -n {first}p '{path}' | cut -c 1-2000`, or go on with offset={}]",
                first + 1
            ));
        }
        match self.total {
            Some(0) if first == 1 => return ToolOutput::text("[the file is empty]"),
            Some(total) if first > total => {
                return ToolOutput::error(format!(
                    "offset {first} is past the end: `{path}` has {total} lines."
                ));
            }
            _ => {}
        }
        let mut text = String::from_utf8_lossy(&self.shown).into_owned();
        let mut notes = Vec::new();
        if std::str::from_utf8(&self.shown).is_err() {
            notes.push("[not all of it is UTF-8: what is not is shown as \u{fffd}]".to_owned());
        }
        let rest = match self.total {
            Some(total) if self.last < total => Some(format!("of {total}")),
            Some(_) => None,
            None => Some("of many".into()),
        };
        if let Some(rest) = rest {
            notes.push(format!("[lines {first}-{} {rest}; go on with offset={}]", self.last, self.last + 1));
        }
        if !notes.is_empty() {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&notes.join("\n"));
        }
        ToolOutput::text(text)
    }
}
