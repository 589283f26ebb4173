//! The driver's inputs (how to reach a server, and a zone or a set of records) and its outputs.

use purlin_sdk::{Failure, Faults, Input, Inputs, Json, Outputs, Raw};
use purlin_sdk_http::{Parts, segment};
use serde::Serialize;

use crate::names;

/// A zone or a set of records on a server.
#[derive(Inputs)]
pub struct DnsInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
}

#[derive(Input)]
pub(crate) struct Values {
    /// A zone. Either this or `records` is required.
    pub(crate) zone: Option<Zone>,
    /// All records of one name and type. Either this or `zone` is required.
    pub(crate) records: Option<Records>,
}

/// The server, and its API key.
#[derive(Input)]
pub(crate) struct Connection {
    /// The URL of the API, such as `http://10.0.0.53:8081`, without a trailing `/`.
    #[input(reaches = "http", replaces, pattern = "^[Hh][Tt][Tt][Pp][Ss]?://")]
    pub(crate) url: String,
    /// The id of the server in its API.
    #[input(default = "localhost", min_length = 1, replaces)]
    pub(crate) id: String,
    /// The API key.
    #[input(secret, min_length = 1)]
    pub(crate) api_key: String,
}

#[derive(Input)]
#[input(
    holds_data = "the zone, with its name servers, keys and metadata, and with `force_destroy` every record in it"
)]
pub(crate) struct Zone {
    /// The name, such as `example.org`.
    #[input(replaces)]
    pub(crate) name: String,
    /// The kind of the zone, in PowerDNS's terms.
    #[input(default)]
    pub(crate) kind: ZoneKind,
    /// The names of the servers that answer for the zone, its `NS` records. Not changed if omitted.
    #[input(min_items = 1)]
    pub(crate) nameservers: Option<Vec<String>>,
    /// The addresses from which a `Slave` is copied.
    #[input(default)]
    pub(crate) masters: Vec<String>,
    /// How the serial number changes with the records.
    #[input(default = "DEFAULT")]
    pub(crate) soa_edit_api: String,
    /// Whether a zone that still has records is deleted together with them. Otherwise, deleting
    /// such a zone is a conflict.
    #[input(default)]
    pub(crate) force_destroy: bool,
}

/// The kind of the zone, in PowerDNS's terms.
#[derive(Clone, Copy, Default, Input, PartialEq, Eq, Serialize)]
pub(crate) enum ZoneKind {
    #[default]
    Native,
    Master,
    Slave,
}

#[derive(Input)]
pub(crate) struct Records {
    /// The zone of the records.
    #[input(replaces)]
    pub(crate) zone: String,
    /// The name, in full or relative to the zone; `@` is the zone itself.
    #[input(replaces)]
    pub(crate) name: String,
    /// The type, such as `A` or `CNAME`.
    #[serde(rename = "type")]
    #[input(replaces, pattern = "^[A-Z][A-Z0-9]*$")]
    pub(crate) kind: String,
    /// For how many seconds an answer may be cached.
    #[input(default = 3600, max = i32::MAX)]
    pub(crate) ttl: u32,
    /// One text per record; the order does not matter.
    #[input(min_items = 1)]
    pub(crate) content: Vec<String>,
}

/// The outputs.
#[derive(Default, Outputs)]
pub(crate) struct DnsOutputs {
    /// The name, with a trailing dot.
    pub(crate) name: String,
    /// The name, without a trailing dot.
    pub(crate) fqdn: String,
    /// The zone, with a trailing dot.
    pub(crate) zone: String,
    /// For a zone: its kind.
    pub(crate) kind: Option<String>,
    /// For a zone: the servers that answer for it.
    pub(crate) nameservers: Option<Vec<String>>,
    /// For records: their type.
    #[serde(rename = "type")]
    pub(crate) record_type: Option<String>,
    /// For records: the time to live in seconds.
    pub(crate) ttl: Option<u32>,
    /// For records: their contents.
    pub(crate) content: Option<Vec<String>>,
}

