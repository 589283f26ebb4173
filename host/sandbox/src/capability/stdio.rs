//! Standard streams: input is closed, output and error become log lines.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

use super::log::{Log, Origin};

/// Bytes taken at once.
const PERMIT: usize = 64 << 10;

/// Closed input is the default of `WasiCtxBuilder`.
pub(super) fn build(builder: &mut WasiCtxBuilder, log: &Log) {
    builder.stdout(Lines { log: log.clone(), origin: Origin::Stdout });
    builder.stderr(Lines { log: log.clone(), origin: Origin::Stderr });
}

#[derive(Clone)]
struct Lines {
    log: Log,
    origin: Origin,
}

impl IsTerminal for Lines {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Lines {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait::async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {}
}

#[async_trait::async_trait]
impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.log.stream(self.origin, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

impl AsyncWrite for Lines {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.log.stream(self.origin, bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
