//! The requests of `purlin driver run`, parsed from JSON.

use purlin_engine as engine;
use purlin_model::driver::{DriverInfo, Inputs, ResourceState, Subject};
use purlin_model::{Context, Diagnostic, EnvironmentId, Key, Label, Urn, Value};
use purlin_sandbox::Driver;
use serde_json::{Map, Value as Json};

use crate::failure::Failure;

/// A request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) subject: Subject,
    /// The idempotency key.
    pub(super) key: String,
    pub(super) inputs: Inputs,
    /// The inputs that the resource was created with; if the request does not give them, the same
    /// as `inputs`.
    pub(super) before: Inputs,
    pub(super) previous: Option<Inputs>,
    pub(super) name: Option<String>,
    pub(super) id: Option<String>,
    pub(super) state: ResourceState,
    /// Whether the request contains a state.
    pub(super) recorded: bool,
    document: Json,
}

/// The fields that a request may have. The last three occur in answers, which can be used as
/// requests too.
const ENTRIES: [&str; 12] = [
    "key",
    "context",
    "inputs",
    "before",
    "previous",
    "name",
    "id",
    "state",
    "idempotency_key",
    "format",
    "checkpoint",
    "failure",
];

/// Parses text as JSON.
pub(super) fn json(what: &str, text: &str) -> Result<Json, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::input(format!("`{what}` is not JSON: {error}")).hint("a request is one JSON object")
    })
}

/// The object at a field of an object, created if it does not exist.
pub(super) fn entry<'a>(
    document: &'a mut Json,
    name: &str,
) -> Result<Option<&'a mut Map<String, Json>>, Failure> {
    let Some(document) = document.as_object_mut() else { return Err(no_object("the request")) };
    let entry = document.entry(name).or_insert_with(|| Json::Object(Map::new()));
    Ok(entry.as_object_mut())
}

fn no_object(what: &str) -> Failure {
    Failure::input(format!("{what} has to be a JSON object"))
}

impl Request {
    pub(super) fn read(document: &Json, info: &DriverInfo) -> Result<Self, Failure> {
        let Some(entries) = document.as_object() else { return Err(no_object("the request")) };
        if let Some(unknown) = entries.keys().find(|name| !ENTRIES.contains(&name.as_str())) {
            return Err(Failure::input(format!("the request has an unknown entry `{unknown}`"))
                .hint(format!("the entries are {}", ENTRIES[..9].join(", "))));
        }
        let text = |name: &str| match entries.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Failure::input(format!("`{name}` of the request has to be a string"))),
        };
        let context = context(entries.get("context"))?;
        let kind = info.types.first().map_or("*", |one| one.type_name.as_str());
        let kind = if kind == "*" { "resource" } else { kind };
        let key = text("key")?.unwrap_or_else(|| format!("{kind}.default#shared.by-hand"));
        let key = Key::parse(&key).map_err(|error| {
            Failure::input(format!("`{key}` is not a valid key: {error}"))
                .hint("a key looks like `postgres.default#shared.db`")
        })?;
        let inputs_of = |name: &str| entries.get(name).map(|part| inputs(name, part)).transpose();
        let inputs = inputs_of("inputs")?.unwrap_or_else(nothing);
        let state = entries.get("state").filter(|state| !state.is_null());
        let state = state.map(self::state).transpose()?.map(|state| sealed(info, &key, state));
        Ok(Self {
            subject: Subject { urn: Urn::new(&context, &key), key, context },
            key: text("idempotency_key")?.unwrap_or_else(|| "by-hand".to_owned()),
            before: inputs_of("before")?.unwrap_or_else(|| inputs.clone()),
            previous: inputs_of("previous")?,
            name: text("name")?,
            id: text("id")?,
            recorded: state.is_some(),
            state: state.unwrap_or_else(|| ResourceState {
                id: Label::default(),
                outputs: Value::map(),
                ..ResourceState::default()
            }),
            inputs,
            document: document.clone(),
        })
    }

    /// Fills in the defaults of the driver's schema, and returns the violations of the current inputs.
    pub(super) fn hold(&mut self, driver: &Driver) -> Vec<Diagnostic> {
        let kind = self.subject.key.type_name();
        // Earlier inputs are those of a resource that exists.
        engine::check_inputs(driver, kind, &mut self.before);
        if let Some(previous) = &mut self.previous {
            engine::check_inputs(driver, kind, previous);
        }
        engine::check_inputs(driver, kind, &mut self.inputs)
    }

    pub(super) fn has_unknown(&self) -> bool {
        let Inputs { values, secrets, params, connection, .. } = &self.inputs;
        [values, secrets, params, connection].iter().any(|part| part.has_unknown())
    }

    /// The parts of this request that the next request needs.
    pub(super) fn again(&self, show_secrets: bool) -> Map<String, Json> {
        let mut again = Map::new();
        for name in ["key", "context", "inputs"] {
            if let Some(value) = self.document.get(name) {
                again.insert(name.to_owned(), value.clone());
            }
        }
        let Some(Json::Object(inputs)) = again.get_mut("inputs").filter(|_| !show_secrets) else {
            return again;
        };
        // What the driver was not given of an account may be secret, too. It is given in the connection unless
        // its schema has an account.
        let given = match &self.inputs.account_fields {
            Value::Null => &self.inputs.connection,
            fields => fields,
        };
        if let Some(Json::Object(account)) = inputs.get_mut("account") {
            account.retain(|name, _| name == "name" || given.get(name).is_some());
        }
        for (name, value) in
            [("secrets", &self.inputs.secrets), ("connection", &self.inputs.connection), ("account", given)]
        {
            if let Some(given) = inputs.get_mut(name) {
                hide(given, value);
            }
        }
        again
    }
}