/// The object that the inputs name, in the server's spelling.
pub(crate) enum Target<'a> {
    Zone { name: String, zone: &'a Zone },
    Records { zone: String, name: String, kind: &'a str, records: &'a Records },
}

impl DnsInputs {
    /// The wanted object.
    ///
    /// # Errors
    /// [`Failure::InvalidInputs`] with every fault.
    pub(crate) fn target(&self) -> Result<Target<'_>, Failure> {
        let mut faults = Faults::default();
        let url = &self.connection.url;
        match Parts::of(url) {
            Ok(parts) if parts.path.contains('?') => faults.add("/connection/url", "takes no query"),
            Ok(_) if url.ends_with('/') => faults.add("/connection/url", "must not end with `/`"),
            Ok(_) => {}
            Err(message) => faults.add("/connection/url", message),
        }
        let target = match (&self.values.zone, &self.values.records) {
            (Some(zone), None) => zone_target(zone, &mut faults),
            (None, Some(records)) => records_target(records, &mut faults),
            (Some(_), Some(_)) => {
                faults.add(
                    "/values/records",
                    "is given together with `zone`: each of them is a separate resource",
                );
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

    /// The provider id: the wanted object and its server.
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
    if zone.kind == ZoneKind::Slave && zone.masters.is_empty() {
        faults.add("/values/zone/masters", "a zone of kind `Slave` needs masters");
    }
    if zone.kind != ZoneKind::Slave && !zone.masters.is_empty() {
        faults.add("/values/zone/masters", "only a zone of kind `Slave` has masters");
    }
    if zone.kind == ZoneKind::Slave && zone.nameservers.is_some() {
        faults.add("/values/zone/nameservers", "cannot be set for a zone of kind `Slave`");
    }
    found.map(|name| Target::Zone { name, zone })
}

fn records_target<'a>(records: &'a Records, faults: &mut Faults) -> Option<Target<'a>> {
    let zone = name("/values/records/zone", names::absolute(&records.zone), faults)?;
    let found = name("/values/records/name", names::within(&records.name, &zone), faults);
    let kind = records.kind.as_str();
    if kind == "SOA" {
        faults.add("/values/records/type", "belongs to the zone, and is managed by the server");
    }
    for (index, content) in records.content.iter().enumerate() {
        if let Err(message) = names::content(kind, content) {
            faults.add(format!("/values/records/content/{index}"), message);
        }
    }
    if kind == "CNAME" && records.content.len() > 1 {
        faults.add("/values/records/content", "a name has only one CNAME");
    }
    if kind == "CNAME" && found.as_ref() == Some(&zone) {
        faults.add("/values/records/name", "the zone itself cannot be a CNAME; try `ALIAS`");
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

/// Inputs in their only spelling; unknown parts are not touched.
pub(crate) fn normalise(inputs: &mut Raw<DnsInputs>) {
    let document = inputs.document_mut();
    let given = |pointer: &str| document.pointer(pointer).and_then(Json::as_str).map(str::to_owned);
    let zone = given("/values/records/zone").and_then(|zone| names::absolute(&zone).ok());
    let kind = given("/values/records/type").unwrap_or_default();
    let mut respell = |pointer: &str, respelled: &dyn Fn(&str) -> Result<String, String>| {
        if let Some(Json::String(text)) = document.pointer_mut(pointer)
            && let Ok(other) = respelled(text)
        {
            *text = other;
        }
    };
    respell("/values/zone/name", &names::absolute);
    respell("/values/records/zone", &names::absolute);
    if let Some(zone) = &zone {
        respell("/values/records/name", &|name| names::within(name, zone));
    }
    for (pointer, kind) in [("/values/zone/nameservers", "NS"), ("/values/records/content", &kind)] {
        let Some(Json::Array(items)) = document.pointer_mut(pointer) else { continue };
        // An unknown item keeps its place.
        let texts: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        if let Some(texts) = texts {
            *items = contents(kind, &texts).into_iter().map(Json::from).collect();
        }
    }
}
