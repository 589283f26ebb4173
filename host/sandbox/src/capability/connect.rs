//! `wasi:sockets/tcp`: records the result of connections, for people who ask why a driver failed.
//!
//! wasmtime connects; this module only observes the result.

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpSocketAddress, Network};
use wasmtime_wasi::p2::bindings::sockets::tcp::HostTcpSocket as _;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, TcpSocket};
use wasmtime_wasi::sockets::WasiSocketsView as _;

use purlin_model::server_problem::ProblemKind;

use super::{Guest, answers};

/// The interface as wasmtime links it. A test that refuses a connection notices if the name
/// changes.
const TCP: &str = "wasi:sockets/tcp@0.2.12";

type Starting = (Resource<TcpSocket>, Resource<Network>, IpSocketAddress);
type Started = (Result<(), ErrorCode>,);
type Finishing = (Resource<TcpSocket>,);
type Streams = (Resource<DynInputStream>, Resource<DynOutputStream>);
type Finished = (Result<Streams, ErrorCode>,);

/// Replaces only wasmtime's `start-connect` and `finish-connect`.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut tcp = linker.instance(TCP)?;
    tcp.func_wrap(
        "[method]tcp-socket.start-connect",
        |mut store: StoreContextMut<'_, Guest>, (socket, network, address): Starting| {
            let guest = store.data_mut();
            let started = guest.sockets().start_connect(socket, network, address);
            wasmtime::Result::<Started>::Ok((guest.noted(started)?,))
        },
    )?;
    tcp.func_wrap(
        "[method]tcp-socket.finish-connect",
        |mut store: StoreContextMut<'_, Guest>, (socket,): Finishing| {
            let guest = store.data_mut();
            let of = Resource::<TcpSocket>::new_borrow(socket.rep());
            let finished = guest.sockets().finish_connect(socket);
            let mut finished = guest.noted(finished)?;
            if let Ok(streams) = finished {
                guest.reach().notes("", None, None);
                finished = Ok(guest.watched(&of, streams)?);
            }
            wasmtime::Result::<Finished>::Ok((finished,))
        },
    )
}

impl Guest {
    /// The streams of a connection, observed by an observer.
    fn watched(&mut self, socket: &Resource<TcpSocket>, streams: Streams) -> wasmtime::Result<Streams> {
        if !self.log.is_watched() {
            return Ok(streams);
        }
        let (input, output) = (self.table.delete(streams.0)?, self.table.delete(streams.1)?);
        let (input, output) = answers::watched(&self.log, input, output);
        Ok((self.table.push_child(input, socket)?, self.table.push_child(output, socket)?))
    }

    fn noted<T>(
        &mut self,
        result: Result<T, wasmtime_wasi::p2::SocketError>,
    ) -> wasmtime::Result<Result<T, ErrorCode>> {
        let error = match result {
            Ok(value) => return Ok(Ok(value)),
            Err(error) => error.downcast()?,
        };
        let problem = match error {
            ErrorCode::ConnectionRefused => Some(ProblemKind::Refused),
            ErrorCode::RemoteUnreachable => Some(ProblemKind::Unreachable),
            ErrorCode::Timeout => Some(ProblemKind::ConnectTimeout),
            ErrorCode::ConnectionReset | ErrorCode::ConnectionAborted => Some(ProblemKind::Closed),
            _ => None,
        };
        let reach = self.reach();
        if let (Some(problem), Some(server)) = (problem, reach.connecting()) {
            reach.notes(&server, None, Some(problem));
        }
        Ok(Err(error))
    }
}
