//! Databases.
//!
//! `CREATE DATABASE` cannot be part of a transaction, so a new database briefly has no comment.
//! Until then it has a name that nobody else uses: `purlin_` and the resource's digits. One
//! transaction then sets its name, its mark and its owner, so that a database with its real name is
//! always marked and complete.

use std::time::Duration;

use purlin_sdk::{Failure, Json, State, operation};
use serde::Deserialize;

use crate::client::Client;
use crate::contents;
use crate::identity::{Candidate, Identity, Kept, Located};
use crate::inputs::{Database, PgOutputs};
use crate::operation::{Kind, Named, Operation};
use crate::session::{Session, name, text, texts};
use crate::statement_error::StatementError;

/// An existing database.
#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    oid: u32,
    name: String,
    owner: String,
    connection_limit: i32,
    encoding: String,
    /// Whether the encoding is the requested one, however it is spelled.
    same_encoding: bool,
    comment: Option<String>,
}

impl Candidate for Row {
    fn oid(&self) -> u32 {
        self.oid
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn comment(&self) -> Option<&str> {
        self.comment.as_deref()
    }
}

impl Kind for Database {
    const KIND: &'static str = "database";

    fn what(&self, doing: &str) -> String {
        format!("{doing} the database `{}`", self.name())
    }
}

impl Named for Database {
    type Row = Row;

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn rows(
        operation: &Operation<'_, Self>,
        session: &mut Session,
        recorded: Option<u32>,
    ) -> Result<Vec<Row>, StatementError> {
        let Operation { wanted, identity, .. } = operation;
        let names = [wanted.name().to_owned(), identity.unfinished()];
        let names = texts(names.iter().chain(&identity.named));
        let encoding = text(wanted.encoding.as_deref().unwrap_or_default());
        session.client.select(&format!(
            "SELECT d.oid::int8 AS oid, d.datname AS name, pg_catalog.pg_get_userbyid(d.datdba) AS owner, \
             d.datconnlimit AS connection_limit, pg_catalog.pg_encoding_to_char(d.encoding) AS encoding, \
             pg_catalog.pg_char_to_encoding({encoding}) = d.encoding AS same_encoding, s.description AS comment \
             FROM pg_catalog.pg_database d LEFT JOIN pg_catalog.pg_shdescription s \
             ON s.objoid = d.oid AND s.classoid = 'pg_catalog.pg_database'::regclass \
             WHERE d.datname = ANY ({names}) OR s.description LIKE {mark} OR d.oid::int8 = {oid} \
             ORDER BY d.oid",
            mark = text(&format!("{}%", identity.mark())),
            oid = recorded.map_or(-1, i64::from),
        ))
    }
}

impl Operation<'_, Database> {
    /// Creates it. `old` is the database that it replaces.
    pub(crate) fn create(&self, old: Option<&Identity>) -> Result<State, Failure> {
        let doing = self.what("making");
        let seen = self.look(None, "making")?;
        let finished = seen.row().filter(|_| matches!(seen.located, Located::There(_)));
        if let Some(row) = seen.rows.iter().find(|row| row.name == self.wanted.name()).or(finished) {
            return Err(seen.in_the_way(&self.identity, row, old));
        }
        let id = self.identity.id(seen.session.facts.system.as_deref());
        operation::checkpoint(&id);
        match self.make(seen.session) {
            Ok(oid) => self.state(id, self.wanted.name(), oid),
            Err(fault) if fault.is_uncertain() => self.find_out(id, &fault, &doing),
            Err(fault) => Err(fault.failure(&doing)),
        }
    }

    /// Creates it, from the remains of an earlier attempt. A server error means that nothing of
    /// this attempt is left.
    fn make(&self, mut session: Session) -> Result<Option<u32>, StatementError> {
        let unfinished = self.identity.unfinished();
        let mut create = format!("CREATE DATABASE {}", name(&unfinished));
        if let Some(encoding) = &self.wanted.encoding {
            create.push_str(&format!(" ENCODING {}", text(encoding)));
        }
        // A different encoding from the usual template's requires the empty template.
        let empty = self.wanted.encoding.as_ref().map(|_| "template0");
        if let Some(template) = self.wanted.template.as_deref().or(empty) {
            create.push_str(&format!(" TEMPLATE {}", name(template)));
        }
        let drop = format!("DROP DATABASE IF EXISTS {}", name(&unfinished));
        session.client.run(&drop)?;
        session.client.run(&create)?;
        match self.finish(&mut session, &unfinished, None) {
            Err(StatementError::Sql(error)) => {
                // The name is known to no one else, and no one is connected to the database.
                session.client.run(&drop)?;
                Err(StatementError::Sql(error))
            }
            result => result,
        }
    }

    /// Gives a new database all its properties, its name last.
    fn finish(
        &self,
        session: &mut Session,
        from: &str,
        row: Option<&Row>,
    ) -> Result<Option<u32>, StatementError> {
        self.extend(from)?;
        self.settle(session, from, row)?;
        let rows = Database::rows(self, session, None)?;
        Ok(rows.iter().find(|row| row.name == self.wanted.name()).map(|row| row.oid))
    }

