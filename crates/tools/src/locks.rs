//! Locks by effect: calls that touch the same thing run one after the other, in the order in which they queued.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::Effect;

/// The queue of all calls that run or wait. A call is in it from `queue` until its ticket is dropped, so
/// nothing is left behind for files that were touched once.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    next: u64,
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    number: u64,
    effect: Effect,
    over: CancellationToken,
}

/// A place in the queue; dropping it lets the calls behind it go on.
#[derive(Debug)]
pub(crate) struct Ticket {
    number: u64,
    ahead: Vec<CancellationToken>,
    locks: Arc<Locks>,
}

impl Locks {
    /// Queues a call. It waits only for calls that queued before it, so no two can wait for each other.
    pub(crate) fn queue(self: &Arc<Self>, effect: Effect) -> Ticket {
        let mut queue = self.lock();
        let number = queue.next;
        queue.next += 1;
        let conflicting = queue.held.iter().filter(|held| held.effect.conflicts(&effect));
        let ahead = conflicting.map(|held| held.over.clone()).collect();
        queue.held.push(Held { number, effect, over: CancellationToken::new() });
        Ticket { number, ahead, locks: Arc::clone(self) }
    }

    /// The queue is consistent between any two statements, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket {
    /// Waits until every conflicting call ahead has ended.
    pub(crate) async fn ready(&self) {
        for over in &self.ahead {
            over.cancelled().await;
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut queue = self.locks.lock();
        if let Some(index) = queue.held.iter().position(|held| held.number == self.number) {
            queue.held.remove(index).over.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use futures_util::FutureExt;

    use super::*;

    fn ready(ticket: &Ticket) -> bool {
        ticket.ready().now_or_never().is_some()
    }

    #[test]
    fn a_call_waits_for_those_ahead_that_touch_the_same_thing() {
        let locks = Arc::new(Locks::default());
        let file = |name: &str| Effect::File(PathBuf::from(name));
        let (a1, b) = (locks.queue(file("a")), locks.queue(file("b")));
        let (a2, all) = (locks.queue(file("a")), locks.queue(Effect::Workspace));
        let a3 = locks.queue(file("a"));
        assert!(ready(&a1) && ready(&b) && !ready(&a2) && !ready(&all) && !ready(&a3));
        drop(a1);
        assert!(ready(&a2) && !ready(&all));
        drop(a2);
        assert!(!ready(&all));
        drop(b);
        assert!(ready(&all) && !ready(&a3));
        drop(all);
        assert!(ready(&a3));
        drop(a3);
        assert!(locks.lock().held.is_empty());
    }

    #[test]
    fn a_call_that_gives_up_its_place_holds_nobody_back() {
        let locks = Arc::new(Locks::default());
        let first = locks.queue(Effect::Workspace);
        let second = locks.queue(Effect::Workspace);
        let third = locks.queue(Effect::Workspace);
        drop(second);
        assert!(!ready(&third));
        drop(first);
        assert!(ready(&third));
    }
}
