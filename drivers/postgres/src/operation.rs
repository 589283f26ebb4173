//! One call about one thing, and what calls about databases and roles have in common.

use purlin_sdk::{Failure, Subject};
use purlin_sdk_net::Deadline;

use crate::identity::{Candidate, Identity, taken};
use crate::inputs::PgInputs;
use crate::search::Search;
use crate::session::Session;
use crate::statement_error::StatementError;

/// A kind of thing that the driver provisions.
pub(crate) trait Kind {
    /// `database`, `role` or `grant`.
    const KIND: &'static str;

    /// An action on it, for messages.
    fn what(&self, doing: &str) -> String;
}

/// A kind of thing that has a name and a comment.
pub(crate) trait Named: Kind + Sized {
    /// An existing one.
    type Row: Candidate;

    fn name(&self) -> &str;

    /// Those that may be the resource: by name, by mark, or by the recorded number.
    fn rows(
        operation: &Operation<'_, Self>,
        session: &mut Session,
        recorded: Option<u32>,
    ) -> Result<Vec<Self::Row>, StatementError>;
}

/// One call about one thing.
pub(crate) struct Operation<'a, T> {
    pub(crate) inputs: &'a PgInputs,
    pub(crate) wanted: &'a T,
    pub(crate) identity: Identity,
    pub(crate) until: Deadline,
}

impl<'a, T: Kind> Operation<'a, T> {
    pub(crate) fn new(
        inputs: &'a PgInputs,
        wanted: &'a T,
        subject: &Subject,
        id: Option<&str>,
        until: Deadline,
    ) -> Self {
        Self { inputs, wanted, identity: Identity::of(T::KIND, subject, id), until }
    }

    pub(crate) fn what(&self, doing: &str) -> String {
        self.wanted.what(doing)
    }
}

impl<T: Named> Operation<'_, T> {
    pub(crate) fn look(&self, recorded: Option<u32>, doing: &str) -> Result<Search<T::Row>, Failure> {
        let failure = |fault: StatementError| fault.failure(&self.what(doing));
        let database = &self.inputs.connection.database;
        let session = Session::open(self.inputs, database, &self.identity, self.until);
        let mut session = session.map_err(failure)?;
        let rows = T::rows(self, &mut session, recorded).map_err(failure)?;
        Search::among(session, rows, &self.identity, recorded, &self.what(doing))
    }

    /// The result of a read that found nothing: a failure if it searched by name and another owner's
    /// object has that name.
    pub(crate) fn nothing<X>(&self, seen: &Search<T::Row>, id: Option<&str>) -> Result<Option<X>, Failure> {
        if id.is_none() {
            self.reject_other(seen)?;
        }
        Ok(None)
    }

    /// Rejects a name that another object has.
    pub(crate) fn reject_other(&self, seen: &Search<T::Row>) -> Result<(), Failure> {
        match seen.other_called(self.wanted.name()) {
            Some(row) => Err(taken(&self.identity, row)),
            None => Ok(()),
        }
    }

    /// The failure for an object that should exist.
    pub(crate) fn gone(&self, doing: &str) -> Failure {
        Failure::not_found(format!(
            "{}: it no longer exists; `purlin refresh` records that",
            self.what(doing)
        ))
    }
}
