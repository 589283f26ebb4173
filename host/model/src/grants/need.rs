//! The access that a driver needs for the inputs of a definition, as far as its schema shows,
//! compared with its grants.
//!
//! The keyword `x-purlin-reaches` is in the schema of an input: `"http"` on a URL, `"tcp"` on a map
//! with `host` and `port` (`x-purlin-port` is the default), `"dir"` on a path that is written.
//! Beside `"http"`, `x-purlin-methods` lists the methods that are certainly sent there: each as a
//! text, or as a map: `method`; `at`, a pointer to an input that names another method; `if`, a
//! pointer to an input that must exist; `unless`, pointers to values with which it is not sent, or to
//! lists that contain them. A method with `later: true` is sent later, and not to create the
//! resource.

use std::fmt::{self, Write as _};

use super::{Capability, DirGrant, Endpoint, Grants, HostPattern, HttpGrant};
use crate::Value;
use crate::driver::Inputs;
use crate::driver::keywords::{METHODS, PORT, REACHES};

/// An access that a driver must be granted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Need {
    /// What it is for.
    pub capability: Capability,
    /// The pattern of a grant; for a folder, its path for the driver.
    pub pattern: String,
}

/// A need that comes from an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputNeed {
    /// The need.
    pub need: Need,
    /// JSON Pointer into `{values, secrets, params}`.
    pub pointer: String,
    /// For a folder, the path that is written.
    pub path: Option<String>,
    /// For requests, the methods that are certainly sent.
    pub methods: Vec<String>,
    /// The methods that are sent later, to change the resource or to delete it.
    pub later: Vec<String>,
}

/// Why a need is not covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lack<'a> {
    /// No grant covers it.
    Missing,
    /// It needs write access, and this grant is read-only.
    ReadOnly(&'a DirGrant),
}

impl Need {
    /// A need for a capability and a pattern.
    pub fn new(capability: Capability, pattern: impl Into<String>) -> Self {
        Self { capability, pattern: pattern.into() }
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.capability, self.pattern)
    }
}

/// The access that a driver certainly needs for inputs, from the schema of
/// `{values, secrets, params, connection}`. Secret and unknown inputs give no information.
pub fn needs_of_inputs(schema: &serde_json::Value, inputs: &Inputs) -> Vec<InputNeed> {
    let mut found = Vec::new();
    for (name, value) in
        [("values", &inputs.values), ("params", &inputs.params), ("connection", &inputs.connection)]
    {
        if let Some(schema) = schema.get("properties").and_then(|properties| properties.get(name)) {
            walk(schema, value, &mut format!("/{name}"), inputs, &mut found);
        }
    }
    found
}

fn walk(
    schema: &serde_json::Value,
    value: &Value,
    pointer: &mut String,
    inputs: &Inputs,
    found: &mut Vec<InputNeed>,
) {
    if let Some(kind) = schema.get(REACHES).and_then(serde_json::Value::as_str) {
        let (later, now): (Vec<_>, Vec<_>) =
            methods(schema, inputs).into_iter().partition(|(_, later)| *later);
        let names = |methods: Vec<(String, bool)>| methods.into_iter().map(|(method, _)| method).collect();
        let (methods, later) = if kind == "http" { (names(now), names(later)) } else { Default::default() };
        found.extend(reach(kind, schema, value, pointer).map(|reached| InputNeed {
            methods,
            later,
            ..reached
        }));
    }
    let (Some(properties), Value::Map(map)) =
        (schema.get("properties").and_then(serde_json::Value::as_object), value)
    else {
        return;
    };
    for (name, schema) in properties {
        let Some(value) = map.get(name.as_str()) else { continue };
        let length = pointer.len();
        let _ = write!(pointer, "/{}", name.replace('~', "~0").replace('/', "~1"));
        walk(schema, value, pointer, inputs, found);
        pointer.truncate(length);
    }
}

