//! From changes to finished bytes under keys.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::keys::{DataKey, Keyring};
use crate::keyspace::{self, Kind, Place};
use crate::{Change, Deployment, Environment, Error, RecordId, codec};

/// One step of a commit, as bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// An entry, in place of what is there.
    Put { key: Vec<u8>, value: Vec<u8> },
    /// No entry any more.
    Remove { key: Vec<u8> },
    /// A deployment, whose number only the store knows.
    Deployed(Box<Deployed>),
}

/// A deployment as bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Deployed {
    pub(crate) place: Place,
    /// Digest of its id.
    pub(crate) id: [u8; 16],
    /// The number that it came with.
    pub(crate) number: u64,
    /// Digest of its documents.
    pub(crate) digest: Option<[u8; 32]>,
    pub(crate) value: Vec<u8>,
    /// The documents, where they came along.
    pub(crate) documents: Option<Vec<u8>>,
}

/// A commit as bytes.
#[derive(Default)]
pub(crate) struct Writes {
    pub(crate) writes: Vec<Write>,
    /// The key that something in it was sealed with.
    pub(crate) key: Option<Arc<DataKey>>,
}

impl Writes {
    /// Encodes changes, sealing what is secret.
    pub(crate) fn of(changes: &[Change], keys: &Keyring) -> Result<Self, Error> {
        let mut all = Self { writes: Vec::with_capacity(changes.len()), key: None };
        for change in changes {
            all.add(change, keys)?;
        }
        Ok(all)
    }

    /// Bytes, roughly.
    pub(crate) fn size(&self) -> usize {
        let size = |write: &Write| match write {
            Write::Put { key, value } => key.len() + value.len(),
            Write::Remove { key } => key.len(),
            Write::Deployed(deployed) => {
                deployed.value.len() + deployed.documents.as_ref().map_or(0, Vec::len)
            }
        };
        self.writes.iter().map(size).sum()
    }

    fn add(&mut self, change: &Change, keys: &Keyring) -> Result<(), Error> {
        match change {
            Change::Put(record) => {
                let encoded = codec::encode(record, keys)?;
                self.put(key(Kind::Record, &record.id())?, encoded);
            }
            Change::Remove(id) => self.remove(keyspace::of(Kind::Record, id)),
            Change::Intend(intent) => {
                let id = intent.id();
                let encoded = codec::encode_intent(intent, keys)?;
                self.put(key(Kind::Intent, &id)?, encoded);
                self.remove(keyspace::of(Kind::Checkpoint, &id));
            }
            Change::Checkpoint { id, provider_id } => {
                let key = key(Kind::Checkpoint, id)?;
                self.put(key, codec::encode_checkpoint(provider_id, keys)?);
            }
            Change::Settle(id) => {
                self.remove(keyspace::of(Kind::Intent, id));
                self.remove(keyspace::of(Kind::Checkpoint, id));
            }
            Change::Obstruct { urn, unmet } => {
                let id = RecordId::current(urn.clone());
                match unmet {
                    Some(unmet) => self.put(key(Kind::Unmet, &id)?, codec::encode_unmet(unmet, keys)?),
                    None => self.remove(keyspace::of(Kind::Unmet, &id)),
                }
            }
            Change::Deployed { environment, deployment, documents } => {
                self.deployed(environment, deployment, documents.as_deref(), keys)?;
            }
            Change::Hold { environment, holder } => {
                let key = keyspace::prefix(Kind::Hold, &keyspace::place(environment));
                match holder {
                    Some(holder) => self.put(key, codec::encode_hold(holder, keys)?),
                    None => self.writes.push(Write::Remove { key }),
                }
            }
        }
        Ok(())
    }

    fn deployed(
        &mut self,
        environment: &Environment,
        deployment: &Deployment,
        documents: Option<&[u8]>,
        keys: &Keyring,
    ) -> Result<(), Error> {
        let documents = documents.map(|documents| {
            if deployment.documents.is_none_or(|digest| Sha256::digest(documents)[..] != digest) {
                let detail = "its documents do not have the digest that it says";
                return Err(Error::Unwritable { name: deployment.id.to_string(), detail });
            }
            codec::encode_documents(documents, keys)
        });
        let documents = documents.transpose()?;
        let documents = documents.map(|encoded| {
            self.sealed_with(encoded.key);
            encoded.bytes
        });
        // Behind the documents, which are sealed in any case and so bring a key.
        let encoded = codec::encode_deployment(environment, deployment, keys)?;
        self.sealed_with(encoded.key);
        let value = encoded.bytes;
        self.writes.push(Write::Deployed(Box::new(Deployed {
            place: keyspace::place(environment),
            id: keyspace::DeploymentKey::id(&deployment.id),
            number: deployment.number,
            digest: deployment.documents,
            value,
            documents,
        })));
        Ok(())
    }

    fn put(&mut self, key: Vec<u8>, encoded: codec::Encoded) {
        self.sealed_with(encoded.key);
        self.writes.push(Write::Put { key, value: encoded.bytes });
    }

    fn sealed_with(&mut self, key: Option<Arc<DataKey>>) {
        self.key = self.key.take().or(key);
    }

    /// What lies in no environment was never recorded.
    fn remove(&mut self, key: Option<Vec<u8>>) {
        self.writes.extend(key.map(|key| Write::Remove { key }));
    }
}

fn key(kind: Kind, id: &RecordId) -> Result<Vec<u8>, Error> {
    let unwritable = || Error::Unwritable { name: id.to_string(), detail: "its URN lies in no environment" };
    keyspace::of(kind, id).ok_or_else(unwritable)
}
