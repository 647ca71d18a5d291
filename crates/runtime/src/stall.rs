//! Sees when a worker goes in circles: the same calls with the same results, or files that go back and forth.
//!
//! Pure: it is told what each turn did and says what it makes of it. Polling something that changes, reading again
//! after an edit and running the tests after each edit are not circles, because a result or a call differs.

use std::collections::{BTreeMap, BTreeSet};

use countersign_protocol::{BlobId, entry::FileAction, entry::ToolOutcome};
use serde_json::Value;

/// Cycles of up to this many calls are seen.
const LONGEST_CYCLE: usize = 4;
/// A cycle seen this often in a row earns a notice.
const NOTICE_AFTER: usize = 3;
/// A cycle seen this often in a row is a stall.
const STALLED_AFTER: usize = 6;
/// A file that went back this often, with nothing learned in between, earns a notice.
const NOTICE_AFTER_RETURNS: u32 = 2;
/// A file that went back this often, with nothing learned in between, is a stall.
const STALLED_AFTER_RETURNS: u32 = 4;

/// What the worker did in one turn.
#[derive(Debug, Clone, PartialEq)]
pub enum Did {
    /// It called tools, which came to these results.
    Calls(Vec<(Value, ToolOutcome)>),
    /// It sent a message that was empty or cut.
    Nothing,
    /// Its history was compacted: it must look again at what it no longer sees.
    Compacted,
    /// It was asked something new: looking in the same way again is right.
    Asked,
}

/// What to make of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Circle {
    /// Tell the worker what repeats and ask for another path.
    Notice(String),
    /// The worker was told and goes on all the same.
    Stalled(String),
}

/// What a worker did so far, as far as circles are concerned.
#[derive(Debug, Clone, Default)]
pub struct Watch {
    /// Each call with its result, as one fingerprint.
    steps: Vec<Step>,
    /// Fingerprints seen before: what is not among them is new information.
    known: BTreeSet<BlobId>,
    files: BTreeMap<String, FileHistory>,
    /// The circle that was last told of, so that it is told once.
    told: Option<String>,
    /// The stall that was seen: the supervisor votes for no claim after it.
    stalled: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    fingerprint: BlobId,
    gist: String,
}

#[derive(Debug, Clone, Default)]
struct FileHistory {
    contents: Vec<Option<BlobId>>,
    returns: u32,
}

impl Watch {
    /// The stall that was seen.
    #[must_use]
    pub fn stalled(&self) -> Option<&str> {
        self.stalled.as_deref()
    }

    /// Takes in a turn.
    pub fn observe(&mut self, did: &Did) -> Option<Circle> {
        let circle = match did {
            Did::Compacted | Did::Asked => {
                self.steps.clear();
                self.told = None;
                None
            }
            Did::Nothing => {
                let gist = "a message that is empty or cut".to_owned();
                self.steps.push(Step { fingerprint: BlobId::of(gist.as_bytes()), gist });
                self.repetition()
            }
            Did::Calls(calls) => {
                let learned = calls.iter().filter(|call| self.learn(call)).count() > 0;
                let oscillation =
                    calls.iter().filter_map(|(_, result)| self.oscillation(result, learned)).last();
                self.repetition().or(oscillation)
            }
        };
        if let Some(Circle::Stalled(what)) = &circle {
            self.stalled = Some(what.clone());
        }
        circle
    }

    /// Notes a call and says whether it told the worker anything new.
    fn learn(&mut self, (arguments, result): &(Value, ToolOutcome)) -> bool {
        let call = format!("{} {}", result.name, canonical(arguments));
        let content = serde_json::to_string(&result.content).unwrap_or_default();
        let fingerprint = BlobId::of(format!("{call}\n{}\n{content}", result.is_error).as_bytes());
        let new = self.known.insert(fingerprint.clone());
        self.steps.push(Step { fingerprint, gist: shorten(&call) });
        // Writing is not learning: what a write answers says only that it was done.
        new && !result.files.iter().any(|file| file.action == FileAction::Written)
    }

    /// The shortest cycle at the end of the history and how often it stands there in a row.
    fn cycle(&self) -> Option<(usize, usize)> {
        let steps = &self.steps;
        (1..=LONGEST_CYCLE.min(steps.len()))
            .map(|period| {
                let unit = &steps[steps.len() - period..];
                let times = steps.rchunks(period).take_while(|chunk| *chunk == unit).count();
                (period, times)
            })
            .filter(|(_, times)| *times >= NOTICE_AFTER)
            .max_by_key(|(period, times)| (period * times, usize::MAX - period))
    }

