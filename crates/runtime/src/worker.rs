//! The worker: works until it claims, then waits for the answer.

use async_channel::Sender;
use tokio::sync::oneshot;

use crate::{
    agent::{Agent, Said},
    messages::{Mail, Report, Stop},
};
use countersign_protocol::entry::Cause;

/// What the worker begins with.
#[derive(Debug)]
pub(crate) enum Begin {
    /// It works; this is said first.
    Work(Vec<Mail>),
    /// Its last claim is being examined.
    AwaitVerdict,
}

/// The actor.
pub(crate) async fn worker(mut agent: Agent, begin: oneshot::Receiver<Begin>, reports: Sender<Report>) {
    let stop = match begin.await {
        Ok(begin) => serve(&mut agent, begin, &reports).await,
        Err(_) => return,
    };
    if let Err(stop) = stop {
        // Nobody listens any more only when the run has ended.
        let _ = reports.send(Report::Stopped(stop)).await;
    }
}

async fn serve(agent: &mut Agent, begin: Begin, reports: &Sender<Report>) -> Result<(), Stop> {
    let mut waiting = matches!(begin, Begin::AwaitVerdict);
    if let Begin::Work(first) = begin {
        for mail in first {
            agent.history.say(mail.cause, mail.text).await?;
        }
    }
    loop {
        if waiting && !wait(agent).await? {
            return Ok(());
        }
        let report = match agent.work().await? {
            Said::Done { summary, evidence, implicit } => Report::Claimed { summary, evidence, implicit },
            Said::Blocked { reason, needs } => Report::Blocked { reason, needs },
            Said::Verdict { .. } | Said::Opinion(_) => return Err(Stop::ending()),
        };
        reports.send(report).await.map_err(|_| Stop::ending())?;
        waiting = true;
    }
}

/// Waits until the claim is answered; false where the run ends first. What else arrives meanwhile is kept.
async fn wait(agent: &mut Agent) -> Result<bool, Stop> {
    loop {
        let cancel = agent.cancel.clone();
        let Some(Ok(mail)) = cancel.run_until_cancelled(agent.mail.recv()).await else { return Ok(false) };
        let answered = mail.cause == Cause::Refutation;
        agent.history.say(mail.cause, mail.text).await?;
        if answered {
            return Ok(true);
        }
    }
}
