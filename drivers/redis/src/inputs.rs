//! What the driver is given: how to reach a server, and a user on it.

use purlin_sdk::{Failure, Faults, Json, Object, Raw, Resource};
use purlin_sdk_net::{Server, Tls, connection_schema};
use serde::Deserialize;
use serde_json::json;

/// A server and a user.
#[derive(Deserialize)]
pub struct RedisInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    #[serde(default)]
    pub(crate) secrets: Secrets,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    pub(crate) user: User,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Secrets {
    /// Of the user that is made.
    pub(crate) user_password: Option<String>,
}

/// Where the server is, and as whom the driver works there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connection {
    pub(crate) host: String,
    port: Option<u16>,
    #[serde(default = "default_user")]
    pub(crate) user: String,
    pub(crate) password: Option<String>,
    tls: Option<Tls>,
    ca: Option<String>,
    connect_timeout: Option<u64>,
}

fn default_user() -> String {
    "default".to_owned()
}

impl Connection {
    /// Port of a server that names none.
    const PORT: u16 = 6379;

    pub(crate) fn place(&self) -> Server {
        Server {
            host: self.host.clone(),
            port: self.port.unwrap_or(Self::PORT),
            tls: self.tls.unwrap_or_default(),
            ca: self.ca.clone().filter(|ca| !ca.trim().is_empty()),
            connect_timeout: self.connect_timeout.unwrap_or(Server::CONNECT_TIMEOUT),
        }
    }
}

/// A user.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct User {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default = "yes")]
    pub(crate) enabled: bool,
    /// Patterns of keys, such as `app:*`; `%R~app:*` for reading only.
    #[serde(default)]
    pub(crate) keys: Vec<String>,
    /// Patterns of channels.
    #[serde(default)]
    pub(crate) channels: Vec<String>,
    /// Rules such as `+@read` and `-flushall`, in this order.
    #[serde(default)]
    pub(crate) commands: Vec<String>,
}

fn yes() -> bool {
    true
}

impl User {
    /// All rules, in the order in which they are applied.
    pub(crate) fn rules(&self) -> Vec<String> {
        let key = |key: &String| if is_rule_of_keys(key) { key.clone() } else { format!("~{key}") };
        let mut rules: Vec<String> = self.keys.iter().map(key).collect();
        rules.extend(self.channels.iter().map(|channel| format!("&{channel}")));
        rules.extend(self.commands.iter().cloned());
        rules
    }
}

/// Whether a pattern says itself what it permits.
fn is_rule_of_keys(key: &str) -> bool {
    ["%R~", "%W~", "%RW~"].iter().any(|permission| key.starts_with(permission))
}

impl RedisInputs {
    /// Everything that is wrong.
    pub(crate) fn validate(&self) -> Result<(), Failure> {
        let mut faults = Faults::default();
        let Self { connection, values: Values { user }, secrets } = self;
        connection.place().validate(&mut faults);
        check_name(&mut faults, "/connection/user", &connection.user);
        check_name(&mut faults, "/values/user/name", &user.name);
        if user.name == "default" {
            faults
                .add("/values/user/name", "is the user that every server has; it cannot be made or deleted");
        }
        if user.name == connection.user {
            faults.add("/values/user/name", "is the user that the driver works as");
        }
        match &secrets.user_password {
            None => faults.add("/secrets/user_password", "is missing"),
            Some(password) if password.is_empty() => faults.add("/secrets/user_password", "may not be empty"),
            Some(_) => {}
        }
        for (name, patterns) in [("keys", &user.keys), ("channels", &user.channels)] {
            for (index, pattern) in patterns.iter().enumerate() {
                if pattern.is_empty() || pattern.contains(|c: char| c.is_whitespace() || c == '\0') {
                    faults.add(
                        format!("/values/user/{name}/{index}"),
                        "has to be a pattern such as `app:*`, without white space",
                    );
                }
            }
        }
        for (index, rule) in user.commands.iter().enumerate() {
            if !is_command_rule(rule) {
                faults.add(
                    format!("/values/user/commands/{index}"),
                    "has to be `+COMMAND`, `-COMMAND`, `+@CATEGORY` or `-@CATEGORY`, such as `+@read` or `+config|get`",
                );
            }
        }
        faults.into_result()
    }
}

/// What can be judged before everything is known: the server, and the name.
pub(crate) fn shape(inputs: &Raw<RedisInputs>) -> Result<(), Failure> {
    let mut faults = Faults::default();
    if let Some(connection) = inputs.get("/connection").filter(|_| !inputs.is_unknown("/connection"))
        && let Ok(connection) = Connection::deserialize(connection)
    {
        connection.place().validate(&mut faults);
    }
    if let Some(name) = inputs.get("/values/user/name").and_then(Json::as_str) {
        check_name(&mut faults, "/values/user/name", name);
    }
    faults.into_result()
}

