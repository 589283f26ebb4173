//! PowerDNS's API, as far as the driver needs it. All names and contents are in the spelling of
//! `names`.

use std::time::Duration;

use purlin_sdk::{Call, Failure, Json, Subject};
use purlin_sdk_http::{Client, Request, Response};
use serde::Deserialize;

use crate::inputs::DnsInputs;

/// Attempts within one call. Every request here is harmless when it arrives twice.
const ATTEMPTS: u32 = 3;

/// How long to wait for a busy database.
const BUSY: Duration = Duration::from_millis(150);
/// How often one call tries a busy database.
const BUSY_ATTEMPTS: u32 = 5;

/// A zone as the server has it.
#[derive(Deserialize)]
pub(crate) struct Zone {
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) account: String,
    #[serde(default)]
    pub(crate) masters: Vec<String>,
    #[serde(default)]
    pub(crate) soa_edit_api: String,
    #[serde(default)]
    pub(crate) rrsets: Vec<Rrset>,
}

/// A set of records as the server has it.
#[derive(Clone, Deserialize)]
pub(crate) struct Rrset {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(default)]
    pub(crate) ttl: u32,
    #[serde(default)]
    pub(crate) records: Vec<Record>,
    #[serde(default)]
    pub(crate) comments: Vec<Json>,
}

#[derive(Clone, Deserialize)]
pub(crate) struct Record {
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) disabled: bool,
}

impl Rrset {
    /// Contents as a set. A disabled record is absent.
    pub(crate) fn contents(&self) -> Vec<String> {
        let active = self.records.iter().filter(|record| !record.disabled);
        let all: Vec<String> = active.map(|record| record.content.clone()).collect();
        crate::inputs::contents(&self.kind, &all)
    }

    /// The accounts of the comments.
    pub(crate) fn accounts(&self) -> impl Iterator<Item = &str> {
        self.comments.iter().filter_map(|comment| comment.get("account").and_then(Json::as_str))
    }
}

/// The server, for one call.
pub(crate) struct Api {
    client: Client,
}

impl Api {
    pub(crate) fn new(inputs: &DnsInputs, subject: &Subject, call: &Call) -> Self {
        let client = Client::new(call)
            .reason(format!("to manage {} on the DNS server", subject.urn))
            .header("x-api-key", &inputs.connection.api_key)
            .header("accept", "application/json")
            .patience(ATTEMPTS);
        Self { client }
    }

    /// A zone with all of its records; `None` if there is none.
    pub(crate) fn zone(&self, url: &str) -> Result<Option<Zone>, Failure> {
        self.look(Request::get(url))
    }

    /// A zone with the records of one name and type, or with more if the server is old.
    pub(crate) fn zone_with(&self, url: &str, name: &str, kind: &str) -> Result<Option<Zone>, Failure> {
        self.look(Request::get(url).query("rrset_name", name).query("rrset_type", kind))
    }

    fn send(&self, request: &Request) -> Result<Response, Failure> {
        for _ in 1..BUSY_ATTEMPTS {
            let answer = self.client.send(request.clone())?;
            if !is_busy(&answer) {
                return Ok(answer);
            }
            self.client.pause(BUSY)?;
        }
        Ok(self.client.send(request.clone())?)
    }

    fn look(&self, request: Request) -> Result<Option<Zone>, Failure> {
        let answer = self.send(&request)?;
        if answer.status == 404 {
            return Ok(None);
        }
        passed(answer, "/values/zone")?.json().map(Some)
    }

    /// Sends a change. Sending it twice is harmless, so after a lost answer the driver only waits.
    pub(crate) fn change(&self, request: Request, body: &Json, place: &str) -> Result<Response, Failure> {
        passed(self.send(&request.repeatable().json(body)?)?, place)
    }

    /// Creates a zone; returns whether it did, because the zone may exist already.
    pub(crate) fn make(&self, url: &str, body: &Json) -> Result<bool, Failure> {
        let answer = self.send(&Request::post(url).repeatable().json(body)?)?;
        if answer.status == 409 {
            return Ok(false);
        }
        passed(answer, "/values/zone").map(|_| true)
    }

    /// Deletes a zone; a missing zone is a success.
    pub(crate) fn delete(&self, url: &str) -> Result<(), Failure> {
        let answer = self.send(&Request::delete(url))?;
        if answer.status == 404 { Ok(()) } else { passed(answer, "/values/zone").map(drop) }
    }
}

/// Whether another client writes to the database at this moment. Nothing was changed: the server
/// explains a change that it rejects.
fn is_busy(answer: &Response) -> bool {
    answer.status == 500 && answer.text().contains("Internal Server Error")
}

/// The meaning of the server's errors.
fn passed(answer: Response, place: &str) -> Result<Response, Failure> {
    match answer.status {
        401 | 403 => {
            let message = format!("{}; check `connection.api_key`", answer.message());
            Err(Failure::Failed(answer.problem(message)))
        }
        500 if is_busy(&answer) => Err(Failure::retry_after(BUSY, answer.message())),
        // The server understands the request, and reports which input is wrong.
        422 => Err(Failure::input(place, answer.message())),
        _ => answer.success(),
    }
}
