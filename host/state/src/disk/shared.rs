//! The data that the writing thread shares with readers in this process.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::journal::Position;
use crate::table::{Entry, Table};

/// The entries, and the journal position that they include.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) table: Table,
    /// The last journal position in the table.
    pub(crate) position: Option<Position>,
}

impl State {
    /// Applies a batch that is in the journal.
    pub(super) fn apply(&mut self, entries: Vec<Entry>, position: Position) {
        for (key, value) in entries {
            self.table.apply(key, value);
        }
        self.position = Some(position);
    }
}

/// The state, shared between threads. A panic leaves nothing in it inconsistent.
#[derive(Default)]
pub(crate) struct Shared(RwLock<State>);

impl Shared {
    pub(super) fn new(table: Table, position: Option<Position>) -> Self {
        Self(RwLock::new(State { table, position }))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
