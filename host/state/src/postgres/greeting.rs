//! Checks that what a server answers to a login begins as a message of PostgreSQL.
//!
//! A web server, say, would otherwise be taken for a database that was stopped in the middle of a
//! message, and would be tried again.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The messages that may be the first: a request for authentication, an error, and another version of
/// the protocol.
const FIRST: [u8; 3] = *b"REv";
/// The lengths that these may have, as in PostgreSQL's own client.
const LENGTHS: std::ops::RangeInclusive<u32> = 8..=30_000;
/// The length of a message's head: its kind, and its length.
const HEAD: usize = 5;

type Encrypted = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// Prepares the connections to a server: with TLS, or without.
#[derive(Clone)]
pub(super) enum Connector {
    /// Nothing is encrypted.
    Plain,
    /// Everything is encrypted.
    Tls(MakeRustlsConnect),
}

/// The same, for one connection.
pub(super) enum Connecting {
    Plain,
    Tls(Box<<MakeRustlsConnect as MakeTlsConnect<Socket>>::TlsConnect>),
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Greeted;
    type TlsConnect = Connecting;
    type Error = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Connecting, Self::Error> {
        Ok(match self {
            Self::Plain => Connecting::Plain,
            Self::Tls(tls) => {
                let tls = MakeTlsConnect::<Socket>::make_tls_connect(tls, domain)?;
                Connecting::Tls(Box::new(tls))
            }
        })
    }
}

impl TlsConnect<Socket> for Connecting {
    type Stream = Greeted;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Greeted>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let channel = match self {
                Self::Plain => Channel::Plain(socket),
                Self::Tls(tls) => Channel::Tls(Box::new(tls.connect(socket).await?)),
            };
            Ok(Greeted { channel, head: Vec::with_capacity(HEAD) })
        })
    }
}

enum Channel {
    Plain(Socket),
    Tls(Box<Encrypted>),
}

/// A connection whose first message is checked.
pub(super) struct Greeted {
    channel: Channel,
    /// What is known of the head of the first message.
    head: Vec<u8>,
}

impl Greeted {
    /// Checks the next bytes from the server.
    fn check(&mut self, bytes: &[u8]) -> io::Result<()> {
        let missing = HEAD - self.head.len();
        if missing == 0 || bytes.is_empty() {
            return Ok(());
        }
        self.head.extend_from_slice(&bytes[..missing.min(bytes.len())]);
        let is_message = match *self.head {
            [kind, a, b, c, d] => {
                FIRST.contains(&kind) && LENGTHS.contains(&u32::from_be_bytes([a, b, c, d]))
            }
            [kind, ..] => FIRST.contains(&kind),
            [] => true,
        };
        match is_message {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::InvalidData, "the server does not speak PostgreSQL")),
        }
    }
}

impl TlsStream for Greeted {
    fn channel_binding(&self) -> ChannelBinding {
        match &self.channel {
            Channel::Plain(_) => ChannelBinding::none(),
            Channel::Tls(stream) => stream.channel_binding(),
        }
    }
}

impl AsyncRead for Greeted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(match &mut self.channel {
            Channel::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Channel::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        })?;
        Poll::Ready(self.check(&buffer.filled()[before..]))
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.channel {
            Channel::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Channel::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.channel {
            Channel::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Channel::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.channel {
            Channel::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Channel::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
