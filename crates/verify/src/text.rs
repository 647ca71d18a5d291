//! Text cut to a size, at whole characters and where possible whole lines.

/// The start of a text, in at most `limit` bytes and an ellipsis.
pub(crate) fn head(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.into();
    }
    let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// The end of a text, in at most `limit` bytes, from the start of a line where there is one.
pub(crate) fn tail(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let start = (text.len() - limit..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let cut = &text[start..];
    cut.split_once('\n').map_or(cut, |(_, lines)| if lines.is_empty() { cut } else { lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_at_characters_and_within_the_limit() {
        assert_eq!(head("éé", 3), "é…");
        assert_eq!(head("abc", 3), "abc");
        assert_eq!(tail("one\ntwo\nthree", 6), "three");
        assert_eq!(tail("éééé", 3), "é");
        assert_eq!(tail("a\nb\nc\n", 4), "c\n");
        for limit in 0..20 {
            assert!(tail("añb\ncñd\n\n", limit).len() <= limit);
        }
    }
}
