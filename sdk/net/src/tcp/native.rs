//! A connection over the system's sockets, for unit tests.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::{Deadline, Trouble};

/// A connection.
#[derive(Debug)]
pub(crate) struct Tcp {
    stream: TcpStream,
    until: Deadline,
}

impl Tcp {
    /// Tries the host's addresses, one after the other.
    pub(crate) fn connect(host: &str, port: u16, until: Deadline) -> Result<Self, Trouble> {
        let addresses = (host, port).to_socket_addrs().map_err(|_| Trouble::UnknownName)?;
        let mut trouble = Trouble::UnknownName;
        for address in addresses {
            let Some(left) = until.left() else { return Err(Trouble::TimedOut) };
            match TcpStream::connect_timeout(&address, left) {
                Ok(stream) => return Ok(Self { stream, until }),
                Err(error) => trouble = error.into(),
            }
        }
        Err(trouble)
    }

    /// From now on, reads and writes wait until this deadline.
    pub(crate) fn wait_until(&mut self, until: Deadline) {
        self.until = until;
    }

    fn left(&self) -> io::Result<Duration> {
        self.until.left().ok_or_else(|| io::ErrorKind::TimedOut.into())
    }
}

impl Read for Tcp {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Tcp {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
