//! What a call may reach over the network: one place decides, for requests, sockets and lookups
//! alike.
//!
//! The dialled address is decisive. A name is looked up once, here, and the connection goes to the
//! result of that lookup; so a DNS server cannot give two different answers. Addresses that are not
//! public are denied unless a grant names them.

mod address;

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use purlin_model::Grants;
use purlin_model::grants::{Capability, Endpoint, HostPattern, HttpGrant, Need, Scheme};
use purlin_model::server_problem::{ProblemKind, RequestLine};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::log::Log;
use crate::limits::{ADDRESSES, CONNECTIONS, LOOKUPS, Limits};
use crate::observer::HostRequest;

/// The network grants of one driver, and its limits per call.
pub(super) struct NetworkRules {
    grants: Grants,
    requests: u32,
    response: u64,
    lookups: Arc<Semaphore>,
}

/// Why something is not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No grant covers it.
    Denied,
    /// A granted name leads to addresses that are not granted.
    Prohibited,
    /// The call has used up its requests.
    Exhausted,
    /// The name does not exist.
    NotFound,
}

/// The use of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Udp,
}

/// A request, as far as grants refer to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) method: &'a str,
    pub(super) scheme: Scheme,
    /// A name, or an address; an IPv6 address in brackets.
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) path: &'a str,
}

/// What one call can reach. Clones share the counters.
#[derive(Clone)]
pub(super) struct Reach(Arc<Inner>);

struct Inner {
    rules: Arc<NetworkRules>,
    log: Log,
    connections: Arc<Semaphore>,
    state: Mutex<State>,
}

struct State {
    requests: u32,
    response: u64,
    limit_reported: bool,
    /// The names that led this call to an address.
    names: HashMap<IpAddr, HashSet<Box<str>>>,
    /// The destination of a socket's last connection.
    connecting: Option<SocketAddr>,
}

impl NetworkRules {
    pub(super) fn new(grants: &Grants, limits: &Limits) -> Self {
        Self {
            grants: grants.clone(),
            requests: limits.requests,
            response: limits.response,
            lookups: Arc::new(Semaphore::new(LOOKUPS)),
        }
    }

    pub(super) fn grants(&self) -> &Grants {
        &self.grants
    }

    /// The addresses of a name, each once. The system's resolver blocks a thread, and cannot be
    /// stopped when a call ends; so a driver has few such threads, whatever its calls do.
    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, Refusal> {
        // A text that a resolver may not treat as a name is rejected.
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        if name.is_empty() || name.len() > 253 || !name.bytes().all(is_plain) {
            return Err(Refusal::NotFound);
        }
        let turn = Arc::clone(&self.lookups).acquire_owned().await.map_err(|_| Refusal::NotFound)?;
        let name = name.to_owned();
        let found = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            (name.as_str(), 0)
                .to_socket_addrs()
                .map(|found| found.take(ADDRESSES).collect::<Vec<SocketAddr>>())
        });
        let found = found.await.ok().and_then(Result::ok).unwrap_or_default();
        let mut addresses: Vec<IpAddr> = Vec::new();
        for address in found.into_iter().map(|found| found.ip().to_canonical()) {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() { Err(Refusal::NotFound) } else { Ok(addresses) }
    }

    fn sockets(&self, transport: Transport) -> &[Endpoint] {
        match transport {
            Transport::Tcp => &self.grants.tcp,
            Transport::Udp => &self.grants.udp,
        }
    }

    /// Whether a name may lead to an address.
    fn leads_to(&self, address: IpAddr) -> bool {
        address::is_public(address) || self.grants.addresses.iter().any(|network| network.contains(&address))
    }
}

