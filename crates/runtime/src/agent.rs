//! The one agent loop, which worker, verifier and the supervisor's review share.
//!
//! It reads as what the system does: reserve → call → persist → take calls → (none or a claim?) → execute → persist
//! in order → gate → compact. Nothing here decides that a task is done: the loop ends by saying something, and others
//! decide what it is worth.

use async_channel::Receiver;
use countersign_protocol::{
    CallId, Content, Finding, Role, Statement,
    entry::{Cause, Purpose, ToolOutcome},
};
use countersign_tools::{Planned, Taken, ToolContext, Toolset, execute, take};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    call::Called,
    history::History,
    messages::{Desk, Mail, Stop, drain},
    part::{Heard, Part},
    review::Opinion,
    stall::Did,
};

/// An actor that thinks with a model.
pub(crate) struct Agent {
    pub(crate) part: Part,
    pub(crate) role: Role,
    pub(crate) history: History,
    pub(crate) tools: Toolset,
    pub(crate) context: ToolContext,
    pub(crate) desk: Desk,
    pub(crate) mail: Receiver<Mail>,
    pub(crate) cancel: CancellationToken,
    /// Whether the provider said that the last request was too long.
    pub(crate) was_too_long: bool,
    /// Answers in a row that broke off.
    pub(crate) breaks: u32,
}

/// What ends an agent's part for now.
#[derive(Debug)]
pub(crate) enum Said {
    /// The task is done.
    Done { summary: String, evidence: Vec<Statement>, implicit: bool },
    /// It can't be done as things stand.
    Blocked { reason: String, needs: String },
    /// What the judge makes of a claim.
    Verdict { accept: bool, summary: String, findings: Vec<Finding> },
    /// What the supervisor's model makes of the run.
    Opinion(Opinion),
}

impl Agent {
    /// Works until there is something to say.
    pub(crate) async fn work(&mut self) -> Result<Said, Stop> {
        loop {
            self.take_mail().await?;
            let grant = self.reserve(Purpose::Turn, None, self.output_limit()).await?;
            let turn = match self.call(&grant, None, None).await? {
                Called::Answered(answer, sent) => {
                    self.was_too_long = false;
                    self.history.answered(answer, sent).await?
                }
                Called::BrokeOff => continue,
                Called::TooLong(error) => {
                    self.compact_or_stop(&error).await?;
                    continue;
                }
            };
            let did = match take(&turn.message, turn.executable, &self.tools) {
                Taken::Silent => match self.part.hear_silence(&turn) {
                    Heard::Said(said) => return Ok(said),
                    Heard::Wrong(correction) => self.correct(correction).await?,
                    Heard::Stop(stop) => return Err(stop),
                },
                Taken::Control { call, name, control, .. } => match self.part.hear(control) {
                    Heard::Said(said) => {
                        self.answer(call, name, self.part.noted().into(), false).await?;
                        return Ok(said);
                    }
                    Heard::Wrong(correction) => self.answer(call, name, correction, true).await?,
                    Heard::Stop(stop) => return Err(stop),
                },
                Taken::Batch(batch) => self.run_calls(batch).await?,
            };
            self.gate(did).await?;
            self.compact_if_full().await?;
        }
    }
}

impl Agent {
    /// What arrived since the last turn enters the history at its end.
    async fn take_mail(&mut self) -> Result<(), Stop> {
        for mail in drain(&self.mail) {
            self.history.say(mail.cause, mail.text).await?;
        }
        Ok(())
    }

    /// Asks the supervisor whether to go on; what it has to say enters the history at its end.
    pub(crate) async fn gate(&mut self, did: Did) -> Result<(), Stop> {
        for mail in self.desk.gate(did).await? {
            self.history.say(mail.cause, mail.text).await?;
        }
        Ok(())
    }

    /// Runs calls: their intents are durable before, their results after, in call order.
    async fn run_calls(&mut self, batch: Vec<Planned>) -> Result<Did, Stop> {
        self.history.intents(&batch).await?;
        let arguments: Vec<Value> = batch.iter().map(|call| call.ready.clone().unwrap_or_default()).collect();
        let results = execute(batch, &self.tools, &self.context, &self.cancel).await;
        if results.iter().any(|result| !result.is_error || result.exit.is_some()) {
            self.part.ran_a_tool();
        }
        self.history.results(results.clone()).await?;
        Ok(Did::Calls(arguments.into_iter().zip(results).collect()))
    }

    /// Tells the model that its message is not what was asked for.
    async fn correct(&mut self, correction: String) -> Result<Did, Stop> {
        self.history.say(Cause::Correction, correction).await?;
        Ok(Did::Nothing)
    }

    /// Persists the result of a control call.
    async fn answer(
        &mut self,
        call: CallId,
        name: String,
        text: String,
        is_error: bool,
    ) -> Result<Did, Stop> {
        let content = vec![Content::Text { text }];
        let outcome = ToolOutcome { call, name, content, is_error, exit: None, files: Vec::new() };
        self.history.results(vec![outcome.clone()]).await?;
        Ok(Did::Calls(vec![(Value::Null, outcome)]))
    }
}
