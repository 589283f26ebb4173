//! Schema of the workspace.

use serde_json::{Value, json};

use super::{DIALECT, DRIVER, PART, closed, head, namespace, part, text};

const SIZE: &str = "^0*[1-9][0-9]* *(B|KiB|MiB|GiB|kB|MB|GB)$";
const TIME: &str = "^0*[1-9][0-9]* *(ms|s|m|h)$";
const TIME_OR_ZERO: &str = "^[0-9]+ *(ms|s|m|h)$";
/// An approximation; the parser is stricter.
const HTTP: &str = "^([A-Z*,-]+ +)?https?://[^/@\\s]+(/[^\\s?#]*)?$";
const ENDPOINT: &str = "^\\S+:([0-9]+(-[0-9]+)?|\\*)$";
const NAME: &str = "^(\\*|(\\*\\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)$";
const NETWORK: &str = "^[0-9A-Fa-f]*[.:][0-9A-Fa-f.:]*(/[0-9]+)?$";
const VARIABLE: &str = "^[^=*\\s\\p{Cc}]+$";

pub(super) fn schema() -> Value {
    let (api_version, kind) = head("Workspace");
    let spec = fields();
    let mut top = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": closed("What names it.", &[], json!({"name": text("A name for people.")})),
    });
    // Every field of `spec` may also be at the top, if there is no `spec`.
    let mut absent = json!({});
    for (name, field) in spec.as_object().into_iter().flatten() {
        top[name] = field.clone();
        absent[name] = false.into();
    }
    top["spec"] = closed("The operator's configuration.", &[], spec);
    let mut schema = closed("The operator's configuration.", &["apiVersion", "kind"], top);
    schema["$schema"] = DIALECT.into();
    schema["title"] = "Purlin workspace".into();
    schema["dependentSchemas"] = json!({"spec": {"properties": absent}});
    schema
}

fn fields() -> Value {
    let key = json!({
        "file": text("File with the key."),
        "env": {"description": "Environment variable with the key.", "type": "string", "pattern": VARIABLE},
        "command": {
            "description": "Program that prints the key, and its arguments.",
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "prefixItems": [text("The program.")],
        },
    });
    let mut key = closed("Where the key of encrypted secrets comes from.", &[], key);
    key["minProperties"] = 1.into();
    key["maxProperties"] = 1.into();
    let defaults = json!({
        "org": part("Organisation."),
        "app": part("Application."),
        "env": part("Environment."),
        "env_type": part("Type of the environment."),
        "namespace": namespace(),
    });
    let environment = json!({
        "type": part("Type of the environment; `defaults.env_type` when left out."),
        "namespace": namespace(),
        "values": {
            "description": "What `${values.NAME}` reads here, over the values of Deployments.",
            "type": "object",
        },
        "protect": {
            "description": "Whether nothing in it may be deleted or replaced; `false` when left out.",
            "type": "boolean",
        },
    });
    let environments = json!({
        "description": "The environments that there are, by id; others are mistakes then.",
        "type": "object",
        "propertyNames": {"pattern": PART},
        "additionalProperties": closed("An environment.", &[], environment),
    });
    json!({
        "environments": environments,
        "reconcile": reconcile(),
        "state": state(),
        "key": key,
        "defaults": closed("Context where nothing else gives it.", &[], defaults),
        "parallelism": {"description": "Driver calls at the same time.", "type": "integer", "minimum": 1},
        "secret_stores": {
            "description": "Where secrets are read that definitions only name, by the store's name.",
            "type": "object",
            "propertyNames": {"pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]*$"},
            "additionalProperties": secret_store(),
        },
        "drivers": {
            "description": "Drivers by name, `ORG/NAME`.",
            "type": "object",
            "propertyNames": {"pattern": format!("^{DRIVER}$")},
            "additionalProperties": driver(),
        },
    })
}

fn state() -> Value {
    let password = json!({
        "store": text("Name of the secret store."),
        "ref": text("Name of the password in the store."),
    });
    let postgres = json!({
        "url": {
            "description": "`postgres://USER@HOST:PORT/DATABASE`, without a password.",
            "type": "string",
            "pattern": "^postgres(ql)?://",
        },
        "schema": {
            "description": "Schema of the tables; `purlin` when left out.",
            "type": "string",
            "pattern": "^[a-z_][a-z0-9_]{0,62}$",
        },
        "password": closed("Where the password is read.", &["store", "ref"], password),
        "ca": text("File with the certificates (PEM) that the server's is checked against."),
        "lease": {
            "description": "How long an environment stays with a process that stopped answering; `30s` when left out.",
            "type": "string",
            "pattern": TIME,
        },
    });
    let mut state = closed(
        "Where the state is.",
        &[],
        json!({
            "path": text("Folder of the embedded state."),
            "postgres": closed("A PostgreSQL database that a team shares.", &["url"], postgres),
        }),
    );
    state["oneOf"] = json!([{"required": ["path"]}, {"required": ["postgres"]}]);
    state
}

