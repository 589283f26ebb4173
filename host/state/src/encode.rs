//! Turns changes into entries.

use std::borrow::Cow;

use purlin_model::driver::{Checkpoint, Cookie};
use sha2::{Digest, Sha256};

use crate::error::NO_RANDOM;
use crate::keys::Keyring;
use crate::keyspace::{self, EntryKind, EnvironmentDigest};
use crate::{Change, Deployment, Environment, Error, RecordId, codec};

/// Cookies of more bytes than this are stored apart. An entry of its own costs a small one more than it saves.
const LARGE_COOKIE: u64 = 1 << 10;

/// One step of a commit, encoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// Insert or replace an entry.
    Put { key: Vec<u8>, value: Vec<u8> },
    /// Remove an entry.
    Remove { key: Vec<u8> },
    /// A deployment, whose number only the store knows.
    Deployed(Box<Deployed>),
    /// An entry of the audit, whose number and digest only the store knows.
    Audited(Box<Audited>),
}

/// An encoded deployment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Deployed {
    pub(crate) place: EnvironmentDigest,
    /// The digest of its id.
    pub(crate) id: [u8; 16],
    /// The number in the change.
    pub(crate) number: u64,
    /// The digest of its documents.
    pub(crate) digest: Option<[u8; 32]>,
    pub(crate) value: Vec<u8>,
    /// The documents, if they are part of the change.
    pub(crate) documents: Option<Vec<u8>>,
}

/// An encoded entry of the audit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Audited {
    pub(crate) place: EnvironmentDigest,
    /// In milliseconds since 1970.
    pub(crate) time: u64,
    /// The digest of its content.
    pub(crate) content: [u8; 32],
    pub(crate) value: Vec<u8>,
    /// Entries of before this time are removed.
    pub(crate) kept_since: u64,
}

/// An encoded commit.
#[derive(Default)]
pub(crate) struct Writes(pub(crate) Vec<Write>);

impl Writes {
    /// Encodes the changes of an environment and seals secrets.
    pub(crate) fn of(changes: &[Change], environment: &Environment, keys: &Keyring) -> Result<Self, Error> {
        let mut all = Self(Vec::with_capacity(changes.len()));
        let within =
            Within { prefix: environment.urn_prefix(), place: keyspace::place(environment), environment };
        for change in changes {
            all.add(change, &within, keys)?;
        }
        Ok(all)
    }

    /// The approximate size in bytes.
    pub(crate) fn size(&self) -> usize {
        let size = |write: &Write| match write {
            Write::Put { key, value } => key.len() + value.len(),
            Write::Remove { key } => key.len(),
            Write::Deployed(deployed) => {
                deployed.value.len() + deployed.documents.as_ref().map_or(0, Vec::len)
            }
            Write::Audited(audited) => audited.value.len(),
        };
        self.0.iter().map(size).sum()
    }

    fn add(&mut self, change: &Change, within: &Within<'_>, keys: &Keyring) -> Result<(), Error> {
        let key = |kind, id: &RecordId| within.key(kind, id);
        match change {
            Change::Put(record) => {
                let encoded = match self.apart(&record.state.cookie, within, keys)? {
                    Some(cookie) => {
                        let mut record = record.clone();
                        record.state.cookie = cookie;
                        codec::encode(&record, keys)?
                    }
                    None => codec::encode(record, keys)?,
                };
                self.put(key(EntryKind::Record, &record.id())?, encoded);
            }
            Change::Remove(id) => self.remove(key(EntryKind::Record, id)?),
            Change::Intend(intent) => {
                let id = intent.id();
                let mut intent = Cow::Borrowed(&**intent);
                // What was reported has one place, where a later report replaces it.
                let reported = match intent.checkpoint.is_some() {
                    true => intent.to_mut().checkpoint.take(),
                    false => None,
                };
                if intent.cookies().into_iter().any(is_large) {
                    for cookie in intent.to_mut().cookies_mut() {
                        if let Some(stored) = self.apart(cookie, within, keys)? {
                            *cookie = stored;
                        }
                    }
                }
                let encoded = codec::encode_intent(&intent, keys)?;
                self.put(key(EntryKind::Intent, &id)?, encoded);
                match reported {
                    Some(checkpoint) => self.checkpoint(&id, &checkpoint, within, keys)?,
                    None => self.remove(key(EntryKind::Checkpoint, &id)?),
                }
            }
            Change::Checkpoint { id, checkpoint } => self.checkpoint(id, checkpoint, within, keys)?,
            Change::Settle(id) => {
                self.remove(key(EntryKind::Intent, id)?);
                self.remove(key(EntryKind::Checkpoint, id)?);
            }
            Change::Obstruct { urn, obstacle } => {
                let id = RecordId::current(urn.clone());
                match obstacle {
                    Some(obstacle) => self
                        .put(key(EntryKind::ObstacleRecord, &id)?, codec::encode_obstacle(obstacle, keys)?),
                    None => self.remove(key(EntryKind::ObstacleRecord, &id)?),
                }
            }
            Change::Vanish { urn, objects } => {
                let key = key(EntryKind::Vanished, &RecordId::current(urn.clone()))?;
                match objects.is_empty() {
                    true => self.remove(key),
                    false => self.put(key, codec::encode_vanished(urn, objects, keys)?),
                }
            }
            Change::Deployed { deployment, documents } => {
                self.deployed(within, deployment, documents.as_deref(), keys)?;
            }
            Change::Roll { rollout, plan } => {
                if let Some(plan) = plan {
                    let value = Self::documents_of(&rollout.plan, plan, &change.subject(), keys)?;
                    self.put(keyspace::documents(&rollout.plan, &within.place), value);
                }
                let value = codec::encode_rollout(within.environment, rollout, keys)?;
                self.put(keyspace::rollout(rollout.number, &within.place), value);
            }
            Change::ForgetRollout(rollout) => {
                self.remove(keyspace::rollout(rollout.number, &within.place));
                self.remove(keyspace::documents(&rollout.plan, &within.place));
            }
            Change::Audited { entry, kept_since } => {
                let (content, value) = codec::encode_audit(within.environment, entry, keys)?;
                let (place, time) = (within.place, entry.by.since);
                let audited = Audited { place, time, content, value, kept_since: *kept_since };
                self.0.push(Write::Audited(Box::new(audited)));
            }
            Change::RemoveCookies(ids) => {
                ids.iter().for_each(|id| self.remove(keyspace::cookie(id, &within.place)));
            }
            Change::SetClosed(holder) => {
                let key = keyspace::prefix(EntryKind::Closed, &within.place);
                match holder {
                    Some(holder) => self.put(key, codec::encode_closed(holder, keys)?),
                    None => self.remove(key),
                }
            }
            Change::SetStaleness(staleness) => {
                let key = keyspace::prefix(EntryKind::Staleness, &within.place);
                match staleness {
                    Some(staleness) => self.put(key, codec::encode_staleness(*staleness, keys)?),
                    None => self.remove(key),
                }
            }
        }
        Ok(())
    }

