//! `state` of a Workspace: a folder, or the database of a team (SPEC §10).
//!
//! ```yaml
//! state: {path: .purlin}
//! ---
//! state:
//!   postgres:
//!     url: postgres://purlin@db.internal:5432/purlin
//!     schema: purlin                                # the default
//!     password: {store: vault, ref: state-password}
//!     client: {certificate: client.pem, key: {store: vault, ref: state-key}}
//!     ca: ca.pem
//!     lease: 30s
//!   audit: {keep: 400d}                             # the default
//! ```

use std::path::PathBuf;
use std::sync::Arc;

use purlin_model::{StateDatabase, StateDatabaseClient, Workspace};
use serde_json::{Value, json};

use crate::declare::{Form, form};
use crate::kinds::{Text, Time};
use crate::reader::Reader;
use crate::yaml::Node;

const ONE: &str = "write either `path: FOLDER` or `postgres: {url: …}`";
const FORM_OF_URLS: &str = "write it as `postgres://USER@HOST:5432/DATABASE`";

form! {
    /// Location of the state.
    pub(crate) struct Place {
        /// Folder of the embedded state.
        PATH: Text = "path";
        /// A PostgreSQL database that a team shares.
        POSTGRES: Database = "postgres";
        /// Who changed the state, and why.
        AUDIT: Audit = "audit";
    }

    const WITHIN: &'static str = "state.";

    fn constrain(schema: &mut Value) {
        schema["minProperties"] = json!(1);
        schema["not"] = json!({"required": ["path", "postgres"]});
    }
}

form! {
    /// A PostgreSQL database.
    pub(crate) struct Database {
        /// `postgres://USER@HOST:PORT/DATABASE`, without a password.
        URL: Text = needed "url" matching "^postgres(ql)?://", "postgres://purlin@db.internal:5432/purlin";
        /// Schema of the tables.
        SCHEMA: Text = "schema" default "purlin" matching "^[a-z_][a-z0-9_]{0,62}$";
        /// The secret with the password.
        PASSWORD: StoredSecret = "password", "{store: STORE, ref: NAME}";
        /// Certificate for a server that recognises its users by theirs.
        CLIENT: Client = "client", "{certificate: FILE, key: {store: STORE, ref: NAME}}";
        /// File with the trusted certificates (PEM).
        CA: Text = "ca";
        /// How long an environment stays locked by a process that no longer responds.
        LEASE: Time = "lease" default "30s";
    }
}

form! {
    /// A certificate with which a server recognises its user.
    pub(crate) struct Client {
        /// File with the certificate (PEM), and those between it and its authority.
        CERTIFICATE: Text = needed "certificate", "FILE";
        /// The secret with its private key (PEM), without a passphrase.
        KEY: StoredSecret = needed "key", "{store: STORE, ref: NAME}";
    }
}

form! {
    /// The audit.
    pub(crate) struct Audit {
        /// How long its entries are kept.
        KEEP: Time = "keep" default "400d";
    }
}

form! {
    /// A secret of a store.
    pub(crate) struct StoredSecret {
        /// Name of the secret store.
        STORE: Text = needed "store", "STORE";
        /// Name of the secret in the store.
        REF: Text = needed "ref", "NAME";
    }
}

/// Reads the location of the state, a folder or a database, and how long its audit is kept.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node<'_>, workspace: &mut Workspace) {
    workspace.is_state_unknown = true;
    let Some(place) = Place::open(reader, node, "`state`") else { return };
    let audit = place.node(Place::AUDIT);
    let is_audit_only = audit.is_some();
    let audit = audit.and_then(|node| Audit::open(reader, node, "`state.audit`"));
    workspace.audit_keep = audit.and_then(|audit| audit.read(reader, Audit::KEEP));
    match (place.node(Place::PATH), place.node(Place::POSTGRES)) {
        (Some(_), Some(_)) => reader.wrong_value(&node.span, "`state` takes one place", ONE),
        (Some(_), None) => {
            workspace.state = place.read(reader, Place::PATH).map(|path| PathBuf::from(&*path));
        }
        (None, Some(node)) => workspace.database = postgres(reader, node),
        (None, None) if is_audit_only => {
            workspace.is_state_unknown = false;
            return;
        }
        (None, None) => place.report_missing(reader, "`state`", "path", ".purlin"),
    }
    workspace.is_state_unknown = workspace.state.is_none() && workspace.database.is_none();
}

fn postgres(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<StateDatabase> {
    let location = reader.at(&node.span);
    let database = Database::open(reader, node, "`state.postgres`")?;
    let schema = database.node(Database::SCHEMA).and_then(|node| schema(reader, node));
    let password = database.node(Database::PASSWORD).and_then(|node| secret(reader, node, "`password`"));
    let client = database.node(Database::CLIENT).and_then(|node| client(reader, node));
    let ca = database.read(reader, Database::CA).map(|path| PathBuf::from(&*path));
    let lease = database.read(reader, Database::LEASE);
    let url = url(reader, database.node(Database::URL)?)?;
    Some(StateDatabase { url, schema, password, client, ca, lease, location })
}

fn url(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Arc<str>> {
    let text = reader.text(node, "`url`")?;
    let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
    let Some(rest) = rest else {
        reader.wrong_value(&node.span, "`url` is not the address of a PostgreSQL database", FORM_OF_URLS);
        return None;
    };
    let (authority, query) = rest.split_once(['/', '?']).unwrap_or((rest, ""));
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    if user.contains(':') || query.contains("password=") {
        let help = "name a secret store instead: `password: {store: STORE, ref: NAME}`";
        reader.wrong_value(&node.span, "`url` contains a password", help);
        return None;
    }
    Some(text.into())
}

/// A name that PostgreSQL accepts without quotes, so that people can use it in their statements.
fn schema(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Arc<str>> {
    let text = reader.text(node, "`schema`")?;
    let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let named = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_') && text.chars().all(valid);
    if !named || text.len() > 63 || text.starts_with("pg_") {
        let help = "use up to 63 lower-case letters, digits and `_`, such as `purlin`";
        reader.wrong_value(
            &node.span,
            format!("`{}` is not a valid name of a schema", text.escape_debug()),
            help,
        );
        return None;
    }
    Some(text.into())
}

fn client(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<StateDatabaseClient> {
    let client = Client::open(reader, node, "`client`")?;
    let certificate = client.read(reader, Client::CERTIFICATE).map(|path| PathBuf::from(&*path));
    let key = client.node(Client::KEY).and_then(|node| secret(reader, node, "`key`"));
    Some(StateDatabaseClient { certificate: certificate?, key: key? })
}

fn secret(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<(Arc<str>, Arc<str>)> {
    let secret = StoredSecret::open(reader, node, what)?;
    let (store, name) = (secret.read(reader, StoredSecret::STORE), secret.read(reader, StoredSecret::REF));
    Some((store?, name?))
}
