//! What a journal holds. The same entries, one JSON object a line, are what observers see.

use std::{fmt, path::PathBuf, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    BlobId, Budget, CallId, CheckReport, Claim, ClaimId, EntryId, ModelRef, Money, Outcome, Policy,
    ReservationId, Role, RunId, Stop, ToolDefinition, TreeId, Usage, Verdict, Vote,
    ids::InvalidId,
    message::{AssistantMessage, Content},
};

/// An actor's own path through the journal; `Run` holds what the host itself does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// The host: the ground of the run, claims and their checks, the outcome.
    Run,
    /// The worker.
    Worker,
    /// The verifier.
    Verifier,
    /// The supervisor: its books, and its own reviews where it has a model.
    Supervisor,
}

impl Lane {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Run, Self::Worker, Self::Verifier, Self::Supervisor];

    /// The name in the journal.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Worker => "worker",
            Self::Verifier => "verifier",
            Self::Supervisor => "supervisor",
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Lane {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let known = Self::ALL.into_iter().find(|lane| lane.name() == text);
        known.ok_or_else(|| InvalidId {
            text: text.into(),
            expected: "a lane (run, worker, verifier, supervisor)",
        })
    }
}

/// One entry of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its id. A commit is idempotent by it.
    pub id: EntryId,
    /// The entry before it in its lane; for a lane's first entry the run's first entry, which alone has none.
    pub parent: Option<EntryId>,
    /// Whose path it is on.
    pub lane: Lane,
    /// Its place in the journal, from 1, over all lanes.
    pub seq: u64,
    /// When it was written. For people: nothing is ordered by it.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    /// The ground of the run, fixed before the worker starts. Always the first entry.
    Run(Box<Ground>),
    /// A later session went on with the run.
    Resume(Resume),
    /// From here on the lane goes on from `leaf`: a new branch.
    Branch {
        /// The entry whose child the lane's next entry is; `None`: the run's first entry.
        leaf: Option<EntryId>,
    },
    /// A check ran on the workspace as the task began.
    Baseline {
        /// What it came to.
        report: CheckReport,
    },
    /// The front of the lane's requests from here on.
    Prefix(Prefix),
    /// Text from the host enters the lane's history.
    Message {
        /// Why.
        cause: Cause,
        /// The text as the model sees it.
        text: String,
    },
    /// The model answered.
    Turn(Box<Turn>),
    /// A call is about to run: the intent, durable before any effect.
    ToolCall {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// The arguments after repair, as JSON.
        arguments: serde_json::Value,
    },
    /// A call came to this.
    ToolResult(Box<ToolOutcome>),
    /// The worker says that the task is done.
    Claim(Claim),
    /// The worker says that it cannot go on.
    Blocked {
        /// Why.
        reason: String,
        /// What a person must decide or mend.
        needs: String,
    },
    /// The workspace's content, taken for this claim.
    Snapshot {
        /// The claim.
        claim: ClaimId,
        /// Its content.
        tree: TreeId,
    },
    /// A check tried to refute a claim.
    Check {
        /// The claim.
        claim: ClaimId,
        /// The snapshot it ran on.
        tree: TreeId,
        /// What it came to.
        report: CheckReport,
    },
    /// The verifier's answer to a claim.
    Verdict {
        /// The claim.
        claim: ClaimId,
        /// The snapshot it is about.
        tree: TreeId,
        /// The answer.
        #[serde(flatten)]
        verdict: Verdict,
    },
    /// An actor agrees to end, or does not.
    Vote(Vote),
    /// The supervisor, or a person, tells the worker something.
    Notice {
        /// Why.
        cause: Cause,
        /// What.
        text: String,
    },
    /// A call's worst case was set aside, before it is made.
    Reservation(Reservation),
    /// A call's real price was settled.
    Charge(Charge),
    /// The lane's older history was summarised: what the model sees begins anew from here.
    Compaction(Compacted),
    /// The run ended.
    Outcome(Box<Ended>),
}

impl Body {
    /// The entry's type, as in its JSON.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Resume(_) => "resume",
            Self::Branch { .. } => "branch",
            Self::Baseline { .. } => "baseline",
            Self::Prefix(_) => "prefix",
            Self::Message { .. } => "message",
            Self::Turn(_) => "turn",
            Self::ToolCall { .. } => "tool_call",
            Self::ToolResult(_) => "tool_result",
            Self::Claim(_) => "claim",
            Self::Blocked { .. } => "blocked",
            Self::Snapshot { .. } => "snapshot",
            Self::Check { .. } => "check",
            Self::Verdict { .. } => "verdict",
            Self::Vote(_) => "vote",
            Self::Notice { .. } => "notice",
            Self::Reservation(_) => "reservation",
            Self::Charge(_) => "charge",
            Self::Compaction(_) => "compaction",
            Self::Outcome(_) => "outcome",
        }
    }
}

/// The ground of a run: read once, before the worker starts. Editing the files later changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ground {
    /// The run.
    pub run: RunId,
    /// The version of countersign that began it.
    pub version: String,
    /// What is asked.
    pub goal: String,
    /// Where, as a canonical path.
    pub workspace: PathBuf,
    /// The roles of worker, verifier (where the policy has a judge) and supervisor, with their models chosen.
    pub roles: Vec<Role>,
    /// What a claim must survive.
    pub policy: Policy,
    /// The folder against which the policy's relative paths were read.
    pub policy_dir: PathBuf,
    /// The names of checks that an embedder added to those of the policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_checks: Vec<String>,
    /// What the run may use.
    pub budget: Budget,
    /// The workspace's content as the task began.
    pub base: TreeId,
}

