//! Roles. One transaction creates a role, its mark and its memberships.

mod password;

use purlin_sdk::{Failure, Json, State, operation};
use purlin_sdk_net::percent_encoded;
use serde::Deserialize;

use crate::identity::{Candidate, Identity, Kept};
use crate::inputs::{PgOutputs, Role};
use crate::operation::{Kind, Named, Operation};
use crate::session::{Session, name, text, texts};
use crate::statement_error::StatementError;

/// An existing role.
#[derive(Debug, Deserialize)]
pub(crate) struct Row {
    oid: u32,
    name: String,
    login: bool,
    createdb: bool,
    createrole: bool,
    superuser: bool,
    replication: bool,
    bypassrls: bool,
    connection_limit: i32,
    /// The time until which its password is valid.
    valid_until: Option<String>,
    member_of: Vec<String>,
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

/// The knowledge about the password that the server stores.
#[derive(Clone, Copy)]
enum Password {
    AsGiven,
    Changed,
    /// Only superusers may see it.
    NotShown,
}

impl Password {
    fn just_set(session: &Session) -> Self {
        if session.facts.sees_passwords { Self::AsGiven } else { Self::NotShown }
    }

    fn words(self) -> &'static str {
        match self {
            Self::AsGiven => "as given",
            Self::Changed => "changed",
            Self::NotShown => "not shown",
        }
    }
}

impl Kind for Role {
    const KIND: &'static str = "role";

    fn what(&self, doing: &str) -> String {
        format!("{doing} the role `{}`", self.name())
    }
}

impl Named for Role {
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
        let names = texts([wanted.name().to_owned()].iter().chain(&identity.named));
        session.client.select(&format!(
            "SELECT r.oid::int8 AS oid, r.rolname AS name, r.rolcanlogin AS login, r.rolcreatedb AS createdb, \
             r.rolcreaterole AS createrole, r.rolsuper AS superuser, r.rolreplication AS replication, \
             r.rolbypassrls AS bypassrls, r.rolconnlimit AS connection_limit, \
             CASE WHEN r.rolvaliduntil <> 'infinity' THEN \
             to_char(r.rolvaliduntil AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') END AS valid_until, \
             ARRAY(SELECT g.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON g.oid = m.roleid \
             WHERE m.member = r.oid ORDER BY g.rolname COLLATE \"C\") AS member_of, s.description AS comment \
             FROM pg_catalog.pg_roles r LEFT JOIN pg_catalog.pg_shdescription s \
             ON s.objoid = r.oid AND s.classoid = 'pg_catalog.pg_authid'::regclass \
             WHERE r.rolname = ANY ({names}) OR s.description LIKE {mark} OR r.oid::int8 = {oid} \
             ORDER BY r.oid",
            mark = text(&format!("{}%", identity.mark())),
            oid = recorded.map_or(-1, i64::from),
        ))
    }
}

