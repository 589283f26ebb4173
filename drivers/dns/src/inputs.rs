//! What the driver is given: how to reach a server, and a zone or a set of records.

use purlin_sdk::{Failure, Faults, Json, Raw};
use purlin_sdk_http::{Parts, segment};
use serde::Deserialize;
use serde_json::json;

use crate::names;

/// Seconds that an answer may be kept, where nothing is said.
const TTL: u32 = 3600;

/// A zone or a set of records on a server.
#[derive(Deserialize)]
pub struct DnsInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    pub(crate) zone: Option<Zone>,
    pub(crate) records: Option<Records>,
}

/// The server, and who asks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connection {
    pub(crate) url: String,
    #[serde(default = "localhost")]
    pub(crate) id: String,
    pub(crate) api_key: String,
}

fn localhost() -> String {
    "localhost".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Zone {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) kind: Kind,
    pub(crate) nameservers: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) masters: Vec<String>,
    pub(crate) soa_edit_api: Option<String>,
    #[serde(default, alias = "delete_records")]
    pub(crate) force_destroy: bool,
}

/// Who has the zone's data, in the words of the server.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Native,
    Master,
    Slave,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Native => "Native",
            Self::Master => "Master",
            Self::Slave => "Slave",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Records {
    pub(crate) zone: String,
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default = "ttl")]
    pub(crate) ttl: u32,
    pub(crate) content: Vec<String>,
}

fn ttl() -> u32 {
    TTL
}

/// What the inputs name, in the spelling that the server has.
pub(crate) enum Target<'a> {
    Zone { name: String, zone: &'a Zone },
    Records { zone: String, name: String, kind: &'a str, records: &'a Records },
}

impl DnsInputs {
    /// What is wanted.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] with all that is wrong.
    pub(crate) fn target(&self) -> Result<Target<'_>, Failure> {
        let mut faults = Faults::default();
        let Connection { url, id, api_key } = &self.connection;
        match Parts::of(url) {
            Ok(parts) if parts.path.contains('?') => faults.add("/connection/url", "has no query"),
            Ok(_) if url.ends_with('/') => faults.add("/connection/url", "has no `/` at its end"),
            Ok(_) => {}
            Err(message) => faults.add("/connection/url", message),
        }
        if id.is_empty() {
            faults.add("/connection/id", "is empty; it is `localhost` nearly always");
        }
        if api_key.is_empty() {
            faults.add("/connection/api_key", "is empty");
        }
        let target = match (&self.values.zone, &self.values.records) {
            (Some(zone), None) => zone_target(zone, &mut faults),
            (None, Some(records)) => records_target(records, &mut faults),
            (Some(_), Some(_)) => {
                faults.add("/values/records", "stands beside `zone`: each of them is a resource of its own");
                None
            }
            (None, None) => {
                faults.add("/values", "has neither `zone` nor `records`");
                None
            }
        };
        faults.into_result()?;
        target.ok_or_else(|| Failure::input("/values", "has neither `zone` nor `records`"))
    }

    /// The URL of the zones of the server.
    pub(crate) fn zones_url(&self) -> String {
        let Connection { url, id, .. } = &self.connection;
        format!("{url}/api/v1/servers/{}/zones", segment(id))
    }

    /// The URL of a zone.
    pub(crate) fn zone_url(&self, zone: &str) -> String {
        // The server's own way to write a name as a segment (`/` is `=2F`).
        let name: String =
            zone.chars().map(|c| if c == '/' { "=2F".to_owned() } else { c.to_string() }).collect();
        format!("{}/{}", self.zones_url(), segment(&name))
    }

    /// The provider id: what is wanted, and where.
    pub(crate) fn id(&self, target: &Target<'_>) -> String {
        match target {
            Target::Zone { name, .. } => self.zone_url(name),
            Target::Records { zone, name, kind, .. } => format!("{}#{name}/{kind}", self.zone_url(zone)),
        }
    }
}

impl Target<'_> {
    /// The name without the server.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Zone { name, .. } => name.clone(),
            Self::Records { name, kind, .. } => format!("{name}/{kind}"),
        }
    }
}

fn name(place: &str, name: Result<String, String>, faults: &mut Faults) -> Option<String> {
    name.map_err(|message| faults.add(place, message)).ok()
}

fn zone_target<'a>(zone: &'a Zone, faults: &mut Faults) -> Option<Target<'a>> {
    let found = name("/values/zone/name", names::absolute(&zone.name), faults);
    for (index, server) in zone.nameservers.iter().flatten().enumerate() {
        name(&format!("/values/zone/nameservers/{index}"), names::absolute(server), faults);
    }
    if zone.kind == Kind::Slave && zone.masters.is_empty() {
        faults.add("/values/zone/masters", "a zone of kind `Slave` is copied from somebody");
    }
    if zone.kind != Kind::Slave && !zone.masters.is_empty() {
        faults.add("/values/zone/masters", "only a zone of kind `Slave` is copied from somebody");
    }
    if zone.kind == Kind::Slave && zone.nameservers.is_some() {
        faults.add("/values/zone/nameservers", "come from the masters of a zone of kind `Slave`");
    }
    if zone.nameservers.as_ref().is_some_and(Vec::is_empty) {
        faults.add("/values/zone/nameservers", "is empty: name some, or leave it out");
    }
    found.map(|name| Target::Zone { name, zone })
}

