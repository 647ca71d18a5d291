//! Text from models, tools and files, made harmless for a terminal; and numbers as people read them.

use std::time::Duration;

use countersign::protocol::Money;

/// One line: white space becomes single blanks, anything that could steer a terminal is written out, and
/// what is longer than `width` characters ends in an ellipsis.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&harmless(word));
        if line.chars().nth(width).is_some() {
            return line.chars().take(width.saturating_sub(1)).chain(['…']).collect();
        }
    }
    line
}

/// The same text with line breaks and tabs kept, and anything that could steer a terminal written out.
pub(crate) fn block(text: &str) -> String {
    text.replace("\r\n", "\n").split('\n').map(harmless).collect::<Vec<_>>().join("\n")
}

fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push('\t'),
            c if steers(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Whether a terminal could take the character for a command, or show the text in another order than it has.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// `1 claim`, `2 claims`.
pub(crate) fn count(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{} {one}s", grouped(n)) }
}

/// Digits in groups of three, as `12,345`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// An amount for people, as `$0.0123`; `unknown price` where it is not known, which is not the same as free.
pub(crate) fn dollars(money: Option<Money>) -> String {
    const PICO_A_STEP: u128 = 100_000_000;
    let Some(money) = money else { return "unknown price".into() };
    let steps = (money.pico() + PICO_A_STEP / 2) / PICO_A_STEP;
    match (steps, money) {
        (_, Money::ZERO) => "$0".into(),
        (0, _) => "<$0.0001".into(),
        _ => format!("${}", Money::from_pico(steps * PICO_A_STEP)),
    }
}

/// How long, in the two largest units, as `1h 5m`.
pub(crate) fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("{} ms", time.as_millis()),
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m {s}s"),
        (h, m, _) => format!("{h}h {m}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_times_are_short() {
        let shown = |text: &str| dollars(text.parse().ok());
        assert_eq!(
            (shown("2"), shown("0"), shown("0.01234567")),
            ("$2.00".into(), "$0".into(), "$0.0123".into())
        );
        assert_eq!((shown("0.00000001"), dollars(None)), ("<$0.0001".into(), "unknown price".into()));
        assert_eq!(
            (took(Duration::from_secs(3725)), took(Duration::from_millis(12))),
            ("1h 2m".into(), "12 ms".into())
        );
        assert_eq!(
            (took(Duration::from_secs(65)), took(Duration::from_secs(9))),
            ("1m 5s".into(), "9s".into())
        );
    }

    #[test]
    fn nothing_in_a_text_can_steer_a_terminal() {
        let hostile = "a\u{1b}[2Jb\u{7}c\u{9b}31md\u{202e}e\rf\u{8}\u{feff}\u{200b}";
        for shown in [one_line(hostile, 200), block(hostile)] {
            assert!(shown.chars().all(|c| c == '\n' || !steers(c)), "{shown:?}");
            assert!(shown.contains(r"\u{1b}[2J"), "{shown}");
        }
    }

    #[test]
    fn a_line_is_one_line_and_no_wider_than_asked() {
        assert_eq!(one_line("  a\n\tb  c\n", 80), "a b c");
        assert_eq!(one_line("", 80), "");
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line("ééé ééé", 6), "ééé é…");
        for width in 1..20 {
            assert!(one_line("one two \u{1b}three four five", width).chars().count() <= width, "{width}");
        }
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!((grouped(0), grouped(999), grouped(1_000)), ("0".into(), "999".into(), "1,000".into()));
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!((count(1, "claim"), count(0, "claim")), ("1 claim".into(), "0 claims".into()));
    }
}
