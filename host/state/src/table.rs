//! All entries of an environment, in memory and in order. Serves reads, and receives commits.
//! Entries are the bytes that are written, so secrets stay encrypted in memory.

use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;

use crate::encode::{Audited, Deployed, Write};
use crate::keyspace::{self, AuditKey, DeploymentKey, EntryKind};

/// The number of deployments of an environment whose documents are kept.
pub(crate) const DOCUMENTS_KEPT: usize = 100;

/// An entry to insert, or to remove.
pub(crate) type Entry = (Vec<u8>, Option<Vec<u8>>);

/// A short summary of a set of entries: equal for equal entries in any order, and almost certainly
/// different for different ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    /// The total length of keys and values.
    pub(crate) bytes: u64,
    pub(crate) digest: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.count = self.count.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add((key.len() + value.len()) as u64);
        self.digest = self.digest.wrapping_add(mixed(key, value));
    }

    pub(crate) fn subtract(&mut self, key: &[u8], value: &[u8]) {
        self.count = self.count.wrapping_sub(1);
        self.bytes = self.bytes.wrapping_sub((key.len() + value.len()) as u64);
        self.digest = self.digest.wrapping_sub(mixed(key, value));
    }
}

/// Two checksums, mixed so that their sums are meaningful (the final step of splitmix64).
fn mixed(key: &[u8], value: &[u8]) -> u64 {
    let mut mixed = (u64::from(crc32fast::hash(key)) << 32) | u64::from(crc32fast::hash(value));
    mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Entries by key.
pub(crate) type Entries = BTreeMap<Bytes, Bytes>;

/// The entries and their tally.
#[derive(Debug, Default)]
pub(crate) struct Table {
    entries: Entries,
    tally: Tally,
    /// Whether entries may be parts of the frames that they were read from. An entry keeps its
    /// frame in memory, so this is only for tables that are not written to.
    of_frames: bool,
}

/// All entries by key.
impl IntoIterator for Table {
    type Item = (Bytes, Bytes);
    type IntoIter = std::collections::btree_map::IntoIter<Bytes, Bytes>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl Table {
    /// A table for reading, whose entries are parts of the frames that they were read from.
    pub(crate) fn of_frames() -> Self {
        Self { of_frames: true, ..Self::default() }
    }

    pub(crate) fn shares_frames(&self) -> bool {
        self.of_frames
    }

    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    pub(crate) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.entries.get(key).map(|value| &**value)
    }

    /// All entries by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|(key, value)| (&**key, &**value))
    }

    /// The entries whose keys have this prefix.
    pub(crate) fn range<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let entries = self.entries.range::<[u8], _>(from);
        entries.take_while(move |(key, _)| key.starts_with(prefix)).map(|(key, value)| (&**key, &**value))
    }

    /// The last key with this prefix.
    fn last(&self, prefix: &[u8]) -> Option<&[u8]> {
        let behind = keyspace::behind(prefix);
        let within = (Bound::Included(prefix), Bound::Excluded(&*behind));
        self.entries.range::<[u8], _>(within).next_back().map(|(key, _)| &**key)
    }

    /// Takes the entries whose keys begin with this byte. The tally remains that of all entries.
    pub(crate) fn take(&mut self, first: u8) -> Entries {
        let mut taken = self.entries.split_off(&[first][..]);
        if let Some(next) = first.checked_add(1) {
            let mut behind = taken.split_off(&[next][..]);
            self.entries.append(&mut behind);
        }
        taken
    }

    /// Inserts or removes an entry.
    pub(crate) fn apply(&mut self, mut key: Vec<u8>, value: Option<Vec<u8>>) {
        key.shrink_to_fit();
        self.apply_bytes(key.into(), value.map(Bytes::from));
    }

    /// The same for parts of a frame.
    pub(crate) fn apply_bytes(&mut self, key: Bytes, value: Option<Bytes>) {
        let Some(value) = value else {
            if let Some((key, old)) = self.entries.remove_entry(&key) {
                self.tally.subtract(&key, &old);
            }
            return;
        };
        self.tally.add(&key, &value);
        match self.entries.get_mut(&key) {
            Some(slot) => {
                let old = std::mem::replace(slot, value);
                self.tally.subtract(&key, &old);
            }
            None => {
                self.entries.insert(key, value);
            }
        }
    }

    /// Assigns numbers to deployments and to entries of the audit, and decides which documents and entries
    /// are removed. `entries` are those
    /// of the same batch so far; the result is appended to them.
    pub(crate) fn resolve(&self, writes: Vec<Write>, entries: &mut Vec<Entry>) {
        for write in writes {
            match write {
                Write::Put { key, value } => entries.push((key, Some(value))),
                Write::Remove { key } => entries.push((key, None)),
                Write::Deployed(deployed) => self.resolve_deployment(*deployed, entries),
                Write::Audited(audited) => self.resolve_audited(*audited, entries),
            }
        }
    }

    fn resolve_audited(&self, audited: Audited, entries: &mut Vec<Entry>) {
        let Audited { place, time, content, value, kept_since } = audited;
        let prefix = keyspace::prefix(EntryKind::Audit, &place);
        let new = entries.iter().rev().find(|(key, value)| value.is_some() && key.starts_with(&prefix));
        let last = new.map(|(key, _)| key.as_slice()).or_else(|| self.last(&prefix));
        let key = AuditKey::after(last.and_then(AuditKey::parse), time, &content);
        let old = self.range(&prefix).map(|(key, _)| key).take_while(|key| {
            // The oldest ones only, so that no gap arises where a clock was set back.
            AuditKey::parse(key).is_some_and(|key| key.time < kept_since)
        });
        entries.extend(old.map(|key| (key.to_vec(), None)));
        entries.push((key.to_key(&place), Some(value)));
    }

    fn resolve_deployment(&self, deployed: Deployed, entries: &mut Vec<Entry>) {
        let Deployed { place, id, number, digest, value, documents } = deployed;
        let prefix = keyspace::prefix(EntryKind::Deployment, &place);
        let mut known: BTreeMap<u64, DeploymentKey> = BTreeMap::new();
        let old = self.range(&prefix).map(|(key, _)| (key, true));
        let new = entries.iter().filter(|(key, _)| key.starts_with(&prefix));
        for (key, there) in old.chain(new.map(|(key, value)| (key.as_slice(), value.is_some()))) {
            let Some(parsed) = DeploymentKey::parse(key) else { continue };
            if there {
                known.insert(parsed.number, parsed);
            } else if known.get(&parsed.number) == Some(&parsed) {
                known.remove(&parsed.number);
            }
        }
        let same = known.values().find(|known| known.id == id).copied();
        let next = known.last_key_value().map_or(1, |(number, _)| number.saturating_add(1));
        let number = match same {
            Some(same) => same.number,
            None if number == 0 || known.contains_key(&number) => next,
            None => number,
        };
        let key = DeploymentKey { number, id, documents: digest };
        if let Some(same) = same.filter(|same| *same != key) {
            entries.push((same.to_key(&place), None));
        }
        entries.push((key.to_key(&place), Some(value)));
        known.insert(number, key);
        if let (Some(digest), Some(documents)) = (digest, documents) {
            entries.push((keyspace::documents(&digest, &place), Some(documents)));
        }
        // The documents that only the changed deployment or the oldest ones had.
        let with: Vec<[u8; 32]> = known.values().filter_map(|known| known.documents).collect();
        let (gone, kept) = with.split_at(with.len().saturating_sub(DOCUMENTS_KEPT));
        let changed = same.and_then(|same| same.documents);
        for digest in gone.last().into_iter().chain(&changed) {
            if !kept.contains(digest) {
                entries.push((keyspace::documents(digest, &place), None));
            }
        }
    }
}
