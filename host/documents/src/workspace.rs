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
//!   accounts:                           # see `accounts`
//!     acme-dev: {type: aws, fields: {region: eu-central-1}}
//!   labels: {owner: platform-team}
//! ```

mod accounts;
mod driver;
mod environments;
mod grants;
mod reconcile;
mod state;
mod stores;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_model::{ContextDefaults, KeySource, Workspace};
use serde_json::{Value, json};

use crate::declare::{Form, Read, form};
use crate::definition::{AnyName, DriverName};
use crate::kinds::{AnyText, ContextPart, Count, List, MapOf, Namespace, Text, kind};
use crate::manifest::is_never;
use crate::reader::Reader;
use crate::yaml::Node;

form! {
    /// The operator's configuration.
    pub(crate) struct Document {
        /// The identity of the document.
        METADATA: Metadata = "metadata", "{name: NAME}";
        /// The operator's configuration.
        SPEC: Settings = "spec";
    }

    const HEAD: Option<(&'static str, &'static str)> = Some(("Workspace", "Purlin workspace"));

    fn hint(name: &str) -> Option<String> {
        Settings::has(name).then(|| "move it into `spec`".to_owned())
    }

    /// Every field of `spec` may also be at the top, if there is no `spec`.
    fn constrain(schema: &mut Value) {
        let mut absent = json!({});
        let settings = schema["properties"]["spec"]["properties"].clone();
        for (name, field) in settings.as_object().into_iter().flatten() {
            schema["properties"][name] = field.clone();
            absent[name] = false.into();
        }
        schema["dependentSchemas"] = json!({"spec": {"properties": absent}});
    }
}

form! {
    /// The identity of a document.
    pub(crate) struct Metadata {
        /// A display name.
        NAME: Text = "name";
    }

    const WITHIN: &'static str = "metadata.";
}

form! {
    /// The operator's configuration.
    pub(crate) struct Settings {
        /// The environments, by id. If this is given, other environments are errors.
        ENVIRONMENTS: environments::Environments = "environments";
        /// Settings of `purlin reconcile`.
        RECONCILE: reconcile::Settings = "reconcile";
        /// Location of the state.
        STATE: state::Place = "state";
        /// Source of the key that encrypts secrets.
        KEY: Key = "key";
        /// Default context.
        DEFAULTS: Defaults = "defaults", "{app: shop, env: dev}";
        /// Groups whose manifests refer to one another by fields such as `vpcIdRef`, besides those of
        /// Crossplane's providers, Config Connector and ACK. `*` stands for any text.
        REFERENCES: List<AnyText> = "references" matching "^[a-z0-9.*-]+$", "[\"*.example.org\"]";
        /// Maximum number of driver calls at the same time.
        PARALLELISM: Count = "parallelism" default "32";
        /// The stores of the secrets that definitions refer to, by name.
        SECRET_STORES: MapOf<stores::StoreName, stores::Store> = "secret_stores";
        /// The accounts that definitions name as `driver_account`, by name.
        ACCOUNTS: MapOf<accounts::AccountName, accounts::Account> = "accounts", "{acme-dev: {type: aws}}";
        /// Labels for every real object, for drivers whose system has labels or tags.
        LABELS: MapOf<AnyName, AnyText> = "labels", "{owner: platform-team}";
        /// Drivers by name, `ORG/NAME`.
        DRIVERS: MapOf<DriverName, driver::Driver> = "drivers", "{acme/db: {source: db.wasm}}";
    }
}

form! {
    /// Source of the key that encrypts secrets.
    pub(crate) struct Key {
        /// File with the key.
        FILE: Text = "file";
        /// Environment variable with the key.
        ENV: grants::Variable = "env";
        /// Program that prints the key, and its arguments.
        COMMAND: Program = "command";
    }

    const WITHIN: &'static str = "key.";

    fn constrain(schema: &mut Value) {
        schema["minProperties"] = 1.into();
        schema["maxProperties"] = 1.into();
    }
}

kind! {
    /// A program and its arguments.
    pub(crate) struct Program: json!({
        "type": "array", "items": AnyText::schema(), "minItems": 1, "prefixItems": [Text::schema()],
    })
}

form! {
    /// Default context.
    pub(crate) struct Defaults {
        /// Organisation.
        ORG: ContextPart = "org";
        /// Application.
        APP: ContextPart = "app";
        /// Environment.
        ENV: ContextPart = "env";
        /// Type of the environment.
        ENV_TYPE: ContextPart = "env_type";
        /// Namespace. Default: the id of the environment. An empty namespace is global.
        NAMESPACE: Namespace = "namespace";
    }
}

