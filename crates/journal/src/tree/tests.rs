use countersign_protocol::{Body, Lane, entry::Cause};

use super::*;
use crate::testing::{Script, compaction, intent, message, note, result, turn};

fn forked() -> Script {
    let mut script = Script::new();
    script.worker(message(Cause::Assignment, "Mend the bug"));
    script.add(Lane::Verifier, note("wait"));
    let from = script.worker(turn("I look at it.", &["a.rs"]));
    script.worker(intent("a.rs"));
    script.worker(result("a.rs", "fn main() {}\n\u{1b}]0;owned\u{7}"));
    script.worker(Body::Branch { leaf: Some(from) });
    let kept = script.worker(turn("Another way.", &[]));
    script.add(Lane::Verifier, note("what now?"));
    script.worker(compaction("we looked", kept));
    script.add(Lane::Supervisor, note("enough"));
    script
}

#[test]
fn lanes_and_branches_are_columns() {
    insta::assert_snapshot!("tree", render_tree(&forked().entries, TreeOptions { width: 100 }));
}

#[test]
fn no_line_is_longer_than_asked_and_none_commands_a_terminal() {
    for width in [0, 1, 20, 60, 200] {
        let text = render_tree(&forked().entries, TreeOptions { width });
        assert_eq!(text.lines().count(), forked().entries.len());
        assert!(text.lines().all(|line| line.chars().count() <= width.max(1)), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    }
}

#[test]
fn an_empty_journal_is_an_empty_tree() {
    assert_eq!(render_tree(&[], TreeOptions::default()), "");
}
