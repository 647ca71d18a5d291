//! Model servers on this machine, asked at the ports where the usual ones answer.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{finding::Finding, text::one_line};

/// Where the usual servers listen.
const USUAL: [(&str, u16); 4] = [("llama.cpp", 8080), ("Ollama", 11434), ("LM Studio", 1234), ("vLLM", 8000)];

/// The longest that a server on this machine may take to list its models.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most that a list of models is read of.
const LONGEST: u64 = 1 << 20;

/// The servers that answer.
pub(super) async fn local() -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, port) in USUAL {
        if let Ok(Ok(models)) = timeout(PATIENCE, models(port)).await {
            found.push(answers(name, port, &models));
        }
    }
    if found.is_empty() {
        let ports: Vec<_> = USUAL.iter().map(|(name, port)| format!("{name} {port}")).collect();
        let none = format!("no model server answers on this machine ({})", ports.join(", "));
        let next =
            "start one where you want runs that cost nothing, and name it as a provider in the configuration";
        found.push(Finding::lacking("server", none, next));
    }
    found
}

fn answers(name: &str, port: u16, models: &[String]) -> Finding {
    let listed: Vec<_> = models.iter().take(5).map(|model| one_line(model, 60)).collect();
    let listed = if listed.is_empty() { "no model".into() } else { listed.join(", ") };
    let found = format!("http://127.0.0.1:{port}/v1 answers (usual for {name}) with {listed}");
    Finding::holds("server", found)
}

/// The ids of the models that a server lists.
async fn models(port: u16) -> std::io::Result<Vec<String>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    // Version 1.0: the answer comes whole, and the connection ends with it.
    let request =
        format!("GET /v1/models HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: application/json\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).await?;
    listed(&answer).ok_or_else(|| std::io::Error::other("this is no list of models"))
}

/// The ids in an answer; `None` where it is no list of models.
fn listed(answer: &[u8]) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.lines().next()?.split(' ').nth(1).filter(|status| *status == "200")?;
    let body: Value = serde_json::from_str(body.trim()).ok()?;
    let ids = body.get("data")?.as_array()?.iter().filter_map(|model| model.get("id")?.as_str());
    Some(ids.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_models_is_a_model_server() {
        let answer = |head: &str, body: &str| listed(format!("{head}\r\nServer: x\r\n\r\n{body}").as_bytes());
        let list = r#"{"object":"list","data":[{"id":"qwen"},{"id":"llama"}]}"#;
        assert_eq!(answer("HTTP/1.1 200 OK", list), Some(vec!["qwen".into(), "llama".into()]));
        assert_eq!(answer("HTTP/1.1 404 Not Found", list), None);
        assert_eq!(answer("HTTP/1.1 200 OK", "<html>"), None);
        assert_eq!(listed(b""), None);
    }
}
