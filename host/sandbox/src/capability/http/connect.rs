//! One connection for one request: HTTP/1.1, over TCP or TLS.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use crate::limits::HANDLE_BYTES;

/// The stream of a request.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Connects to the first address that answers. Exactly these addresses were checked.
pub(super) async fn dial(addresses: &[SocketAddr]) -> Result<TcpStream, Error> {
    let mut last = Error::DestinationNotFound;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                // Requests are small, and the guest waits for their answers.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = Error::Connect(error),
        }
    }
    Err(last)
}

/// Sends a request and waits for the head of its answer.
pub(super) async fn exchange(
    stream: Stream,
    request: Request<WasiBody>,
    options: RequestOptions,
) -> Result<(Response<Incoming>, impl Future<Output = hyper::Result<()>> + Send), Error> {
    // The buffers of the answer's head are kept as long as the answer.
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(HANDLE_BYTES).handshake(TokioIo::new(stream)).await?;
    let mut connection = Box::pin(connection);
    let answer = {
        let mut sending = pin!(async move {
            let sending = sender.send_request(request);
            match options.first_byte_timeout {
                Some(limit) => {
                    tokio::time::timeout(limit, sending).await.map_err(|_| Error::HttpResponseTimeout)?
                }
                None => sending.await,
            }
            .map_err(Error::from)
        });
        tokio::select! {
            biased;
            answer = &mut sending => answer,
            ended = &mut connection => {
                // The connection is over, and the answer may be complete: an end that violates TLS
                // does not invalidate an answer that came before.
                drop(connection);
                return match (sending.await, ended) {
                    (Ok(answer), _) => Ok((answer, Ended(None))),
                    (Err(_), Err(error)) => Err(Error::from(error)),
                    (Err(error), Ok(())) => Err(error),
                };
            },
        }
    };
    Ok((answer?, Ended(Some(connection))))
}

/// A connection that may have ended.
struct Ended<F>(Option<Pin<Box<F>>>);

impl<F: Future<Output = hyper::Result<()>>> Future for Ended<F> {
    type Output = hyper::Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            Some(connection) => connection.as_mut().poll(context),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
