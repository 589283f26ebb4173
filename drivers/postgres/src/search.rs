//! A search for a database or a role.

use purlin_sdk::Failure;

use crate::identity::{Candidate, Identity, Located, locate, taken};
use crate::session::Session;

/// The result, and the connection that found it.
pub(crate) struct Search<Row> {
    pub(crate) session: Session,
    pub(crate) rows: Vec<Row>,
    pub(crate) located: Located,
}

impl<Row: Candidate> Search<Row> {
    /// Looks for a resource among all candidates. `what` is the intended action.
    pub(crate) fn among(
        session: Session,
        rows: Vec<Row>,
        identity: &Identity,
        recorded: Option<u32>,
        what: &str,
    ) -> Result<Self, Failure> {
        let located = locate(identity, &rows, recorded)?;
        if located == Located::Nowhere {
            session.check_server(identity, what)?;
        }
        Ok(Self { session, rows, located })
    }

    /// The resource, finished or not.
    pub(crate) fn row(&self) -> Option<&Row> {
        match self.located {
            Located::There(index) | Located::Unfinished(index) => self.rows.get(index),
            Located::Nowhere => None,
        }
    }

    /// Another object with a name.
    pub(crate) fn other_called(&self, name: &str) -> Option<&Row> {
        let own = self.row().map(Candidate::oid);
        self.rows.iter().find(|row| row.name() == name && Some(row.oid()) != own)
    }

    /// The failure for an object in the place of a new resource. An object to be replaced must go
    /// first, which the plan did not know if it was created through another address of this server.
    pub(crate) fn in_the_way(&self, identity: &Identity, row: &Row, old: Option<&Identity>) -> Failure {
        match old {
            Some(old) if self.session.is_same_server(old) && old.is(row) => Failure::needs_delete_before(
                format!("the {} `{}` is the one that is being replaced", identity.kind, row.name()),
            ),
            _ => taken(identity, row),
        }
    }
}
