//! Turning bytes into text that a model can read, within the limits.

use std::borrow::Cow;

use crate::limits::{MAX_BYTES, MAX_LINES};

/// Whether bytes are something else than text: a NUL, or more than a tenth of them not UTF-8.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    if bytes.contains(&0) {
        return true;
    }
    let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    // A cut inside a character leaves up to three bytes at each end, in text too.
    invalid > 6 && invalid * 10 > bytes.len()
}

/// Says what binary content is, for a model that can't see it.
pub(crate) fn describe_binary(total: u64, hash: &str, first: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut hex = String::new();
    for byte in first.iter().take(32) {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
    }
    format!("binary, {total} bytes, blake3 {hash}, first bytes {hex}")
}

/// Output of a command as a model should see it: UTF-8, without terminal escapes and control characters; a
/// carriage return ends a line, so that nothing is hidden by overwriting.
pub(crate) fn plain(bytes: &[u8]) -> String {
    let mut plain = String::with_capacity(bytes.len());
    // Escapes are stripped between tabs and carriage returns, which the stripper would drop.
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    for (index, part) in text.split('\t').enumerate() {
        if index > 0 {
            plain.push('\t');
        }
        plain.push_str(&strip_ansi_escapes::strip_str(part));
    }
    plain
}

/// The end of a text within the limits: the last lines that fit whole; where not even one does, its last bytes.
pub(crate) fn tail(text: &str) -> &str {
    let mut from = text.len();
    let mut lines = 0;
    while from > 0 && lines < MAX_LINES {
        // The line before `from`, its own newline included.
        let body = &text[..from - usize::from(text.as_bytes()[from - 1] == b'\n')];
        let start = body.rfind('\n').map_or(0, |newline| newline + 1);
        if text.len() - start > MAX_BYTES {
            break;
        }
        from = start;
        lines += 1;
    }
    if from == text.len() {
        &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_BYTES))..]
    } else {
        &text[from..]
    }
}

/// The start of a text within `bytes`, cut at a character's border.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A line of at most `chars` characters; a longer one is cut, and says so.
pub(crate) fn cut_line(line: &str, chars: usize) -> Cow<'_, str> {
    match line.char_indices().nth(chars) {
        Some((end, _)) => Cow::Owned(format!("{}… [line cut, {} bytes]", &line[..end], line.len())),
        None => Cow::Borrowed(line),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_go_and_text_stays() {
        assert_eq!(plain(b"\x1b[31mred\x1b[0m\tnext\r\n50%\r100%\x07\n"), "red\tnext\n50%\n100%\n");
        let flood = "\x1b[38;5;196mx\x1b[0m".repeat(2000);
        assert_eq!(plain(flood.as_bytes()), "x".repeat(2000));
    }

    #[test]
    fn random_bytes_are_binary_and_accented_text_is_not() {
        let noise: Vec<u8> = (0u32..300).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
        assert!(is_binary(&noise));
        assert!(is_binary(b"PK\x00"));
        assert!(!is_binary("naïve café – ok".as_bytes()));
        assert!(!is_binary(&"é".repeat(100).as_bytes()[1..]));
        assert!(!is_binary(b""));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_tail_is_a_whole_line_suffix_within_the_limits(
            lines in proptest::collection::vec(("[aé\u{1F600}]", 0usize..2_000), 0..200),
        ) {
            let lines: Vec<String> = lines.into_iter().map(|(letter, times)| letter.repeat(times)).collect();
            let text = lines.join("\n");
            let kept = tail(&text);
            prop_assert!(text.ends_with(kept) && kept.len() <= MAX_BYTES && kept.lines().count() <= MAX_LINES);
            let before = &text[..text.len() - kept.len()];
            prop_assert!(before.is_empty() || before.ends_with('\n') || kept.len() + 4 > MAX_BYTES);
            prop_assert!(text.is_empty() || !kept.is_empty());
        }
    }

    #[test]
    fn one_line_that_is_too_long_keeps_its_end() {
        let text = "é".repeat(MAX_BYTES);
        let kept = tail(&text);
        assert!(kept.len() <= MAX_BYTES && kept.len() + 2 > MAX_BYTES);
        let lines = "x\n".repeat(MAX_LINES + 5);
        assert_eq!(tail(&lines).lines().count(), MAX_LINES);
    }
}
