//! Sockets and names, many at once.

use super::{Attack, failed, state};
use purlin_sdk::bindings::purlin::driver::types::{Call, Failure, State};
use serde_json::json;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;

pub(super) fn perform(attack: &Attack, name: &str, _: &Call) -> Option<Result<State, Failure>> {
    let result = match name {
        // Looks up many names and waits for none.
        "look-ups" => {
            let network = instance_network();
            let mut held = Vec::new();
            for n in 0..attack.number("count", 500) {
                match resolve_addresses(&network, &format!("{n}.{}", attack.text("name"))) {
                    Ok(stream) => held.push(stream),
                    Err(error) => return Some(Err(failed(format!("ErrorCode::{}", error.name())))),
                }
            }
            Ok(json!({"held": held.len()}))
        }
        "look-up" => look_up(&attack.text("name")).map(|found| json!({"found": found})),
        "listen" => listen(attack.number("port", 0) as u16).map(|()| json!({"listens": true})),
        "connect" => connect(attack).map(|()| json!({"connected": true})),
        _ => return None,
    };
    Some(result.map(|found| state(&found)).map_err(|error| failed(format!("ErrorCode::{}", error.name()))))
}

fn look_up(name: &str) -> Result<Vec<String>, ErrorCode> {
    let found = resolve_addresses(&instance_network(), name)?;
    found.subscribe().block();
    let mut addresses = Vec::new();
    while let Some(address) = found.resolve_next_address()? {
        addresses.push(format!("{address:?}"));
    }
    Ok(addresses)
}

fn v4(address: (u8, u8, u8, u8), port: u16) -> IpSocketAddress {
    IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address })
}

fn listen(port: u16) -> Result<(), ErrorCode> {
    let (socket, network) = (create_tcp_socket(IpAddressFamily::Ipv4)?, instance_network());
    if port > 0 {
        socket.start_bind(&network, v4((127, 0, 0, 1), port))?;
        socket.subscribe().block();
        socket.finish_bind()?;
    }
    socket.start_listen()?;
    socket.subscribe().block();
    socket.finish_listen()
}

fn connect(attack: &Attack) -> Result<(), ErrorCode> {
    let (socket, network) = (create_tcp_socket(IpAddressFamily::Ipv4)?, instance_network());
    socket.start_connect(&network, v4((127, 0, 0, 1), attack.number("port", 1) as u16))?;
    socket.subscribe().block();
    socket.finish_connect().map(drop)
}
