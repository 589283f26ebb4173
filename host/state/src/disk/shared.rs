//! What the thread that writes shares with those who read and with the index.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::journal::Position;
use crate::keyspace::is_passing;
use crate::table::{Entry, Table};

/// The entries, and how far they have gone.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) table: Table,
    /// How much of the journal is in the table.
    pub(super) position: Option<Position>,
    /// The keys that the index has not heard of.
    pub(super) dirty: BTreeSet<Vec<u8>>,
    /// How many of them are of what stays.
    pub(super) lasting: usize,
}

impl State {
    /// Applies a batch that the journal has.
    pub(super) fn apply(&mut self, entries: Vec<Entry>, position: Position) {
        for (key, value) in entries {
            if self.dirty.insert(key.clone()) && !is_passing(&key) {
                self.lasting += 1;
            }
            self.table.apply(key, value);
        }
        self.position = Some(position);
    }
}

/// The same, for several threads. Nothing in here is left half done by a panic.
#[derive(Default)]
pub(crate) struct Shared(RwLock<State>);

impl Shared {
    pub(super) fn new(table: Table, position: Option<Position>) -> Self {
        Self(RwLock::new(State { table, position, dirty: BTreeSet::new(), lasting: 0 }))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
