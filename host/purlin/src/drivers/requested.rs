//! Compares the requests of a driver with the grants of the workspace, and writes lines for
//! `purlin.yaml` that would grant them. The text of a request is untrusted: only text that is
//! unambiguous is copied into such lines.

use std::fmt::Write as _;

use purlin_model::Grants;
use purlin_model::driver::{DriverInfo, RequestedCapability};
use purlin_model::grants::{Capability, Endpoint, HostPattern, HttpGrant};
use serde::Serialize;

/// Whether the workspace grants a request.
///
/// It serialises in the published, versioned form: `granted` of `driver inspect` in
/// `docs/src/reference/json.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Granted {
    /// Completely.
    #[serde(rename = "yes")]
    Yes,
    /// Something of the same kind is granted; the inputs decide whether that suffices.
    #[serde(rename = "in part")]
    InPart,
    /// Not at all.
    #[serde(rename = "no")]
    No,
}

/// Whether grants satisfy a request.
pub(super) fn granted(request: &RequestedCapability, grants: &Grants) -> Granted {
    let Ok(capability) = request.capability.parse::<Capability>() else { return Granted::No };
    let own: Vec<String> =
        grants.lines().into_iter().filter(|(of, _)| *of == capability).map(|(_, line)| line).collect();
    let pattern = request.pattern.trim();
    if pattern.is_empty() {
        return if own.is_empty() { Granted::No } else { Granted::InPart };
    }
    let same = |text: &str| own.iter().any(|line| line == text);
    let yes = match capability {
        Capability::Http => HttpGrant::parse(pattern).is_ok_and(|wanted| same(&wanted.to_string())),
        Capability::Tcp => endpoint(pattern, &grants.tcp, &same),
        Capability::Udp => endpoint(pattern, &grants.udp, &same),
        Capability::Dns => match HostPattern::parse(pattern) {
            Ok(HostPattern::Name(name)) => grants.may_look_up(&name),
            Ok(wanted) => grants.dns.contains(&wanted),
            Err(_) => false,
        },
        Capability::Dirs => grants.dirs.iter().any(|dir| dir.contains(pattern)),
        Capability::Addresses | Capability::Ca | Capability::Env | Capability::Secrets => same(pattern),
    };
    if yes { Granted::Yes } else { Granted::No }
}

/// Whether one of the endpoints is the requested one, or contains it if it is a single name and
/// port.
fn endpoint(pattern: &str, own: &[Endpoint], same: &dyn Fn(&str) -> bool) -> bool {
    let Ok(wanted) = Endpoint::parse(pattern) else { return false };
    let port = pattern.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
    let holds = |grant: &Endpoint| match (&wanted.host, port) {
        (HostPattern::Name(name), Some(port)) => grant.host.matches_name(name) && grant.port.matches(port),
        _ => false,
    };
    same(&wanted.to_string()) || own.iter().any(holds)
}

/// Lines for `purlin.yaml` that grant a driver's requests; `None` if it has none. Requests that
/// cannot be granted literally become comments.
pub(super) fn block(name: &str, source: Option<&str>, info: &DriverInfo, grants: &Grants) -> Option<String> {
    if info.requested_capabilities.is_empty() {
        return None;
    }
    let mut out = format!("drivers:\n  {name}:\n");
    if let Some(source) = source {
        let _ = writeln!(out, "    source: {}", super::approve::quoted(source));
    }
    out.push_str("    grants:\n");
    let mut kinds: Vec<&str> =
        info.requested_capabilities.iter().map(|request| request.capability.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut open = Vec::new();
    let mut empty = true;
    for kind in kinds {
        let requests = info.requested_capabilities.iter().filter(|request| request.capability == kind);
        let mut lines: Vec<String> = Vec::new();
        for request in requests {
            match line(request, grants) {
                Some(line) if !lines.contains(&line) => lines.push(line),
                Some(_) => {}
                None => open.push(format!("{} {} ({})", request.capability, request.pattern, request.reason)),
            }
        }
        if !lines.is_empty() {
            empty = false;
            let _ = writeln!(out, "      {kind}:");
            lines.iter().for_each(|line| {
                let _ = writeln!(out, "        - {line}");
            });
        }
    }
    if empty {
        out.truncate(out.len() - "    grants:\n".len());
        out.push_str("    grants: {}\n");
    }
    for request in open {
        // The text must not contain line breaks of any kind.
        let ends = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let plain: String = request.trim_end_matches(" ()").trim_end().replace(ends, " ").replace("  ", " ");
        let _ = writeln!(out, "    # decide yourself: {plain}");
    }
    Some(out)
}

/// A list item that grants a request; `None` if the request is too vague or is not a valid grant.
fn line(request: &RequestedCapability, grants: &Grants) -> Option<String> {
    let pattern = request.pattern.trim();
    let plain = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/'))
    };
    match request.capability.parse().ok()? {
        Capability::Http => HttpGrant::parse(pattern).ok().map(|grant| format!("\"{grant}\"")),
        Capability::Tcp | Capability::Udp => {
            Endpoint::parse(pattern).ok().map(|grant| format!("\"{grant}\""))
        }
        Capability::Dns => HostPattern::parse(pattern)
            .ok()
            .filter(HostPattern::is_of_names)
            .map(|host| format!("\"{host}\"")),
        Capability::Env | Capability::Secrets => plain(pattern).then(|| format!("\"{pattern}\"")),
        Capability::Dirs => {
            let fits = plain(pattern)
                && pattern.starts_with('/')
                && !pattern.split('/').any(|part| part == ".." || part == ".");
            if !fits {
                return None;
            }
            if let Some(dir) = grants.dirs.iter().find(|dir| dir.contains(pattern)) {
                let host = super::approve::quoted(&dir.host.to_string_lossy());
                let mode = if dir.writable { "rw" } else { "ro" };
                return Some(format!("{{host: {host}, guest: \"{}\", mode: {mode}}}", dir.guest));
            }
            Some(format!(
                "{{host: \".{pattern}\", guest: \"{pattern}\", mode: ro}} # you choose the folder, and ro or rw"
            ))
        }
        Capability::Addresses | Capability::Ca => None,
    }
}