/// Reads the operator's configuration; `folder` is the folder of its file.
pub(crate) fn read(reader: &mut Reader<'_>, root: &Node<'_>, folder: &Path) -> Option<Workspace> {
    const WHAT: &str = "the Workspace";
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_path_buf() };
    let location = root.entry("kind").map_or(root.span, |kind| kind.key_span);
    let mut workspace = Workspace { folder, location: reader.at(&location), ..Workspace::default() };
    let settings = match root.get("spec") {
        Some(spec) => {
            let document = Document::open(reader, root, WHAT)?;
            metadata(reader, document.node(Document::METADATA));
            Settings::open(reader, spec, "`spec`")?
        }
        None => {
            let settings = Settings::open_among::<Document>(reader, root, WHAT)?;
            metadata(reader, root.get("metadata"));
            settings
        }
    };
    if let Some(node) = settings.node(Settings::STATE) {
        state::read(reader, node, &mut workspace);
    }
    if let Some(node) = settings.node(Settings::KEY) {
        workspace.key = key(reader, node);
        workspace.is_state_unknown |= workspace.key.is_none();
    }
    workspace.defaults = settings.read(reader, Settings::DEFAULTS).unwrap_or_default();
    if let Some(node) = settings.node(Settings::ENVIRONMENTS) {
        workspace.environments = environments::read(reader, node);
    }
    workspace.reconcile = settings.read(reader, Settings::RECONCILE).unwrap_or_default();
    if let Some(node) = settings.node(Settings::REFERENCES) {
        workspace.references = references(reader, node);
    }
    workspace.parallelism = settings.read(reader, Settings::PARALLELISM);
    let stores = settings.node(Settings::SECRET_STORES);
    for entry in stores.and_then(|node| reader.map(node, "`secret_stores`")).unwrap_or_default() {
        if let Some(store) = stores::read(reader, entry) {
            workspace.secret_stores.insert(entry.key.clone(), store);
        }
    }
    let accounts = settings.node(Settings::ACCOUNTS);
    let mut used = Vec::new();
    for entry in accounts.and_then(|node| reader.map(node, "`accounts`")).unwrap_or_default() {
        if let Some(account) = accounts::read(reader, entry, &mut used) {
            workspace.accounts.insert(entry.key.clone(), account);
        }
    }
    workspace.labels = labels(reader, settings.node(Settings::LABELS));
    if let Some(node) = settings.node(Settings::DRIVERS) {
        for entry in reader.map(node, "`drivers`").unwrap_or_default() {
            if let Some(config) = driver::read(reader, entry) {
                workspace.drivers.insert(entry.key.clone(), config);
            }
        }
        workspace.unknown_stores = stores::granted_unknown(reader, node, stores);
    }
    let unknown =
        used.iter().filter_map(|(name, span)| stores::unknown(reader, "an account", name, span, stores));
    workspace.unknown_stores.extend(unknown);
    Some(workspace)
}

/// Labels for every real object.
fn labels(reader: &mut Reader<'_>, node: Option<&Node<'_>>) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut labels = BTreeMap::new();
    for entry in node.and_then(|node| reader.map(node, "`labels`")).unwrap_or_default() {
        let value = reader.string(&entry.value, &format!("the label `{}`", entry.key));
        stores::no_placeholders(reader, &entry.value, "a label of the workspace");
        labels.extend(value.map(|value| (entry.key.clone(), value.into())));
    }
    labels
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

fn metadata(reader: &mut Reader<'_>, node: Option<&Node<'_>>) {
    if let Some(metadata) = node.and_then(|node| Metadata::open(reader, node, "`metadata`")) {
        metadata.read(reader, Metadata::NAME);
    }
}

fn key(reader: &mut Reader<'_>, node: &Node<'_>) -> Option<KeySource> {
    const ONE: &str = "write one of `file: PATH`, `env: NAME` and `command: [PROGRAM, ARGUMENT]`";
    let key = Key::open(reader, node, "`key`")?;
    match (key.node(Key::FILE), key.node(Key::ENV), key.node(Key::COMMAND)) {
        (Some(_), None, None) => key.read(reader, Key::FILE).map(|path| KeySource::File((&*path).into())),
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

impl Read for Defaults {
    type Value = ContextDefaults;

    fn read(reader: &mut Reader<'_>, node: &Node<'_>, what: &str) -> Option<ContextDefaults> {
        let defaults = Self::open(reader, node, what)?;
        Some(ContextDefaults {
            org: defaults.read(reader, Self::ORG),
            app: defaults.read(reader, Self::APP),
            env: defaults.read(reader, Self::ENV),
            env_type: defaults.read(reader, Self::ENV_TYPE),
            namespace: defaults.read(reader, Self::NAMESPACE),
        })
    }
}
