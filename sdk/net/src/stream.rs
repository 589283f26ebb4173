//! A connection, with TLS or without.

use std::io::{self, Read, Write};

use rustls_portable::{ClientConnection, StreamOwned};

use crate::tcp::Tcp;
use crate::tls::{Secured, Tls, end_point};
use crate::{Deadline, Error, Server, Trouble};

/// A connection to a server.
#[derive(Debug)]
pub struct Stream(Transport);

#[derive(Debug)]
enum Transport {
    Plain(Tcp),
    Tls(Box<StreamOwned<ClientConnection, Tcp>>),
}

impl Stream {
    pub(crate) fn plain(tcp: Tcp) -> Self {
        Self(Transport::Plain(tcp))
    }

    /// From now on, reads and writes wait until this deadline, and then fail as timed out.
    pub fn wait_until(&mut self, until: Deadline) {
        match &mut self.0 {
            Transport::Plain(tcp) => tcp.wait_until(until),
            Transport::Tls(tls) => tls.sock.wait_until(until),
        }
    }

    /// Negotiates TLS according to the server's settings; does nothing if they say `disable`.
    ///
    /// # Errors
    /// If TLS fails, or the server has the wrong identity.
    pub fn secure(self, server: &Server) -> Result<Self, Error> {
        let error = |trouble| Error { server: server.to_string(), trouble };
        match self.0 {
            Transport::Plain(tcp) if server.tls != Tls::Disable => {
                Secured::agree(tcp, server).map(|tls| Self(Transport::Tls(Box::new(tls)))).map_err(error)
            }
            kind => Ok(Self(kind)),
        }
    }

    /// Whether it is encrypted.
    pub fn is_secure(&self) -> bool {
        matches!(self.0, Transport::Tls(_))
    }

    /// The data that a password's proof is bound to, so that it is valid only for this connection:
    /// a digest of the server's certificate (RFC 5929, `tls-server-end-point`). None without TLS,
    /// and if the certificate's signature names no digest.
    pub fn end_point(&self) -> Option<Vec<u8>> {
        match &self.0 {
            Transport::Plain(_) => None,
            Transport::Tls(tls) => end_point(tls.conn.peer_certificates()?.first()?),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Transport::Plain(tcp) => tcp.read(buffer),
            Transport::Tls(tls) => tls.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Transport::Plain(tcp) => tcp.write(buffer),
            Transport::Tls(tls) => tls.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Transport::Plain(tcp) => tcp.flush(),
            Transport::Tls(tls) => tls.flush(),
        }
    }
}

impl From<rustls_portable::Error> for Trouble {
    fn from(error: rustls_portable::Error) -> Self {
        Self::Tls(crate::tls::words(&error))
    }
}
