//! The requests of the users of tests, from the audit log of the API server.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::Value;

use super::Kubernetes;

/// A request that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Such as `get` or `patch`.
    pub verb: String,
    /// The plural of the kind; empty if no object was requested.
    pub kind: String,
    /// Empty for cluster-wide objects.
    pub namespace: String,
    /// Empty for lists.
    pub name: String,
    /// Of the answer.
    pub status: u64,
    /// Whether it was a rehearsal.
    pub rehearsal: bool,
}

impl Kubernetes {
    /// Requests since the last time.
    pub fn requests(&self) -> Vec<Request> {
        let all = self.all_requests();
        let returned = self.returned.replace(all.len());
        all.into_iter().skip(returned).collect()
    }

    /// How often a user of tests created an object with this name.
    pub fn made(&self, kind: &str, namespace: &str, name: &str) -> usize {
        let is_it = |request: &Request| {
            request.kind == kind.split('.').next().unwrap_or_default()
                && request.namespace == namespace
                && request.name == name
        };
        let made = |request: &&Request| request.status == 201 && !request.rehearsal && is_it(request);
        self.all_requests().iter().filter(made).count()
    }

    fn all_requests(&self) -> Vec<Request> {
        let log = rest(&self.audit, self.before).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).into_owned();
        // A line that is being written is not valid JSON yet.
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).map(|event| read(&event)).collect()
    }
}

/// The length of a log, in bytes.
pub(super) fn length(log: &Path) -> u64 {
    // The API server creates it with the first request.
    log.metadata().map_or(0, |metadata| metadata.len())
}

/// The part of a log that follows the first bytes.
fn rest(log: &Path, before: u64) -> io::Result<Vec<u8>> {
    let (mut log, mut rest) = (File::open(log)?, Vec::new());
    log.seek(SeekFrom::Start(before))?;
    log.read_to_end(&mut rest)?;
    Ok(rest)
}

fn read(event: &Value) -> Request {
    let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    Request {
        verb: text("/verb"),
        kind: text("/objectRef/resource"),
        namespace: text("/objectRef/namespace"),
        name: text("/objectRef/name"),
        status: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
        rehearsal: text("/requestURI").contains("dryRun=All"),
    }
}
