//! Compacting an agent's lane: its older history becomes a summary, asked for on the warm prefix.

use countersign_journal::compact;
use countersign_protocol::{
    Body, Item, Outcome,
    entry::{Compacted, Purpose},
};

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
        let limits = self.limits();
        let prefix_and_goal = self.history.estimate();
        let plan = compact::plan(&self.history.path(), compact::estimate, &limits);
        let Some(plan) = plan else {
            if prefix_and_goal > limits.window {
                let reason = format!(
                    "the fixed part of the {}'s prompt alone fills the window of {} tokens: use a model with a larger \
                     window, or a role with a shorter prompt and fewer tools",
                    self.desk.lane, limits.window
                );
                return Err(Stop::new(Outcome::Failed, reason));
            }
            return Ok(false);
        };
        let summary = self.summarise().await?;
        let compacted = Compacted {
            summary,
            kept_from: plan.kept_from,
            files_read: plan.files_read,
            files_written: plan.files_written,
            tokens_before: plan.tokens_before,
        };
        self.history.persist(vec![Body::Compaction(compacted)]).await?;
        self.desk.gate(Did::Compacted).await?;
        Ok(true)
    }

    /// Asks for the summary at the end of the lane's own history, so that the provider's cache serves it.
    async fn summarise(&mut self) -> Result<String, Stop> {
        let path = self.history.path();
        let previous = compact::last(&path);
        let fallback = previous.map_or_else(
            || NO_SUMMARY.to_owned(),
            |previous| format!("{}\n\n{NO_SUMMARY}", previous.summary),
        );
        let tail = Item::User { text: compact::instruction(previous) };
        let grant = self.reserve(Purpose::Summary, Some(&tail)).await?;
        let Called::Answered(answer, _) = self.call(&grant, Some(&tail)).await? else { return Ok(fallback) };
        let text = answer.message.text();
        // A summary that was cut, or a call in place of one, is no summary.
        Ok(if answer.executable && !text.trim().is_empty() { text } else { fallback })
    }

    /// What the lane must fit. Where the window is small, the role's numbers shrink with it.
    fn limits(&self) -> compact::Limits {
        let spec = self.history.model().spec();
        let window = spec.context_window;
        compact::Limits {
            window,
            reserve: self.role.compaction.reserve_tokens.min(window / 4),
            keep_recent: self.role.compaction.keep_recent_tokens.min(window / 4),
            summary: self.role.max_output_tokens.unwrap_or(spec.max_output_tokens).min(window / 8),
        }
    }
}
