//! Compacting an agent's lane: its older history becomes a summary, asked for on the warm prefix.

use countersign_journal::compact::{self, Limits, Plan};
use countersign_protocol::{Body, Item, Outcome, entry::Purpose};

use crate::{agent::Agent, call::Called, messages::Stop, stall::Did};

/// What stands in for a summary that could not be had. The goal, the lists of files and the newest history stay.
const NO_SUMMARY: &str = "(The model gave no summary of this part. Look at the files to see what was done.)";

impl Agent {
    /// Compacts where less of the window is free than the role wants.
    pub(crate) async fn compact_if_full(&mut self) -> Result<(), Stop> {
        let limits = self.limits();
        if compact::needed(self.history.estimate(), limits.window, limits.reserve) {
            self.compact().await?;
        }
        Ok(())
    }

    /// Compacts because the provider says that the history is too long; a second time in a row is the end.
    pub(crate) async fn compact_or_stop(&mut self, error: &str) -> Result<(), Stop> {
        if self.was_too_long || !self.compact().await? {
            let reason =
                format!("the history does not fit the model's window, and compacting does not help: {error}");
            return Err(Stop::new(Outcome::Failed, reason));
        }
        self.was_too_long = true;
        Ok(())
    }

    /// Compacts; says whether there was anything to compact.
    async fn compact(&mut self) -> Result<bool, Stop> {
        let Some(plan) = self.plan()? else { return Ok(false) };
        let summary = self.summarise(plan.asked_over).await?;
        self.history.persist(vec![Body::Compaction(plan.compacted(summary))]).await?;
        self.gate(Did::Compacted).await?;
        Ok(true)
    }

    /// Where to cut; nothing where no cut would help and there is room left all the same.
    fn plan(&self) -> Result<Option<Plan>, Stop> {
        let (limits, path, used) = (self.limits(), self.history.path(), self.history.estimate());
        let plan = compact::plan(&path, compact::estimate, &limits);
        // The provider counts more tokens than the estimate: the plan is made anew with sizes that come to its count.
        let plan = match plan {
            Some(rough) if used > rough.tokens_before => {
                let whole = rough.tokens_before.max(1);
                compact::plan(&path, |entry| (compact::estimate(entry) * used).div_ceil(whole), &limits)
            }
            plan => plan,
        };
        if plan.is_none() && used > limits.window {
            let reason = format!(
                "what can't be summarised in the {}'s history (its prompt, the task, or one result) does not fit the \
                 window of {} tokens: use a model with a larger window, or a role with a shorter prompt and fewer tools",
                self.desk.lane, limits.window
            );
            return Err(Stop::new(Outcome::Failed, reason));
        }
        Ok(plan)
    }

    /// Asks for the summary at the end of the lane's own history, so that the provider's cache serves it. Of a history
    /// that leaves no room for the question, only the first `asked_over` entries are asked about.
    async fn summarise(&mut self, asked_over: usize) -> Result<String, Stop> {
        let path = self.history.path();
        let previous = compact::last(&path);
        let fallback = previous.map_or_else(
            || NO_SUMMARY.to_owned(),
            |previous| format!("{}\n\n{NO_SUMMARY}", previous.summary),
        );
        let tail = Item::User { text: compact::instruction(previous) };
        let front = self.history.front(asked_over);
        let answer = loop {
            let grant = self.reserve(Purpose::Summary, Some(&tail), self.limits().summary).await?;
            match self.call(&grant, Some(&tail), Some(&front)).await? {
                Called::Answered(answer, _) => break answer,
                Called::BrokeOff => {}
                Called::TooLong(_) => return Ok(fallback),
            }
        };
        let text = answer.message.text();
        // A summary that was cut, or a call in place of one, is no summary.
        Ok(if answer.executable && !text.trim().is_empty() { text } else { fallback })
    }

    /// What the lane must fit. Where the window is small, the role's numbers shrink with it.
    fn limits(&self) -> Limits {
        let window = self.history.model().spec().context_window;
        Limits {
            window,
            reserve: self.role.compaction.reserve_tokens.min(window / 4),
            keep_recent: self.role.compaction.keep_recent_tokens.min(window / 4),
            summary: self.output_limit().min(window / 8),
        }
    }
}
