//! What each kind of actor may say, and what it is told when it says something else.

use countersign_protocol::{Outcome, StopClass, entry::Turn};
use countersign_tools::Control;

use crate::{agent::Said, messages::Stop, review};

/// After this many answers in a row that are not what was asked for, a judge or a reviewer is given up.
const PATIENCE: u32 = 3;

/// Whose part an agent plays.
#[derive(Debug)]
pub(crate) enum Part {
    /// Does the task.
    Worker,
    /// Looks for a refutation of one claim after the other.
    Judge {
        /// Whether it has run a tool of its own since it was asked.
        looked: bool,
        /// Answers in a row that were not what was asked for.
        wrong: u32,
    },
    /// Looks at the run for the supervisor.
    Reviewer {
        /// Answers in a row that were not what was asked for.
        wrong: u32,
    },
}

/// What an answer comes to.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It says something that ends the agent's part for now.
    Said(Said),
    /// It is not what was asked for: the agent is told so.
    Wrong(String),
    /// The agent can't be worked with.
    Stop(Stop),
}

impl Part {
    /// A judge that has not yet been asked.
    pub(crate) const JUDGE: Self = Self::Judge { looked: false, wrong: 0 };

    /// A new question begins.
    pub(crate) fn asked(&mut self) {
        match self {
            Self::Worker => {}
            Self::Judge { looked, wrong } => (*looked, *wrong) = (false, 0),
            Self::Reviewer { wrong } => *wrong = 0,
        }
    }

    /// A tool ran to its end.
    pub(crate) fn ran_a_tool(&mut self) {
        if let Self::Judge { looked, wrong } = self {
            (*looked, *wrong) = (true, 0);
        }
    }

    /// A message without a tool call.
    pub(crate) fn hear_silence(&mut self, turn: &Turn) -> Heard {
        let text = turn.message.text();
        match turn.stop.class {
            StopClass::Refusal | StopClass::ContentFilter => {
                let said = if text.is_empty() { "no text" } else { text.trim() };
                return Heard::Stop(Stop::new(
                    Outcome::Failed,
                    format!("the model refused to go on: {said}"),
                ));
            }
            StopClass::Pause => return Heard::Wrong("Go on.".into()),
            _ => {}
        }
        if !turn.executable {
            return self.wrong("Your message was cut off before its end. Go on, with shorter messages.");
        }
        if text.trim().is_empty() {
            return self.wrong(match self {
                Self::Worker => "Your message was empty. Call a tool; when the task is done, call `done`.",
                Self::Judge { .. } => {
                    "Your message was empty. Examine the claim with tools, then call `verdict`."
                }
                Self::Reviewer { .. } => review::HOW_TO_ANSWER,
            });
        }
        match self {
            Self::Worker => Heard::Said(Said::Done { summary: text, evidence: Vec::new(), implicit: true }),
            Self::Judge { .. } => {
                self.wrong("Text is not a verdict. Call `verdict` when you have examined the claim.")
            }
            Self::Reviewer { .. } => match review::read(&text) {
                Some(opinion) => Heard::Said(Said::Opinion(opinion)),
                None => self.wrong(review::HOW_TO_ANSWER),
            },
        }
    }

    /// A call of `done`, `blocked` or `verdict` that stands alone.
    pub(crate) fn hear(&mut self, control: Control) -> Heard {
        match (&self, control) {
            (Self::Worker, Control::Done { summary, evidence }) => {
                Heard::Said(Said::Done { summary, evidence, implicit: false })
            }
            (Self::Worker, Control::Blocked { reason, needs }) => Heard::Said(Said::Blocked { reason, needs }),
            (Self::Judge { looked: true, .. }, Control::Verdict { accept, summary, findings }) => {
                Heard::Said(Said::Verdict { accept, summary, findings })
            }
            (Self::Judge { looked: false, .. }, Control::Verdict { .. }) => self.wrong(
                "This verdict rests on nothing: you have run no tool since you were asked about this claim. Run the \
                 commands and read the files that would refute it, then call `verdict` again.",
            ),
            _ => self.wrong("This tool is not yours to call. Use the tools that you were given."),
        }
    }

