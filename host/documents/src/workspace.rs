//! `kind: Workspace`, the file `purlin.yaml`: state, drivers, their grants, defaults (SPEC §2, §8
//! capabilities).
//!
//! ```yaml
//! apiVersion: purlin.dev/v1
//! kind: Workspace
//! spec:                                 # the fields may also stand at the top
//!   state: {path: .purlin}              # or {postgres: {url: …}}, see `state`
//!   key: {file: key.txt}              # or {env: NAME}, or {command: [program, argument]}
//!   defaults: {org: acme, app: shop, env: dev, env_type: development, namespace: dev}
//!   environments:                       # see `environments`
//!     prod: {type: production, values: {domain: example.com}, protect: true}
//!   reconcile: {interval: 10m, drift: repair}   # see `reconcile`
//!   references: ["*.acme.dev"]          # groups whose manifests refer to one another by convention
//!   parallelism: 10
//!   drivers:
//!     acme/postgres:
//!       source: drivers/postgres.wasm # a file, a folder, or oci://REFERENCE
//!       version: ^1
//!       grants:
//!         env: [PGSSLMODE]
//!         dirs: [{host: ./data, guest: /data, mode: ro}]
//!         tcp: ["db.internal:5432"]
//!       limits: {memory: 64MiB, time: 30s, output: 1MiB, log: 64KiB, concurrency: 4}
//!   secret_stores:
//!     local: {file: ./secrets}          # see `stores`
//! ```

mod driver;
mod environments;
mod grants;
mod reconcile;
mod state;
mod stores;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_model::{ContextDefaults, KeySource, Workspace};

use crate::manifest::is_never;
use crate::names::context_part;
use crate::reader::Reader;
use crate::yaml::{Node, NodeKind};

/// Reads the operator's configuration; `folder` is the folder of its file.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>, folder: &Path) -> Option<Workspace> {
    let mut top = reader.fields(root, "the Workspace")?;
    top.entry("apiVersion");
    let kind = top.entry("kind");
    if let Some(node) = top.get(reader, "metadata")
        && let Some(mut metadata) = reader.fields(node, "`metadata`")
    {
        if let Some(name) = metadata.get(reader, "name") {
            reader.text(name, "`metadata.name`");
        }
        metadata.done(reader);
    }
    let spec = top.get(reader, "spec");
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_path_buf() };
    let location = kind.map_or(reader.at(&root.span), |kind| reader.at(&kind.key_span));
    let mut workspace = Workspace { folder, location, ..Workspace::default() };
    let mut fields = match spec {
        Some(spec) => {
            top.done(reader);
            reader.fields(spec, "`spec`")?
        }
        None => top,
    };
    if let Some(node) = fields.get(reader, "state") {
        (workspace.state, workspace.database) = state::read(reader, node);
        workspace.is_state_unknown = workspace.state.is_none() && workspace.database.is_none();
    }
    if let Some(node) = fields.get(reader, "key") {
        workspace.key = key(reader, node);
        workspace.is_state_unknown |= workspace.key.is_none();
    }
    if let Some(node) = fields.get(reader, "defaults") {
        workspace.defaults = defaults(reader, node);
    }
    if let Some(node) = fields.get(reader, "environments") {
        workspace.environments = environments::read(reader, node);
    }
    if let Some(node) = fields.get(reader, "reconcile") {
        workspace.reconcile = reconcile::read(reader, node);
    }
    if let Some(node) = fields.get(reader, "references") {
        workspace.references = references(reader, node);
    }
    workspace.parallelism =
        fields.get(reader, "parallelism").and_then(|node| count(reader, node, "`parallelism`"));
    let stores = fields.get(reader, "secret_stores");
    if let Some(node) = stores {
        for entry in reader.map(node, "`secret_stores`").unwrap_or_default() {
            if let Some(store) = stores::read(reader, entry) {
                workspace.secret_stores.insert(entry.key.clone(), store);
            }
        }
    }
    if let Some(node) = fields.get(reader, "drivers") {
        for entry in reader.map(node, "`drivers`").unwrap_or_default() {
            if let Some(config) = driver::read(reader, entry) {
                workspace.drivers.insert(entry.key.clone(), config);
            }
        }
        workspace.unknown_stores = stores::unknown(reader, node, stores);
    }
    fields.done(reader);
    Some(workspace)
}

/// Patterns of groups of manifests.
fn references(reader: &mut Reader<'_>, node: &Node<'_>) -> Vec<Arc<str>> {
    const HELP: &str =
        "write a group without a version, such as `example.org`, or a pattern, such as `*.example.org`";
    let mut found: Vec<Arc<str>> = Vec::new();
    for (text, span) in reader.strings(node, "`references`").unwrap_or_default() {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '*');
        if text.is_empty() || !text.chars().all(fits) {
            reader.wrong_value(&span, format!("`{text}` is not a group of manifests"), HELP);
        } else if is_never(text) {
            let message = format!("the manifests of `{text}` have no references by convention");
            reader.wrong_value(
                &span,
                message,
                "describe their fields in a ResourceType: `x-reference: {type: TYPE}`",
            );
        } else {
            found.push(text.into());
        }
    }
    found
}

fn key(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<KeySource> {
    const ONE: &str = "write one of `file: PATH`, `env: NAME` and `command: [PROGRAM, ARGUMENT]`";
    let mut fields = reader.fields(node, "`key`")?;
    let (file, env) = (fields.get(reader, "file"), fields.get(reader, "env"));
    let command = fields.get(reader, "command");
    fields.done(reader);
    match (file, env, command) {
        (Some(node), None, None) => reader.text(node, "`key.file`").map(|path| KeySource::File(path.into())),
        (None, Some(node), None) => {
            let name = reader.text(node, "`key.env`")?;
            grants::variable(reader, name, &node.span).map(KeySource::Env)
        }
        (None, None, Some(node)) => {
            let words = reader.strings(node, "`key.command`")?;
            if words.first().is_none_or(|(program, _)| program.trim().is_empty()) {
                reader.wrong_value(&node.span, "`key.command` has no program", ONE);
                return None;
            }
            Some(KeySource::Command(words.into_iter().map(|(word, _)| word.to_owned()).collect()))
        }
        _ => {
            reader.wrong_value(&node.span, "`key` takes exactly one source", ONE);
            None
        }
    }
}

fn defaults(reader: &mut Reader<'_>, node: &Node<'_>) -> ContextDefaults {
    let Some(mut fields) = reader.fields(node, "`defaults`") else { return ContextDefaults::default() };
    let mut part = |name| {
        let node = fields.get(reader, name)?;
        context_part(reader, node, &format!("`{name}`"))
    };
    let defaults = ContextDefaults {
        org: part("org"),
        app: part("app"),
        env: part("env"),
        env_type: part("env_type"),
        namespace: part("namespace"),
    };
    fields.done(reader);
    defaults
}

/// A number from 1 on.
fn count(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<usize> {
    let NodeKind::Number(number) = &node.kind else {
        reader.wrong_type(node, what, "a number");
        return None;
    };
    let count = number.as_u64().and_then(|count| usize::try_from(count).ok()).filter(|count| *count > 0);
    if count.is_none() {
        reader.wrong_value(
            &node.span,
            format!("{what} takes a whole number of 1 or more"),
            "write a number such as 8",
        );
    }
    count
}
