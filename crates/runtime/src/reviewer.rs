//! The supervisor's model: reads each digest through a lane and prefix of its own, and answers with an opinion.

use async_channel::{Receiver, Sender};
use countersign_protocol::entry::Cause;

use crate::{
    agent::{Agent, Said},
    messages::{Stop, ToSupervisor},
    review::Opinion,
};

/// The task behind the supervisor.
pub(crate) async fn reviewer(mut agent: Agent, digests: Receiver<String>, supervisor: Sender<ToSupervisor>) {
    let cancel = agent.cancel.clone();
    while let Some(Ok(digest)) = cancel.run_until_cancelled(digests.recv()).await {
        let opinion = look(&mut agent, digest).await;
        if supervisor.send(ToSupervisor::Reviewed(opinion)).await.is_err() {
            return;
        }
    }
}

async fn look(agent: &mut Agent, digest: String) -> Result<Opinion, Stop> {
    agent.part.asked();
    agent.history.say(Cause::Digest, digest).await?;
    match agent.work().await? {
        Said::Opinion(opinion) => Ok(opinion),
        // Its part can say nothing else.
        _ => Err(Stop::ending()),
    }
}
