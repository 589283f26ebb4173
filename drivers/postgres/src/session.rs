//! A connection with a lock: nobody else works on the same resource meanwhile, not even the server
//! on unfinished statements of a killed attempt.

use postgres_protocol::escape::{escape_identifier, escape_literal};
use purlin_sdk::Failure;
use purlin_sdk_net::Deadline;
use serde::Deserialize;

use crate::client::Client;
use crate::identity::Identity;
use crate::inputs::PgInputs;
use crate::statement_error::StatementError;

/// A name in SQL.
pub(crate) fn name(name: &str) -> String {
    escape_identifier(name)
}

/// A text in SQL.
pub(crate) fn text(text: &str) -> String {
    escape_literal(text)
}

/// Texts as an SQL array.
pub(crate) fn texts<'a>(all: impl IntoIterator<Item = &'a String>) -> String {
    let all: Vec<String> = all.into_iter().map(|one| text(one)).collect();
    format!("ARRAY[{}]::text[]", all.join(","))
}

/// The server's facts about itself and about the current role.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Facts {
    /// The server's identifier, generated when its data were initialised.
    pub(crate) system: Option<String>,
    /// Such as `150004`.
    pub(crate) version: u32,
    pub(crate) superuser: bool,
    /// Whether it may see the stored passwords.
    pub(crate) sees_passwords: bool,
}

/// A connection with a lock.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) facts: Facts,
}

impl Session {
    /// Connects to a database and waits for the lock of the resource.
    pub(crate) fn open(
        inputs: &PgInputs,
        database: &str,
        identity: &Identity,
        until: Deadline,
    ) -> Result<Self, StatementError> {
        let mut client = Client::connect(&inputs.connection, database, until)?;
        let lock = lock_number(&identity.guresid);
        let begin = |system: &str| {
            format!(
                "SET lock_timeout = '8s'; SELECT pg_advisory_lock({lock}); \
                 SELECT json_agg(t)::text FROM (SELECT {system} AS system, \
                 current_setting('server_version_num')::int AS version, rolsuper AS superuser, \
                 has_table_privilege('pg_catalog.pg_authid', 'SELECT') AS sees_passwords \
                 FROM pg_catalog.pg_roles WHERE rolname = current_user) t"
            )
        };
        let rows = match client
            .run(&begin("(SELECT system_identifier::text FROM pg_catalog.pg_control_system())"))
        {
            // Some hosted servers do not reveal that.
            Err(fault) if matches!(fault.code(), Some("42501" | "42883" | "0A000")) => {
                client.run(&begin("NULL"))?
            }
            rows => rows?,
        };
        let facts = rows.into_iter().flatten().flatten().next_back();
        let facts: Option<Vec<Facts>> = facts.and_then(|json| serde_json::from_str(&json).ok());
        let facts =
            facts.and_then(|facts| facts.into_iter().next()).ok_or_else(|| StatementError::Nonsense {
                server: inputs.connection.place().to_string(),
                message: "it does not report the current user".to_owned(),
            })?;
        Ok(Self { client, facts })
    }

    /// Whether this is the server on which the resource was created, as far as that is known.
    pub(crate) fn is_same_server(&self, identity: &Identity) -> bool {
        match (&self.facts.system, &identity.system) {
            (Some(here), Some(there)) => here == there,
            _ => true,
        }
    }

    /// Rejects any other server. `doing` is the intended action.
    pub(crate) fn check_server(&self, identity: &Identity, doing: &str) -> Result<(), Failure> {
        if self.is_same_server(identity) {
            return Ok(());
        }
        Err(Failure::conflict(format!("{doing}: this is not the server that it was created on")))
    }
}

/// The resource's number among the server's advisory locks.
fn lock_number(guresid: &str) -> i64 {
    let digits = guresid.get(..16).unwrap_or_default();
    u64::from_str_radix(digits, 16).unwrap_or_default().cast_signed()
}