impl Operation<'_, Role> {
    /// Creates it. `old` is the role that it replaces.
    pub(crate) fn create(&self, old: Option<&Identity>) -> Result<State, Failure> {
        let doing = self.what("making");
        let seen = self.look(None, "making")?;
        let other = seen.rows.iter().find(|row| row.name == self.wanted.name()).or(seen.row());
        if let Some(row) = other {
            return Err(seen.in_the_way(&self.identity, row, old));
        }
        let id = self.identity.id(seen.session.facts.system.as_deref());
        operation::checkpoint(&id);
        self.make(seen.session, id, &doing)
    }

    fn make(&self, mut session: Session, id: String, doing: &str) -> Result<State, Failure> {
        let role = name(self.wanted.name());
        let verifier = self.verifier();
        let mut statements = vec![
            format!("CREATE ROLE {role}{}", self.options(verifier.as_deref(), None)),
            format!("COMMENT ON ROLE {role} IS {}", text(&self.identity.comment())),
        ];
        statements
            .extend(self.wanted.member_of.iter().map(|group| format!("GRANT {} TO {role}", name(group))));
        match session.client.transaction(&statements) {
            Ok(()) => {
                let oid = self.oid(&mut session).ok().flatten();
                self.state(id, self.wanted.name(), oid, Password::just_set(&session))
            }
            Err(fault) if fault.is_uncertain() => {
                drop(session);
                match self.look(None, "looking for") {
                    Ok(seen) => match seen.row() {
                        Some(row) => {
                            self.state(id, &row.name, Some(row.oid), Password::just_set(&seen.session))
                        }
                        None => Err(fault.failure(doing)),
                    },
                    Err(_) => Err(fault.unknown(doing, "created", State { id, ..State::default() })),
                }
            }
            Err(fault) => Err(fault.failure(doing)),
        }
    }

    fn oid(&self, session: &mut Session) -> Result<Option<u32>, StatementError> {
        #[derive(Deserialize)]
        struct Oid {
            oid: u32,
        }
        let role = text(self.wanted.name());
        let rows: Vec<Oid> = session
            .client
            .select(&format!("SELECT oid::int8 AS oid FROM pg_catalog.pg_roles WHERE rolname = {role}"))?;
        Ok(rows.first().map(|row| row.oid))
    }

    /// The form of the password that the server stores: it never receives the password itself.
    fn verifier(&self) -> Option<String> {
        let password = self.inputs.secrets.role_password.as_ref()?;
        Some(password::verifier(password, &self.identity.guresid))
    }

    /// Attributes. For an existing role, only the differences are sent: only a superuser may set
    /// some attributes, even to the value that they have.
    fn options(&self, verifier: Option<&str>, there: Option<&Row>) -> String {
        let wanted = self.wanted;
        let mut options = String::new();
        let mut flag = |word: &str, wanted: bool, is: Option<bool>| {
            if is != Some(wanted) && (wanted || is.is_some()) {
                options.push_str(if wanted { " " } else { " NO" });
                options.push_str(word);
            }
        };
        flag("LOGIN", wanted.login, there.map(|row| row.login));
        flag("CREATEDB", wanted.createdb, there.map(|row| row.createdb));
        flag("CREATEROLE", wanted.createrole, there.map(|row| row.createrole));
        flag("SUPERUSER", false, there.map(|row| row.superuser));
        flag("REPLICATION", false, there.map(|row| row.replication));
        flag("BYPASSRLS", false, there.map(|row| row.bypassrls));
        if there.is_none_or(|row| row.connection_limit != wanted.connection_limit) {
            options.push_str(&format!(" CONNECTION LIMIT {}", wanted.connection_limit));
        }
        if there.and_then(|row| row.valid_until.as_ref()) != wanted.valid_until.as_ref() {
            let until = wanted.valid_until.as_deref().unwrap_or("infinity");
            options.push_str(&format!(" VALID UNTIL {}", text(until)));
        }
        if let Some(verifier) = verifier {
            options.push_str(&format!(" PASSWORD {}", text(verifier)));
        }
        options
    }

    /// The existing role, with its actual values.
    pub(crate) fn read(
        &self,
        id: Option<&str>,
        kept: Option<Kept>,
    ) -> Result<Option<(State, Json)>, Failure> {
        let mut seen = self.look(kept.as_ref().and_then(|kept| kept.oid), "reading")?;
        let Some(row) = seen.row() else {
            return self.nothing(&seen, id);
        };
        let there = Role {
            name: Some(row.name.clone()),
            login: row.login,
            createdb: row.createdb,
            createrole: row.createrole,
            connection_limit: row.connection_limit,
            member_of: row.member_of.clone(),
            valid_until: row.valid_until.clone(),
            database: self.wanted.database.clone(),
        };
        let mut values = serde_json::to_value(there)?;
        // Privileged attributes that this driver never sets are shown if somebody else set them.
        let powers =
            [("superuser", row.superuser), ("replication", row.replication), ("bypassrls", row.bypassrls)];
        for (power, has) in powers {
            if let (true, Json::Object(values)) = (has, &mut values) {
                values.insert(power.to_owned(), true.into());
            }
        }
        let (role, oid) = (row.name.clone(), row.oid);
        let id = id.map_or_else(|| self.identity.id(seen.session.facts.system.as_deref()), str::to_owned);
        let there = self.kept_password(&mut seen.session, oid)?;
        Ok(Some((self.state(id, &role, Some(oid), there)?, values)))
    }

    /// The server's form of the password, if it shows it.
    fn kept_password(&self, session: &mut Session, oid: u32) -> Result<Password, Failure> {
        if !session.facts.sees_passwords {
            return Ok(Password::NotShown);
        }
        #[derive(Deserialize)]
        struct Row {
            password: Option<String>,
        }
        let query = format!("SELECT rolpassword AS password FROM pg_catalog.pg_authid WHERE oid = {oid}");
        let rows: Result<Vec<Row>, StatementError> = session.client.select(&query);
        let rows = rows.map_err(|fault| fault.failure(&self.what("reading the password of")))?;
        let there = rows.into_iter().next().and_then(|row| row.password);
        Ok(if there == self.verifier() { Password::AsGiven } else { Password::Changed })
    }

    /// Brings it to the wanted state; `before` is the password that it was created with.
    pub(crate) fn update(&self, id: &str, kept: &Kept, before: Option<&str>) -> Result<State, Failure> {
        let doing = self.what("changing");
        let mut seen = self.look(kept.oid, "changing")?;
        self.reject_other(&seen)?;
        let Some(row) = seen.row() else {
            return match kept.oid {
                None => self.make(seen.session, id.to_owned(), &doing),
                Some(_) => Err(self.gone("changing")),
            };
        };
        let verifier = self.verifier();
        let (role, oid) = (name(self.wanted.name()), row.oid);
        let mut statements = Vec::new();
        if row.name != self.wanted.name() {
            statements.push(format!("ALTER ROLE {} RENAME TO {role}", name(&row.name)));
        }
        let mut options = self.options(verifier.as_deref(), Some(row));
        if verifier.is_none() && before.is_some() {
            options.push_str(" PASSWORD NULL");
        }
        if !options.is_empty() {
            statements.push(format!("ALTER ROLE {role}{options}"));
        }
        if row.comment.as_deref() != Some(&self.identity.comment()) {
            statements.push(format!("COMMENT ON ROLE {role} IS {}", text(&self.identity.comment())));
        }
        let wanted = &self.wanted.member_of;
        for group in row.member_of.iter().filter(|group| !wanted.contains(group)) {
            statements.push(format!("REVOKE {} FROM {role}", name(group)));
        }
        for group in wanted.iter().filter(|group| !row.member_of.contains(group)) {
            statements.push(format!("GRANT {} TO {role}", name(group)));
        }
        let state =
            self.state(id.to_owned(), self.wanted.name(), Some(oid), Password::just_set(&seen.session))?;
        match seen.session.client.transaction(&statements) {
            Ok(()) => Ok(state),
            Err(fault) if fault.is_uncertain() => Err(fault.unknown(&doing, "changed", state)),
            Err(fault) => Err(fault.failure(&doing)),
        }
    }

    /// Drops it. Objects that it owns, and its privileges, prevent that.
    pub(crate) fn delete(&self, kept: Option<&Kept>) -> Result<(), Failure> {
        let mut seen = self.look(kept.and_then(|kept| kept.oid), "deleting")?;
        let Some(row) = seen.row() else { return Ok(()) };
        match seen.session.client.run(&format!("DROP ROLE {}", name(&row.name))) {
            Ok(_) => Ok(()),
            Err(fault) if fault.code() == Some("42704") => Ok(()),
            Err(fault) => Err(fault.failure(&self.what("deleting"))),
        }
    }

    fn state(
        &self,
        id: String,
        role: &str,
        oid: Option<u32>,
        password_is: Password,
    ) -> Result<State, Failure> {
        let server = &self.inputs.connection;
        let password = self.inputs.secrets.role_password.as_ref();
        let outputs = PgOutputs {
            host: server.host.clone(),
            port: server.port,
            name: self.wanted.database.clone(),
            username: Some(role.to_owned()),
            password: password.cloned(),
            url: password.map(|password| self.url(role, password)),
            password_is: password.map(|_| password_is.words().to_owned()),
        };
        State::new(id).described_outputs(&outputs)?.cookie(Kept { oid })
    }

    /// As `libpq` reads it.
    fn url(&self, role: &str, password: &str) -> String {
        let place = self.inputs.connection.place();
        let database = self.wanted.database.as_deref().map(percent_encoded).unwrap_or_default();
        let mode = place.tls;
        format!(
            "postgresql://{}:{}@{place}/{database}?sslmode={mode}",
            percent_encoded(role),
            percent_encoded(password)
        )
    }
}
