//! From the bytes of many records to the records.

use std::thread;

use crate::disk::Named;
use crate::keys::Keyring;
use crate::{Environment, Error, Record, codec};

/// So many records are worth a thread.
const SHARE: usize = 256;

/// Collects the records of an environment. Opening sealed ones is what takes time, so all
/// processors help.
pub(crate) struct Snapshot<'a> {
    environment: &'a Environment,
    keys: &'a Keyring,
    prefix: String,
    helpers: usize,
    records: Vec<Record>,
}

impl<'a> Snapshot<'a> {
    pub(crate) fn new(environment: &'a Environment, keys: &'a Keyring) -> Self {
        let helpers = thread::available_parallelism().map_or(1, usize::from);
        Self { environment, keys, prefix: environment.urn_prefix(), helpers, records: Vec::new() }
    }

    /// How many records should come at once.
    pub(crate) fn at_once(&self) -> usize {
        SHARE * self.helpers
    }

    /// Adds records.
    pub(crate) fn add(&mut self, stored: Vec<Named>) -> Result<(), Error> {
        let threads = self.helpers.min(stored.len() / (SHARE / 2));
        if threads < 2 {
            self.records.extend(self.read(&stored)?);
            return Ok(());
        }
        let this = &*self;
        let parts: Vec<_> = thread::scope(|scope| {
            let parts = stored.chunks(stored.len().div_ceil(threads));
            let threads: Vec<_> = parts.map(|part| scope.spawn(move || this.read(part))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Error::Closed))).collect()
        });
        for part in parts {
            self.records.extend(part?);
        }
        Ok(())
    }

    fn read(&self, part: &[Named]) -> Result<Vec<Record>, Error> {
        let records = part.iter().map(|Named { name, bytes }| {
            let record = codec::decode(bytes, name, self.keys)?;
            if !record.urn.as_str().starts_with(&self.prefix) {
                let detail = format!("it is that of `{}`, which is not in {}", record.urn, self.environment);
                return Err(Error::Damaged { name: name.clone(), detail });
            }
            Ok(record)
        });
        records.collect()
    }

    /// The records, sorted by URN.
    pub(crate) fn finish(mut self) -> Vec<Record> {
        // Long names are not stored in this order.
        self.records.sort_by(|a, b| a.urn.cmp(&b.urn));
        self.records
    }
}

/// The environments that records lie in, sorted by what their URNs begin with.
pub(crate) fn environments(stored: Vec<Named>) -> Result<Vec<Environment>, Error> {
    let mut environments = Vec::with_capacity(stored.len());
    for Named { name, bytes } in stored {
        let urn = codec::decode_urn(&bytes, &name)?;
        environments.extend(Environment::of_urn(&urn));
    }
    environments.sort_by_cached_key(Environment::urn_prefix);
    environments.dedup();
    Ok(environments)
}