/// Only what adds or takes commands: no other rule gets in by this way.
fn is_command_rule(rule: &str) -> bool {
    let Some(command) = rule.strip_prefix(['+', '-']) else { return false };
    let command = command.strip_prefix('@').unwrap_or(command);
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '|');
    !command.is_empty() && command.chars().all(letter)
}

fn check_name(faults: &mut Faults, place: &str, name: &str) {
    let fault = if name.is_empty() {
        "may not be empty"
    } else if name.len() > 512 {
        "is longer than 512 bytes"
    } else if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        "may have neither white space nor control characters in it: Redis takes none"
    } else {
        return;
    };
    faults.add(place, fault);
}

/// Refuses parts that are missing, and one that is a list: it would be read as an object without
/// names.
pub(crate) fn objects(inputs: &Raw<RedisInputs>) -> Result<(), Failure> {
    let mut faults = Faults::default();
    for place in ["/values", "/secrets", "/connection", "/values/user"] {
        if inputs.get(place).is_some_and(Json::is_array) {
            faults.add(place, "has to be an object");
        }
    }
    let is_missing = |place: &str| inputs.get(place).is_none_or(Json::is_null) && !inputs.is_unknown(place);
    let mut missing: Vec<&str> =
        ["/connection", "/values/user"].into_iter().filter(|place| is_missing(place)).collect();
    // Alone it is reported with the faults inside of the parts, which are not looked at now.
    if !missing.is_empty() && is_missing("/secrets/user_password") {
        missing.push("/secrets/user_password");
    }
    for place in missing {
        faults.add(place, "is missing");
    }
    faults.into_result()
}

/// Values written in the one way that there is, with their defaults.
pub(crate) fn normalise(inputs: &mut Raw<RedisInputs>, resource: &Resource) {
    let open: Vec<String> = inputs.unknown.clone();
    let is_open = |pointer: &str| open.iter().any(|open| open == pointer);
    if let Some(Json::Object(user)) = inputs.document_mut().pointer_mut("/values/user") {
        user.retain(|name, value| !value.is_null() || is_open(&format!("/values/user/{name}")));
        for (name, value) in user_defaults(resource) {
            user.entry(name).or_insert(value);
        }
    }
    if let Some(Json::Array(rules)) = inputs.document_mut().pointer_mut("/values/user/commands") {
        for rule in rules {
            if let Json::String(rule) = rule {
                *rule = rule.trim().to_ascii_lowercase();
            }
        }
    }
}

fn user_defaults(resource: &Resource) -> Object {
    let last = resource.id.rsplit('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
    let name: String = last.chars().map(plain).take(40).collect();
    let name = format!("{name}-{}", resource.guresid.get(..12).unwrap_or_default());
    let defaults = json!({"name": name, "enabled": true, "keys": [], "channels": [], "commands": []});
    defaults.as_object().cloned().unwrap_or_default()
}

pub(crate) fn input_schema() -> Json {
    let list = |description: &str| json!({"type": ["array", "null"], "items": {"type": "string", "minLength": 1}, "description": description});
    json!({
        "type": "object",
        "required": ["values", "secrets", "connection"],
        "properties": {
            "connection": connection_schema(Connection::PORT, "default"),
            "values": {
                "type": "object",
                "required": ["user"],
                "additionalProperties": false,
                "properties": {
                    "user": {
                        "type": "object",
                        "additionalProperties": false,
                        "description": "A user, with `secrets.user_password`.",
                        "properties": {
                            "name": {"type": ["string", "null"], "x-purlin-replaces": true, "description": "Its name; one that no other resource has by default. A change replaces the user."},
                            "enabled": {"type": ["boolean", "null"], "description": "Whether it may log in; true by default."},
                            "keys": list("Patterns of the keys it may touch, such as `app:*`, or `%R~app:*` for reading only; none by default."),
                            "channels": list("Patterns of the channels it may use; none by default."),
                            "commands": list("Rules for commands, in this order, such as `+@read`, `-keys`; none is allowed before them."),
                        }
                    }
                }
            },
            "secrets": {
                "type": "object",
                "required": ["user_password"],
                "additionalProperties": false,
                "properties": {
                    "user_password": {"type": "string", "description": "The password of the user that is made. The server gets its SHA-256, not the password."},
                }
            }
        }
    })
}

pub(crate) fn output_schema() -> Json {
    json!({
        "type": "object",
        "required": ["host", "port", "username", "password", "url", "persistent"],
        "properties": {
            "host": {"type": "string", "description": "The server's name or address."},
            "port": {"type": "integer", "description": "The server's port."},
            "username": {"type": "string", "description": "The user."},
            "password": {"type": "string", "writeOnly": true, "description": "The user's password."},
            "url": {"type": "string", "writeOnly": true, "description": "How the user connects: `redis://` or, with TLS, `rediss://`."},
    "persistent": {"type": ["boolean", "null"], "description": "Whether the server keeps its users over a restart: it does where it has an `aclfile`. `null` where it does not say."},
            "password_is": {"enum": ["as given", "changed"], "description": "Whether the password that the server keeps is the one that was given."},
        }
    })
}
