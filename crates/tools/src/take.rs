//! Takes the calls of a message: what is to be run, what steers the loop, what goes back as an error.

use countersign_protocol::{ArgumentsStatus, AssistantMessage, CallId, ToolCall};
use serde_json::Value;

use crate::{
    Control, ToolOutput, Toolset,
    names::nearest,
    repair,
    toolset::{Entry, What},
};

/// What a message asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// No call at all.
    Silent,
    /// One call alone that steers the loop.
    Control {
        /// The call.
        call: CallId,
        /// Its name.
        name: String,
        /// Its arguments after repair.
        arguments: Value,
        /// What it says.
        control: Control,
    },
    /// Calls to run, or to answer with an error, in call order.
    Batch(Vec<Planned>),
}

/// A call that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The call.
    pub call: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments after repair, which fit the schema; or the error result.
    pub ready: Result<Value, ToolOutput>,
}

const CUT: &str = "This message was cut off, so none of its calls was run. Send the call again, whole and smaller: \
                   split a long text over several calls.";

/// Takes the calls of a message. Pure: nothing is run.
///
/// `executable` says whether every call in it arrived whole. Where one did not, none is run, since what is left
/// of a cut call can be valid and wrong.
#[must_use]
pub fn take(message: &AssistantMessage, executable: bool, tools: &Toolset) -> Taken {
    let calls: Vec<&ToolCall> = message.calls().collect();
    if calls.is_empty() {
        return Taken::Silent;
    }
    if !executable || calls.iter().any(|call| is_cut(call)) {
        let refused = calls.into_iter().map(|call| planned(call, Err(ToolOutput::error(CUT))));
        return Taken::Batch(refused.collect());
    }
    if let [call] = calls.as_slice() {
        return take_alone(call, tools);
    }
    Taken::Batch(calls.into_iter().map(|call| take_among_others(call, tools)).collect())
}

fn take_alone(call: &ToolCall, tools: &Toolset) -> Taken {
    let taken = match ready(call, tools) {
        Ok((entry, arguments)) => match &entry.what {
            What::Run(_) => Ok(arguments),
            What::Steer(kind) => match kind.parse(arguments.clone()) {
                Ok(control) => {
                    let (call, name) = (call.id.clone(), call.name.clone());
                    return Taken::Control { call, name, arguments, control };
                }
                Err(reason) => Err(repair::refusal(&entry.definition.name, &[reason], &entry.schema)),
            },
        },
        Err(refused) => Err(refused),
    };
    Taken::Batch(vec![planned(call, taken)])
}

fn take_among_others(call: &ToolCall, tools: &Toolset) -> Planned {
    let taken = ready(call, tools).and_then(|(entry, arguments)| match entry.what {
        What::Run(_) => Ok(arguments),
        What::Steer(_) => Err(ToolOutput::error(format!(
            "`{name}` counts only alone, so it was not taken. The other calls of this message ran: look at their \
             results first, then send `{name}` as the only call of a message.",
            name = call.name
        ))),
    });
    planned(call, taken)
}

fn planned(call: &ToolCall, ready: Result<Value, ToolOutput>) -> Planned {
    Planned { call: call.id.clone(), name: call.name.clone(), ready }
}

/// The tool and the arguments to run it with.
fn ready<'a>(call: &ToolCall, tools: &'a Toolset) -> Result<(&'a Entry, Value), ToolOutput> {
    let entry = tools.get(&call.name).ok_or_else(|| unknown(&call.name, tools))?;
    let arguments = repair::repair_call(entry, &call.arguments)?;
    Ok((entry, arguments))
}

fn unknown(name: &str, tools: &Toolset) -> ToolOutput {
    let names = tools.names();
    let near = match nearest(name, &names).as_slice() {
        [] => String::new(),
        near => format!(" Nearest: {}.", near.join(", ")),
    };
    ToolOutput::error(format!("There is no tool `{name}`.{near} Your tools: {}.", names.join(", ")))
}

/// Whether a call's arguments end before they close.
fn is_cut(call: &ToolCall) -> bool {
    call.arguments.status == ArgumentsStatus::Invalid && repair::ends_early(&call.arguments.raw)
}
