//! What an entry says, in one line that no terminal can be attacked with.

use std::borrow::Cow;

use countersign_protocol::{
    Block, Body, CheckReport, CheckStatus, Content, Verdict,
    entry::{Charge, Turn},
};

/// The gist of an entry. It may be as long as the entry is; [`printable`] cuts and escapes it.
pub(crate) fn gist(body: &Body, width: usize) -> String {
    match body {
        Body::Run(ground) => ground.goal.clone(),
        Body::Resume(resume) => format!("by version {}", resume.version),
        Body::Branch { leaf: Some(leaf) } => format!("goes on from {leaf}"),
        Body::Branch { leaf: None } => "begins anew".into(),
        Body::Baseline { report } => check(report),
        Body::Prefix(prefix) => {
            let names: Vec<&str> = prefix.tools.iter().map(|tool| tool.name.as_str()).collect();
            format!("{}, {} sections, tools {}", prefix.model, prefix.sections.len(), names.join(" "))
        }
        Body::Message { cause, text } | Body::Notice { cause, text } => format!("{}: {text}", word(cause)),
        Body::Turn(answer) => turn(answer, width),
        Body::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
        Body::ToolResult(outcome) => {
            let exit = outcome.exit.map_or(String::new(), |exit| format!(" ({exit})"));
            let mark = if outcome.is_error { " failed" } else { "" };
            let text: Vec<&str> = outcome.content.iter().map(part).collect();
            format!("{}{mark}{exit}: {}", outcome.name, text.join(" "))
        }
        Body::Claim(claim) => format!("#{} {}", claim.claim, claim.summary),
        Body::Blocked { reason, needs } => format!("{reason} · needs: {needs}"),
        Body::Snapshot { claim, tree } => format!("#{claim} {tree}"),
        Body::Check { claim, report, .. } => format!("#{claim} {}", check(report)),
        Body::Verdict { claim, verdict, .. } => format!("#{claim} {}", answer(verdict)),
        Body::Vote(vote) => {
            let word = if vote.agree { "agrees" } else { "does not agree" };
            format!("#{} {} {word}: {}", vote.claim, vote.actor, vote.reason)
        }
        Body::Reservation(one) => {
            let money = one.money.map_or("unknown".into(), |money| format!("${money}"));
            let tokens = one.prompt_tokens.saturating_add(one.output_tokens);
            format!(
                "#{} {} {}: at most {tokens} tokens, {money}",
                one.reservation.0,
                one.actor,
                word(&one.purpose)
            )
        }
        Body::Charge(one) => charge(one),
        Body::Compaction(one) => format!("{} tokens summarised: {}", one.tokens_before, one.summary),
        Body::Outcome(ended) => format!("{}: {}", ended.outcome, ended.reason),
    }
}

fn turn(turn: &Turn, width: usize) -> String {
    let blocks = turn.message.blocks.iter().filter_map(|block| match block {
        Block::Text { text, .. } if !text.trim().is_empty() => Some(text.clone()),
        Block::ToolCall(call) => Some(format!("{} {}", call.name, call.arguments.raw)),
        Block::Text { .. } | Block::Reasoning { .. } => None,
    });
    // A long text must not hide the calls after it.
    let share = width / 3;
    let parts: Vec<String> = blocks.map(|block| printable(&block, share).into_owned()).collect();
    if parts.is_empty() { "(empty)".into() } else { parts.join(" · ") }
}

fn charge(charge: &Charge) -> String {
    let money = charge.money.map_or("unknown".into(), |money| format!("${money}"));
    let number = charge.reservation.0;
    let error = charge.error.as_ref().map_or(String::new(), |error| format!(" · {error}"));
    format!(
        "#{number} {} {}: {} tokens, {money}{error}",
        charge.actor,
        word(&charge.purpose),
        charge.usage.total()
    )
}

fn check(report: &CheckReport) -> String {
    let status = match report.status {
        CheckStatus::Passed => "passed",
        CheckStatus::Failed => "failed",
        CheckStatus::Inconclusive => "inconclusive",
    };
    format!("{} {status}: {}", report.check, report.summary)
}

fn answer(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepted { summary, .. } => format!("accepted: {summary}"),
        Verdict::Refuted { summary, .. } => format!("refuted: {summary}"),
        Verdict::Inconclusive { reason, needs } => format!("inconclusive: {reason} · needs: {needs}"),
    }
}

fn part(content: &Content) -> &str {
    match content {
        Content::Text { text } => text,
        Content::Image { media_type, .. } => media_type,
    }
}

/// A unit variant's name in the journal.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Text in one line of at most `width` characters. Line ends are shown as `⏎`; whatever else could move a cursor,
/// colour, hide or reorder text is shown as its code.
pub(crate) fn printable(text: &str, width: usize) -> Cow<'_, str> {
    let plain = |c: char| !(c.is_control() || is_format(c));
    if text.chars().all(plain) && text.chars().nth(width).is_none() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    let mut left = width;
    let mut chars = text.chars();
    for c in chars.by_ref() {
        let piece: String = match c {
            '\r' => continue,
            '\n' => "⏎".into(),
            '\t' => " ".into(),
            c if plain(c) => c.into(),
            c => c.escape_unicode().collect(),
        };
        let long = piece.chars().count();
        if long > left {
            while shown.chars().count() >= width.max(1) {
                shown.pop();
            }
            shown.push('…');
            break;
        }
        left -= long;
        shown.push_str(&piece);
    }
    Cow::Owned(shown)
}

/// Characters that show nothing themselves but change how others are shown.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_commands_a_terminal() {
        assert_eq!(printable("a\u{1b}[2J\u{202e}b\r\nc\td", 80), "a\\u{1b}[2J\\u{202e}b⏎c d");
        assert_eq!(printable("\u{9b}31m", 80), "\\u{9b}31m", "the one-byte form of an escape");
    }

    #[test]
    fn a_text_is_cut_at_the_width() {
        for (text, width, shown) in
            [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("ééé", 2, "é…"), ("a\n\n\n", 3, "a⏎…"), ("abc", 0, "…")]
        {
            assert_eq!(printable(text, width), shown, "{text:?}");
        }
        assert_eq!(printable("ab\u{1b}", 4), "ab…", "an escape is shown whole or not at all");
    }
}
