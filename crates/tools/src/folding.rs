//! Text with the differences that models overlook taken out, and the way back to the original's bytes.

use std::ops::Range;

/// Which differences are taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    /// Between `\r\n` and `\n`.
    LineEnds,
    /// Also between kinds of quotes, dashes, blanks and full-width letters, and blanks at the end of a line.
    Loose,
}

/// A folded text.
#[derive(Debug)]
pub(crate) struct Folded {
    pub(crate) text: String,
    /// For each byte of `text` and its end: where the character that it comes from begins in the original.
    from: Vec<usize>,
    /// For each byte of `text`: how long that character is in the original.
    length: Vec<u8>,
}

impl Folded {
    /// The span of the original that a span of the folded text stands for; `None` where it begins or ends inside
    /// of what one character was folded to.
    pub(crate) fn original(&self, span: Range<usize>) -> Option<Range<usize>> {
        let splits = |at: usize| at > 0 && at < self.from.len() && self.from[at - 1] == self.from[at];
        if span.is_empty() || splits(span.start) || splits(span.end) {
            return None;
        }
        let last = span.end - 1;
        Some(self.from[span.start]..self.from[last] + usize::from(self.length[last]))
    }

    fn push(&mut self, folded: &str, from: usize, length: usize) {
        self.text.push_str(folded);
        // A character and a line end are at most four bytes long.
        self.from.resize(self.text.len(), from);
        self.length.resize(self.text.len(), u8::try_from(length).unwrap_or(u8::MAX));
    }

    fn drop_blanks(&mut self) {
        let kept = self.text.trim_end_matches(is_blank).len();
        self.text.truncate(kept);
        self.from.truncate(kept);
        self.length.truncate(kept);
    }
}

/// Whether a folded character is a blank within a line.
pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t')
}

/// Folds a text. Blanks at its very end stay: only a newline after them shows that they end a line.
pub(crate) fn fold(text: &str, kind: Fold) -> Folded {
    let mut folded = Folded { text: String::with_capacity(text.len()), from: Vec::new(), length: Vec::new() };
    let mut characters = text.char_indices().peekable();
    let mut buffer = [0; 4];
    while let Some((at, character)) = characters.next() {
        let crlf = character == '\r' && characters.next_if(|(_, next)| *next == '\n').is_some();
        if crlf || character == '\n' {
            if kind == Fold::Loose {
                folded.drop_blanks();
            }
            folded.push("\n", at, 1 + usize::from(crlf));
            continue;
        }
        let loose = if kind == Fold::Loose { loosened(character, &mut buffer) } else { None };
        match loose {
            Some(loose) => folded.push(loose, at, character.len_utf8()),
            None => folded.push(character.encode_utf8(&mut [0; 4]), at, character.len_utf8()),
        }
    }
    folded
}

/// The plain form of a character that has several: a part of Unicode's compatibility forms, and the quotes and
/// dashes that it leaves apart.
fn loosened(character: char, buffer: &mut [u8; 4]) -> Option<&str> {
    Some(match character {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{ff07}' => "'",
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{ff02}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => "-",
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{200b}' | '\u{2060}' => "",
        '\u{2026}' => "...",
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{ff01}'..='\u{ff5e}' => {
            // The full-width forms stand in the order of ASCII, 0xfee0 further on.
            let plain = char::from_u32(u32::from(character) - 0xfee0)?;
            plain.encode_utf8(buffer)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_was_folded_leads_back_to_its_bytes() {
        let text = "a\u{201c}b\u{201d}  \r\n\u{fb01}x\u{2026}";
        let folded = fold(text, Fold::Loose);
        assert_eq!(folded.text, "a\"b\"\nfix...");
        let original = |found: &str| {
            let start = folded.text.find(found).unwrap();
            folded.original(start..start + found.len()).map(|span| &text[span])
        };
        assert_eq!(original("\"b\""), Some("\u{201c}b\u{201d}"));
        assert_eq!(original("\nfi"), Some("\r\n\u{fb01}"));
        assert_eq!(original("..."), Some("\u{2026}"));
        assert_eq!(original("ix"), None);
        assert_eq!(original("x."), None);
    }

    proptest! {
        #[test]
        fn every_span_leads_back_to_whole_characters(text in "[ab\u{201c}\u{fb01}\u{2026}\u{ff21}\u{200b} \t\r\n]{0,40}", start in 0usize..40, length in 1usize..10) {
            for kind in [Fold::LineEnds, Fold::Loose] {
                let folded = fold(&text, kind);
                let end = start + length;
                if end <= folded.text.len() && folded.text.is_char_boundary(start) && folded.text.is_char_boundary(end)
                    && let Some(span) = folded.original(start..end)
                {
                    prop_assert!(text.get(span).is_some());
                }
            }
        }
    }
}
