//! What a supervisor's model makes of a run: one word, and a reason where it needs one.

/// What a review came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opinion {
    /// Nothing to say.
    Continue,
    /// The worker should hear this.
    Notice(String),
    /// The supervisor should not vote for the end while this stands.
    Withhold(String),
}

/// How the supervisor's model must answer; part of every digest, so that it stands at the end of its history.
pub(crate) const HOW_TO_ANSWER: &str = "Answer with one word first: CONTINUE (nothing to say), NOTICE: and one sentence \
     for the worker, or WITHHOLD: and the reason why this run must not end as completed.";

/// Reads a model's answer; `None` where it says none of the three words first.
#[must_use]
pub fn read(answer: &str) -> Option<Opinion> {
    let answer = answer.trim().trim_start_matches(['*', '`', '#', '"']);
    let end = answer.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(answer.len());
    let (word, rest) = answer.split_at(end);
    let reason = rest.trim_start_matches(|c: char| !c.is_alphanumeric()).trim().to_owned();
    match word.to_ascii_uppercase().as_str() {
        "CONTINUE" => Some(Opinion::Continue),
        "NOTICE" if !reason.is_empty() => Some(Opinion::Notice(reason)),
        "WITHHOLD" => {
            Some(Opinion::Withhold(if reason.is_empty() { "no reason given".into() } else { reason }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_decides() {
        for (answer, opinion) in [
            ("CONTINUE", Some(Opinion::Continue)),
            ("  continue. All is well.", Some(Opinion::Continue)),
            ("**NOTICE:** run the tests first", Some(Opinion::Notice("run the tests first".into()))),
            ("WITHHOLD: the goal has two parts", Some(Opinion::Withhold("the goal has two parts".into()))),
            ("WITHHOLD", Some(Opinion::Withhold("no reason given".into()))),
            ("NOTICE", None),
            ("I would CONTINUE", None),
            ("", None),
        ] {
            assert_eq!(read(answer), opinion, "{answer}");
        }
    }
}
