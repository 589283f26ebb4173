//! One driver of the workspace: its source, its grants, its limits (SPEC §8).

use purlin_model::{DriverConfig, DriverSource};

use super::grants::Grants;
use crate::declare::{Form, Read, form};
use crate::definition::{VersionRange, check_driver_name};
use crate::kinds::{Count, Size, Text, Time, TimeOrZero};
use crate::reader::Reader;
use crate::yaml::{Entry, Node};

form! {
    /// A driver.
    pub(crate) struct Driver {
        /// A file, a folder, or `oci://REFERENCE`. Not for built-in drivers.
        SOURCE: Text = "source";
        /// Allowed versions, such as `^1`.
        VERSION: VersionRange = "version";
        /// Its grants. Default: none.
        GRANTS: Grants = "grants", "{tcp: [\"db.example:5432\"]}";
        /// Its limits.
        LIMITS: Limits = "limits", "{memory: 64MiB, time: 30s}";
    }
}

form! {
    /// The limits of a driver.
    pub(crate) struct Limits {
        /// Memory of one instance, such as `64MiB`.
        MEMORY: Size = "memory" default "64MiB";
        /// Time of one call, such as `30s`.
        TIME: Time = "time" default "30s";
        /// Size of the result of one call.
        OUTPUT: Size = "output" default "4MiB";
        /// Size of the log of one call.
        LOG: Size = "log" default "1MiB";
        /// Number of calls at the same time.
        CONCURRENCY: Count = "concurrency" default "64";
        /// Total time of the waits between the calls of one operation.
        WAIT: Time = "wait" default "1m";
        /// How long its system may not show a new resource before the resource counts as missing.
        GRACE: TimeOrZero = "grace" default "30s";
        /// How long a run waits for one resource that is in progress. `0s`: it does not wait.
        PENDING: TimeOrZero = "pending" default "30m";
        /// Size of what it may keep privately for one resource.
        STATE: Size = "state" default "10KiB";
        /// Total time of all calls.
        TOTAL: Time = "total";
        /// Total size of the responses that one call receives.
        RESPONSE: Size = "response" default "64MiB";
        /// Total number of requests, connections and name lookups of one call.
        REQUESTS: Count = "requests" default "1000";
    }
}

pub(super) fn read(reader: &mut Reader<'_>, entry: &Entry<'_>) -> Option<DriverConfig> {
    check_driver_name(reader, entry);
    let driver = Driver::open(reader, &entry.value, &format!("the driver `{}`", entry.key))?;
    let source = driver.read(reader, Driver::SOURCE).map(|text| match text.strip_prefix("oci://") {
        Some(reference) => DriverSource::Oci(reference.to_owned()),
        None => DriverSource::Path((&*text).into()),
    });
    Some(DriverConfig {
        source,
        version: driver.read(reader, Driver::VERSION),
        grants: driver.read(reader, Driver::GRANTS).unwrap_or_default(),
        limits: driver.read(reader, Driver::LIMITS).unwrap_or_default(),
        location: reader.at(&entry.key_span),
    })
}

impl Read for Limits {
    type Value = purlin_model::Limits;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<Self::Value> {
        let limits = Self::open(reader, node, what)?;
        let requests = limits.read(reader, Self::REQUESTS);
        Some(purlin_model::Limits {
            memory: limits.read(reader, Self::MEMORY),
            time: limits.read(reader, Self::TIME),
            output: limits.read(reader, Self::OUTPUT),
            log: limits.read(reader, Self::LOG),
            concurrency: limits.read(reader, Self::CONCURRENCY),
            wait: limits.read(reader, Self::WAIT),
            grace: limits.read(reader, Self::GRACE),
            pending: limits.read(reader, Self::PENDING),
            state: limits.read(reader, Self::STATE),
            total: limits.read(reader, Self::TOTAL),
            response: limits.read(reader, Self::RESPONSE),
            requests: requests.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        })
    }
}