/// A later session went on with a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resume {
    /// The version of countersign.
    pub version: String,
    /// What the run may use from here on.
    pub budget: Budget,
    /// Other models from here on, by role name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<(String, ModelRef)>,
}

/// The front of a lane's requests, byte for byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prefix {
    /// The model.
    pub model: ModelRef,
    /// The sections of the system prompt, in order.
    pub sections: Vec<Section>,
    /// The tools, in order.
    pub tools: Vec<ToolDefinition>,
    /// Why it is as it is from here on.
    pub cause: PrefixCause,
}

/// A section of a system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Its name, for audits.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Why a prefix begins or changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixCause {
    /// The lane begins.
    Start,
    /// Another model was chosen.
    ModelChanged,
    /// The role's prompt or tools are other ones in this version.
    RoleChanged,
}

/// Why text from the host enters a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The task.
    Assignment,
    /// A claim was refuted.
    Refutation,
    /// A claim is to be examined.
    Examination,
    /// An answer was not what was asked for: an empty message, a verdict without a tool run.
    Correction,
    /// A part of the budget is used.
    Budget,
    /// The same happens over and over.
    Stall,
    /// The supervisor's own review.
    Review,
    /// What happened since the supervisor last looked.
    Digest,
    /// A person's word.
    Steer,
    /// The run went on after a stop.
    Resume,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its number in the lane, from 1.
    pub turn: u64,
    /// What it answered.
    #[serde(flatten)]
    pub message: AssistantMessage,
    /// Why it stopped.
    pub stop: Stop,
    /// Whether every call in it arrived whole and may run.
    pub executable: bool,
    /// What it used.
    pub usage: Usage,
    /// What was sent: how many bytes, and the hash chain over the fragments.
    pub sent: Sent,
}

/// What was sent, so that "we broke the prefix" and "they dropped it" can be told apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The length of the cacheable part of the request.
    pub bytes: u64,
    /// The hash of the prefix's bytes.
    pub prefix: BlobId,
    /// The hash over the prefix and every fragment after it.
    pub chain: BlobId,
    /// Whether this request extends the lane's last one byte for byte.
    pub extends: bool,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// The call.
    pub call: CallId,
    /// The tool, as the model wrote its name.
    pub name: String,
    /// What the model is shown.
    pub content: Vec<Content>,
    /// Whether it failed.
    pub is_error: bool,
    /// How its process ended, where it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<crate::Exit>,
    /// The files that it really read or wrote, relative to the workspace where they are in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTouch>,
}

/// A file that a tool really touched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTouch {
    /// The path, relative to the workspace where it is in it.
    pub path: String,
    /// What was done to it.
    pub action: FileAction,
    /// The content after it; `None` where the file is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<BlobId>,
}

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// It was read.
    Read,
    /// It was created or changed.
    Written,
}

/// What a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A turn of the agent loop.
    Turn,
    /// A summary of the lane's history.
    Summary,
    /// The supervisor's review.
    Review,
}

/// A call's worst case, set aside before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Its number.
    pub reservation: ReservationId,
    /// Whose call it is.
    pub actor: Lane,
    /// What the call is for.
    pub purpose: Purpose,
    /// The most that the prompt can hold.
    pub prompt_tokens: u64,
    /// The most that the answer can hold: the request's own limit.
    pub output_tokens: u64,
    /// The most that it can cost; `None` where the price is not known.
    pub money: Option<Money>,
}

/// A call's real price. Every attempt has its own, the failed ones too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// The reservation that it settles.
    pub reservation: ReservationId,
    /// Whose call it was.
    pub actor: Lane,
    /// What the call was for.
    pub purpose: Purpose,
    /// Whether it was answered: only then does it count as a turn.
    pub answered: bool,
    /// HTTP attempts made, the last one included.
    pub attempts: u32,
    /// What it used over all attempts.
    pub usage: Usage,
    /// What it cost; `None` where the price is not known.
    pub money: Option<Money>,
    /// Why it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A lane's older history, summarised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// The summary, any older one's content included.
    pub summary: String,
    /// The first entry of the lane that stays verbatim.
    pub kept_from: EntryId,
    /// Files read so far, taken from results.
    pub files_read: Vec<String>,
    /// Files written so far, taken from results.
    pub files_written: Vec<String>,
    /// The size of the history before it, in tokens.
    pub tokens_before: u64,
}

/// How the run ended, and what it used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// Why, for a person.
    pub reason: String,
    /// The content that was certified, or that the last claim was about.
    pub tree: Option<TreeId>,
    /// Model calls that were answered, of all actors.
    pub turns: u64,
    /// Refuted claims.
    pub refutations: u32,
    /// Tokens, of all actors.
    pub usage: Usage,
    /// What it cost; `None` where a price is not known.
    pub money: Option<Money>,
    /// Where the certificate lies, for a completed run.
    pub certificate: Option<PathBuf>,
}
