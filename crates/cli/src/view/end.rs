//! The end of a run in plain words: the outcome, why, what it cost, and what to do next.

use countersign::protocol::{Outcome, RunId, entry::Ended};

use crate::{
    output::{BAD, GOOD, STRONG, WARN, paint},
    text::{block, count, dollars, grouped},
};

/// What a person is told at the end.
pub(crate) fn end(run: &RunId, ended: &Ended) -> String {
    let style = match ended.outcome {
        Outcome::Completed => GOOD,
        Outcome::Failed | Outcome::Refused => BAD,
        Outcome::Exhausted | Outcome::Stalled | Outcome::Blocked | Outcome::Halted => WARN,
    };
    let outcome = paint(style.bold(), &ended.outcome.to_string());
    let mut lines = vec![
        String::new(),
        format!("{outcome}: {}", meaning(ended.outcome)),
        format!("  why          {}", indented(&ended.reason)),
        format!(
            "  cost         {}: {}, {} tokens, {}",
            dollars(ended.money),
            count(ended.turns, "turn"),
            grouped(ended.usage.total()),
            count(ended.refutations.into(), "refuted claim"),
        ),
    ];
    if let Some(tree) = &ended.tree {
        lines.push(format!("  content      {tree}"));
    }
    if let Some(certificate) = &ended.certificate {
        lines.push(format!("  certificate  {}", block(&certificate.display().to_string())));
    }
    lines.push(format!("  next         {}", paint(STRONG, &next(run, ended))));
    lines.join("\n")
}

/// The outcome in a sentence.
pub(crate) const fn meaning(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "worker, verifier and supervisor agree about the same content",
        Outcome::Refused => "too many claims were refuted; the task is not done",
        Outcome::Exhausted => "the budget does not cover another call; the task is not known to be done",
        Outcome::Stalled => "the worker went in circles; the task is not done",
        Outcome::Blocked => "a person must decide or mend something",
        Outcome::Halted => "a person stopped it; nothing is lost",
        Outcome::Failed => "something outside the task went wrong",
    }
}

fn next(run: &RunId, ended: &Ended) -> String {
    let resume = format!("countersign resume {run}");
    match (ended.outcome, &ended.certificate) {
        (Outcome::Completed, Some(certificate)) => {
            format!("countersign verify {}", block(&certificate.display().to_string()))
        }
        (Outcome::Completed, None) => format!("countersign show {run}"),
        (Outcome::Refused | Outcome::Stalled, _) => {
            format!("countersign log {run}; to go on another way: {resume} --steer \"…\"")
        }
        (Outcome::Exhausted, _) => format!("{resume} with a larger --money, --turns, --tokens or --wall"),
        (Outcome::Blocked, _) => format!("mend it and {resume}, or answer: {resume} --steer \"…\""),
        (Outcome::Halted | Outcome::Failed, _) => resume,
    }
}

/// The text, its further lines under its first.
fn indented(text: &str) -> String {
    block(text.trim_end()).replace('\n', "\n               ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::story::{RUN, ended};

    #[test]
    fn every_outcome_says_what_to_do_next() {
        let run: RunId = RUN.parse().unwrap();
        let all = [
            Outcome::Completed,
            Outcome::Refused,
            Outcome::Exhausted,
            Outcome::Stalled,
            Outcome::Blocked,
            Outcome::Halted,
            Outcome::Failed,
        ];
        let texts: Vec<_> = all.map(|outcome| end(&run, &ended(outcome))).into();
        insta::assert_snapshot!(anstream::adapter::strip_str(&texts.join("\n")).to_string());
    }
}
