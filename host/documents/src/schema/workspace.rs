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
        "metadata": closed("The identity of the document.", &[], json!({"name": text("A display name.")})),
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
    let mut key = closed("Source of the key that encrypts secrets.", &[], key);
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
        "type": part("Type of the environment. Default: `defaults.env_type`."),
        "namespace": namespace(),
        "values": {
            "description": "Values that `${values.NAME}` reads in this environment. They override those of Deployments.",
            "type": "object",
        },
        "protect": {
            "description": "Whether deleting or replacing any resource in it is an error. Default: `false`.",
            "type": "boolean",
        },
    });
    let environments = json!({
        "description": "The environments, by id. If this is given, other environments are errors.",
        "type": "object",
        "propertyNames": {"pattern": PART},
        "additionalProperties": closed("An environment.", &[], environment),
    });
    json!({
        "environments": environments,
        "reconcile": reconcile(),
        "state": state(),
        "key": key,
        "defaults": closed("Default context.", &[], defaults),
        "references": {
            "description": "Groups whose manifests refer to one another by fields such as `vpcIdRef`, besides those of Crossplane's providers, Config Connector and ACK. `*` stands for any text.",
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9.*-]+$"},
        },
        "parallelism": {"description": "Maximum number of driver calls at the same time.", "type": "integer", "minimum": 1},
        "secret_stores": {
            "description": "The stores of the secrets that definitions refer to, by name.",
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
            "description": "Schema of the tables. Default: `purlin`.",
            "type": "string",
            "pattern": "^[a-z_][a-z0-9_]{0,62}$",
        },
        "password": closed("The secret with the password.", &["store", "ref"], password),
        "ca": text("File with the trusted certificates (PEM)."),
        "lease": {
            "description": "How long an environment stays locked by a process that no longer responds. Default: `30s`.",
            "type": "string",
            "pattern": TIME,
        },
    });
    let mut state = closed(
        "Location of the state.",
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
    let drift = |description: &str| json!({"description": description, "enum": ["repair", "report"]});
    let rule = json!({
        "resources": text("Key of a resource, or a pattern with `*`."),
        "interval": time("How often each resource is read."),
        "drift": drift("What Purlin does if a resource drifts."),
    });
    closed(
        "Settings of `purlin reconcile`.",
        &[],
        json!({
            "interval": time("How often each resource is read. Default: `10m`."),
            "drift": drift("What Purlin does if a resource drifts. Default: `repair`."),
            "allow": {
                "description": "Actions that need no confirmation.",
                "type": "array",
                "items": {"enum": ["delete", "replace", "data-loss"]},
            },
            "rules": {
                "description": "Settings for some resources. The last matching rule applies.",
                "type": "array",
                "items": closed("Settings for some resources.", &["resources"], rule),
            },
        }),
    )
}

fn secret_store() -> Value {
    let literal = |description: &str| json!({"description": description, "type": "object"});
    let command = json!({
        "description": "Program that prints a secret, and its arguments, which may contain `{ref}` and `{version}`.",
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
                "description": "Prefix of the environment variables.",
                "type": "string",
                "pattern": "^[^=*\\s\\p{Cc}]*$",
            },
            "command": command,
            "time": {"description": "Time limit of the command. Default: `30s`.", "type": "string", "pattern": TIME},
            "driver": {
                "description": "Driver that reads secrets, optionally with `@RANGE` for its versions.",
                "type": "string",
                "pattern": format!("^{DRIVER}(@.+)?$"),
            },
            "values": literal("Inputs of the driver."),
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
        "host": text("Folder on the host, relative to the folder of this file."),
        "guest": {
            "description": "Path inside the driver.",
            "type": "string",
            "pattern": "^/",
            "not": {"pattern": "/\\.\\.?(/|$)"},
        },
        "mode": {"description": "Default: `ro`.", "enum": ["ro", "rw"]},
    });
    let list = |description: &str, pattern: &str| json!({"description": description, "type": "array", "items": {"type": "string", "pattern": pattern}});
    let grants = json!({
        "http": list("Allowed requests, such as `GET,POST https://api.example/v1/*`.", HTTP),
        "tcp": list("Allowed connections, such as `db.internal:5432`.", ENDPOINT),
        "udp": list("Allowed destinations of datagrams, such as `10.0.0.53:53`.", ENDPOINT),
        "dns": list("Names that it may look up, in addition to those of the other grants.", NAME),
        "addresses": list("Private networks that names may resolve to.", NETWORK),
        "ca": list("Files with trusted certificates, in addition to those of the system.", "\\S"),
        "secrets": list("Secret stores whose secrets it may receive.", "\\S"),
        "env": {
            "description": "Environment variables that it may read.",
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
        "output": size("Size of the result of one call."),
        "log": size("Size of the log of one call."),
        "concurrency": {"description": "Number of calls at the same time.", "type": "integer", "minimum": 1},
        "wait": {"description": "Total time of the waits between the calls of one operation.", "type": "string", "pattern": TIME},
        "grace": {
            "description": "How long its system may not show a new resource before the resource counts as missing. Default: `30s`.",
            "type": "string",
            "pattern": TIME_OR_ZERO,
        },
        "total": {"description": "Total time of all calls.", "type": "string", "pattern": TIME},
        "response": size("Total size of the responses that one call receives."),
        "requests": {
            "description": "Total number of requests, connections and name lookups of one call.",
            "type": "integer",
            "minimum": 1,
        },
    });
    closed(
        "A driver.",
        &[],
        json!({
            "source": text("A file, a folder, or `oci://REFERENCE`. Not for built-in drivers."),
            "version": text("Allowed versions, such as `^1`."),
            "grants": closed("Its grants. Default: none.", &[], grants),
            "limits": closed("Its limits.", &[], limits),
        }),
    )
}
