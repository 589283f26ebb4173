#![doc = include_str!("../README.md")]

mod crypto;
mod deadline;
mod error;
mod server;
mod stream;
mod tcp;
mod tls;

pub use deadline::Deadline;
pub use error::{Error, Trouble};
pub use server::Server;
pub use stream::Stream;
pub use tls::{Tls, certificates};

/// Percent-encodes a text for a URL, except letters, digits and `-._~`.
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Connects to a server, without TLS at first.
///
/// # Errors
/// If the server is not reachable by then, or is not granted.
pub fn connect(server: &Server, until: Deadline) -> Result<Stream, Error> {
    let until = until.sooner(Deadline::after(server.patience()));
    let connected = tcp::Tcp::connect(&server.host, server.port, until);
    connected.map(Stream::plain).map_err(|trouble| Error { server: server.to_string(), trouble })
}
