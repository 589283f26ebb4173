//! The body of an answer: it is counted, and given up if nothing comes for too long.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::{Error, WasiBody};

use super::Reach;

/// An answer within the limit for answers of the call.
pub(super) fn counted(incoming: Incoming, reach: Reach, between: Option<Duration>) -> WasiBody {
    let idle = between.map(|limit| (limit, Box::pin(tokio::time::sleep(limit))));
    Counted { incoming, reach, idle, ended: false }.boxed_unsync()
}

struct Counted {
    incoming: Incoming,
    reach: Reach,
    idle: Option<(Duration, Pin<Box<Sleep>>)>,
    ended: bool,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(context) else {
            if let Some((_, sleep)) = &mut self.idle
                && sleep.as_mut().poll(context).is_ready()
            {
                self.ended = true;
                return Poll::Ready(Some(Err(Error::ConnectionReadTimeout)));
            }
            return Poll::Pending;
        };
        if let Some((limit, sleep)) = &mut self.idle {
            sleep.as_mut().reset(Instant::now() + *limit);
        }
        let bytes = match &frame {
            Some(Ok(frame)) => frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(_)) | None => 0,
        };
        if !self.reach.take(bytes) {
            self.ended = true;
            return Poll::Ready(Some(Err(Error::HttpResponseBodySize(None))));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Error::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