    /// Extensions, which are created from within the database.
    fn extend(&self, database: &str) -> Result<(), StatementError> {
        if self.wanted.extensions.is_empty() {
            return Ok(());
        }
        let mut client = Client::connect(&self.inputs.connection, database, self.until)?;
        let create = |extension: &String| format!("CREATE EXTENSION IF NOT EXISTS {}", name(extension));
        client.transaction(&self.wanted.extensions.iter().map(create).collect::<Vec<_>>())
    }

    /// Sets name, mark, owner and limit in one transaction. `row` is the existing state; a database
    /// that was just created has none yet.
    fn settle(&self, session: &mut Session, from: &str, row: Option<&Row>) -> Result<(), StatementError> {
        let database = name(self.wanted.name());
        let mut statements = Vec::new();
        if from != self.wanted.name() {
            statements.push(format!("ALTER DATABASE {} RENAME TO {database}", name(from)));
        }
        if row.is_none_or(|row| row.comment.as_deref() != Some(&self.identity.comment())) {
            statements.push(format!("COMMENT ON DATABASE {database} IS {}", text(&self.identity.comment())));
        }
        let limit = self.wanted.connection_limit;
        if row.is_none_or(|row| row.connection_limit != limit) {
            statements.push(format!("ALTER DATABASE {database} CONNECTION LIMIT {limit}"));
        }
        if let Some(owner) = &self.wanted.owner
            && row.is_none_or(|row| row.owner != *owner)
        {
            if !session.facts.superuser && !is_member(session, owner)? {
                // Only a member of a role can hand something over to it, and work on it afterwards.
                statements.push(format!("GRANT {} TO CURRENT_USER", name(owner)));
            }
            statements.push(format!("ALTER DATABASE {database} OWNER TO {}", name(owner)));
        }
        if statements.is_empty() { Ok(()) } else { session.client.transaction(&statements) }
    }

    /// The outcome of a statement whose answer was lost.
    fn find_out(&self, id: String, fault: &StatementError, doing: &str) -> Result<State, Failure> {
        let unknown = |id| fault.unknown(doing, "created", State { id, ..State::default() });
        let Ok(mut seen) = self.look(None, "looking for") else { return Err(unknown(id)) };
        match (&seen.located, seen.row()) {
            (Located::There(_), Some(row)) if row.name == self.wanted.name() => {
                self.state(id, &row.name, Some(row.oid))
            }
            (Located::Nowhere, _) => Err(lost(doing, fault)),
            _ => {
                match seen.session.client.run(&format!("DROP DATABASE {}", name(&self.identity.unfinished())))
                {
                    Ok(_) => Err(lost(doing, fault)),
                    Err(_) => Err(unknown(id)),
                }
            }
        }
    }

    /// The existing database, with its actual values.
    pub(crate) fn read(
        &self,
        id: Option<&str>,
        kept: Option<Kept>,
    ) -> Result<Option<(State, Json)>, Failure> {
        let mut seen = self.look(kept.as_ref().and_then(|kept| kept.oid), "reading")?;
        if let Located::Unfinished(_) = seen.located {
            // It is unused: the lock is held here, and a killed attempt left it. Dropping it makes certain
            // that it does not exist, and leaves nothing behind if it is no longer wanted.
            let drop = format!("DROP DATABASE IF EXISTS {}", name(&self.identity.unfinished()));
            seen.session.client.run(&drop).map_err(|fault| fault.failure(&self.what("clearing up")))?;
            return Ok(None);
        }
        let Some(row) = seen.row() else {
            return self.nothing(&seen, id);
        };
        let mut there = self.wanted.clone();
        there.name = Some(row.name.clone());
        there.connection_limit = row.connection_limit;
        if there.owner.is_some() {
            there.owner = Some(row.owner.clone());
        }
        if there.encoding.is_some() && !row.same_encoding {
            there.encoding = Some(row.encoding.clone());
        }
        there.extensions = self.extensions(&row.name)?;
        let id = id.map_or_else(|| self.identity.id(seen.session.facts.system.as_deref()), str::to_owned);
        Ok(Some((self.state(id, &row.name, Some(row.oid))?, serde_json::to_value(there)?)))
    }

    /// The wanted extensions that exist.
    fn extensions(&self, database: &str) -> Result<Vec<String>, Failure> {
        if self.wanted.extensions.is_empty() {
            return Ok(Vec::new());
        }
        #[derive(Deserialize)]
        struct Extension {
            name: String,
        }
        let there = Client::connect(&self.inputs.connection, database, self.until).and_then(|mut client| {
            client.select::<Extension>("SELECT extname AS name FROM pg_catalog.pg_extension")
        });
        let there = there.map_err(|fault| fault.failure(&self.what("reading the extensions of")))?;
        let is_there = |wanted: &&String| there.iter().any(|extension| extension.name == **wanted);
        Ok(self.wanted.extensions.iter().filter(is_there).cloned().collect())
    }