/// The methods that are sent with these inputs according to `x-purlin-methods`, and whether only
/// later. Secret or unknown inputs give no information, and neither does an invalid rule.
fn methods(schema: &serde_json::Value, inputs: &Inputs) -> Vec<(String, bool)> {
    let at = |pointer: &str| {
        let mut segments = pointer.strip_prefix('/')?.split('/');
        let whole = match segments.next()? {
            "values" => &inputs.values,
            "params" => &inputs.params,
            "connection" => &inputs.connection,
            _ => return None,
        };
        segments.try_fold(whole.clone(), |value, segment| {
            value.get(&segment.replace("~1", "/").replace("~0", "~"))
        })
    };
    let is = |value: &Value, wanted: &serde_json::Value| match value {
        Value::List(items) => items.iter().any(|item| item.redact() == *wanted),
        value => value.redact() == *wanted,
    };
    let text = |rule: &'_ serde_json::Value, name: &str| Some(rule.get(name)?.as_str()?.to_owned());
    let mut methods: Vec<(String, bool)> = Vec::new();
    for rule in schema.get(METHODS).and_then(serde_json::Value::as_array).into_iter().flatten() {
        let mut method = rule.as_str().map(str::to_owned).or_else(|| text(rule, "method"));
        if text(rule, "if").is_some_and(|pointer| at(&pointer).is_none_or(|value| value == Value::Null)) {
            continue;
        }
        let mut unless = rule.get("unless").and_then(serde_json::Value::as_object).into_iter().flatten();
        if unless.any(|(pointer, wanted)| {
            at(pointer).is_some_and(|value| value.has_unknown() || value.has_secret() || is(&value, wanted))
        }) {
            continue;
        }
        match text(rule, "at").and_then(|pointer| at(&pointer)) {
            None | Some(Value::Null) => {}
            Some(Value::String(named)) => method = Some(named.to_string()),
            Some(_) => continue,
        }
        if let Some(method) = method
            && !methods.iter().any(|(known, _)| *known == method)
        {
            let later = rule.get("later").is_some_and(|later| *later == serde_json::Value::Bool(true));
            methods.push((method, later));
        }
    }
    methods
}

fn reach(kind: &str, schema: &serde_json::Value, value: &Value, pointer: &str) -> Option<InputNeed> {
    match (kind, value) {
        ("http", Value::String(url)) => {
            let (scheme, rest) = url.split_once("://")?;
            let scheme = scheme.to_ascii_lowercase();
            let authority = rest.split(['/', '?', '#']).next()?;
            let grant = HttpGrant::parse(&format!("{scheme}://{authority}/*")).ok()?;
            let need = Need::new(Capability::Http, grant.to_string());
            Some(InputNeed {
                need,
                pointer: pointer.to_owned(),
                path: None,
                methods: Vec::new(),
                later: Vec::new(),
            })
        }
        ("tcp", Value::Map(map)) => {
            let Some(Value::String(host)) = map.get("host") else { return None };
            let port = match map.get("port") {
                None | Some(Value::Null) => schema.get(PORT)?.to_string(),
                Some(port @ Value::Number(_)) => port.redact().to_string(),
                Some(_) => return None,
            };
            let host = if host.contains(':') && !host.starts_with('[') {
                format!("[{host}]")
            } else {
                host.to_string()
            };
            let grant = Endpoint::parse(&format!("{host}:{port}")).ok()?;
            let need = Need::new(Capability::Tcp, grant.to_string());
            Some(InputNeed {
                need,
                pointer: format!("{pointer}/host"),
                path: None,
                methods: Vec::new(),
                later: Vec::new(),
            })
        }
        ("dir", Value::String(path)) => {
            let (folder, _) = path.trim_end_matches('/').rsplit_once('/')?;
            let folder = if folder.is_empty() { "/" } else { folder };
            let need = Need::new(Capability::Dirs, folder);
            Some(InputNeed {
                need,
                pointer: pointer.to_owned(),
                path: Some(path.to_string()),
                methods: Vec::new(),
                later: Vec::new(),
            })
        }
        _ => None,
    }
}

