//! A server on the loopback that answers each connection with exactly the bytes it is told, in the pieces it is told.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// What the server does with a request, step by step. At the end it closes the connection.
#[derive(Clone)]
pub(super) enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Says nothing more, and keeps the connection.
    Stall,
    /// Sends the same bytes until the client goes away.
    Flood(Vec<u8>),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// Request line and headers.
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

pub(super) struct Server {
    pub(super) address: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    arrived: Arc<Notify>,
}

impl Server {
    /// Answers the n-th request with the n-th reply, and all later ones with the last.
    pub(super) async fn start(replies: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { address, seen: Arc::default(), arrived: Arc::default() };
        let (seen, arrived) = (server.seen.clone(), server.arrived.clone());
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let Some(request) = read(&mut stream).await else { continue };
                let number = {
                    let mut seen = seen.lock().unwrap();
                    seen.push(request);
                    seen.len()
                };
                arrived.notify_one();
                let reply = replies[number.min(replies.len()) - 1].clone();
                tokio::spawn(answer(stream, reply));
            }
        });
        server
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// How many requests have come.
    pub(super) fn count(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// Waits for the next request.
    pub(super) async fn request(&self) {
        self.arrived.notified().await;
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if bytes.len() >= end + 4 + length {
                return Some(Seen { head, body: bytes[end + 4..end + 4 + length].to_vec() });
            }
        }
        let mut piece = [0; 65_536];
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    }
}

async fn answer(mut stream: TcpStream, reply: Vec<Act>) {
    for act in reply {
        match act {
            Act::Send(bytes) => {
                // The client may have read enough.
                let _ = stream.write_all(&bytes).await;
                let _ = stream.flush().await;
            }
            Act::Stall => tokio::time::sleep(Duration::from_secs(3600)).await,
            Act::Flood(bytes) => while stream.write_all(&bytes).await.is_ok() {},
        }
    }
}

/// A whole response with a length.
pub(super) fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<Act> {
    let mut bytes = head(status, headers);
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    bytes.extend_from_slice(body);
    vec![Act::Send(bytes)]
}

/// A stream whose end is told apart from a broken connection; with `last` it ends in order.
pub(super) fn stream(pieces: &[&str], last: bool) -> Vec<Act> {
    let mut start = head(200, &[("content-type", "text/event-stream")]);
    start.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
    let chunks =
        pieces.iter().map(|piece| Act::Send(format!("{:x}\r\n{piece}\r\n", piece.len()).into_bytes()));
    let end = last.then(|| Act::Send(b"0\r\n\r\n".to_vec()));
    std::iter::once(Act::Send(start)).chain(chunks).chain(end).collect()
}

fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {status} Any\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.into_bytes()
}

/// A gzip file that holds the bytes as they are: one stored block.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(&(!length).to_le_bytes());
    file.extend_from_slice(bytes);
    file.extend_from_slice(&crc32(bytes).to_le_bytes());
    file.extend_from_slice(&u32::from(length).to_le_bytes());
    file
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8)
            .fold(crc ^ u32::from(*byte), |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}