    /// Brings it to the wanted state. Finishes the work of an interrupted attempt.
    pub(crate) fn update(&self, id: &str, kept: &Kept) -> Result<State, Failure> {
        let doing = self.what("changing");
        let mut seen = self.look(kept.oid, "changing")?;
        let failure = |fault: StatementError| match fault.is_uncertain() {
            false => fault.failure(&doing),
            true => {
                let state = State { id: id.to_owned(), ..State::default() }.cookie(kept);
                fault.unknown(&doing, "changed", state.unwrap_or_default())
            }
        };
        self.reject_other(&seen)?;
        match (&seen.located, seen.row()) {
            (Located::There(index), Some(row)) => {
                let (index, oid, from) = (*index, row.oid, row.name.clone());
                self.extend(&from).map_err(failure)?;
                let row = seen.rows.get(index);
                self.settle(&mut seen.session, &from, row).map_err(failure)?;
                self.state(id.to_owned(), self.wanted.name(), Some(oid))
            }
            // Created again: the inputs may have changed, and nobody has used it yet.
            (Located::Unfinished(_), _) => {
                let oid = self.make(seen.session).map_err(failure)?;
                self.state(id.to_owned(), self.wanted.name(), oid)
            }
            _ if kept.oid.is_none() => {
                let oid = self.make(seen.session).map_err(failure)?;
                self.state(id.to_owned(), self.wanted.name(), oid)
            }
            _ => Err(self.gone("changing")),
        }
    }

    /// Drops it. A database with contents stays, unless the contents are to be deleted too.
    pub(crate) fn delete(&self, kept: Option<&Kept>) -> Result<(), Failure> {
        let mut seen = self.look(kept.and_then(|kept| kept.oid), "deleting")?;
        let Some(row) = seen.row() else { return Ok(()) };
        // The remains of a killed attempt under the other name were never used.
        if matches!(seen.located, Located::There(_)) && !self.wanted.force_destroy {
            self.refuse_unless_empty(&row.name)?;
        }
        let force = if self.wanted.force { " WITH (FORCE)" } else { "" };
        let drop = format!("DROP DATABASE {}{force}", name(&row.name));
        match seen.session.client.run(&drop) {
            Ok(_) => Ok(()),
            Err(fault) if fault.code() == Some("3D000") => Ok(()),
            Err(fault) if fault.code() == Some("55006") => {
                let doing = self.what("deleting");
                let message =
                    format!("{doing}: {fault}; `values.database.force: true` would end those sessions");
                Err(Failure::retry_after(Duration::from_secs(3), message))
            }
            Err(fault) => Err(fault.failure(&self.what("deleting"))),
        }
    }

    fn refuse_unless_empty(&self, database: &str) -> Result<(), Failure> {
        const WAY: &str = "set `database.force_destroy: true` and run `up`, so that its contents are deleted \
                           with it";
        let doing = self.what("deleting");
        let contents = Client::connect(&self.inputs.connection, database, self.until)
            .and_then(|mut client| contents::look(&mut client));
        let contents = match contents {
            Err(fault) if fault.code() == Some("3D000") => return Ok(()),
            // An unreachable server says nothing about the database.
            Err(fault @ StatementError::Net(_)) => return Err(fault.failure(&doing)),
            Err(fault) => {
                return Err(Failure::conflict(format!(
                    "{doing}: it cannot be determined whether it is empty: {fault}; {WAY}"
                )));
            }
            Ok(contents) => contents.described(),
        };
        match contents {
            None => Ok(()),
            Some(contents) => Err(Failure::conflict(format!(
                "{doing}: it is not empty, there is {contents}; empty it, or {WAY}"
            ))),
        }
    }

    fn state(&self, id: String, database: &str, oid: Option<u32>) -> Result<State, Failure> {
        let server = &self.inputs.connection;
        let outputs = PgOutputs {
            host: server.host.clone(),
            port: server.port,
            name: Some(database.to_owned()),
            ..PgOutputs::default()
        };
        State::new(id).described_outputs(&outputs)?.cookie(Kept { oid })
    }
}

/// Nothing was created; the connection failed.
fn lost(doing: &str, fault: &StatementError) -> Failure {
    Failure::retry_after(Duration::from_secs(1), format!("{doing}: {fault}; nothing was created"))
}

/// Whether the current role may act as another.
fn is_member(session: &mut Session, role: &str) -> Result<bool, StatementError> {
    #[derive(Deserialize)]
    struct Member {
        member: Option<bool>,
    }
    // Since version 16, a member may lack the right to act as the role.
    let power = if session.facts.version >= 160_000 { "SET" } else { "MEMBER" };
    let query = format!(
        "SELECT pg_catalog.pg_has_role(r.oid, '{power}') AS member FROM pg_catalog.pg_roles r WHERE r.rolname = {}",
        text(role)
    );
    let rows: Vec<Member> = session.client.select(&query)?;
    // If there is no such role, the server reports it itself.
    Ok(rows.first().is_none_or(|row| row.member == Some(true)))
}
