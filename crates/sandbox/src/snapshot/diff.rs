//! What differs between two trees: by path, as a patch, and as added lines.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
};

use countersign_protocol::TreeId;

use super::{
    AddedLine, Change, ChangeKind, ObjectId, Patch, SnapshotError,
    git::{Git, failed, strange},
    objects::parse_mode,
};

/// How many bytes of added lines are taken at most.
const ADDED_LIMIT: u64 = 256 * 1024 * 1024;

/// What every patch is made with: no renames, no program of anyone's, no colour, fixed names of the two sides.
const PATCH: [&str; 9] = [
    "diff-tree",
    "-r",
    "-p",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// What changed, by path.
pub(super) async fn changes(git: &Git, from: &TreeId, to: &TreeId) -> Result<Vec<Change>, SnapshotError> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from.as_str(), to.as_str()];
    let output = git.run(&args, b"").await?;
    let text = String::from_utf8(output).map_err(|error| SnapshotError::NotUtf8 {
        lossy: String::from_utf8_lossy(error.as_bytes()).into(),
    })?;
    let mut parts = text.split_terminator('\0');
    let mut changes = Vec::new();
    while let Some(meta) = parts.next() {
        let change = parts.next().and_then(|path| parse_change(meta, path));
        changes.push(change.ok_or_else(|| strange("diff-tree", format!("`{meta}`")))?);
    }
    Ok(changes)
}

/// Reads `:mode mode name name status`.
fn parse_change(meta: &str, path: &str) -> Option<Change> {
    let [old_mode, new_mode, old_object, new_object, status] =
        meta.strip_prefix(':')?.split(' ').collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let (old_mode, new_mode) = (parse_mode(old_mode), parse_mode(new_mode));
    let kind = match status {
        "A" => ChangeKind::Added,
        "D" => ChangeKind::Removed,
        "M" if old_object != new_object => ChangeKind::Modified,
        "M" | "T" => ChangeKind::ModeChanged,
        _ => return None,
    };
    // A side that should be there has a mode that is known.
    if (old_mode.is_none() && kind != ChangeKind::Added)
        || (new_mode.is_none() && kind != ChangeKind::Removed)
    {
        return None;
    }
    Some(Change {
        path: path.into(),
        kind,
        old_mode,
        new_mode,
        old_object: old_mode.map(|_| ObjectId(old_object.into())),
        new_object: new_mode.map(|_| ObjectId(new_object.into())),
    })
}

/// A unified diff, cut after a whole line where it is longer than `max_bytes`.
pub(super) async fn patch(
    git: &Git,
    from: &TreeId,
    to: &TreeId,
    max_bytes: usize,
) -> Result<Patch, SnapshotError> {
    let args = [&PATCH[..], &[from.as_str(), to.as_str()]].concat();
    let drain = move |mut output: File| {
        let mut text = Vec::new();
        let limit = (max_bytes as u64).saturating_add(1);
        Read::by_ref(&mut output).take(limit).read_to_end(&mut text).map_err(failed("read from", "git"))?;
        // Read to the end, so that git ends as it should.
        std::io::copy(&mut output, &mut std::io::sink()).map_err(failed("read from", "git"))?;
        Ok(text)
    };
    let mut text = git.talk(&args, None, |_| Ok(()), drain).await?;
    let truncated = text.len() > max_bytes;
    if truncated {
        let whole_lines = text[..max_bytes].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        text.truncate(whole_lines);
    }
    Ok(Patch { text: String::from_utf8_lossy(&text).into_owned(), truncated })
}

/// The lines that were added. Every file counts as text: one NUL byte must not hide the rest of a file.
pub(super) async fn added_lines(
    git: &Git,
    from: &TreeId,
    to: &TreeId,
) -> Result<Vec<AddedLine>, SnapshotError> {
    let args = [&PATCH[..], &["-U0", "--text", from.as_str(), to.as_str()]].concat();
    git.talk(&args, None, |_| Ok(()), |output| read_added(BufReader::new(output))).await
}