impl Reach {
    pub(super) fn new(rules: &Arc<NetworkRules>, log: &Log) -> Self {
        let state = State {
            requests: rules.requests,
            response: rules.response,
            limit_reported: false,
            names: HashMap::new(),
            connecting: None,
        };
        Self(Arc::new(Inner {
            rules: Arc::clone(rules),
            log: log.clone(),
            connections: Arc::new(Semaphore::new(CONNECTIONS)),
            state: Mutex::new(state),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place among the concurrent requests; the guard gives it back.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0.connections).acquire_owned().await.ok()
    }

    /// Counts a request, a socket, a connection or a look-up.
    pub(super) fn spend(&self) -> Result<(), Refusal> {
        self.0.log.requests(HostRequest::Network);
        let mut state = self.state();
        match state.requests.checked_sub(1) {
            Some(left) => {
                state.requests = left;
                Ok(())
            }
            None => {
                if !std::mem::replace(&mut state.limit_reported, true) {
                    drop(state);
                    let limit = self.0.rules.requests;
                    self.0.log.refused(&format!(
                        "more than {limit} requests and connections in one call; {} raises it",
                        self.setting("limits.requests")
                    ));
                }
                Err(Refusal::Exhausted)
            }
        }
    }

    /// Counts bytes of an answer. Returns whether they are within the call's limit.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let mut state = self.state();
        match state.response.checked_sub(bytes) {
            Some(left) => {
                state.response = left;
                true
            }
            None => {
                state.response = 0;
                drop(state);
                self.0.log.refused(&format!(
                    "answers of more than {} in one call; {} raises it",
                    crate::error::size(self.0.rules.response),
                    self.setting("limits.response")
                ));
                false
            }
        }
    }

    fn setting(&self, path: &str) -> String {
        format!("`drivers.{}.{path}` in purlin.yaml", self.0.log.driver())
    }

    /// Reports a denial to the operator, with the grant that would allow it.
    fn deny(&self, what: &str, capability: Capability, pattern: &str) {
        for pattern in pattern.split("\", \"") {
            self.0.log.lacks(Need::new(capability, pattern));
        }
        let setting = self.setting(&format!("grants.{capability}: [\"{pattern}\"]"));
        self.0.log.refused(&format!("{what}; {setting} would allow it"));
    }

    fn prohibit(&self, name: &str, addresses: &[IpAddr]) -> Refusal {
        let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let what = format!("`{name}` resolves to {}, which is not public", list.join(", "));
        self.deny(&what, Capability::Addresses, &list.join("\", \""));
        Refusal::Prohibited
    }

    /// The addresses to dial for a request that a grant covers.
    pub(super) async fn dial(&self, target: Target<'_>) -> Result<Vec<SocketAddr>, Refusal> {
        self.spend()?;
        let rules = &self.0.rules;
        let fits = |grant: &&HttpGrant| {
            grant.scheme == target.scheme
                && grant.methods.matches(target.method)
                && grant.port.matches(target.port)
                && grant.path.matches(target.path)
        };
        let grants: Vec<&HttpGrant> = rules.grants.http.iter().filter(fits).collect();
        let named = |address: IpAddr| grants.iter().any(|grant| grant.host.names_address(address));
        let at = |address: IpAddr| SocketAddr::new(address, target.port);
        let denied = || {
            let Target { method, scheme, host, path, port } = target;
            let port = if port == scheme.port() { String::new() } else { format!(":{port}") };
            let place = format!("{method} {scheme}://{host}{port}");
            let request = format!("{place}{path}");
            // No grant can name some paths; characters with a special meaning in a pattern are
            // literal here.
            let is_pattern = HttpGrant::parse(&request).is_ok() && !path.contains('*');
            let pattern = if is_pattern { request.clone() } else { format!("{place}/*") };
            self.deny(&format!("{request} is not granted"), Capability::Http, &pattern);
            Refusal::Denied
        };
        if let Some(address) = literal(target.host) {
            let any = grants.iter().any(|grant| grant.host == HostPattern::Any);
            return match address {
                _ if named(address) => Ok(vec![at(address)]),
                _ if any && rules.leads_to(address) => Ok(vec![at(address)]),
                _ => Err(denied()),
            };
        }
        if !grants.iter().any(|grant| grant.host.matches_name(target.host)) {
            return Err(denied());
        }
        let found = rules.look_up(target.host).await?;
        let (open, closed): (Vec<IpAddr>, Vec<IpAddr>) =
            found.into_iter().partition(|address| rules.leads_to(*address) || named(*address));
        if open.is_empty() {
            return Err(self.prohibit(target.host, &closed));
        }
        Ok(open.into_iter().map(at).collect())
    }

    /// Looks up a name for a guest, and remembers the result: a grant by name opens connections to
    /// the addresses that the name led to in this call, and to no others.
    pub(super) async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, Refusal> {
        let rules = &self.0.rules;
        // That needs no lookup, and decides nothing.
        if let Some(address) = literal(name) {
            return Ok(vec![address]);
        }
        self.spend()?;
        if !rules.grants.may_look_up(name) {
            self.deny(&format!("looking up `{name}` is not granted"), Capability::Dns, name);
            return Err(Refusal::Denied);
        }
        let found = rules.look_up(name).await;
        if found.is_err() {
            self.0.log.server_problem(name, None, ProblemKind::UnknownHost);
        }
        let found = found?;
        let sockets = || rules.grants.tcp.iter().chain(&rules.grants.udp);
        let named = |address| sockets().any(|grant| grant.host.names_address(address));
        let (open, closed): (Vec<IpAddr>, Vec<IpAddr>) =
            found.into_iter().partition(|address| rules.leads_to(*address) || named(*address));
        if open.is_empty() {
            return Err(self.prohibit(name, &closed));
        }
        let mut state = self.state();
        for address in &open {
            state.names.entry(*address).or_default().insert(name.to_ascii_lowercase().into());
        }
        Ok(open)
    }

    /// Whether an answer that has arrived is lost on its way to the driver.
    pub(super) fn loses_answer(&self) -> bool {
        self.0.log.loses_answer()
    }

    /// Records the result of communication with a server.
    pub(super) fn notes(&self, server: &str, request: Option<RequestLine>, problem: Option<ProblemKind>) {
        match problem {
            Some(problem) => self.0.log.server_problem(server, request, problem),
            None => self.0.log.served(),
        }
    }

    /// The destination of a socket's last connection, by name if it has one.
    pub(super) fn connecting(&self) -> Option<String> {
        let state = self.state();
        let to = state.connecting?;
        let names = state.names.get(&to.ip().to_canonical());
        let name = names.and_then(|names| names.iter().min());
        Some(name.map_or_else(|| to.to_string(), |name| format!("{name}:{}", to.port())))
    }

    /// Whether a guest may connect or send to an address.
    pub(super) fn allows(&self, transport: Transport, to: SocketAddr) -> bool {
        if transport == Transport::Tcp {
            self.state().connecting = Some(to);
        }
        let Err(host) = self.covers(transport, to) else { return true };
        let capability = match transport {
            Transport::Tcp => Capability::Tcp,
            Transport::Udp => Capability::Udp,
        };
        let pattern = format!("{host}:{}", to.port());
        self.deny(&format!("{capability} to {pattern} is not granted"), capability, &pattern);
        false
    }

    /// Whether a guest receives a datagram from an address. Anyone can send one, so a denial is not
    /// reported.
    pub(super) fn hears(&self, from: SocketAddr) -> bool {
        self.covers(Transport::Udp, from).is_ok()
    }

    /// Whether a grant covers an address; otherwise returns the host that a grant would have to
    /// name.
    fn covers(&self, transport: Transport, to: SocketAddr) -> Result<(), String> {
        let rules = &self.0.rules;
        let address = to.ip().to_canonical();
        let fits = |grant: &&Endpoint| grant.port.matches(to.port());
        let grants: Vec<&Endpoint> = rules.sockets(transport).iter().filter(fits).collect();
        let names = self.state().names.get(&address).cloned().unwrap_or_default();
        let by_name = grants.iter().any(|grant| {
            grant.host == HostPattern::Any || names.iter().any(|name| grant.host.matches_name(name))
        });
        if grants.iter().any(|grant| grant.host.names_address(address)) || by_name && rules.leads_to(address)
        {
            return Ok(());
        }
        Err(match (names.iter().min(), address) {
            (Some(name), _) if !by_name => name.to_string(),
            (_, IpAddr::V4(v4)) => v4.to_string(),
            (_, IpAddr::V6(v6)) => format!("[{v6}]"),
        })
    }
}

/// The address in a host, IPv6 in brackets or not.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}