impl Grants {
    /// Why a need is not covered, as far as that is certain without a lookup; none if a grant may
    /// cover it.
    pub fn lacks(&self, need: &Need) -> Option<Lack<'_>> {
        let covered = match need.capability {
            Capability::Http => match HttpGrant::parse(&need.pattern) {
                // The driver decides which requests it sends; it is certain that none may go there.
                Ok(wanted) => self.http.iter().any(|grant| meets(grant, &wanted)),
                Err(_) => true,
            },
            Capability::Tcp => match Endpoint::parse(&need.pattern) {
                Ok(wanted) => self.tcp.iter().any(|grant| {
                    let by_address = || match (&grant.host, &wanted.host) {
                        // The address of a name is unknown before its lookup.
                        (HostPattern::Network(_), HostPattern::Name(name)) => self.may_look_up(name),
                        _ => false,
                    };
                    grant.port.meets(wanted.port) && (covers(&grant.host, &wanted.host) || by_address())
                }),
                Err(_) => true,
            },
            Capability::Dirs => match self.folder(&need.pattern) {
                Some(dir) if dir.writable => true,
                Some(dir) => return Some(Lack::ReadOnly(dir)),
                None => false,
            },
            // No input names one of these for certain.
            Capability::Udp
            | Capability::Dns
            | Capability::Addresses
            | Capability::Ca
            | Capability::Env
            | Capability::Secrets => true,
        };
        (!covered).then_some(Lack::Missing)
    }

    /// Those of these methods that no grant covers for a need, whatever the path.
    pub fn lacks_methods<'m>(&self, need: &Need, methods: &'m [String]) -> Vec<&'m str> {
        let Ok(wanted) = HttpGrant::parse(&need.pattern) else { return Vec::new() };
        let grants: Vec<&HttpGrant> = self.http.iter().filter(|grant| meets(grant, &wanted)).collect();
        let is_lacking = |method: &&str| !grants.iter().any(|grant| grant.methods.matches(method));
        methods.iter().map(String::as_str).filter(is_lacking).collect()
    }

    /// The nearest grant that contains a path of the driver.
    pub fn folder(&self, path: &str) -> Option<&DirGrant> {
        self.dirs.iter().filter(|dir| dir.contains(path)).max_by_key(|dir| dir.guest.len())
    }

    /// The grants with additional ones, as lines for `purlin.yaml` that replace the driver's
    /// `grants:`. Invalid ones are omitted.
    pub fn with(&self, driver: &str, needs: &[Need]) -> String {
        let mut lines: Vec<(Capability, String)> = Vec::new();
        let mut add = |capability: Capability, line: String| {
            let line = (capability, line);
            if !lines.contains(&line) {
                lines.push(line);
            }
        };
        let dir = |host: &str, guest: &str, writable: bool| {
            let mode = if writable { "rw" } else { "ro" };
            format!("{{host: {}, guest: {}, mode: {mode}}}", quoted(host), quoted(guest))
        };
        let folders: Vec<&Need> = needs.iter().filter(|need| need.capability == Capability::Dirs).collect();
        for (capability, text) in self.lines() {
            if capability != Capability::Dirs {
                add(capability, quoted(&text));
            }
        }
        for grant in &self.dirs {
            let raised = folders
                .iter()
                .any(|need| self.folder(&need.pattern).is_some_and(|folder| folder.guest == grant.guest));
            add(Capability::Dirs, dir(&grant.host.to_string_lossy(), &grant.guest, grant.writable || raised));
        }
        for need in needs {
            match need.capability {
                Capability::Dirs if self.folder(&need.pattern).is_some() => {}
                Capability::Dirs
                    if need.pattern.starts_with('/')
                        && need.pattern.len() > 1
                        && !need.pattern.split('/').any(|part| part == "..") =>
                {
                    add(Capability::Dirs, dir(&format!(".{}", need.pattern), &need.pattern, true));
                }
                Capability::Dirs | Capability::Ca => {}
                Capability::Http
                | Capability::Tcp
                | Capability::Udp
                | Capability::Dns
                | Capability::Addresses
                | Capability::Env
                | Capability::Secrets => add(need.capability, quoted(&need.pattern)),
            }
        }
        let mut out = format!("drivers:\n  {driver}:\n    grants:\n");
        let mut capabilities: Vec<Capability> = Vec::new();
        for (capability, _) in &lines {
            if !capabilities.contains(capability) {
                capabilities.push(*capability);
            }
        }
        for capability in capabilities {
            let _ = writeln!(out, "      {capability}:");
            for (_, line) in lines.iter().filter(|(of, _)| *of == capability) {
                let _ = writeln!(out, "        - {line}");
            }
        }
        out
    }
}

/// Whether a grant may allow requests to the wanted target.
fn meets(grant: &HttpGrant, wanted: &HttpGrant) -> bool {
    grant.scheme == wanted.scheme && grant.port.meets(wanted.port) && covers(&grant.host, &wanted.host)
}

/// Whether a pattern may allow access to a host.
fn covers(grant: &HostPattern, wanted: &HostPattern) -> bool {
    match (grant, wanted) {
        (HostPattern::Any, _) => true,
        (grant, HostPattern::Name(name)) => grant.matches_name(name),
        (grant, HostPattern::Network(network)) => grant.names_address(network.addr()),
        _ => grant == wanted,
    }
}

