//! Servers on loopback that the tests start and stop.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A server that ends with it.
pub struct Server {
    pub address: SocketAddr,
    /// The received data, per connection.
    pub received: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Everything received so far.
    pub fn received(&self) -> Vec<String> {
        self.received.lock().expect("ours").clone()
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Reads to the end of a request's head, or the data that comes at once, and answers.
pub async fn answering(answer: impl Into<Vec<u8>>) -> Server {
    let answer = answer.into();
    serving(move |mut stream, received| {
        let answer = answer.clone();
        async move {
            let head = head(&mut stream).await;
            received.lock().expect("ours").push(head);
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
        }
    })
    .await
}

/// The text up to an empty line, or to the end of the first piece without one.
pub async fn head(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(length) = stream.read(&mut piece).await {
        text.extend_from_slice(&piece[..length]);
        let is_http = text.windows(8).any(|part| part == b"HTTP/1.1");
        if length == 0 || !is_http || text.windows(4).any(|part| part == b"\r\n\r\n") {
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Handles each connection with a function.
pub async fn serving<F, Fut>(serve: F) -> Server
where
    F: Fn(TcpStream, Arc<Mutex<Vec<String>>>) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let received = Arc::new(Mutex::new(Vec::new()));
    let texts = Arc::clone(&received);
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&texts)));
        }
    });
    Server { address, received, task }
}

/// An answer over HTTP.
pub fn http(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
        .into_bytes()
}
