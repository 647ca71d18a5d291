//! What the worker is told by the host: the task, why a claim does not stand, that the run goes on.

use countersign_protocol::{ClaimId, Policy, entry::Cause};
use countersign_verify::refutation_text;

use crate::{assignment::Resumption, consensus::Refutation, history::History, messages::Mail, past::Past};

/// What the worker is told before its first turn of this session.
pub(crate) fn first_words(
    history: &History,
    goal: &str,
    policy: &Policy,
    past: &Past,
    resumption: &Resumption,
) -> Vec<Mail> {
    let mut words = Vec::new();
    if history.is_new() {
        words.push(Mail { cause: Cause::Assignment, text: assignment(goal, policy) });
        return words;
    }
    if !history.awaits_an_answer() {
        let refuted = past.refuted.last().filter(|(claim, ..)| claim.0 == past.last_claim);
        let text = match refuted {
            Some((claim, _, verdict)) => returned(*claim, &Refutation::Verdict(verdict.clone())),
            None => "The run goes on after a stop. Look at where things stand before you go on.".into(),
        };
        words.push(Mail { cause: Cause::Resume, text });
    }
    if let Some(steer) = &resumption.steer {
        words.push(Mail { cause: Cause::Steer, text: format!("The run goes on. A person says: {steer}") });
    }
    words
}

/// The task, and what a claim must survive as far as the worker may know it.
fn assignment(goal: &str, policy: &Policy) -> String {
    let mut text = format!(
        "{goal}\n\nWhen it is done, call `done`. Your claim is then examined in a copy of this folder."
    );
    for check in policy.checks.iter().filter(|check| check.overlay.is_none()) {
        if let Some(run) = &check.run {
            text += &format!("\n- `{run}` must succeed.");
        }
    }
    if !policy.protected.is_empty() {
        text += &format!("\n- These paths must stay as they are: {}", policy.protected.join(", "));
    }
    if !policy.scope.is_empty() {
        text += &format!("\n- Only these paths may change: {}", policy.scope.join(", "));
    }
    text
}

/// What the worker is told when its claim does not stand.
pub(crate) fn returned(claim: ClaimId, refutation: &Refutation) -> String {
    match refutation {
        Refutation::Verdict(verdict) => {
            format!("Claim {claim} was refuted.\n{}", refutation_text(verdict))
        }
        Refutation::SameTree { earlier, verdict } => format!(
            "Claim {claim} was refuted: the workspace is byte for byte what it was at claim {earlier}, so it was not \
             examined again. The answer is the same.\n{}",
            refutation_text(verdict)
        ),
        Refutation::Unreadable(reason) => {
            format!("Claim {claim} can't be examined: {reason}. Then claim again.")
        }
        Refutation::WorkspaceMoved => format!(
            "Claim {claim} does not stand: the workspace changed after it was made. Look at what changed, and claim again \
             when nothing of yours still runs."
        ),
        Refutation::Withheld(reason) => {
            format!(
                "Claim {claim} was accepted by the verifier, but the supervisor withholds its vote: {reason}"
            )
        }
    }
}
