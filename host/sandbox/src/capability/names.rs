//! `wasi:sockets/ip-name-lookup`: names that a driver may look up.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::{self, ResolveAddressStream};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress, Network};
use wasmtime_wasi::p2::{DynPollable, Pollable, SocketError, subscribe};
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};

use super::Guest;
use super::reach::Refusal;

/// Replaces wasmtime's function, which looks up any name.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    ip_name_lookup::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)
}

type LookupResult = Result<Vec<IpAddr>, ErrorCode>;

/// A lookup. Guests hold it under the type in the bindings.
enum Lookup {
    Waiting(AbortOnDropJoinHandle<LookupResult>),
    Done(Result<vec::IntoIter<IpAddr>, ErrorCode>),
}

impl Lookup {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Self::Waiting(handle) = self else { return Poll::Ready(()) };
        let Poll::Ready(found) = Pin::new(handle).poll(context) else { return Poll::Pending };
        *self = Self::Done(found.map(Vec::into_iter));
        Poll::Ready(())
    }
}

#[async_trait::async_trait]
impl Pollable for Lookup {
    async fn ready(&mut self) {
        std::future::poll_fn(|context| self.poll(context)).await;
    }
}

fn ours(stream: &Resource<ResolveAddressStream>) -> Resource<Lookup> {
    Resource::new_borrow(stream.rep())
}

impl ip_name_lookup::Host for Guest {
    fn resolve_addresses(
        &mut self,
        network: Resource<Network>,
        name: String,
    ) -> Result<Resource<ResolveAddressStream>, SocketError> {
        self.table.get(&network)?;
        let reach = self.reach();
        let found = async move {
            reach.resolve(&name).await.map_err(|refusal| match refusal {
                Refusal::Denied | Refusal::Prohibited => ErrorCode::AccessDenied,
                Refusal::Exhausted => ErrorCode::NewSocketLimit,
                Refusal::NotFound => ErrorCode::NameUnresolvable,
            })
        };
        let lookup = self.table.push(Lookup::Waiting(spawn(found)))?;
        Ok(Resource::new_own(lookup.rep()))
    }
}

impl ip_name_lookup::HostResolveAddressStream for Guest {
    fn resolve_next_address(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> Result<Option<IpAddress>, SocketError> {
        let lookup = self.table.get_mut(&ours(&stream))?;
        let mut context = Context::from_waker(std::task::Waker::noop());
        if lookup.poll(&mut context).is_pending() {
            return Err(ErrorCode::WouldBlock.into());
        }
        match lookup {
            Lookup::Done(Ok(found)) => Ok(found.next().map(Into::into)),
            Lookup::Done(Err(error)) => Err((*error).into()),
            Lookup::Waiting(_) => Err(ErrorCode::WouldBlock.into()),
        }
    }

    fn subscribe(
        &mut self,
        stream: Resource<ResolveAddressStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(&mut self.table, ours(&stream))
    }

    fn drop(&mut self, stream: Resource<ResolveAddressStream>) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Lookup>::new_own(stream.rep()))?;
        Ok(())
    }
}
