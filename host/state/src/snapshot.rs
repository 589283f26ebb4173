//! From the bytes of many records to the records.

use std::thread;

use crate::keys::Keyring;
use crate::{Environment, Error, Record, codec};

/// Fewer records than this are not worth a thread.
const SHARE: usize = 256;

/// Reads the records of an environment, sorted by URN. Opening sealed ones is what takes time, so
/// all processors help.
pub(crate) fn decode(
    stored: Vec<(String, Vec<u8>)>,
    environment: &Environment,
    keys: &Keyring,
) -> Result<Vec<Record>, Error> {
    let prefix = environment.urn_prefix();
    let read = |part: &[(String, Vec<u8>)]| -> Result<Vec<Record>, Error> {
        part.iter()
            .map(|(name, bytes)| {
                let record = codec::decode(bytes, name, keys)?;
                if !record.urn.as_str().starts_with(&prefix) {
                    let detail = format!("it is that of `{}`", record.urn);
                    return Err(Error::Damaged { name: name.clone(), detail });
                }
                Ok(record)
            })
            .collect()
    };
    let helpers = thread::available_parallelism().map_or(1, usize::from).min(stored.len() / SHARE).max(1);
    let mut records = Vec::with_capacity(stored.len());
    if helpers == 1 {
        records = read(&stored)?;
    } else {
        let parts: Vec<_> = stored.chunks(stored.len().div_ceil(helpers)).collect();
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = parts.into_iter().map(|part| scope.spawn(move || read(part))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Error::Closed))).collect()
        });
        for result in results {
            records.extend(result?);
        }
    }
    records.sort_by(|a, b| a.urn.cmp(&b.urn));
    Ok(records)
}

/// The environments that records lie in, sorted by what their URNs begin with.
pub(crate) fn environments(stored: Vec<(String, Vec<u8>)>) -> Result<Vec<Environment>, Error> {
    let mut environments = Vec::with_capacity(stored.len());
    for (name, bytes) in stored {
        let urn = codec::decode_urn(&bytes, &name)?;
        environments.extend(Environment::of_urn(&urn));
    }
    environments.sort_by_cached_key(Environment::urn_prefix);
    environments.dedup();
    Ok(environments)
}
