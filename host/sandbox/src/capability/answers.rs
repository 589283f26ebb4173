//! Streams of a connection on which an observer can lose answers
//! (`crate::observer::CallObserver::loses_answer`).
//!
//! Only connections of drivers under examination use them: deployments are not affected.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bytes::Bytes;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable};
use wasmtime_wasi::p2::{StreamError, StreamResult};

use super::log::Log;

/// Nothing was sent since the last answer.
const IDLE: u8 = 0;
/// Something was sent, and no answer has come yet.
const AWAITED: u8 = 1;
/// An answer was lost, and the connection with it.
const BROKEN: u8 = 2;

/// The state of a connection between request and answer.
#[derive(Clone)]
struct Turns(Arc<AtomicU8>);

impl Turns {
    fn open(&self) -> StreamResult<()> {
        if self.0.load(Ordering::Relaxed) == BROKEN { Err(StreamError::Closed) } else { Ok(()) }
    }
}

/// The streams of a connection, on which answers may be lost.
pub(super) fn watched(
    log: &Log,
    input: DynInputStream,
    output: DynOutputStream,
) -> (DynInputStream, DynOutputStream) {
    let turns = Turns(Arc::new(AtomicU8::new(IDLE)));
    let incoming = Incoming { input, turns: turns.clone(), log: log.clone() };
    (Box::new(incoming), Box::new(Outgoing { output, turns }))
}

struct Incoming {
    input: DynInputStream,
    turns: Turns,
    log: Log,
}

#[async_trait]
impl Pollable for Incoming {
    async fn ready(&mut self) {
        if self.turns.open().is_ok() {
            self.input.ready().await;
        }
    }
}

#[async_trait]
impl InputStream for Incoming {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        self.turns.open()?;
        let bytes = self.input.read(size)?;
        let is_answer = !bytes.is_empty()
            && self.turns.0.compare_exchange(AWAITED, IDLE, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if is_answer && self.log.loses_answer() {
            self.turns.0.store(BROKEN, Ordering::Relaxed);
            return Err(StreamError::Closed);
        }
        Ok(bytes)
    }

    async fn cancel(&mut self) {
        self.input.cancel().await;
    }
}

struct Outgoing {
    output: DynOutputStream,
    turns: Turns,
}

#[async_trait]
impl Pollable for Outgoing {
    async fn ready(&mut self) {
        if self.turns.open().is_ok() {
            self.output.ready().await;
        }
    }
}

#[async_trait]
impl OutputStream for Outgoing {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.turns.open()?;
        if !bytes.is_empty() {
            self.turns.0.store(AWAITED, Ordering::Relaxed);
        }
        self.output.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.turns.open()?;
        self.output.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.turns.open()?;
        self.output.check_write()
    }

    async fn cancel(&mut self) {
        self.output.cancel().await;
    }
}