fn records_target<'a>(records: &'a Records, faults: &mut Faults) -> Option<Target<'a>> {
    let zone = name("/values/records/zone", names::absolute(&records.zone), faults)?;
    let found = name("/values/records/name", names::within(&records.name, &zone), faults);
    let kind = records.kind.as_str();
    if kind.is_empty() || !kind.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
        faults.add("/values/records/type", "is a type in capital letters, such as `A` or `CNAME`");
    }
    if kind == "SOA" {
        faults.add("/values/records/type", "belongs to the zone, and is seen to by the server");
    }
    if records.ttl > i32::MAX.unsigned_abs() {
        faults.add("/values/records/ttl", "is 0 to 2147483647 seconds");
    }
    if records.content.is_empty() {
        faults.add("/values/records/content", "is empty: a set of records has at least one");
    }
    for (index, content) in records.content.iter().enumerate() {
        if let Err(message) = names::content(kind, content) {
            faults.add(format!("/values/records/content/{index}"), message);
        }
    }
    if kind == "CNAME" && records.content.len() > 1 {
        faults.add("/values/records/content", "a name has one CNAME only");
    }
    if kind == "CNAME" && found.as_ref() == Some(&zone) {
        faults.add("/values/records/name", "the zone itself cannot be a CNAME; `ALIAS` may do");
    }
    found.map(|name| Target::Records { zone, name, kind, records })
}

/// Contents as a set: sorted, each once.
pub(crate) fn contents(kind: &str, given: &[String]) -> Vec<String> {
    let mut all: Vec<String> =
        given.iter().map(|text| names::content(kind, text).unwrap_or_else(|_| text.clone())).collect();
    all.sort();
    all.dedup();
    all
}

/// Names of servers as a set.
pub(crate) fn servers(given: &[String]) -> Vec<String> {
    contents("NS", given)
}

/// Inputs with defaults, in the one spelling that there is; only what is known is touched.
pub(crate) fn normalise(inputs: &mut Raw<DnsInputs>) {
    let unknown = inputs.unknown.clone();
    let is_known = |pointer: &str| {
        !unknown.iter().any(|one| {
            one == pointer
                || one.starts_with(&format!("{pointer}/"))
                || pointer.starts_with(&format!("{one}/"))
        })
    };
    let document = inputs.document_mut();
    let zone = document
        .pointer("/values/records/zone")
        .and_then(Json::as_str)
        .and_then(|zone| names::absolute(zone).ok());
    let kind = document.pointer("/values/records/type").and_then(Json::as_str).unwrap_or_default().to_owned();
    // The name that it had before.
    if is_known("/values/zone/delete_records")
        && let Some(zone) = document.pointer_mut("/values/zone").and_then(Json::as_object_mut)
        && let Some(former) = zone.remove("delete_records")
        && !former.is_null()
    {
        zone.entry("force_destroy").or_insert(former);
    }
    let mut set = |pointer: &str, change: &dyn Fn(&Json) -> Option<Json>| {
        if !is_known(pointer) {
            return;
        }
        let (parent, name) = pointer.rsplit_once('/').unwrap_or_default();
        let Some(parent) = document.pointer_mut(parent).and_then(Json::as_object_mut) else { return };
        match change(parent.get(name).unwrap_or(&Json::Null)) {
            Some(value) => {
                parent.insert(name.to_owned(), value);
            }
            None => {
                parent.remove(name);
            }
        }
    };
    let text = |value: &Json, change: &dyn Fn(&str) -> Option<String>| {
        Some(value.as_str().and_then(change).map_or_else(|| value.clone(), Json::from))
    };
    let list = |value: &Json, kind: &str| {
        let texts: Option<Vec<String>> = value
            .as_array()
            .map(|all| all.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect());
        match (texts, value.as_array()) {
            (Some(texts), Some(all)) if texts.len() == all.len() => Some(json!(contents(kind, &texts))),
            _ => Some(value.clone()),
        }
    };
    let or = |value: &Json, default: Json| Some(if value.is_null() { default } else { value.clone() });
    set("/values/zone", &|value| (!value.is_null()).then(|| value.clone()));
    set("/values/records", &|value| (!value.is_null()).then(|| value.clone()));
    set("/values/zone/name", &|value| text(value, &|name| names::absolute(name).ok()));
    set("/values/zone/kind", &|value| or(value, json!("Native")));
    set("/values/zone/nameservers", &|value| if value.is_null() { None } else { list(value, "NS") });
    set("/values/zone/masters", &|value| or(value, json!([])));
    set("/values/zone/soa_edit_api", &|value| or(value, json!("DEFAULT")));
    set("/values/zone/force_destroy", &|value| or(value, json!(false)));
    set("/values/records/zone", &|value| text(value, &|name| names::absolute(name).ok()));
    set("/values/records/name", &|value| match &zone {
        Some(zone) => text(value, &|name| names::within(name, zone).ok()),
        None => Some(value.clone()),
    });
    set("/values/records/ttl", &|value| or(value, json!(TTL)));
    set("/values/records/content", &|value| list(value, &kind));
}