/// Hides the parts of what was given that are secret in what the driver got.
fn hide(given: &mut Json, got: &Value) {
    match (given, got) {
        (given, Value::Secret(_)) => *given = got.redact(),
        (Json::Object(given), Value::Map(got)) => {
            given
                .iter_mut()
                .filter_map(|(name, given)| Some((given, got.get(name.as_str())?)))
                .for_each(|(given, got)| hide(given, got));
        }
        (Json::Array(given), Value::List(got)) => {
            given.iter_mut().zip(got.iter()).for_each(|(given, got)| hide(given, got));
        }
        _ => {}
    }
}

/// Marks the outputs that the driver's schema declares secret, as a deployment does.
pub(super) fn sealed(info: &DriverInfo, key: &Key, state: ResourceState) -> ResourceState {
    let outputs = engine::seal_outputs(info, key.type_name(), state.outputs);
    ResourceState { outputs, ..state }
}

/// Empty inputs.
fn nothing() -> Inputs {
    Inputs {
        values: Value::map(),
        secrets: Value::map(),
        params: Value::map(),
        connection: Value::map(),
        account: None,
        account_fields: Value::Null,
    }
}

fn context(json: Option<&Json>) -> Result<Context, Failure> {
    const NAMES: [&str; 6] = ["org", "app", "env", "env_type", "namespace", "deployment"];
    let nothing = Map::new();
    let fields = match json {
        None => &nothing,
        Some(Json::Object(fields)) => fields,
        Some(_) => return Err(no_object("`context` of the request")),
    };
    if let Some(unknown) = fields.keys().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(Failure::input(format!("`context.{unknown}` of the request is not known"))
            .hint(format!("the entries are {}", NAMES.join(", "))));
    }
    let text = |name: &str, default: &str| fields.get(name).and_then(Json::as_str).unwrap_or(default).into();
    Ok(Context {
        org: text("org", "default"),
        app: text("app", "driver-run"),
        env: EnvironmentId { id: text("env", "by-hand"), kind: text("env_type", "development") },
        namespace: text("namespace", "by-hand"),
        deployment: text("deployment", "by-hand"),
    })
}

