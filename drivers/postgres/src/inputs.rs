//! The driver's inputs (how to reach a server, and one thing on it) and its outputs.

mod normalise;
mod validate;

use purlin_sdk::{Failure, Input, Inputs, Outputs};
use purlin_sdk_net::{Server, Tls};
use serde::Serialize;

pub(crate) use normalise::normalise;
pub(crate) use validate::shape;

/// A server and one thing on it.
#[derive(Inputs)]
pub struct PgInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    pub(crate) secrets: Secrets,
}

/// Just one of `database`, `role` and `grant`.
#[derive(Input)]
pub(crate) struct Values {
    /// A database.
    pub(crate) database: Option<Database>,
    /// A role, with `secrets.role_password` where it has a password. It is never a superuser.
    pub(crate) role: Option<Role>,
    /// Privileges of a role.
    pub(crate) grant: Option<Grant>,
}

#[derive(Input)]
pub(crate) struct Secrets {
    /// The password of the role that is made. The server gets a SCRAM verifier of it, made by the driver, and never
    /// the password.
    #[input(min_length = 1)]
    pub(crate) role_password: Option<String>,
}

/// Where the server is, and as whom the driver works there.
#[derive(Input)]
#[input(reaches = "tcp", port = PORT)]
pub(crate) struct Connection {
    /// Name or address of the server.
    #[input(replaces)]
    pub(crate) host: String,
    /// Port of the server.
    #[input(default = PORT, min = 1, replaces)]
    pub(crate) port: u16,
    /// The role that the driver works as.
    #[input(default = "postgres", min_length = 1, max_length = LONGEST)]
    pub(crate) user: String,
    /// The password of `user`.
    #[input(secret, min_length = 1)]
    pub(crate) password: Option<String>,
    /// The database that the driver connects to for work on others.
    #[input(default = "postgres", min_length = 1, max_length = LONGEST)]
    pub(crate) database: String,
    /// Whether the connection is encrypted (TLS 1.3) and the server proves who it is: `verify-full` wants a
    /// certificate from `ca` with the host's name, `verify-ca` one from `ca`, `require` any, `disable` no TLS. There
    /// is no `prefer`.
    #[input(default)]
    pub(crate) tls: Tls,
    /// Certificates (PEM) of the authorities that the server's certificate has to come from; `verify-full` and
    /// `verify-ca` need them, for a driver does not see those of the system.
    ca: Option<String>,
    /// Seconds for opening a connection.
    #[input(default = Server::CONNECT_TIMEOUT, min = 1, max = 300)]
    connect_timeout: u64,
}

/// The default port of a server.
const PORT: u16 = 5432;

/// Bytes of the longest name; PostgreSQL silently truncates a longer one.
const LONGEST: usize = 63;

impl Connection {
    /// The server without the settings that only PostgreSQL has.
    pub(crate) fn place(&self) -> Server {
        Server {
            host: self.host.clone(),
            port: self.port,
            tls: self.tls,
            ca: self.ca.clone().filter(|ca| !ca.trim().is_empty()),
            connect_timeout: self.connect_timeout,
        }
    }
}

/// A database.
#[derive(Clone, Input, Serialize)]
#[input(holds_data = "every table of the database, and everything else in it")]
pub(crate) struct Database {
    /// Its name. By default one that no other resource has: the end of the resource's id, and digits of its
    /// `guresid`. A change renames it.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) name: Option<String>,
    /// The role that owns it; the driver's own where none is named. Where the driver's role is not a member of it,
    /// it becomes one, for only members can hand a database over.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) owner: Option<String>,
    /// Such as `UTF8`; the template's by default.
    #[input(replaces, min_length = 1, max_length = LONGEST)]
    pub(crate) encoding: Option<String>,
    /// The database that it begins as a copy of.
    #[input(replaces, min_length = 1, max_length = LONGEST)]
    pub(crate) template: Option<String>,
    /// Connections at the same time; -1 for no limit.
    #[input(default = -1, min = -1)]
    pub(crate) connection_limit: i32,
    /// Extensions that it has. One that is taken from here stays in the database.
    #[input(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) extensions: Vec<String>,
    /// Whether a deletion ends the sessions of others.
    #[input(default)]
    pub(crate) force: bool,
    /// Whether a database that is not empty is deleted with all that is in it. Without it that is a conflict.
    // Nothing that the server knows of.
    #[input(assumed = false)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) force_destroy: bool,
}

