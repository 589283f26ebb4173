//! The diagnostics for grants that a driver lacks, no matter whether the plan or only a call reveals it.
//!
//! The sandbox also logs each denial, whatever the driver makes of it (`capability/reach.rs`).

use purlin_model::grants::{Capability, Need};
use purlin_model::{Diagnostic, DirGrant, Location};

/// There is no grant. If there is one for the server, but not for all HTTP methods, `methods` are the
/// others, and the pattern begins with methods.
pub(crate) fn not_granted(driver: &str, need: &Need, methods: &[String]) -> Diagnostic {
    let what = match need.capability {
        Capability::Http if !methods.is_empty() => &format!("{} requests to", methods.join(" and ")),
        Capability::Http => "requests to",
        Capability::Tcp | Capability::Udp => "connections to",
        Capability::Dns => "to look up",
        Capability::Addresses => "the private address",
        Capability::Dirs => "the folder",
        Capability::Ca => "the certificates",
        Capability::Env => "the variable",
        Capability::Secrets => "the secret store",
    };
    let whole = need.pattern.as_str();
    let pattern = match methods {
        [] => whole,
        _ => whole.split_once(' ').map_or(whole, |(_, url)| url),
    };
    Diagnostic::error("not-granted", format!("`{driver}` is not granted {what} `{pattern}`"))
}

/// The grant of a folder allows only reading. `definition` is where the inputs are written that make
/// the driver write.
pub(crate) fn read_only(
    driver: &str,
    path: &str,
    grant: &DirGrant,
    definition: Option<&Location>,
) -> Diagnostic {
    let message =
        format!("`{driver}` may not write to `{path}`: `{}` is granted read-only (`mode: ro`)", grant.guest);
    let is_known = |location: &&Location| location.line > 0;
    let mut fault = Diagnostic::error("read-only-grant", message).help("set `mode: rw` there");
    if is_known(&&grant.location) {
        fault = fault.at(&grant.location);
    }
    match definition.filter(is_known) {
        Some(location) => fault.related(location, "this definition writes there"),
        None => fault,
    }
}
