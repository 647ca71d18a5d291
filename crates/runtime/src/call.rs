//! One model call: its worst case is reserved before, its real price settled after, whatever becomes of it.

use std::time::Duration;

use countersign_model::{Answer, CallError, CallReport, Prompt, Request};
use countersign_protocol::{
    Item, Outcome, Usage,
    entry::{Charge, Purpose, Reservation, Sent},
};

use crate::{agent::Agent, history::BYTES_A_TOKEN, ledger::Ask, messages::Stop};

/// The most that one answer may hold where neither role nor model says less, in tokens.
const DEFAULT_OUTPUT_TOKENS: u64 = 8_192;

/// Answers that may break off in a row before the run is given up.
const BREAKS: u32 = 3;
/// The wait before such a call is made again; it doubles from one to the next.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// What became of a call.
pub(crate) enum Called {
    /// The model answered; with what was sent.
    Answered(Answer, Sent),
    /// The provider says that the history does not fit the window.
    TooLong(String),
    /// The answer broke off after something may have been billed: the call is made again, with a reservation of its
    /// own. (What costs nothing was tried again by the model itself.)
    BrokeOff,
}

impl Agent {
    /// Asks the supervisor for a call whose answer holds at most `output_tokens`. `tail` is what the request holds
    /// beyond the history.
    pub(crate) async fn reserve(
        &self,
        purpose: Purpose,
        tail: Option<&Item>,
        output_tokens: u64,
    ) -> Result<Reservation, Stop> {
        let spec = self.history.model().spec();
        let tail_bytes =
            tail.map_or(0, |item| self.history.model().encoder().item(item, true).bytes.len() as u64);
        let room = spec.context_window.saturating_sub(self.history.estimate() + tail_bytes / BYTES_A_TOKEN);
        let ask = Ask {
            actor: self.desk.lane,
            purpose,
            prompt_tokens: self.history.bound() + tail_bytes,
            output_tokens: output_tokens.min(room).max(1),
            price: spec.price.clone(),
        };
        self.desk.reserve(ask).await
    }

    /// The most that one answer may hold, in tokens.
    pub(crate) fn output_limit(&self) -> u64 {
        let most = self.history.model().spec().max_output_tokens;
        self.role.max_output_tokens.unwrap_or(DEFAULT_OUTPUT_TOKENS).min(most)
    }

    /// Makes the call that was granted and settles it. `front` is a part of the history that is sent in its place.
    pub(crate) async fn call(
        &mut self,
        grant: &Reservation,
        tail: Option<&Item>,
        front: Option<&Prompt>,
    ) -> Result<Called, Stop> {
        let sent = self.history.sent();
        let request = Request {
            prompt: front.unwrap_or(self.history.prompt()),
            tail,
            prompt_tokens: grant.prompt_tokens,
            output_tokens: grant.output_tokens,
            turn: self.history.next_turn(),
            purpose: grant.purpose,
        };
        let report = self.history.model().call(request, &self.cancel).await;
        self.desk.settle(charge(grant, &report, self.history.model().spec().price.as_ref())).await?;
        let billed = report.attempts.last().is_some_and(|attempt| attempt.usage.total() > 0);
        match report.result {
            Ok(answer) => {
                self.breaks = 0;
                Ok(Called::Answered(answer, sent))
            }
            Err(error) if error.retryable() && billed && self.breaks < BREAKS => {
                self.breaks += 1;
                tracing::warn!(lane = %self.desk.lane, %error, "the answer broke off and is asked for again");
                let wait = tokio::time::sleep(FIRST_WAIT * 2_u32.pow(self.breaks - 1));
                self.cancel.run_until_cancelled(wait).await;
                Ok(Called::BrokeOff)
            }
            Err(error @ CallError::ContextTooLong { .. }) => Ok(Called::TooLong(error.to_string())),
            Err(CallError::Cancelled) => Err(Stop::ending()),
            Err(error) => Err(Stop::new(Outcome::Failed, format!("the {}'s model: {error}", self.desk.lane))),
        }
    }
}

/// The bill of a call, over all its attempts.
fn charge(grant: &Reservation, report: &CallReport, price: Option<&countersign_protocol::Price>) -> Charge {
    let mut usage = Usage::default();
    for attempt in &report.attempts {
        usage += attempt.usage;
    }
    // Each attempt is a request of its own, with its own price tier.
    let money = price.map(|price| report.attempts.iter().map(|attempt| price.bill(&attempt.usage)).sum());
    Charge {
        reservation: grant.reservation,
        actor: grant.actor,
        purpose: grant.purpose,
        answered: report.result.is_ok(),
        attempts: u32::try_from(report.attempts.len()).unwrap_or(u32::MAX),
        usage,
        money,
        error: report.result.as_ref().err().map(ToString::to_string),
    }
}
