//! What the driver is given: how to reach a server, and one thing on it.

mod normalise;
mod schema;
mod validate;

use purlin_sdk::Failure;
use purlin_sdk_net::{Server, Tls};
use serde::{Deserialize, Serialize};

pub(crate) use normalise::normalise;
pub(crate) use schema::{inputs as input_schema, outputs as output_schema};
pub(crate) use validate::{objects, shape};

/// A server and one thing on it.
#[derive(Deserialize)]
pub struct PgInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    #[serde(default)]
    pub(crate) secrets: Secrets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    pub(crate) database: Option<Database>,
    pub(crate) role: Option<Role>,
    pub(crate) grant: Option<Grant>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Secrets {
    /// Of the role that is made.
    pub(crate) role_password: Option<String>,
}

/// Where the server is, and as whom the driver works there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connection {
    pub(crate) host: String,
    port: Option<u16>,
    #[serde(default = "postgres")]
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    /// The database that it connects to for work on others.
    #[serde(default = "postgres")]
    pub(crate) database: String,
    tls: Option<Tls>,
    ca: Option<String>,
    connect_timeout: Option<u64>,
}

fn postgres() -> String {
    "postgres".to_owned()
}

impl Connection {
    /// Port of a server that names none.
    pub(crate) const PORT: u16 = 5432;

    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(Self::PORT)
    }

    pub(crate) fn tls(&self) -> Tls {
        self.tls.unwrap_or_default()
    }

    /// The server without what is PostgreSQL's.
    pub(crate) fn place(&self) -> Server {
        Server {
            host: self.host.clone(),
            port: self.port(),
            tls: self.tls(),
            ca: self.ca.clone().filter(|ca| !ca.trim().is_empty()),
            connect_timeout: self.connect_timeout.unwrap_or(Server::CONNECT_TIMEOUT),
        }
    }
}

/// A database.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Database {
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) owner: Option<String>,
    pub(crate) encoding: Option<String>,
    pub(crate) template: Option<String>,
    #[serde(default = "unlimited")]
    pub(crate) connection_limit: i32,
    #[serde(default)]
    pub(crate) extensions: Vec<String>,
    /// Whether a deletion ends the sessions of others.
    #[serde(default)]
    pub(crate) force: bool,
    /// Whether it is deleted with what is in it. Nothing that the server knows of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) force_destroy: bool,
}

fn unlimited() -> i32 {
    -1
}

/// A role.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Role {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default = "yes")]
    pub(crate) login: bool,
    #[serde(default)]
    pub(crate) createdb: bool,
    #[serde(default)]
    pub(crate) createrole: bool,
    #[serde(default = "unlimited")]
    pub(crate) connection_limit: i32,
    #[serde(default)]
    pub(crate) member_of: Vec<String>,
    pub(crate) valid_until: Option<String>,
    /// The database that it is to use: for the outputs `name` and `url` only.
    pub(crate) database: Option<String>,
}

fn yes() -> bool {
    true
}

/// What privileges are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
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
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grant {
    pub(crate) role: String,
    pub(crate) database: String,
    #[serde(default)]
    pub(crate) on: On,
    pub(crate) schema: Option<String>,
    pub(crate) privileges: Vec<String>,
    /// Roles: what they make from now on is granted, too.
    #[serde(default)]
    pub(crate) future_of: Vec<String>,
}

impl Grant {
    /// The schema, `public` where none is named.
    pub(crate) fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }
}

/// The one thing that is wanted.
pub(crate) enum Thing<'a> {
    Database(&'a Database),
    Role(&'a Role),
    Grant(&'a Grant),
}

/// The kinds of things, of which inputs name just one.
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
