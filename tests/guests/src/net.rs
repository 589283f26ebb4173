//! The adversary's use of sockets.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _, UdpSocket};

pub(crate) fn connect(to: &str, text: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(to)?;
    stream.write_all(text.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

pub(crate) fn send(to: &str, text: &str) -> io::Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.send_to(text.as_bytes(), to)?;
    let mut answer = [0; 1500];
    let (length, _) = socket.recv_from(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..length]).into_owned())
}

pub(crate) fn look_up(name: &str) -> io::Result<Vec<String>> {
    Ok((name, 1).to_socket_addrs()?.map(|address| address.ip().to_string()).collect())
}

/// How many connections it can hold open.
pub(crate) fn hold_sockets(to: &str, count: u64) -> usize {
    let mut held = Vec::new();
    for _ in 0..count {
        match TcpStream::connect(to) {
            Ok(stream) => held.push(stream),
            Err(_) => break,
        }
    }
    held.len()
}