/// Text in a form that YAML reads as exactly that text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn inputs(values: serde_json::Value) -> Inputs {
        Inputs { values: values.into(), ..Inputs::default() }
    }

    #[test]
    fn servers_and_folders_of_inputs_are_compared_with_grants() {
        let schema = json!({"properties": {"values": {"properties": {
            "base_url": {"x-purlin-reaches": "http"},
            "server": {"x-purlin-reaches": "tcp", "x-purlin-port": 5432},
            "path": {"x-purlin-reaches": "dir"},
        }}}});
        let grants = Grants {
            http: vec![HttpGrant::parse("POST http://10.0.0.1:81/api/*").expect("a grant")],
            tcp: vec![Endpoint::parse("*.internal:5000-6000").expect("a grant")],
            dirs: vec![DirGrant { host: "out".into(), guest: "/out".into(), ..DirGrant::default() }],
            ..Grants::default()
        };
        for (values, wanted, lack) in [
            (json!({"base_url": "HTTP://10.0.0.1:81/x"}), Some("http http://10.0.0.1:81/*"), None),
            (
                json!({"base_url": "http://10.0.0.2:81"}),
                Some("http http://10.0.0.2:81/*"),
                Some(Lack::Missing),
            ),
            (
                json!({"base_url": "https://api.test/v1?x"}),
                Some("http https://api.test/*"),
                Some(Lack::Missing),
            ),
            (json!({"base_url": "nonsense"}), None, None),
            (json!({"server": {"host": "db.internal"}}), Some("tcp db.internal:5432"), None),
            (
                json!({"server": {"host": "db.internal", "port": 1}}),
                Some("tcp db.internal:1"),
                Some(Lack::Missing),
            ),
            (json!({"server": {"host": "::1"}}), Some("tcp [::1]:5432"), Some(Lack::Missing)),
            (json!({"path": "/out/a/b"}), Some("dirs /out/a"), Some(Lack::ReadOnly(&grants.dirs[0]))),
            (json!({"path": "/output/a"}), Some("dirs /output"), Some(Lack::Missing)),
        ] {
            let found = needs_of_inputs(&schema, &inputs(values.clone()));
            assert_eq!(found.first().map(|found| found.need.to_string()).as_deref(), wanted, "{values}");
            let lacks = found.first().and_then(|found| grants.lacks(&found.need));
            assert_eq!(lacks, lack, "{values}");
        }
        let secret = Inputs {
            values: Value::Map(crate::Map::from_iter([(
                "base_url".into(),
                Value::from("http://a.test").into_secret(),
            )])),
            ..Inputs::default()
        };
        assert_eq!(needs_of_inputs(&schema, &secret), []);
    }

    #[test]
    fn methods_that_are_certainly_sent_need_grants() {
        let schema = json!({"properties": {"values": {"properties": {"url": {
            "x-purlin-reaches": "http",
            "x-purlin-methods": [
                "GET",
                {"method": "POST", "at": "/values/create/method", "unless": {"/values/named": true}},
                {"method": "PUT", "if": "/values/update"},
                {"method": "DELETE", "unless": {"/values/without": "delete"}},
                {"method": "HEAD", "later": true},
            ],
        }}}}});
        let grants = |texts: &[&str]| Grants {
            http: texts.iter().map(|text| HttpGrant::parse(text).expect("a grant")).collect(),
            ..Grants::default()
        };
        let url = "http://10.0.0.1:81/x";
        for (more, granted, lacking) in [
            (json!({}), &["http://10.0.0.1:81/*"][..], &[][..]),
            (json!({}), &["GET http://10.0.0.1:81/*"], &["POST", "DELETE"]),
            (json!({"create": {"method": "PATCH"}}), &["GET,DELETE http://10.0.0.1:81/*"], &["PATCH"]),
            (
                json!({"update": {}, "without": ["delete"]}),
                &["GET http://10.0.0.1:81/a", "POST http://10.0.0.1:81/b"],
                &["PUT"],
            ),
            (json!({"named": true}), &["GET,DELETE http://10.0.0.1:81/*"], &[]),
        ] {
            let mut values = json!({"url": url});
            values.as_object_mut().expect("a map").extend(more.as_object().expect("a map").clone());
            let found = needs_of_inputs(&schema, &inputs(values.clone()));
            let [found] = found.as_slice() else { panic!("{found:?}") };
            assert_eq!(grants(granted).lacks_methods(&found.need, &found.methods), lacking, "{values}");
            assert_eq!(found.later, ["HEAD"]);
        }
    }

    #[test]
    fn lines_contain_the_existing_grants() {
        let grants = Grants {
            http: vec![HttpGrant::parse("http://a.test/*").expect("a grant")],
            dirs: vec![DirGrant { host: "./out".into(), guest: "/out".into(), ..DirGrant::default() }],
            ..Grants::default()
        };
        let needs = [
            Need::new(Capability::Http, "GET https://b.test/*"),
            Need::new(Capability::Dirs, "/out/below"),
            Need::new(Capability::Dirs, "/more"),
        ];
        assert_eq!(
            grants.with("acme/x", &needs),
            "drivers:\n  acme/x:\n    grants:\n      http:\n        - \"http://a.test/*\"\n        - \"GET https://b.test/*\"\n      dirs:\n        - {host: \"./out\", guest: \"/out\", mode: rw}\n        - {host: \"./more\", guest: \"/more\", mode: rw}\n"
        );
    }
}
