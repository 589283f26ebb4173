//! The driver's inputs (how to reach a server, and one thing on it) and its outputs.

mod normalise;
mod validate;

use purlin_sdk::{Failure, Input, Inputs, Outputs, only_one};
use purlin_sdk_net::{Server, Tls};
use serde::Serialize;

pub(crate) use normalise::normalise;
pub(crate) use validate::shape;

/// A server, and one object on it.
#[derive(Inputs)]
pub struct PgInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    pub(crate) secrets: Secrets,
}

/// Exactly one of `database`, `role` and `grant`.
#[derive(Input)]
pub(crate) struct Values {
    /// A database.
    pub(crate) database: Option<Database>,
    /// A role. `secrets.role_password` sets its password, if any. It is never a superuser.
    pub(crate) role: Option<Role>,
    /// Privileges of a role.
    pub(crate) grant: Option<Grant>,
}

#[derive(Input)]
pub(crate) struct Secrets {
    /// The password of the new role. The driver sends the server only a SCRAM verifier of it, never
    /// the password.
    #[input(min_length = 1)]
    pub(crate) role_password: Option<String>,
}

/// The server, and the role that the driver uses there.
#[derive(Input)]
#[input(reaches = "tcp", port = PORT)]
pub(crate) struct Connection {
    /// The name or address of the server.
    #[input(replaces)]
    pub(crate) host: String,
    /// The port of the server.
    #[input(default = PORT, min = 1, replaces)]
    pub(crate) port: u16,
    /// The role that the driver uses.
    #[input(default = "postgres", min_length = 1, max_length = LONGEST)]
    pub(crate) user: String,
    /// The password of `user`.
    #[input(secret, min_length = 1)]
    pub(crate) password: Option<String>,
    /// The database that the driver connects to when it manages other databases.
    #[input(default = "postgres", min_length = 1, max_length = LONGEST)]
    pub(crate) database: String,
    /// Whether the connection is encrypted (TLS 1.3), and how the server's certificate is verified:
    /// `verify-full` requires a certificate from `ca` with the host's name, `verify-ca` one from
    /// `ca`; `require` accepts any certificate, and `disable` turns TLS off. There is no `prefer`.
    #[input(default)]
    pub(crate) tls: Tls,
    /// The certificates (PEM) of the authorities for the server's certificate. `verify-full` and
    /// `verify-ca` require them, since a driver cannot read those of the system.
    ca: Option<String>,
    /// The timeout for connecting, in seconds.
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
    /// The name. By default a unique one: the end of the resource's id, and digits of its
    /// `guresid`. A change renames the database.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) name: Option<String>,
    /// The role that owns the database; by default the driver's role. The driver's role becomes a
    /// member of this role if necessary, since only members can transfer a database.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) owner: Option<String>,
    /// The encoding, such as `UTF8`; by default that of the template.
    #[input(replaces, min_length = 1, max_length = LONGEST)]
    pub(crate) encoding: Option<String>,
    /// The database that is copied to create this one.
    #[input(replaces, min_length = 1, max_length = LONGEST)]
    pub(crate) template: Option<String>,
    /// The maximum number of concurrent connections; -1 for no limit.
    #[input(default = -1, min = -1)]
    pub(crate) connection_limit: i32,
    /// The extensions of the database. Removing one from this list does not remove it from the
    /// database.
    #[input(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) extensions: Vec<String>,
    /// Whether deleting the database ends the sessions of others.
    #[input(default)]
    pub(crate) force: bool,
    /// Whether a database that is not empty is deleted with its contents. Otherwise, deleting such
    /// a database is a conflict.
    // The server does not know this option.
    #[input(assumed = false)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) force_destroy: bool,
}

/// A role.
#[derive(Clone, Input, Serialize)]
pub(crate) struct Role {
    /// The name. By default a unique one, as for a database. A change renames the role.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) name: Option<String>,
    /// Whether the role may log in.
    #[input(default = true)]
    pub(crate) login: bool,
    /// Whether the role may create databases.
    #[input(default)]
    pub(crate) createdb: bool,
    /// Whether the role may create roles.
    #[input(default)]
    pub(crate) createrole: bool,
    /// The maximum number of concurrent connections; -1 for no limit.
    #[input(default = -1, min = -1)]
    pub(crate) connection_limit: i32,
    /// The roles that it is a member of. All other memberships are removed.
    #[input(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) member_of: Vec<String>,
    /// When the password expires, such as `2027-01-31T00:00:00Z`.
    #[input(pattern = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    pub(crate) valid_until: Option<String>,
    /// The database for the outputs `name` and `url`; it has no other effect.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) database: Option<String>,
}

/// The objects of privileges.
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
    /// The role that gets the privileges.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) role: String,
    /// The database of the privileges.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) database: String,
    /// The objects of the privileges: the database, the schema, or everything of a kind in the
    /// schema.
    #[input(default)]
    pub(crate) on: On,
    /// The schema; `public` by default, unless the privileges are for the database.
    #[input(min_length = 1, max_length = LONGEST)]
    pub(crate) schema: Option<String>,
    /// The privileges, such as `CONNECT`, `USAGE`, `SELECT`.
    #[input(min_items = 1)]
    pub(crate) privileges: Vec<String>,
    /// Roles whose future objects in the schema are covered as well.
    #[input(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) future_of: Vec<String>,
}

/// The outputs.
#[derive(Default, Outputs)]
pub(crate) struct PgOutputs {
    /// The name or address of the server.
    pub(crate) host: String,
    /// The port of the server.
    pub(crate) port: u16,
    /// The database, for a database, a grant, and a role with `database`.
    pub(crate) name: Option<String>,
    /// The role, for a role and a grant.
    pub(crate) username: Option<String>,
    /// The password of a role, if it has one.
    #[output(secret)]
    pub(crate) password: Option<String>,
    /// The connection URL of a role with a password, for `libpq`.
    #[output(secret)]
    pub(crate) url: Option<String>,
    /// Whether the server's password is the given one. Servers show that only to superusers.
    #[output(one_of = ["as given", "changed", "not shown"])]
    pub(crate) password_is: Option<String>,
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

const ONE_OF: &str = "has to contain exactly one of `database`, `role` and `grant`";

/// The kinds of things; inputs name exactly one.
pub(crate) const KINDS: [&str; 3] = ["/values/database", "/values/role", "/values/grant"];

impl PgInputs {
    pub(crate) fn thing(&self) -> Result<Thing<'_>, Failure> {
        let Values { database, role, grant } = &self.values;
        let kinds = [
            database.as_ref().map(Thing::Database),
            role.as_ref().map(Thing::Role),
            grant.as_ref().map(Thing::Grant),
        ];
        only_one(kinds, ONE_OF)
    }
}