#[cfg(test)]
mod tests {
    use purlin_model::DirGrant;

    use super::*;

    fn request(capability: &str, pattern: &str) -> RequestedCapability {
        RequestedCapability { capability: capability.into(), pattern: pattern.into(), reason: String::new() }
    }

    fn grants() -> Grants {
        Grants {
            dirs: vec![DirGrant {
                host: "./data".into(),
                guest: "/data".into(),
                writable: true,
                ..DirGrant::default()
            }],
            env: vec!["PGSSLMODE".into()],
            http: vec![HttpGrant::parse("https://api.example/v1/*").expect("a grant")],
            tcp: vec![Endpoint::parse("*.internal:5000-6000").expect("a grant")],
            ..Grants::default()
        }
    }

    #[test]
    fn requests_are_compared_with_grants() {
        for (capability, pattern, verdict) in [
            ("dirs", "/data", Granted::Yes),
            ("dirs", "/data/below", Granted::Yes),
            ("dirs", "/database", Granted::No),
            ("env", "PGSSLMODE", Granted::Yes),
            ("env", "PGSSL", Granted::No),
            ("http", "https://api.example:443/v1/*", Granted::Yes),
            ("http", "https://api.example/v2/*", Granted::No),
            ("tcp", "db.internal:5432", Granted::Yes),
            ("tcp", "db.internal:80", Granted::No),
            ("tcp", "*:*", Granted::No),
            ("dns", "db.internal", Granted::Yes),
            // Permission for requests to a host does not include looking it up.
            ("dns", "api.example", Granted::No),
            ("dns", "elsewhere.example", Granted::No),
            ("tcp", "", Granted::InPart),
            ("udp", "", Granted::No),
            ("secrets", "vault", Granted::No),
            ("bank", "all", Granted::No),
        ] {
            assert_eq!(granted(&request(capability, pattern), &grants()), verdict, "{capability} {pattern}");
        }
    }

    #[test]
    fn verdicts_have_the_published_words() {
        let words = serde_json::to_string(&[Granted::Yes, Granted::InPart, Granted::No]).expect("JSON");
        assert_eq!(words, r#"["yes","in part","no"]"#);
    }

    fn lines(requests: Vec<RequestedCapability>) -> String {
        let info = DriverInfo {
            name: "acme/db".into(),
            version: semver::Version::new(1, 0, 0),
            description: String::new(),
            types: Vec::new(),
            requested_capabilities: requests,
            notes: serde_json::Map::new(),
        };
        block("acme/db", Some("./db.wasm"), &info, &grants()).unwrap_or_default()
    }

    #[test]
    fn lines_grant_the_request_and_nothing_hidden_in_it() {
        assert_eq!(lines(Vec::new()), "");
        let text = lines(vec![
            request("tcp", "db.internal:5432"),
            request("tcp", "db.internal:5432"),
            request("dirs", "/data/x"),
            request("dirs", "/other"),
            request("http", ""),
            request("env", "A\"]\n      tcp: [\"*:*"),
            request("tcp:\n      - \"*:*\"\n      dns", "x"),
        ]);
        let yaml = format!("apiVersion: purlin.dev/v1\nkind: Workspace\n{text}");
        let loaded =
            purlin_documents::load(&[purlin_documents::Input::Text { name: "w".into(), text: yaml }]);
        assert!(!loaded.has_errors(), "{text}\n{:?}", loaded.diagnostics);
        let workspace = loaded.workspace.expect("a workspace");
        let granted: Vec<String> = workspace.drivers["acme/db"]
            .grants
            .lines()
            .iter()
            .map(|(kind, grant)| format!("{kind} {grant}"))
            .collect();
        assert_eq!(granted, ["tcp db.internal:5432", "dirs ./data as /data rw", "dirs ./other as /other ro"]);
        assert_eq!(text.matches("# decide yourself: ").count(), 3, "{text}");
        assert_eq!(
            lines(vec![request("udp", "")]),
            "drivers:\n  acme/db:\n    source: \"./db.wasm\"\n    grants: {}\n    # decide yourself: udp\n"
        );
    }
}
