//! `wasi:sockets`: connections and datagrams within the grants. Drivers cannot listen.

use std::net::SocketAddr;

use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::p2::bindings::sockets::network::{self, ErrorCode, IpAddressFamily};
use wasmtime_wasi::p2::bindings::sockets::{tcp_create_socket, udp_create_socket};
use wasmtime_wasi::p2::{SocketError, SocketResult, TcpSocket, UdpSocket};
use wasmtime_wasi::sockets::{SocketAddrUse, WasiSocketsView};

use super::Guest;
use super::reach::{Reach, Transport};
use crate::limits::SOCKETS;

/// Sockets are counted before they are created: each takes a file descriptor of the host.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    tcp_create_socket::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    udp_create_socket::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)
}

/// Sockets can be created without a grant, so that the denial is for a connection, with its
/// address.
pub(super) fn build(builder: &mut WasiCtxBuilder, reach: &Reach) {
    let reach = reach.clone();
    builder.allow_tcp(true).allow_udp(true).socket_addr_check(move |address, what| {
        let allowed = allows(&reach, address, what);
        Box::pin(async move { allowed })
    });
}

fn allows(reach: &Reach, address: SocketAddr, what: SocketAddrUse) -> bool {
    match what {
        SocketAddrUse::TcpConnect => reach.spend().is_ok() && reach.allows(Transport::Tcp, address),
        SocketAddrUse::UdpSend => reach.spend().is_ok() && reach.allows(Transport::Udp, address),
        SocketAddrUse::UdpReceive => reach.hears(address),
        // The system chooses the local address of a socket.
        SocketAddrUse::TcpBind | SocketAddrUse::UdpBind => {
            address.ip().is_unspecified() && address.port() == 0
        }
        _ => false,
    }
}

impl Guest {
    fn may_have_another_socket(&mut self) -> bool {
        let is_socket =
            |entry: &&mut (dyn std::any::Any + Send)| entry.is::<TcpSocket>() || entry.is::<UdpSocket>();
        self.table.iter_mut().filter(is_socket).count() < SOCKETS && self.reach().spend().is_ok()
    }
}

impl network::Host for Guest {
    fn convert_error_code(&mut self, error: SocketError) -> wasmtime::Result<ErrorCode> {
        network::Host::convert_error_code(&mut self.sockets(), error)
    }

    fn network_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        network::Host::network_error_code(&mut self.sockets(), error)
    }
}

impl network::HostNetwork for Guest {
    fn drop(&mut self, network: Resource<network::Network>) -> wasmtime::Result<()> {
        network::HostNetwork::drop(&mut self.sockets(), network)
    }
}

impl tcp_create_socket::Host for Guest {
    fn create_tcp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<TcpSocket>> {
        if !self.may_have_another_socket() {
            return Err(ErrorCode::NewSocketLimit.into());
        }
        tcp_create_socket::Host::create_tcp_socket(&mut self.sockets(), family)
    }
}

impl udp_create_socket::Host for Guest {
    async fn create_udp_socket(&mut self, family: IpAddressFamily) -> SocketResult<Resource<UdpSocket>> {
        if !self.may_have_another_socket() {
            return Err(ErrorCode::NewSocketLimit.into());
        }
        udp_create_socket::Host::create_udp_socket(&mut self.sockets(), family).await
    }
}