/// A role.
#[derive(Clone, Input, Serialize)]
pub(crate) struct Role {
    /// Its name. By default one that no other resource has, as for a database. A change renames it.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) name: Option<String>,
    /// Whether it may log in.
    #[input(default = true)]
    pub(crate) login: bool,
    /// Whether it may make databases.
    #[input(default)]
    pub(crate) createdb: bool,
    /// Whether it may make roles.
    #[input(default)]
    pub(crate) createrole: bool,
    /// Connections at the same time; -1 for no limit.
    #[input(default = -1, min = -1)]
    pub(crate) connection_limit: i32,
    /// The roles that it is a member of; of no other.
    #[input(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) member_of: Vec<String>,
    /// Until when its password is good, such as `2027-01-31T00:00:00Z`.
    #[input(pattern = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    pub(crate) valid_until: Option<String>,
    /// The database that it is to use: for the outputs `name` and `url` only.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) database: Option<String>,
}

/// What privileges are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Input, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum On {
    #[default]
    Database,
    Schema,
    AllTables,
    AllSequences,
    AllFunctions,
}

/// Privileges of a role.
#[derive(Clone, Input, Serialize)]
pub(crate) struct Grant {
    /// Who gets them.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) role: String,
    /// The database they are on or in.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) database: String,
    /// What they are on: the database, the schema, or everything of a kind that the schema has.
    #[input(default)]
    pub(crate) on: On,
    /// The schema; `public` by default, unless they are on the database.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) schema: Option<String>,
    /// Such as `CONNECT`, `USAGE`, `SELECT`.
    #[input(min_items = 1)]
    pub(crate) privileges: Vec<String>,
    /// Roles: what they make in the schema from now on is granted, too.
    #[input(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) future_of: Vec<String>,
}

/// What others may read.
#[derive(Default, Outputs)]
pub(crate) struct PgOutputs {
    /// The server's name or address.
    pub(crate) host: String,
    /// The server's port.
    pub(crate) port: u16,
    /// The database: of a database, a grant, and a role with `database`.
    pub(crate) name: Option<String>,
    /// The role: of a role and a grant.
    pub(crate) username: Option<String>,
    /// The password of a role that has one.
    #[output(secret)]
    pub(crate) password: Option<String>,
    /// How a role with a password connects, as `libpq` reads it.
    #[output(secret)]
    pub(crate) url: Option<String>,
    /// Whether the password that the server keeps is the one that was given; servers show that to superusers only.
    #[output(one_of = ["as given", "changed", "not shown"])]
    pub(crate) password_is: Option<String>,
}

impl Database {
    /// Its name, which `check` fills in.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

impl Role {
    /// Its name, which `check` fills in.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }
}

impl Grant {
    /// The schema, `public` by default.
    pub(crate) fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }
}

/// The one wanted thing.
pub(crate) enum Thing<'a> {
    Database(&'a Database),
    Role(&'a Role),
    Grant(&'a Grant),
}

/// The kinds of things; inputs name exactly one.
pub(crate) const KINDS: [&str; 3] = ["/values/database", "/values/role", "/values/grant"];

impl PgInputs {
    pub(crate) fn thing(&self) -> Result<Thing<'_>, Failure> {
        let Values { database, role, grant, .. } = &self.values;
        match (database, role, grant) {
            (Some(database), None, None) => Ok(Thing::Database(database)),
            (None, Some(role), None) => Ok(Thing::Role(role)),
            (None, None, Some(grant)) => Ok(Thing::Grant(grant)),
            _ => Err(Failure::input("/values", "has to have just one of `database`, `role` and `grant`")),
        }
    }
}