fn reconcile() -> Value {
    let time = |description: &str| json!({"description": description, "type": "string", "pattern": TIME});
    let grace =
        |description: &str| json!({"description": description, "type": "string", "pattern": TIME_OR_ZERO});
    let drift = |description: &str| json!({"description": description, "enum": ["repair", "report"]});
    let rule = json!({
        "resources": text("Key of a resource, or a pattern with `*`."),
        "interval": time("How often each is read."),
        "drift": drift("What happens to one that others changed."),
        "grace": grace("How long after its creation one may be missing from its system."),
    });
    closed(
        "How `purlin reconcile` keeps resources.",
        &[],
        json!({
            "interval": time("How often each resource is read; `10m` when left out."),
            "drift": drift("What happens to a resource that others changed; `repair` when left out."),
            "grace": grace("How long after its creation a resource may be missing from its system, before it counts as deleted; `30s` when left out."),
            "allow": {
                "description": "What is done without asking a person.",
                "type": "array",
                "items": {"enum": ["delete", "replace", "data-loss"]},
            },
            "rules": {
                "description": "Other settings for some resources; the last that fits one counts.",
                "type": "array",
                "items": closed("Settings for some resources.", &["resources"], rule),
            },
        }),
    )
}

fn secret_store() -> Value {
    let literal = |description: &str| json!({"description": description, "type": "object"});
    let command = json!({
        "description": "Program that prints a secret, and its arguments, with `{ref}` and `{version}` in them.",
        "type": "array",
        "items": {"type": "string"},
        "prefixItems": [{"type": "string", "pattern": "\\S", "not": {"pattern": "\\{(ref|version)\\}"}}],
        "contains": {"type": "string", "pattern": "\\{ref\\}"},
    });
    let mut store = closed(
        "A secret store: one of `file`, `env`, `command` and `driver`.",
        &[],
        json!({
            "file": text("A folder with a file for each secret, or a YAML or JSON file with all of them."),
            "env": {
                "description": "What stands before the names of environment variables.",
                "type": "string",
                "pattern": "^[^=*\\s\\p{Cc}]*$",
            },
            "command": command,
            "time": {"description": "Time that a command may take; `30s` when left out.", "type": "string", "pattern": TIME},
            "driver": {
                "description": "Driver that reads secrets, with `@RANGE` behind it for its versions.",
                "type": "string",
                "pattern": format!("^{DRIVER}(@.+)?$"),
            },
            "values": literal("What the driver gets."),
            "secrets": literal("Secret inputs of the driver."),
        }),
    );
    store["oneOf"] = ["file", "env", "command", "driver"].map(|kind| json!({"required": [kind]})).into();
    store["dependentRequired"] = json!({"time": ["command"], "values": ["driver"], "secrets": ["driver"]});
    store
}

fn driver() -> Value {
    let size = |description: &str| json!({"description": description, "type": "string", "pattern": SIZE});
    let folder = json!({
        "host": text("Folder on the host, from the folder of this file."),
        "guest": {
            "description": "Path as the driver sees it.",
            "type": "string",
            "pattern": "^/",
            "not": {"pattern": "/\\.\\.?(/|$)"},
        },
        "mode": {"description": "`ro` when left out.", "enum": ["ro", "rw"]},
    });
    let list = |description: &str, pattern: &str| json!({"description": description, "type": "array", "items": {"type": "string", "pattern": pattern}});
    let grants = json!({
        "http": list("Requests that it may make, such as `GET,POST https://api.example/v1/*`.", HTTP),
        "tcp": list("Where it may open connections to, such as `db.internal:5432`.", ENDPOINT),
        "udp": list("Where it may send datagrams to, such as `10.0.0.53:53`.", ENDPOINT),
        "dns": list("Names that it may look up, besides those of the other grants.", NAME),
        "addresses": list("Networks that are not public, which names may lead to.", NETWORK),
        "ca": list("Files with certificates that servers are trusted by, besides the system's.", "\\S"),
        "secrets": list("Secret stores whose secrets it may be given.", "\\S"),
        "env": {
            "description": "Environment variables that it may see.",
            "type": "array",
            "items": {"type": "string", "pattern": VARIABLE},
        },
        "dirs": {
            "description": "Folders that it may use.",
            "type": "array",
            "items": closed("A folder.", &["host", "guest"], folder),
        },
    });
    let limits = json!({
        "memory": size("Memory of one instance, such as `64MiB`."),
        "time": {"description": "Time of one call, such as `30s`.", "type": "string", "pattern": TIME},
        "output": size("Size of what one call returns."),
        "log": size("Size of the log of one call."),
        "concurrency": {"description": "Calls at the same time.", "type": "integer", "minimum": 1},
        "total": {"description": "Time of all calls together.", "type": "string", "pattern": TIME},
        "response": size("Size of what the requests of one call are answered with, together."),
        "requests": {
            "description": "Requests, connections and look-ups of names of one call, together.",
            "type": "integer",
            "minimum": 1,
        },
    });
    closed(
        "A driver.",
        &[],
        json!({
            "source": text("A file, a folder, or `oci://REFERENCE`; none for a built-in driver."),
            "version": text("Versions that will do, such as `^1`."),
            "grants": closed("What it may do; nothing by default.", &[], grants),
            "limits": closed("What it may use up.", &[], limits),
        }),
    )
}