    fn checkpoint(
        &mut self,
        id: &RecordId,
        checkpoint: &Checkpoint,
        within: &Within<'_>,
        keys: &Keyring,
    ) -> Result<(), Error> {
        let mut checkpoint = checkpoint.clone();
        if let Some(cookie) = &mut checkpoint.cookie
            && let Some(stored) = self.apart(cookie, within, keys)?
        {
            *cookie = stored;
        }
        let key = within.key(EntryKind::Checkpoint, id)?;
        self.put(key, codec::encode_checkpoint(&checkpoint, keys)?);
        Ok(())
    }

    /// What a record says of a large cookie, which gets an entry of its own, so that who reads the record
    /// need not read it; `None` of any other one.
    fn apart(
        &mut self,
        cookie: &Cookie,
        within: &Within<'_>,
        keys: &Keyring,
    ) -> Result<Option<Cookie>, Error> {
        let Some(bytes) = cookie.bytes().filter(|_| is_large(cookie)) else { return Ok(None) };
        let stored = cookie.to_stored(|| {
            let mut id = [0; 16];
            let unwritable = |_| Error::Unwritable { name: within.prefix.clone(), detail: NO_RANDOM };
            getrandom::fill(&mut id).map_err(unwritable)?;
            Ok(id)
        })?;
        let encoded = codec::encode_cookie(&stored.id, bytes, keys)?;
        self.put(keyspace::cookie(&stored.id, &within.place), encoded);
        Ok(Some(stored.into()))
    }

    fn deployed(
        &mut self,
        within: &Within<'_>,
        deployment: &Deployment,
        documents: Option<&[u8]>,
        keys: &Keyring,
    ) -> Result<(), Error> {
        let digest = deployment.documents.unwrap_or_default();
        let encoded = documents.map(|documents| Self::documents_of(&digest, documents, &deployment.id, keys));
        let documents = encoded.transpose()?;
        // After the documents: these are always sealed, so there is a key now.
        let value = codec::encode_deployment(within.environment, deployment, keys)?;
        self.0.push(Write::Deployed(Box::new(Deployed {
            place: within.place,
            id: keyspace::DeploymentKey::id(&deployment.id),
            number: deployment.number,
            digest: deployment.documents,
            value,
            documents,
        })));
        Ok(())
    }

    /// Encodes documents, which must have the digest that `name` says.
    fn documents_of(
        digest: &[u8; 32],
        documents: &[u8],
        name: &str,
        keys: &Keyring,
    ) -> Result<Vec<u8>, Error> {
        if Sha256::digest(documents)[..] != *digest {
            let detail = "its documents do not have the digest that it says";
            return Err(Error::Unwritable { name: name.to_owned(), detail });
        }
        codec::encode_documents(documents, keys)
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.0.push(Write::Put { key, value });
    }

    fn remove(&mut self, key: Vec<u8>) {
        self.0.push(Write::Remove { key });
    }
}

/// Whether a cookie is stored apart from its record, where its bytes are here.
fn is_large(cookie: &Cookie) -> bool {
    cookie.bytes().is_some() && cookie.len() > LARGE_COOKIE
}

/// The environment that all changes of a commit concern.
struct Within<'e> {
    environment: &'e Environment,
    /// The prefix of its URNs.
    prefix: String,
    place: EnvironmentDigest,
}

impl Within<'_> {
    fn key(&self, kind: EntryKind, id: &RecordId) -> Result<Vec<u8>, Error> {
        let name = keyspace::name(&self.prefix, id).ok_or_else(|| Error::Unwritable {
            name: id.to_string(),
            detail: "it is not in the locked environment",
        })?;
        let mut key = keyspace::prefix(kind, &self.place);
        key.extend_from_slice(&name);
        Ok(key)
    }
}
