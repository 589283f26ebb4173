//! Inputs and outputs that describe themselves. The derive macros implement these traits, and
//! schemars generates the schemas.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Object, TypeSchema};

#[doc(hidden)]
pub use {schemars, serde};

/// The inputs of a driver with their schema: [`derive@crate::Inputs`].
pub trait DescribedInputs: DeserializeOwned + JsonSchema {}

/// The outputs of a driver with their schema: [`derive@crate::Outputs`].
pub trait DescribedOutputs: Serialize + JsonSchema {
    /// The names of secret outputs.
    const SECRETS: &'static [&'static str];
}

/// Outputs with any names and shapes.
impl DescribedOutputs for Object {
    const SECRETS: &'static [&'static str] = &[];
}

impl TypeSchema {
    /// The schemas of types that describe themselves. `type_name` is a resource type, or `*` for any.
    pub fn of<I: DescribedInputs, O: DescribedOutputs>(type_name: impl Into<String>) -> Self {
        let mut inputs = schema::<I>(SchemaSettings::draft2020_12().for_deserialize());
        leave_optional_groups_out(&mut inputs);
        let outputs = schema::<O>(SchemaSettings::draft2020_12().for_serialize());
        Self { type_name: type_name.into(), inputs, outputs }
    }
}

/// The schema of a type as one document, without parts that have no effect.
fn schema<T: JsonSchema>(mut settings: SchemaSettings) -> Value {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    tidy(&mut schema);
    schema.to_value()
}

/// Removes names of Rust's number types and empty defaults, and lets `null` be one of the listed
/// values if it is valid. A driver's assumption is not a default, which the host would fill in; the
/// description states it.
fn tidy(schema: &mut Schema) {
    transform_subschemas(&mut tidy, schema);
    let is_of_numbers = |format: &str| {
        matches!(format, "float" | "double") || format.trim_start_matches('u').starts_with("int")
    };
    if schema.get("format").and_then(Value::as_str).is_some_and(is_of_numbers) {
        schema.remove("format");
    }
    let takes_null =
        schema.get("type").and_then(Value::as_array).is_some_and(|types| types.contains(&"null".into()));
    if let Some(Value::Array(texts)) = schema.get_mut("enum")
        && takes_null
        && !texts.contains(&Value::Null)
    {
        texts.push(Value::Null);
    }
    let is_assumed = schema.remove("x-purlin-assumed").is_some();
    if is_assumed || schema.get("default").is_some_and(Value::is_null) {
        let default = schema.remove("default").filter(|default| is_assumed && !is_empty(default));
        if let Some(default) = default {
            let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let text = format!("{text} By default {}.", crate::table::code(&default)).trim_start().to_owned();
            schema.insert("description".to_owned(), text.into());
        }
    }
}