    /// The result of a control call that was heard.
    pub(crate) const fn noted(&self) -> &'static str {
        match self {
            Self::Worker => "Noted. What you said is examined now by someone else.",
            Self::Judge { .. } | Self::Reviewer { .. } => "Noted.",
        }
    }

    fn wrong(&mut self, correction: &str) -> Heard {
        match self {
            // A worker that goes on like this is seen as going in circles.
            Self::Worker => {}
            Self::Judge { wrong, .. } | Self::Reviewer { wrong } => {
                *wrong += 1;
                if *wrong >= PATIENCE {
                    let reason = format!("it did not answer what it was asked, {PATIENCE} times in a row");
                    return Heard::Stop(Stop::new(Outcome::Blocked, reason));
                }
            }
        }
        Heard::Wrong(correction.into())
    }
}

#[cfg(test)]
mod tests {
    use countersign_protocol::{AssistantMessage, BlobId, Block, Stop as Stopped, Usage, entry::Sent};

    use super::*;

    fn turn(text: &str, class: StopClass, executable: bool) -> Turn {
        let hash = BlobId::of(b"");
        Turn {
            turn: 1,
            message: AssistantMessage { blocks: vec![Block::Text { text: text.into(), replay: None }] },
            stop: Stopped { class, raw: None },
            executable,
            usage: Usage::default(),
            sent: Sent { bytes: 0, prefix: hash.clone(), chain: hash, extends: true },
        }
    }

    fn verdict() -> Control {
        Control::Verdict { accept: true, summary: "fine".into(), findings: vec![] }
    }

    #[test]
    fn a_message_without_a_call_is_an_implicit_claim_of_the_worker() {
        let heard = Part::Worker.hear_silence(&turn("All done.", StopClass::End, true));
        assert!(matches!(heard, Heard::Said(Said::Done { implicit: true, .. })));
    }

    #[test]
    fn a_cut_or_empty_message_is_never_a_claim() {
        for (text, class, executable) in [
            ("All done", StopClass::Length, false),
            ("", StopClass::End, true),
            (" \n", StopClass::Missing, true),
        ] {
            assert!(
                matches!(Part::Worker.hear_silence(&turn(text, class, executable)), Heard::Wrong(_)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_refusal_ends_the_run() {
        let heard = Part::Worker.hear_silence(&turn("I can't.", StopClass::Refusal, true));
        assert!(matches!(heard, Heard::Stop(Stop { outcome: Outcome::Failed, .. })));
    }

    #[test]
    fn a_verdict_without_a_look_is_sent_back_at_each_examination() {
        let mut judge = Part::JUDGE;
        assert!(matches!(judge.hear(verdict()), Heard::Wrong(_)));
        judge.ran_a_tool();
        assert!(matches!(judge.hear(verdict()), Heard::Said(Said::Verdict { .. })));
        judge.asked();
        assert!(matches!(judge.hear(verdict()), Heard::Wrong(_)));
    }

    #[test]
    fn a_judge_that_never_answers_is_given_up() {
        let mut judge = Part::JUDGE;
        let heard: Vec<_> =
            (0..3).map(|_| judge.hear_silence(&turn("Looks good!", StopClass::End, true))).collect();
        assert!(matches!(heard.last(), Some(Heard::Stop(Stop { outcome: Outcome::Blocked, .. }))));
    }

    #[test]
    fn nobody_can_say_what_is_not_theirs_to_say() {
        assert!(matches!(Part::Worker.hear(verdict()), Heard::Wrong(_)));
        let done = || Control::Done { summary: "done".into(), evidence: vec![] };
        let mut judge = Part::JUDGE;
        assert!(matches!(judge.hear(done()), Heard::Wrong(_)));
    }
}
