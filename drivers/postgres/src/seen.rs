//! A database or a role that was looked for.

use purlin_sdk::Failure;

use crate::identity::{Candidate, Identity, Located, locate, taken};
use crate::session::Session;

/// What was found, and the connection over which it was.
pub(crate) struct Seen<Row> {
    pub(crate) session: Session,
    pub(crate) rows: Vec<Row>,
    pub(crate) located: Located,
}

impl<Row: Candidate> Seen<Row> {
    /// Looks for a resource among all that it may be. `what` is what is about to be done.
    pub(crate) fn among(
        session: Session,
        rows: Vec<Row>,
        identity: &Identity,
        recorded: Option<u32>,
        what: &str,
    ) -> Result<Self, Failure> {
        let located = locate(identity, &rows, recorded)?;
        if located == Located::Nowhere && !session.is_same_server(identity) {
            return Err(Failure::Conflict(format!(
                "{what}: this server is another one than the one it was made on"
            )));
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

    /// Another one that has a name.
    pub(crate) fn other_called(&self, name: &str) -> Option<&Row> {
        let own = self.row().map(Candidate::oid);
        self.rows.iter().find(|row| row.name() == name && Some(row.oid()) != own)
    }

    /// The failure for what stands where a resource is to be made. What is to be replaced has to go first,
    /// which nobody knew where it was made over another way to this server.
    pub(crate) fn in_the_way(&self, identity: &Identity, row: &Row, old: Option<&Identity>) -> Failure {
        match old {
            Some(old) if self.session.is_same_server(old) && old.is(row) => Failure::NeedsDeleteBefore(
                format!("the {} `{}` is the one that is to be replaced", identity.kind, row.name()),
            ),
            _ => taken(identity, row),
        }
    }
}