/// Reads a patch without context. A hunk says how many lines it has, so no content is taken for a heading.
fn read_added(mut patch: impl BufRead) -> Result<Vec<AddedLine>, SnapshotError> {
    let unknown = |line: &[u8]| strange("diff-tree", format!("`{}`", String::from_utf8_lossy(line)));
    let (mut added, mut bytes) = (Vec::new(), 0);
    let mut path = String::new();
    // Of the hunk that is being read: lines still to be removed and added, and the number of the next added one.
    let (mut minus, mut plus, mut number) = (0_u64, 0_u64, 0_u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        if patch.read_until(b'\n', &mut line).map_err(failed("read from", "git"))? == 0 {
            break;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        match line.first() {
            Some(b'\\') => {}
            Some(b'-') if minus > 0 => minus -= 1,
            Some(b'+') if plus > 0 => {
                bytes += line.len() as u64;
                if bytes > ADDED_LIMIT {
                    return Err(SnapshotError::TooLarge {
                        what: "what was added".into(),
                        limit: ADDED_LIMIT,
                    });
                }
                let text = line[1..].strip_suffix(b"\r").unwrap_or(&line[1..]);
                let text = String::from_utf8_lossy(text).into_owned();
                added.push(AddedLine { path: path.clone(), line: number, text });
                (plus, number) = (plus - 1, number + 1);
            }
            _ if minus > 0 || plus > 0 => return Err(unknown(line)),
            Some(b'@') => (minus, plus, number) = parse_hunk(line).ok_or_else(|| unknown(line))?,
            Some(b'+') => path = parse_new_path(line).ok_or_else(|| unknown(line))?,
            _ => {}
        }
    }
    match (minus, plus) {
        (0, 0) => Ok(added),
        _ => Err(strange("diff-tree", "it ended within a hunk")),
    }
}

/// Reads `@@ -a[,b] +c[,d] @@`: how many lines go, how many come, and the number of the first that comes.
fn parse_hunk(line: &[u8]) -> Option<(u64, u64, u64)> {
    let line = String::from_utf8_lossy(line);
    let mut parts = line.strip_prefix("@@ -")?.split(' ');
    let (old, new) = (parts.next()?, parts.next()?.strip_prefix('+')?);
    let range = |text: &str| -> Option<(u64, u64)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((_, minus), (start, plus)) = (range(old)?, range(new)?);
    Some((minus, plus, start))
}

/// Reads `+++ b/path`, where git quotes odd names, and puts a tab after those with blanks.
fn parse_new_path(line: &[u8]) -> Option<String> {
    let name = line.strip_prefix(b"+++ ")?;
    let name = match name.strip_prefix(b"\"") {
        Some(quoted) => unquote(quoted)?,
        None => name.strip_suffix(b"\t").unwrap_or(name).to_vec(),
    };
    // The other name is `/dev/null`: a file that is gone, which adds nothing.
    String::from_utf8(name.strip_prefix(b"b/").unwrap_or_default().to_vec()).ok()
}

/// Reads what git quotes as C does, up to the closing quote.
fn unquote(text: &[u8]) -> Option<Vec<u8>> {
    let mut name = Vec::new();
    let mut bytes = text.iter().copied();
    loop {
        match bytes.next()? {
            b'"' => return Some(name),
            b'\\' => name.push(match bytes.next()? {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                high @ b'0'..=b'3' => {
                    let digits = [high, bytes.next()?, bytes.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 8).ok()?
                }
                other => other,
            }),
            other => name.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_that_looks_like_a_heading_is_content() {
        let patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1,4 @@\n--- a/x\n+++ b/evil\n+@@ -1 +1 @@\n\
                     +diff --git a/x b/x\n+-\n\\ No newline at end of file\n";
        let added = read_added(patch.as_bytes()).unwrap();
        let lines: Vec<_> =
            added.iter().map(|line| (line.path.as_str(), line.line, line.text.as_str())).collect();
        let expected =
            [("f", 1, "++ b/evil"), ("f", 2, "@@ -1 +1 @@"), ("f", 3, "diff --git a/x b/x"), ("f", 4, "-")];
        assert_eq!(lines, expected);
    }

    #[test]
    fn odd_names_are_read_as_they_are() {
        for (line, path) in [
            ("+++ b/plain", "plain"),
            ("+++ b/with blank\t", "with blank"),
            (r#"+++ "b/\"q\"\n\t\\\001""#, "\"q\"\n\t\\\u{1}"),
            ("+++ b/\u{e4}", "\u{e4}"),
            (r#"+++ "b/\303\244""#, "\u{e4}"),
            ("+++ /dev/null", ""),
        ] {
            assert_eq!(parse_new_path(line.as_bytes()).as_deref(), Some(path), "{line}");
        }
    }

    #[test]
    fn a_patch_that_was_cut_is_refused() {
        assert!(read_added(&b"+++ b/f\n@@ -0,0 +1,2 @@\n+one\n"[..]).is_err());
    }
}
