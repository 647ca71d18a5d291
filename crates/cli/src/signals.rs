//! A person's wish to stop: once halts the run after what is being written down, twice stops it at once.

use std::io;

use countersign::runtime::Stopper;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Stop after what is being written down.
    Halt,
    /// Stop at once.
    HaltNow,
}

/// Hands SIGINT, SIGTERM and SIGHUP on to a run from now on. A task of its own does so, so that a terminal or pipe
/// that takes no more output can't hold a stop up; what was asked comes through the channel, to be told.
pub(crate) fn watch(stopper: Stopper) -> io::Result<mpsc::UnboundedReceiver<Asked>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let (tell, asked) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for times in 1u32.. {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
            let wish = if times == 1 { Asked::Halt } else { Asked::HaltNow };
            match wish {
                Asked::Halt => stopper.halt(),
                Asked::HaltNow => stopper.halt_now(),
            }
            // Nobody tells it any more once the run has ended.
            let _ = tell.send(wish);
        }
    });
    Ok(asked)
}