    fn repetition(&mut self) -> Option<Circle> {
        let (period, times) = self.cycle()?;
        let unit = &self.steps[self.steps.len() - period..];
        let mut gists: Vec<&str> = unit.iter().map(|step| step.gist.as_str()).collect();
        // The same circle is seen from each of its calls in turn: it is told from the same one each time.
        let first = (0..period).min_by_key(|at| (gists[*at], *at)).unwrap_or_default();
        gists.rotate_left(first);
        let what = gists.join(" → ");
        let said = format!("{times} times in a row, with the same result each time: {what}");
        if self.told.as_ref() != Some(&what) {
            self.told = Some(what);
            return Some(Circle::Notice(said));
        }
        (times >= STALLED_AFTER).then_some(Circle::Stalled(said))
    }

    fn oscillation(&mut self, result: &ToolOutcome, learned: bool) -> Option<Circle> {
        let mut circle = None;
        for file in result.files.iter().filter(|file| file.action == FileAction::Written) {
            let history = self.files.entry(file.path.clone()).or_default();
            if learned {
                history.returns = 0;
            }
            let changed = history.contents.last().is_some_and(|last| *last != file.content);
            if changed && history.contents.contains(&file.content) {
                history.returns += 1;
                let what = format!(
                    "{} went back {} times to a content that it had before",
                    file.path, history.returns
                );
                if history.returns >= STALLED_AFTER_RETURNS {
                    circle = Some(Circle::Stalled(what));
                } else if history.returns == NOTICE_AFTER_RETURNS {
                    circle = Some(Circle::Notice(what));
                }
            }
            history.contents.push(file.content.clone());
        }
        circle
    }
}

