//! An OpenAI-compatible server on loopback whose models say what a test wrote down.
//!
//! It keeps no state: a model's step is picked by how many assistant messages the request holds. Every request's
//! bytes are kept, so that a test can compare them.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// What a model answers to a request.
#[derive(Debug, Clone)]
pub struct Step {
    text: String,
    calls: Vec<(String, String)>,
    finish: Option<String>,
    status: u16,
    delay: Duration,
    cut: bool,
}

impl Step {
    /// A message of text alone.
    #[must_use]
    pub fn say(text: &str) -> Self {
        Self {
            text: text.into(),
            calls: Vec::new(),
            finish: None,
            status: 200,
            delay: Duration::ZERO,
            cut: false,
        }
    }

    /// A message with one call.
    #[must_use]
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self::say("").and(name, arguments)
    }

    /// A shell command.
    #[must_use]
    pub fn bash(command: &str) -> Self {
        Self::call("bash", &json!({ "command": command }))
    }

    /// The claim that all is done.
    #[must_use]
    pub fn done() -> Self {
        Self::call("done", &json!({ "summary": "The task is complete and all tests pass.", "evidence": [] }))
    }

    /// A judge's yes.
    #[must_use]
    pub fn accept() -> Self {
        Self::call("verdict", &json!({ "accept": true, "summary": "Everything looks fine.", "findings": [] }))
    }

    /// An HTTP error.
    #[must_use]
    pub fn error(status: u16) -> Self {
        Self { status, ..Self::say("the server is not well") }
    }

    /// One more call in the same message.
    #[must_use]
    pub fn and(self, name: &str, arguments: &Value) -> Self {
        self.and_raw(name, &arguments.to_string())
    }

    /// One more call whose arguments are this text, JSON or not.
    #[must_use]
    pub fn and_raw(mut self, name: &str, arguments: &str) -> Self {
        self.calls.push((name.into(), arguments.into()));
        self
    }

    /// Another reason to stop than the usual one.
    #[must_use]
    pub fn finish(mut self, reason: &str) -> Self {
        self.finish = Some(reason.into());
        self
    }

    /// The connection breaks in the middle of the answer.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.cut = true;
        self
    }

    /// The answer comes after this time.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// What a model answers: computed from the number of its turn and the request.
pub type Script = Box<dyn Fn(usize, &Value) -> Step + Send + Sync>;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model that was asked.
    pub model: String,
    /// The head, as text.
    pub head: String,
    /// The body's bytes.
    pub bytes: Vec<u8>,
}

impl Request {
    /// The body as JSON.
    #[must_use]
    pub fn body(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// Its messages, each as the exact text that was sent.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        #[derive(serde::Deserialize)]
        struct Body<'a> {
            #[serde(borrow)]
            messages: Vec<&'a serde_json::value::RawValue>,
        }
        let body: Result<Body<'_>, _> = serde_json::from_slice(&self.bytes);
        body.map(|body| body.messages.iter().map(|message| message.get().to_owned()).collect())
            .unwrap_or_default()
    }
}

/// The server. It ends with the test's process.
pub struct Server {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Serves models by name. A model's last step is repeated.
    ///
    /// # Panics
    /// Where no port of the loopback interface is free.
    #[must_use]
    pub fn start(scripts: &[(&str, Vec<Step>)]) -> Self {
        let scripts = scripts.iter().map(|(model, steps)| {
            let steps = steps.clone();
            let script: Script = Box::new(move |turn, _| steps[turn.min(steps.len() - 1)].clone());
            ((*model).to_owned(), script)
        });
        Self::with(scripts.collect())
    }

    /// Serves models whose answers are computed from the number of their turn and the request.
    ///
    /// # Panics
    /// Where no port of the loopback interface is free.
    #[must_use]
    pub fn with(scripts: BTreeMap<String, Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("a bound port"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (scripts, kept) = (Arc::new(scripts), requests.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (scripts, kept) = (scripts.clone(), kept.clone());
                thread::spawn(move || serve(stream, &scripts, &kept));
            }
        });
        Self { url, requests }
    }

    /// The base URL for a provider's configuration.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Every request so far, in order of arrival.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The requests to one model.
    #[must_use]
    pub fn requests_to(&self, model: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.model == model).collect()
    }
}

fn serve(stream: TcpStream, scripts: &BTreeMap<String, Script>, kept: &Mutex<Vec<Request>>) {
    let Ok(mut answer) = stream.try_clone() else { return };
    let mut reader = BufReader::new(stream);
    while let Some((head, bytes)) = read_request(&mut reader) {
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let turn = messages.iter().filter(|message| message["role"] == "assistant").count();
        let size = bytes.len();
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(Request {
            model: model.clone(),
            head,
            bytes,
        });
        let Some(script) = scripts.get(&model) else { return };
        let step = script(turn, &body);
        thread::sleep(step.delay);
        let mut bytes = response(&step, turn, size);
        if step.cut {
            bytes.truncate(bytes.len() / 2);
        }
        if answer.write_all(&bytes).is_err() || step.cut {
            let _ = answer.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn response(step: &Step, turn: usize, size: usize) -> Vec<u8> {
    if step.status != 200 {
        let body = json!({ "error": { "message": step.text, "type": "server_error" } }).to_string();
        return http(step.status, "application/json", &body);
    }
    let calls = step.calls.iter().enumerate().map(|(index, (name, arguments))| {
        json!({
            "index": index, "id": format!("call_{turn}_{index}"), "type": "function",
            "function": { "name": name, "arguments": arguments },
        })
    });
    let calls: Vec<Value> = calls.collect();
    let usual = if calls.is_empty() { "stop" } else { "tool_calls" };
    let finish = step.finish.as_deref().unwrap_or(usual);
    let mut chunks =
        vec![json!({ "delta": { "role": "assistant", "content": step.text }, "finish_reason": null })];
    chunks
        .extend(calls.iter().map(|call| json!({ "delta": { "tool_calls": [call] }, "finish_reason": null })));
    chunks.push(json!({ "delta": {}, "finish_reason": finish }));
    let mut body = String::new();
    for mut chunk in chunks {
        chunk["index"] = 0.into();
        body += &format!(
            "data: {}\n\n",
            json!({ "id": "c", "object": "chat.completion.chunk", "choices": [chunk] })
        );
    }
    let usage = json!({
        "prompt_tokens": size / 4, "completion_tokens": 20, "total_tokens": size / 4 + 20,
        "prompt_tokens_details": { "cached_tokens": 0 },
    });
    body += &format!("data: {}\n\ndata: [DONE]\n\n", json!({ "id": "c", "choices": [], "usage": usage }));
    http(200, "text/event-stream", &body)
}

fn http(status: u16, content_type: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
