//! Privileges. They have no mark: a privilege that the role already holds is somebody else's, and a
//! conflict. Granting and revoking are transactions, and repeating them changes nothing.

use purlin_sdk::{Failure, Json, State, operation};
use serde::Deserialize;

use crate::identity::{Identity, Kept};
use crate::inputs::{Grant, On, PgOutputs};
use crate::operation::{Kind, Operation};
use crate::session::{Session, name, text, texts};
use crate::statement_error::StatementError;

impl Kind for Grant {
    const KIND: &'static str = "grant";

    fn what(&self, doing: &str) -> String {
        format!("{doing} privileges of `{}` in the database `{}`", self.role, self.database)
    }
}

/// A wanted privilege and the part of it that exists.
#[derive(Debug, Deserialize)]
struct PrivilegeState {
    privilege: String,
    /// The number of objects to which the privilege applies.
    things: i64,
    /// The number of these objects on which it is granted.
    held: i64,
}

impl Operation<'_, Grant> {
    /// Privileges on the contents of a database are granted from within it.
    fn open(&self) -> Result<Session, StatementError> {
        let database = match self.wanted.on {
            On::Database => &self.inputs.connection.database,
            _ => &self.wanted.database,
        };
        Session::open(self.inputs, database, &self.identity, self.until)
    }

    /// Grants them. `old` are the privileges that they replace.
    pub(crate) fn create(&self, old: Option<&Identity>) -> Result<State, Failure> {
        let doing = self.what("granting");
        let mut session = self.open().map_err(|fault| fault.failure(&doing))?;
        let held = self.held(&mut session).map_err(|fault| fault.failure(&doing))?;
        let there: Vec<&str> =
            held.iter().filter(|held| held.held > 0).map(|held| held.privilege.as_str()).collect();
        if !there.is_empty() {
            if old.is_some_and(|old| session.is_same_server(old)) {
                return Err(Failure::needs_delete_before(format!(
                    "{doing}: it has {} from the grant that is being replaced",
                    there.join(", ")
                )));
            }
            return Err(Failure::conflict(format!(
                "{doing}: it already has {}, which a later deletion of this resource would revoke. Revoke it, or import this resource",
                there.join(", ")
            )));
        }
        let id = self.identity.id(session.facts.system.as_deref());
        operation::checkpoint(&id);
        self.apply(&mut session, id, &self.grants("GRANT", "TO", self.wanted), &doing)
    }

    fn apply(
        &self,
        session: &mut Session,
        id: String,
        statements: &[String],
        doing: &str,
    ) -> Result<State, Failure> {
        match session.client.transaction(statements) {
            Ok(()) => self.state(id),
            Err(fault) if fault.is_uncertain() => Err(fault.unknown(doing, "done", self.state(id)?)),
            Err(fault) => Err(fault.failure(doing)),
        }
    }

    /// The statements that grant or revoke the privileges of a grant.
    fn grants(&self, verb: &str, preposition: &str, grant: &Grant) -> Vec<String> {
        // An observed grant may be empty.
        if grant.privileges.is_empty() {
            return Vec::new();
        }
        let privileges = grant.privileges.join(", ");
        let schema = name(grant.schema());
        let (on, future) = match grant.on {
            On::Database => (format!("DATABASE {}", name(&grant.database)), ""),
            On::Schema => (format!("SCHEMA {schema}"), ""),
            On::AllTables => (format!("ALL TABLES IN SCHEMA {schema}"), "TABLES"),
            On::AllSequences => (format!("ALL SEQUENCES IN SCHEMA {schema}"), "SEQUENCES"),
            On::AllFunctions => (format!("ALL FUNCTIONS IN SCHEMA {schema}"), "FUNCTIONS"),
        };
        let role = name(&grant.role);
        let mut statements = vec![format!("{verb} {privileges} ON {on} {preposition} {role}")];
        statements.extend(grant.future_of.iter().map(|of| {
            format!(
                "ALTER DEFAULT PRIVILEGES FOR ROLE {} IN SCHEMA {schema} {verb} {privileges} ON {future} {preposition} {role}",
                name(of)
            )
        }));
        statements
    }

    /// The existing part of each wanted privilege: granted to the role itself, by anyone, but not
    /// as owner.
    fn held(&self, session: &mut Session) -> Result<Vec<PrivilegeState>, StatementError> {
        let schema = text(self.wanted.schema());
        let of_schema = |table: &str, acl: &str, owner: &str, of: &str, which: &str| {
            format!(
                "SELECT x.{acl} AS acl, x.{owner} AS owner FROM pg_catalog.{table} x \
                 JOIN pg_catalog.pg_namespace n ON n.oid = x.{of} WHERE n.nspname = {schema}{which}"
            )
        };
        let things = match self.wanted.on {
            On::Database => format!(
                "SELECT datacl AS acl, datdba AS owner FROM pg_catalog.pg_database WHERE datname = {}",
                text(&self.wanted.database)
            ),
            On::Schema => {
                format!(
                    "SELECT nspacl AS acl, nspowner AS owner FROM pg_catalog.pg_namespace WHERE nspname = {schema}"
                )
            }
            On::AllTables => of_schema(
                "pg_class",
                "relacl",
                "relowner",
                "relnamespace",
                " AND x.relkind IN ('r', 'p', 'v', 'm', 'f')",
            ),
            On::AllSequences => {
                of_schema("pg_class", "relacl", "relowner", "relnamespace", " AND x.relkind = 'S'")
            }
            On::AllFunctions => {
                of_schema("pg_proc", "proacl", "proowner", "pronamespace", " AND x.prokind <> 'p'")
            }
        };
        session.client.select(&format!(
            "WITH things AS ({things}), wanted AS (SELECT unnest({privileges}) AS privilege) \
             SELECT w.privilege, (SELECT count(*) FROM things) AS things, \
             (SELECT count(*) FROM things t WHERE EXISTS (SELECT FROM pg_catalog.aclexplode(t.acl) a \
             JOIN pg_catalog.pg_roles r ON r.oid = a.grantee \
             WHERE r.rolname = {role} AND r.oid <> t.owner AND a.privilege_type = w.privilege)) AS held \
             FROM wanted w",
            privileges = texts(&self.wanted.privileges),
            role = text(&self.wanted.role),
        ))
    }

    /// The wanted roles on whose future objects the role gets all of the privileges.
    fn future(&self, session: &mut Session) -> Result<Vec<String>, StatementError> {
        let kind = match self.wanted.on {
            On::AllTables => "r",
            On::AllSequences => "S",
            On::AllFunctions => "f",
            On::Database | On::Schema => return Ok(Vec::new()),
        };
        if self.wanted.future_of.is_empty() {
            return Ok(Vec::new());
        }
        #[derive(Deserialize)]
        struct Of {
            of: String,
        }
        let rows: Vec<Of> = session.client.select(&format!(
            "SELECT o.rolname AS of FROM pg_catalog.pg_roles o WHERE o.rolname = ANY ({of}) AND NOT EXISTS \
             (SELECT FROM unnest({privileges}) AS w(privilege) WHERE NOT EXISTS \
             (SELECT FROM pg_catalog.pg_default_acl d JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace, \
             pg_catalog.aclexplode(d.defaclacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee \
             WHERE d.defaclrole = o.oid AND d.defaclobjtype = '{kind}' AND n.nspname = {schema} \
             AND r.rolname = {role} AND a.privilege_type = w.privilege))",
            of = texts(&self.wanted.future_of),
            privileges = texts(&self.wanted.privileges),
            schema = text(self.wanted.schema()),
            role = text(&self.wanted.role),
        ))?;
        let is_there = |of: &&String| rows.iter().any(|row| row.of == **of);
        Ok(self.wanted.future_of.iter().filter(is_there).cloned().collect())
    }

    /// The existing privileges. If the database or the schema does not exist, it may have another
    /// name for a while: then `recorded` exists with no privileges left, so that it is repaired.
    pub(crate) fn read(&self, id: Option<&str>, recorded: bool) -> Result<Option<(State, Json)>, Failure> {
        let doing = self.what("reading");
        let failure = |fault: StatementError| fault.failure(&doing);
        let nothing = Grant { privileges: Vec::new(), future_of: Vec::new(), ..self.wanted.clone() };
        let mut session = match (self.open(), id) {
            (Err(fault), Some(id)) if fault.code() == Some("3D000") && recorded => {
                return Ok(Some((self.state(id.to_owned())?, serde_json::to_value(nothing)?)));
            }
            (Err(fault), _) if fault.code() == Some("3D000") => return Ok(None),
            (session, _) => session.map_err(failure)?,
        };
        session.check_server(&self.identity, &doing)?;
        let held = self.held(&mut session).map_err(failure)?;
        if !self.has_role(&mut session).map_err(failure)? {
            return Ok(None);
        }
        let future_of = self.future(&mut session).map_err(failure)?;
        // If a schema has no objects for it, nothing is missing.
        let may_be_none = !matches!(self.wanted.on, On::Database | On::Schema);
        let is_held = |held: &&PrivilegeState| held.held == held.things && (may_be_none || held.things > 0);
        let privileges: Vec<String> =
            held.iter().filter(is_held).map(|held| held.privilege.clone()).collect();
        let none = held.iter().all(|held| held.held == 0 && (held.things > 0 || !may_be_none));
        let is_placed = may_be_none || held.iter().any(|held| held.things > 0);
        if none && future_of.is_empty() && (is_placed || !recorded) {
            return Ok(None);
        }
        let there = Grant { privileges, future_of, ..self.wanted.clone() };
        let id = id.map_or_else(|| self.identity.id(session.facts.system.as_deref()), str::to_owned);
        Ok(Some((self.state(id)?, serde_json::to_value(there)?)))
    }

    fn has_role(&self, session: &mut Session) -> Result<bool, StatementError> {
        let role = text(&self.wanted.role);
        let rows: Vec<Json> = session
            .client
            .select(&format!("SELECT true AS there FROM pg_catalog.pg_roles WHERE rolname = {role}"))?;
        Ok(!rows.is_empty())
    }

    /// Revokes privileges that were granted before and are no longer wanted, and grants the wanted
    /// ones.
    pub(crate) fn update(&self, id: &str, before: Option<&Grant>) -> Result<State, Failure> {
        let doing = self.what("changing");
        let mut statements = Vec::new();
        let mut session = self.open().map_err(|fault| fault.failure(&doing))?;
        match before {
            Some(before) if before.database != self.wanted.database => {
                // It is another database, or the same with another name: then there is nothing to
                // revoke.
                let (inputs, until) = (self.inputs, self.until);
                let old = Operation { inputs, wanted: before, identity: self.identity.clone(), until };
                old.revoke(&doing)?;
            }
            Some(before) if self.exists(&mut session, before).map_err(|fault| fault.failure(&doing))? => {
                statements = self.grants("REVOKE", "FROM", before);
            }
            _ => {}
        }
        statements.extend(self.grants("GRANT", "TO", self.wanted));
        self.apply(&mut session, id.to_owned(), &statements, &doing)
    }

    /// Whether everything that a grant names exists: nothing can be revoked from missing objects.
    fn exists(&self, session: &mut Session, grant: &Grant) -> Result<bool, StatementError> {
        #[derive(Deserialize)]
        struct There {
            there: bool,
        }
        let roles: Vec<String> = grant.future_of.iter().chain([&grant.role]).cloned().collect();
        let schema = match grant.on {
            On::Database => format!(
                "EXISTS (SELECT FROM pg_catalog.pg_database WHERE datname = {})",
                text(&grant.database)
            ),
            _ => format!(
                "EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = {})",
                text(grant.schema())
            ),
        };
        let rows: Vec<There> = session.client.select(&format!(
            "SELECT {schema} AND NOT EXISTS (SELECT FROM unnest({}) AS w(name) WHERE NOT EXISTS \
             (SELECT FROM pg_catalog.pg_roles WHERE rolname = w.name)) AS there",
            texts(&roles)
        ))?;
        Ok(rows.first().is_some_and(|row| row.there))
    }

    /// Revokes them.
    pub(crate) fn delete(&self) -> Result<(), Failure> {
        self.revoke(&self.what("revoking"))
    }

    fn revoke(&self, doing: &str) -> Result<(), Failure> {
        let failure = |fault: StatementError| fault.failure(doing);
        let mut session = match self.open() {
            Err(fault) if fault.code() == Some("3D000") => return Ok(()),
            session => session.map_err(failure)?,
        };
        session.check_server(&self.identity, doing)?;
        // Dropped roles took with them the privileges on their future objects.
        let mut left = self.wanted.clone();
        if !self.exists(&mut session, &left).map_err(failure)? {
            left.future_of.clear();
            if !self.exists(&mut session, &left).map_err(failure)? {
                return Ok(());
            }
        }
        session.client.transaction(&self.grants("REVOKE", "FROM", &left)).map_err(failure)
    }

    fn state(&self, id: String) -> Result<State, Failure> {
        let server = &self.inputs.connection;
        let outputs = PgOutputs {
            host: server.host.clone(),
            port: server.port,
            name: Some(self.wanted.database.clone()),
            username: Some(self.wanted.role.clone()),
            ..PgOutputs::default()
        };
        State::new(id).described_outputs(&outputs)?.cookie(Kept { oid: Some(0) })
    }
}