/// Arguments with sorted keys and with white space at the ends of texts left out, so that the same call written
/// otherwise is the same call.
fn canonical(arguments: &Value) -> String {
    match arguments {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, String> =
                map.iter().map(|(key, value)| (key, canonical(value))).collect();
            format!("{sorted:?}")
        }
        Value::Array(items) => format!("{:?}", items.iter().map(canonical).collect::<Vec<_>>()),
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

fn shorten(call: &str) -> String {
    let mut chars = call.chars();
    let start: String = chars.by_ref().take(120).collect();
    if chars.next().is_some() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use countersign_protocol::{CallId, Content, entry::FileTouch};
    use serde_json::json;

    use super::*;

    fn result(name: &str, text: &str) -> ToolOutcome {
        ToolOutcome {
            call: CallId("c".into()),
            name: name.into(),
            content: vec![Content::Text { text: text.into() }],
            is_error: false,
            exit: None,
            files: vec![],
        }
    }

    fn bash(command: &str, output: &str) -> Did {
        Did::Calls(vec![(json!({ "command": command }), result("bash", output))])
    }

    fn write(path: &str, content: &str) -> Did {
        let file = FileTouch {
            path: path.into(),
            action: FileAction::Written,
            content: Some(BlobId::of(content.as_bytes())),
        };
        let outcome = ToolOutcome { files: vec![file], ..result("write", "written") };
        Did::Calls(vec![(json!({ "path": path, "content": content }), outcome)])
    }

    /// `-` nothing, `n` a notice, `S` stalled; up to the first stall.
    fn told(turns: impl IntoIterator<Item = Did>) -> String {
        let mut watch = Watch::default();
        let mut told = String::new();
        for turn in turns {
            told.push(match watch.observe(&turn) {
                None => '-',
                Some(Circle::Notice(_)) => 'n',
                Some(Circle::Stalled(_)) => 'S',
            });
            if told.ends_with('S') {
                break;
            }
        }
        told
    }

    fn repeat(unit: &[Did], times: usize) -> Vec<Did> {
        unit.iter().cloned().cycle().take(unit.len() * times).collect()
    }

    #[test]
    fn the_same_call_with_the_same_result_is_noticed_then_stalled() {
        assert_eq!(told(repeat(&[bash("cat missing", "no such file")], 10)), "--n--S");
    }

    #[test]
    fn white_space_and_key_order_do_not_hide_a_repetition() {
        let spellings =
            ["cat  missing", "cat missing ", " cat missing", "cat missing", "cat   missing", "cat missing"];
        assert_eq!(told(spellings.map(|spelling| bash(spelling, "no such file"))), "--n--S");
    }

    #[test]
    fn cycles_of_up_to_four_calls_are_seen() {
        for period in 2..=4 {
            let unit: Vec<Did> = (0..period).map(|n| bash(&format!("echo {n}"), &n.to_string())).collect();
            let told = told(repeat(&unit, 10));
            assert!(told.ends_with('S') && told.contains('n'), "period {period}: {told}");
            assert_eq!(told.len(), period * STALLED_AFTER, "period {period}");
        }
    }

    #[test]
    fn nothing_is_a_stall_before_it_was_told_of() {
        let call = (json!({ "command": "true" }), result("bash", ""));
        assert_eq!(told([Did::Calls(vec![call.clone(); 8]), Did::Calls(vec![call])]), "nS");
    }

    #[test]
    fn looking_in_the_same_way_at_another_question_is_no_circle() {
        let look = bash("cargo test", "ok");
        assert_eq!(told(repeat(&[look.clone(), look, Did::Asked], 10)), "-".repeat(30));
    }

    #[test]
    fn several_calls_in_one_turn_count_each() {
        let both = Did::Calls(vec![
            (json!({ "path": "a" }), result("read", "A")),
            (json!({ "path": "b" }), result("read", "B")),
        ]);
        assert!(told(repeat(&[both], 10)).ends_with('S'));
    }

    #[test]
    fn polling_something_that_changes_is_not_a_stall() {
        let polls = (0..50).map(|n| bash("tail -1 build.log", &format!("{n} percent")));
        assert!(!told(polls).contains(['n', 'S']));
    }

    #[test]
    fn tests_after_each_edit_are_not_a_stall() {
        let turns =
            (0..30).flat_map(|n| [write("a.rs", &format!("try {n}")), bash("cargo test", "1 failed")]);
        assert!(!told(turns).contains(['n', 'S']));
    }

    #[test]
    fn reading_again_after_an_edit_is_not_a_stall() {
        let turns = (0..30).flat_map(|n| {
            let content = format!("version {n}");
            let read = Did::Calls(vec![(json!({ "path": "a" }), result("read", &content))]);
            [write("a", &content), read]
        });
        assert!(!told(turns).contains(['n', 'S']));
    }

    #[test]
    fn the_same_write_over_and_over_is_a_repetition() {
        assert_eq!(told(repeat(&[write("a", "same")], 10)), "--n--S");
    }

    #[test]
    fn a_file_that_goes_back_and_forth_is_an_oscillation() {
        // Different texts around the same contents: no call repeats, the file does.
        let turns = (0..20).map(|n| {
            let Did::Calls(mut calls) = write("a", if n % 2 == 0 { "left" } else { "right" }) else {
                unreachable!()
            };
            calls[0].0 = json!({ "path": "a", "n": n });
            Did::Calls(calls)
        });
        assert_eq!(told(turns), "---n-S");
    }

    #[test]
    fn going_back_after_learning_something_is_not_an_oscillation() {
        let turns = (0..20).flat_map(|n| {
            let side = if n % 2 == 0 { "left" } else { "right" };
            let learn = bash(&format!("bench {n}"), &format!("{n} ms"));
            let Did::Calls(mut calls) = write("a", side) else { unreachable!() };
            calls[0].0 = json!({ "path": "a", "n": n });
            let Did::Calls(more) = learn else { unreachable!() };
            calls.extend(more);
            [Did::Calls(calls)]
        });
        assert!(!told(turns).contains(['n', 'S']));
    }

    #[test]
    fn empty_turns_are_a_repetition() {
        assert_eq!(told(repeat(&[Did::Nothing], 10)), "--n--S");
    }

    #[test]
    fn counting_begins_anew_after_a_compaction() {
        let read = || Did::Calls(vec![(json!({ "path": "x" }), result("read", "X"))]);
        let turns = [read(), read(), Did::Compacted, read(), read()];
        assert_eq!(told(turns), "-----");
    }

    #[test]
    fn a_stall_stays_seen_and_a_notice_is_none() {
        let mut watch = Watch::default();
        for turn in repeat(&[bash("true", "")], 5) {
            watch.observe(&turn);
        }
        assert_eq!(watch.stalled(), None, "a worker that was only noticed may still finish");
        watch.observe(&bash("true", ""));
        watch.observe(&bash("ls", "a"));
        assert!(watch.stalled().is_some());
    }
}
