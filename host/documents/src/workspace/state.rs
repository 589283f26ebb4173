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
//!     ca: ca.pem
//!     lease: 30s
//! ```

use std::path::PathBuf;
use std::sync::Arc;

use purlin_model::StateDatabase;

use super::driver::quantity;
use crate::quantity;
use crate::reader::Reader;
use crate::yaml::Node;

const ONE: &str = "write either `path: FOLDER` or `postgres: {url: …}`";
const URL: &str = "write it as `postgres://USER@HOST:5432/DATABASE`";

/// Reads the location of the state: a folder or a database.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node<'_>) -> (Option<PathBuf>, Option<StateDatabase>) {
    let Some(mut fields) = reader.fields(node, "`state`") else { return (None, None) };
    let database = fields.get(reader, "postgres");
    let path = match database {
        Some(_) => fields.get(reader, "path"),
        None => fields.need(reader, "path", ".purlin"),
    };
    fields.done(reader);
    match (path, database) {
        (Some(_), Some(_)) => {
            reader.wrong_value(&node.span, "`state` takes one place", ONE);
            (None, None)
        }
        (path, None) => (path.and_then(|node| reader.text(node, "`state.path`")).map(PathBuf::from), None),
        (None, Some(node)) => (None, postgres(reader, node)),
    }
}

fn postgres(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<StateDatabase> {
    let location = reader.at(&node.span);
    let mut fields = reader.fields(node, "`state.postgres`")?;
    let url = fields.need(reader, "url", "postgres://purlin@db.internal:5432/purlin");
    let schema = fields.get(reader, "schema").and_then(|node| schema(reader, node));
    let password = fields.get(reader, "password").and_then(|node| password(reader, node));
    let ca = fields.get(reader, "ca").and_then(|node| reader.text(node, "`ca`")).map(PathBuf::from);
    let lease = quantity(reader, &mut fields, "lease", "a duration", "30s", quantity::duration);
    fields.done(reader);
    let url = self::url(reader, url?)?;
    Some(StateDatabase { url, schema, password, ca, lease, location })
}

fn url(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<Arc<str>> {
    let text = reader.text(node, "`url`")?;
    let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
    let Some(rest) = rest else {
        reader.wrong_value(&node.span, "`url` is not the address of a PostgreSQL database", URL);
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

fn password(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<(Arc<str>, Arc<str>)> {
    let mut fields = reader.fields(node, "`password`")?;
    let (store, name) = (fields.need(reader, "store", "STORE"), fields.need(reader, "ref", "NAME"));
    fields.done(reader);
    let store = reader.text(store?, "`store`")?.into();
    Some((store, reader.text(name?, "`ref`")?.into()))
}
