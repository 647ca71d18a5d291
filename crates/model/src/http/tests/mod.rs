//! The HTTP model against a server that does what servers do: answers, refuses, stalls, breaks off and lies.

mod answers;
mod failures;
mod retries;
mod secrets;
mod server;

use countersign_protocol::{
    Api, Item, Usage,
    entry::{Prefix, PrefixCause, Purpose, Section},
};
use tokio_util::sync::CancellationToken;

use self::server::Server;
use super::*;
use crate::{Prompt, Provider};

const PROMPT_TOKENS: u64 = 5_000;
const OUTPUT_TOKENS: u64 = 700;
const KEY: &str = "sk-test-4f1c0ffee";

/// A whole answer in the words of OpenAI Chat: a text, a call, usage.
const CHAT: &[&str] = &[
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"I look.\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"ls\\\"}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":900,\"completion_tokens\":12,\"prompt_tokens_details\":{\"cached_tokens\":800}}}\n\n",
    "data: [DONE]\n\n",
];

/// The same in the words of Anthropic Messages.
const ANTHROPIC: &[&str] = &[
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":100,\"cache_read_input_tokens\":800,\"cache_creation_input_tokens\":0,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"I look.\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"bash\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\":\\\"ls\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":12}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
];

/// What a call is tried with.
struct Bench {
    server: Server,
    model: HttpModel,
    cancel: CancellationToken,
}

impl Bench {
    async fn new(api: Api, replies: Vec<Vec<server::Act>>) -> Self {
        Self::with(api, replies, |_| {}).await
    }

    async fn with(api: Api, replies: Vec<Vec<server::Act>>, change: impl FnOnce(&mut Provider)) -> Self {
        let server = Server::start(replies).await;
        let mut provider = Provider::new("lab", api, format!("{}/v1", server.address));
        change(&mut provider);
        Self { model: model(&provider), server, cancel: CancellationToken::new() }
    }

    async fn call(&self) -> CallReport {
        call(&self.model, &self.cancel).await
    }
}

fn model(provider: &Provider) -> HttpModel {
    let mut model = HttpModel::new(provider, spec(provider.api), Some(KEY.into())).unwrap();
    model.first_delay = Duration::from_millis(1);
    model
}

fn spec(api: Api) -> ModelSpec {
    let model = "lab/some-model".parse().unwrap();
    ModelSpec { model, api, context_window: 100_000, max_output_tokens: 1_000, price: None }
}

async fn call(model: &HttpModel, cancel: &CancellationToken) -> CallReport {
    let prompt = prompt(model);
    Model::call(model, request(&prompt), cancel).await
}

fn request(prompt: &Prompt) -> Request<'_> {
    Request {
        prompt,
        tail: None,
        prompt_tokens: PROMPT_TOKENS,
        output_tokens: OUTPUT_TOKENS,
        turn: 1,
        purpose: Purpose::Turn,
    }
}

fn prompt(model: &HttpModel) -> Prompt {
    let prefix = Prefix {
        model: model.spec().model.clone(),
        sections: vec![Section { name: "role".into(), text: "You are careful.".into() }],
        tools: Vec::new(),
        cause: PrefixCause::Start,
    };
    let mut prompt = Prompt::new(model.encoder(), model.spec(), &prefix);
    prompt.push(model.encoder(), &Item::User { text: "Do it.".into() });
    prompt
}

/// What is booked where a request was sent and nothing came back.
fn prompt_alone() -> Usage {
    Usage { input: PROMPT_TOKENS, estimated: true, ..Usage::default() }
}