fn inputs(what: &str, json: &Json) -> Result<Inputs, Failure> {
    const NAMES: [&str; 6] = ["values", "secrets", "params", "connection", "account", "unknown"];
    let Some(fields) = json.as_object() else { return Err(no_object(&format!("`{what}` of the request"))) };
    if let Some(unknown) = fields.keys().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(Failure::input(format!("`{what}.{unknown}` of the request is not known"))
            .hint(format!("the entries are {}", NAMES.join(", "))));
    }
    let part = |name: &str| match fields.get(name) {
        None | Some(Json::Null) => Ok(Value::map()),
        Some(part @ Json::Object(_)) => Ok(Value::from(part.clone())),
        Some(_) => Err(no_object(&format!("`{what}.{name}` of the request"))),
    };
    let secrets = match part("secrets")? {
        Value::Map(map) => {
            Value::Map(map.into_iter().map(|(name, value)| (name, value.into_secret())).collect())
        }
        other => other,
    };
    let mut inputs = Inputs {
        values: part("values")?,
        secrets,
        params: part("params")?,
        connection: part("connection")?,
        ..Inputs::default()
    }
    .with_account(&part("account")?);
    for pointer in fields.get("unknown").and_then(Json::as_array).into_iter().flatten() {
        let pointer = pointer.as_str().unwrap_or_default();
        if !mark_unknown(&mut inputs, pointer) {
            return Err(Failure::input(format!("`{pointer}` in `{what}.unknown` does not exist")).hint(
                "an entry of `unknown` points to an existing value, such as `/values/host` with null",
            ));
        }
    }
    Ok(inputs)
}

/// Marks a place as unknown. Returns whether there is such a place.
fn mark_unknown(inputs: &mut Inputs, pointer: &str) -> bool {
    let mut steps = pointer.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~"));
    let mut place = match steps.next().as_deref() {
        Some("values") => &mut inputs.values,
        Some("secrets") => &mut inputs.secrets,
        Some("params") => &mut inputs.params,
        Some("connection") => &mut inputs.connection,
        Some("account") => &mut inputs.account_fields,
        _ => return false,
    };
    let mut deep = false;
    for step in steps {
        deep = true;
        let inner = match place {
            Value::Map(map) => map.get_mut(step.as_str()),
            Value::List(items) => step.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
            _ => None,
        };
        let Some(inner) = inner else { return false };
        place = inner;
    }
    *place = Value::unknown();
    deep
}

fn state(json: &Json) -> Result<ResourceState, Failure> {
    let id = json.get("id").and_then(Json::as_str).unwrap_or_default();
    if id.is_empty() {
        return Err(Failure::input("`state.id` of the request is missing")
            .hint("a state is the response of `create`, with `id`, `outputs`, `secrets` and `cookie`"));
    }
    let part = |name: &str| json.get(name).and_then(Json::as_object).cloned().unwrap_or_default();
    let outputs = part("outputs").into_iter().map(|(name, value)| (name.into(), Value::from(value)));
    let secrets =
        part("secrets").into_iter().map(|(name, value)| (name.into(), Value::from(value).into_secret()));
    let version = json.get("version").and_then(Json::as_u64).unwrap_or_default();
    let version =
        u32::try_from(version).map_err(|_| Failure::input("`state.version` of the request is too large"))?;
    let cookie = json.get("cookie").and_then(Json::as_str).unwrap_or_default();
    let cookie = data_encoding::BASE64
        .decode(cookie.as_bytes())
        .map_err(|error| Failure::input(format!("`state.cookie` of the request is not base64: {error}")))?;
    Ok(ResourceState {
        id: id.into(),
        outputs: Value::Map(outputs.chain(secrets).collect()),
        cookie: cookie.into(),
        version,
        ..ResourceState::default()
    })
}