/// Whether a default is empty.
fn is_empty(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        // A map with only empty values.
        Value::Object(map) => map.values().all(|value| is_empty(value) || *value == Value::Bool(false)),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A group without required members is optional.
fn leave_optional_groups_out(inputs: &mut Value) {
    let is_needed = |group: &Value| {
        let required = group.as_str().map(|name| format!("/properties/{name}/required"));
        required.is_some_and(|pointer| inputs.pointer(&pointer).is_some())
    };
    let groups = inputs.get("required").and_then(Value::as_array);
    let needed: Vec<Value> = groups.into_iter().flatten().filter(|group| is_needed(group)).cloned().collect();
    if let Some(inputs) = inputs.as_object_mut() {
        match needed.is_empty() {
            true => drop(inputs.shift_remove("required")),
            false => drop(inputs.insert("required".to_owned(), needed.into())),
        }
    }
}

/// A default that a schema can contain. For the derive macros.
#[doc(hidden)]
pub fn writable<T: Serialize>(default: T) -> T {
    default
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{Failure, Input, Inputs, Object, Outputs, Raw, State, TypeSchema};

    #[derive(Inputs)]
    struct StoreInputs {
        values: Values,
        secrets: Secrets,
        connection: Connection,
    }

    #[derive(Input)]
    #[input(holds_data = "every table")]
    struct Values {
        /// The name
        /// of it.
        #[input(replaces, pattern = "^[a-z]+$", max_length = LONGEST, example = "shop")]
        name: String,
        #[input(immutable)]
        engine: Option<Engine>,
        /// Gibibytes.
        #[input(default = 10, min = 1, max = 64)]
        size: u8,
        #[input(default)]
        disks: Vec<Disk>,
        #[input(default = "eu")]
        region: String,
        /// How long to wait.
        #[input(assumed = 30)]
        seconds: u16,
        #[input(one_of = ["a", "b"])]
        class: Option<String>,
        #[input(assumed)]
        spare: Spare,
    }

    const LONGEST: usize = 63;

    #[derive(Debug, Input, PartialEq)]
    #[serde(rename_all = "kebab-case")]
    enum Engine {
        Plain,
        InMemory,
    }

    #[derive(Input, serde::Serialize)]
    struct Disk {
        #[serde(rename = "type")]
        #[input(replaces)]
        kind: String,
    }

    /// What is kept for later.
    #[derive(Debug, Default, Input, PartialEq, serde::Serialize)]
    struct Spare {
        #[input(assumed)]
        disks: Vec<String>,
        kept: Option<u8>,
    }

    #[derive(Input)]
    struct Secrets {
        password: Option<String>,
    }

    #[derive(Input)]
    #[input(open, reaches = "tcp", port = 5432)]
    struct Connection {
        #[input(replaces)]
        host: String,
        #[input(secret)]
        key: Option<String>,
    }

    #[derive(Outputs)]
    struct StoreOutputs {
        /// Where it is.
        host: String,
        #[output(secret, write_once)]
        token: Option<String>,
        #[output(secret)]
        password: String,
    }

    #[test]
    fn one_description_gives_the_schema_of_inputs() {
        let schema = TypeSchema::of::<StoreInputs, Object>("store");
        assert_eq!(schema.type_name, "store");
        let expected = json!({
            "type": "object",
            "required": ["values", "connection"],
            "properties": {
                "values": {
                    "type": "object",
                    "required": ["name"],
                    "additionalProperties": false,
                    "x-purlin-holds-data": "every table",
                    "properties": {
                        "name": {
                            "type": "string", "description": "The name\nof it.", "x-purlin-replaces": true,
                            "pattern": "^[a-z]+$", "maxLength": 63, "examples": ["shop"],
                        },
                        "engine": {
                            "type": ["string", "null"], "enum": ["plain", "in-memory", null],
                            "x-purlin-immutable": true,
                        },
                        "size": {
                            "type": "integer", "description": "Gibibytes.", "minimum": 1, "maximum": 64, "default": 10,
                        },
                        "disks": {
                            "type": "array",
                            "default": [],
                            "items": {
                                "type": "object",
                                "required": ["type"],
                                "additionalProperties": false,
                                "properties": {"type": {"type": "string", "x-purlin-replaces": true}},
                            },
                        },
                        "region": {"type": "string", "default": "eu"},
                        "seconds": {
                            "type": "integer", "description": "How long to wait. By default `30`.",
                            "minimum": 0, "maximum": 65535,
                        },
                        "class": {"type": ["string", "null"], "enum": ["a", "b", null]},
                        "spare": {
                            "type": "object",
                            "additionalProperties": false,
                            "description": "What is kept for later.",
                            "properties": {
                                "disks": {"type": "array", "items": {"type": "string"}},
                                "kept": {"type": ["integer", "null"], "minimum": 0, "maximum": 255},
                            },
                        },
                    },
                },
                "secrets": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {"password": {"type": ["string", "null"]}},
                },
                "connection": {
                    "type": "object",
                    "required": ["host"],
                    "x-purlin-reaches": "tcp",
                    "x-purlin-port": 5432,
                    "properties": {
                        "host": {"type": "string", "x-purlin-replaces": true},
                        "key": {"type": ["string", "null"], "writeOnly": true},
                    },
                },
            },
        });
        assert_eq!(schema.inputs, expected, "{:#}", schema.inputs);
    }

    #[test]
    fn the_same_description_reads_inputs() {
        let read = |values| {
            Raw::<StoreInputs>::new(json!({
                "values": values, "secrets": {}, "params": {}, "connection": {"host": "h", "more": 1},
            }))
            .parse()
        };
        let given =
            read(json!({"name": "a", "engine": "in-memory", "disks": [{"type": "ssd"}]})).expect("read");
        let Values { name, engine, size, disks, region, seconds, class, spare } = given.values;
        assert_eq!((&*name, engine, size, &*region, seconds), ("a", Some(Engine::InMemory), 10, "eu", 30));
        assert_eq!((disks.first().map(|disk| disk.kind.as_str()), class), (Some("ssd"), None));
        assert_eq!(spare, Spare::default());
        assert!(given.secrets.password.is_none() && given.connection.key.is_none());
        assert_eq!(given.connection.host, "h");
        let list =
            read(json!({"name": "a", "spare": [["d"], 1]})).map(drop).map_err(|failure| failure.to_string());
        let message = list.as_ref().map_err(String::as_str);
        assert!(
            message.is_err_and(|message| message.contains("/values/spare: invalid type: sequence")),
            "{list:?}"
        );
        let wrong = read(json!({"name": "a", "size": "big", "disks": [{"kind": "ssd"}], "disk": 1}));
        let Err(Failure::InvalidInputs(faults)) = wrong else { panic!("this does not fit") };
        let mut places: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        places.sort_unstable();
        assert_eq!(places, ["/values/disk", "/values/disks/0", "/values/disks/0/kind", "/values/size"]);
    }

    #[test]
    fn outputs_match_their_description() {
        let expected = json!({
            "type": "object",
            "required": ["host", "password"],
            "additionalProperties": false,
            "properties": {
                "host": {"type": "string", "description": "Where it is."},
                "token": {"type": "string", "writeOnly": true, "x-purlin-write-once": true},
                "password": {"type": "string", "writeOnly": true},
            },
        });
        assert_eq!(TypeSchema::of::<StoreInputs, StoreOutputs>("*").outputs, expected);
        let state = |token: Option<&str>| {
            let outputs = StoreOutputs {
                host: "h".to_owned(),
                token: token.map(str::to_owned),
                password: "p".to_owned(),
            };
            State::new("id").described_outputs(&outputs).expect("a state")
        };
        let first = state(Some("t"));
        assert_eq!(
            json!([first.outputs, first.secrets]),
            json!([{"host": "h"}, {"token": "t", "password": "p"}])
        );
        assert_eq!(json!(state(None).secrets), json!({"password": "p"}), "what is not there is left out");
    }

    #[test]
    fn tables_are_written_below_their_lines() {
        let schema = TypeSchema::of::<StoreInputs, StoreOutputs>("store");
        let types = [crate::glue::raw::TypeSchema {
            type_name: schema.type_name,
            implements: Vec::new(),
            inputs: schema.inputs.to_string(),
            outputs: schema.outputs.to_string(),
        }];
        let text = "# A\n\n<!-- inputs of store -->\n| old |\n\n<!-- outputs -->\nB\n";
        let written = crate::table::written(text, &types).expect("written");
        let expected = "\
# A

<!-- inputs of store -->
| input | type | default | meaning |
|---|---|---|---|
| `values.name` | text | required | The name of it. A change replaces the resource. |
| `values.engine` | `plain`, `in-memory` | – | It cannot be changed. |
| `values.size` | whole number, 1 to 64 | `10` | Gibibytes. |
| `values.disks` | list | `[]` |  |
| `values.disks[].type` | text | required | A change replaces the resource. |
| `values.region` | text | `eu` |  |
| `values.seconds` | whole number, 0 to 65535 | – | How long to wait. By default `30`. |
| `values.class` | `a`, `b` | – |  |
| `values.spare` | map | – | What is kept for later. |
| `values.spare.disks` | list | – |  |
| `values.spare.kept` | whole number, 0 to 255 | – |  |
| `secrets.password` | text | – |  |
| `connection.host` | text | required | A change replaces the resource. |
| `connection.key` | text | – | It is secret. |

<!-- outputs -->
| output | type | meaning |
|---|---|---|
| `host` | text | Where it is. |
| `token` | text | Only returned by `create`. It is secret. |
| `password` | text | It is secret. |
B
";
        assert_eq!(written, expected);
        assert_eq!(crate::table::written(&written, &types).as_deref(), Ok(expected), "once more");
        assert!(crate::table::written("<!-- inputs of other -->\n", &types).is_err());
        assert!(crate::table::written("none\n", &types).is_err());
    }
}
