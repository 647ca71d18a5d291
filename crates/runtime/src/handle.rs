//! The outside's hold on a run: watch it, stop it, say something to its worker, wait for its outcome.

use std::sync::Arc;

use async_channel::Sender;
use countersign_protocol::{
    Entry, Outcome, RunId, Usage,
    entry::{Cause, Ended},
};
use tokio::{sync::broadcast, task::JoinHandle};

use crate::messages::Mail;

/// What a person asks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    /// Stop after what is being persisted.
    Halt,
    /// Stop at once.
    HaltNow,
}

/// A run that is under way.
#[derive(Debug)]
pub struct RunHandle {
    pub(crate) run: RunId,
    pub(crate) stopper: Stopper,
    pub(crate) mail: Sender<Mail>,
    pub(crate) events: broadcast::Receiver<Arc<Entry>>,
    pub(crate) outcome: JoinHandle<Ended>,
}

/// Stops a run; can be cloned and kept where the signals arrive.
#[derive(Debug, Clone)]
pub struct Stopper(pub(crate) Sender<Control>);

impl Stopper {
    /// Asks the run to stop after what is being persisted. It ends as halted, and can be resumed.
    pub fn halt(&self) {
        // The run no longer listens only when it has ended.
        let _ = self.0.try_send(Control::Halt);
    }

    /// Stops the run at once. It ends as halted, and can be resumed.
    pub fn halt_now(&self) {
        let _ = self.0.try_send(Control::HaltNow);
    }
}

impl RunHandle {
    /// The run.
    #[must_use]
    pub const fn run(&self) -> RunId {
        self.run
    }

    /// Every entry from the run's first on, once it is durable. An observer that lags loses entries and is told how
    /// many; the journal has them all.
    #[must_use]
    pub fn observe(&self) -> broadcast::Receiver<Arc<Entry>> {
        self.events.resubscribe()
    }

    /// The observer that has been there from the run's first entry on. It can be taken once; what is taken later sees
    /// only what comes then.
    #[must_use]
    pub fn take_events(&mut self) -> broadcast::Receiver<Arc<Entry>> {
        let later = self.events.resubscribe();
        std::mem::replace(&mut self.events, later)
    }

    /// What stops the run.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Says something to the worker, which reads it before its next turn.
    pub fn steer(&self, text: impl Into<String>) {
        let _ = self.mail.try_send(Mail { cause: Cause::Steer, text: text.into() });
    }

    /// Waits for the end.
    pub async fn outcome(self) -> Ended {
        self.outcome.await.unwrap_or_else(|error| Ended {
            outcome: Outcome::Failed,
            reason: format!("the run's own task failed, which is a bug: {error}"),
            tree: None,
            turns: 0,
            refutations: 0,
            usage: Usage::default(),
            money: None,
            certificate: None,
        })
    }
}
