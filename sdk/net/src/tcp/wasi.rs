//! A connection over `wasi:sockets`, which reports denials and can wait with a limit.

use std::io::{self, Read, Write};
use std::net::IpAddr;

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{
    ErrorCode, IpAddress, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress, Network,
};
use wasip2::sockets::tcp::TcpSocket;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;

use crate::{Deadline, Trouble};

/// A connection. The streams are dropped before their socket, as the host requires.
pub(crate) struct Tcp {
    input: InputStream,
    output: OutputStream,
    _socket: TcpSocket,
    until: Deadline,
}

impl std::fmt::Debug for Tcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tcp").finish_non_exhaustive()
    }
}

impl Tcp {
    /// Tries the host's addresses, one after the other.
    pub(crate) fn connect(host: &str, port: u16, until: Deadline) -> Result<Self, Trouble> {
        let network = instance_network();
        let mut trouble = Trouble::UnknownName;
        for address in addresses(&network, host, until)? {
            match dial(&network, address, port, until) {
                Ok(tcp) => return Ok(tcp),
                Err(error) => trouble = error,
            }
        }
        Err(trouble)
    }

    /// From now on, reads and writes wait until this deadline.
    pub(crate) fn wait_until(&mut self, until: Deadline) {
        self.until = until;
    }
}

/// Waits until something is ready, or the time ends.
fn wait(ready: &Pollable, until: Deadline) -> io::Result<()> {
    let left = until.left().ok_or(io::ErrorKind::TimedOut)?;
    let clock = subscribe_duration(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX));
    if poll(&[ready, &clock]).contains(&0) { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) }
}

fn addresses(network: &Network, host: &str, until: Deadline) -> Result<Vec<IpAddr>, Trouble> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let refused = |code| match code {
        ErrorCode::AccessDenied => Trouble::Denied { lookup: true },
        other => trouble(other),
    };
    let stream = resolve_addresses(network, host).map_err(refused)?;
    let mut found = Vec::new();
    loop {
        match stream.resolve_next_address() {
            Ok(Some(IpAddress::Ipv4((a, b, c, d)))) => found.push(IpAddr::from([a, b, c, d])),
            Ok(Some(IpAddress::Ipv6((a, b, c, d, e, f, g, h)))) => {
                found.push(IpAddr::from([a, b, c, d, e, f, g, h]));
            }
            Ok(None) => return Ok(found),
            Err(ErrorCode::WouldBlock) => wait(&stream.subscribe(), until)?,
            Err(code) => return Err(refused(code)),
        }
    }
}

fn dial(network: &Network, address: IpAddr, port: u16, until: Deadline) -> Result<Tcp, Trouble> {
    let (family, remote) = match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            let address = Ipv4SocketAddress { port, address: (a, b, c, d) };
            (IpAddressFamily::Ipv4, IpSocketAddress::Ipv4(address))
        }
        IpAddr::V6(address) => {
            let [a, b, c, d, e, f, g, h] = address.segments();
            let address = (a, b, c, d, e, f, g, h);
            let address = Ipv6SocketAddress { port, flow_info: 0, address, scope_id: 0 };
            (IpAddressFamily::Ipv6, IpSocketAddress::Ipv6(address))
        }
    };
    let socket = create_tcp_socket(family).map_err(trouble)?;
    socket.start_connect(network, remote).map_err(trouble)?;
    let (input, output) = loop {
        match socket.finish_connect() {
            Err(ErrorCode::WouldBlock) => wait(&socket.subscribe(), until)?,
            result => break result.map_err(trouble)?,
        }
    };
    Ok(Tcp { input, output, _socket: socket, until })
}

fn trouble(code: ErrorCode) -> Trouble {
    match code {
        ErrorCode::AccessDenied => Trouble::Denied { lookup: false },
        ErrorCode::ConnectionRefused => Trouble::Refused,
        ErrorCode::RemoteUnreachable | ErrorCode::AddressNotBindable => Trouble::Unreachable,
        ErrorCode::Timeout | ErrorCode::TemporaryResolverFailure => Trouble::TimedOut,
        ErrorCode::ConnectionReset | ErrorCode::ConnectionAborted => Trouble::Closed,
        ErrorCode::NameUnresolvable | ErrorCode::PermanentResolverFailure => Trouble::UnknownName,
        other => Trouble::Other(other.message().to_owned()),
    }
}

fn broken(error: StreamError) -> io::Error {
    match error {
        StreamError::Closed => io::ErrorKind::UnexpectedEof.into(),
        // The stream's message comes from the system; it always means that the stream has ended.
        StreamError::LastOperationFailed(error) => {
            io::Error::new(io::ErrorKind::ConnectionReset, error.to_debug_string())
        }
    }
}

impl Read for Tcp {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let wanted = u64::try_from(buffer.len()).unwrap_or(u64::MAX);
            match self.input.read(wanted) {
                Ok(bytes) if bytes.is_empty() => wait(&self.input.subscribe(), self.until)?,
                Ok(bytes) => {
                    let length = bytes.len().min(buffer.len());
                    if let (Some(to), Some(from)) = (buffer.get_mut(..length), bytes.get(..length)) {
                        to.copy_from_slice(from);
                    }
                    return Ok(length);
                }
                Err(StreamError::Closed) => return Ok(0),
                Err(error) => return Err(broken(error)),
            }
        }
    }
}

impl Write for Tcp {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.output.check_write().map_err(broken)? {
                0 => wait(&self.output.subscribe(), self.until)?,
                room => {
                    let length = buffer.len().min(usize::try_from(room).unwrap_or(usize::MAX));
                    let part = buffer.get(..length).unwrap_or_default();
                    self.output.write(part).map_err(broken)?;
                    return Ok(length);
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush().map_err(broken)?;
        // The write is complete when there is room again.
        while self.output.check_write().map_err(broken)? == 0 {
            wait(&self.output.subscribe(), self.until)?;
        }
        Ok(())
    }
}
