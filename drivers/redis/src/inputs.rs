//! The driver's inputs (how to reach a server, and a user on it) and its outputs.

use purlin_sdk::{Failure, Faults, Input, Inputs, Json, Outputs, Raw, Subject};
use purlin_sdk_net::{Server, Tls};

/// A server and a user.
#[derive(Inputs)]
pub struct RedisInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    pub(crate) secrets: Secrets,
}

#[derive(Input)]
pub(crate) struct Values {
    /// The user.
    pub(crate) user: User,
}

#[derive(Input)]
pub(crate) struct Secrets {
    /// The password of the new user. The server gets only its SHA-256 digest, so use a random
    /// password.
    #[input(min_length = 1)]
    pub(crate) user_password: String,
}

/// The server, and the user that the driver uses there.
#[derive(Input)]
#[input(reaches = "tcp", port = PORT)]
pub(crate) struct Connection {
    /// The name or address of the server.
    #[input(replaces)]
    host: String,
    /// The port of the server.
    #[input(default = PORT, min = 1, replaces)]
    port: u16,
    /// The user that the driver uses.
    #[input(default = "default", min_length = 1, max_length = 512)]
    pub(crate) user: String,
    /// The password of `user`.
    #[input(secret)]
    pub(crate) password: Option<String>,
    /// Whether the connection is encrypted (TLS 1.3), and how the server's certificate is verified:
    /// `verify-full` requires a certificate from `ca` with the host's name, `verify-ca` one from
    /// `ca`; `require` accepts any certificate, and `disable` turns TLS off.
    #[input(default)]
    tls: Tls,
    /// The certificates (PEM) of the authorities for the server's certificate, which `verify-full`
    /// and `verify-ca` require.
    ca: Option<String>,
    /// The timeout for connecting, in seconds.
    #[input(default = Server::CONNECT_TIMEOUT, min = 1, max = 300)]
    connect_timeout: u64,
}

/// The default port of a server.
const PORT: u16 = 6379;

impl Connection {
    pub(crate) fn place(&self) -> Server {
        Server {
            host: self.host.clone(),
            port: self.port,
            tls: self.tls,
            ca: self.ca.clone().filter(|ca| !ca.trim().is_empty()),
            connect_timeout: self.connect_timeout,
        }
    }
}

/// A user.
#[derive(Input)]
pub(crate) struct User {
    /// The name. By default a unique one: the end of the resource's id, and digits of its
    /// `guresid`.
    #[input(replaces, min_length = 1, max_length = 512)]
    name: Option<String>,
    /// Whether the user may log in.
    #[input(default = true)]
    pub(crate) enabled: bool,
    /// Patterns of keys that the user may access, such as `app:*`; `%R~app:*` only for reading,
    /// `%W~app:*` only for writing.
    #[input(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) keys: Vec<String>,
    /// Patterns of channels that the user may access.
    #[input(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) channels: Vec<String>,
    /// Rules for commands: `+COMMAND`, `-COMMAND`, `+@CATEGORY`, `-@CATEGORY`, applied in this
    /// order. Without rules, no command is allowed.
    #[input(default)]
    #[schemars(inner(length(min = 1)))]
    pub(crate) commands: Vec<String>,
}

/// The outputs of a user.
#[derive(Outputs)]
pub(crate) struct UserOutputs {
    /// The name or address of the server.
    pub(crate) host: String,
    /// The port of the server.
    pub(crate) port: u16,
    /// The name of the user.
    pub(crate) username: String,
    /// The user's password.
    #[output(secret)]
    pub(crate) password: String,
    /// The connection URL of the user: `redis://` or, with TLS, `rediss://`.
    #[output(secret)]
    pub(crate) url: String,
    /// Whether the server keeps its users when it restarts, which it does with an `aclfile`. `null`
    /// if the server does not report it.
    #[schemars(extend("type" = ["boolean", "null"]))]
    pub(crate) persistent: Json,
    /// Whether the server's password is the given one.
    #[output(one_of = ["as given", "changed"])]
    pub(crate) password_is: String,
}

impl User {
    /// Its name, which `check` fills in.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// All rules, in the order of application.
    pub(crate) fn rules(&self) -> Vec<String> {
        let key = |key: &String| if is_rule_of_keys(key) { key.clone() } else { format!("~{key}") };
        let mut rules: Vec<String> = self.keys.iter().map(key).collect();
        rules.extend(self.channels.iter().map(|channel| format!("&{channel}")));
        rules.extend(self.commands.iter().cloned());
        rules
    }
}

/// Whether a pattern itself says what it permits.
fn is_rule_of_keys(key: &str) -> bool {
    ["%R~", "%W~", "%RW~"].iter().any(|permission| key.starts_with(permission))
}

impl RedisInputs {
    /// All faults.
    pub(crate) fn validate(&self) -> Result<(), Failure> {
        let mut faults = Faults::default();
        let Self { connection, values: Values { user }, .. } = self;
        connection.place().validate(&mut faults);
        check_name(&mut faults, "/connection/user", &connection.user);
        check_name(&mut faults, "/values/user/name", user.name());
        if user.name() == "default" {
            faults.add("/values/user/name", "is a user of every server; it cannot be created or deleted");
        }
        if user.name() == connection.user {
            faults.add("/values/user/name", "is the user of the driver itself");
        }
        for (name, patterns) in [("keys", &user.keys), ("channels", &user.channels)] {
            for (index, pattern) in patterns.iter().enumerate() {
                if pattern.contains(|c: char| c.is_whitespace() || c == '\0') {
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

/// Checks that do not need every value: the server, and the name.
pub(crate) fn shape(inputs: &Raw<RedisInputs>) -> Result<(), Failure> {
    let mut faults = Faults::default();
    if !inputs.is_unknown("/connection") {
        let connection: Connection = inputs.part("/connection")?;
        connection.place().validate(&mut faults);
    }
    if let Some(name) = inputs.get("/values/user/name").and_then(Json::as_str) {
        check_name(&mut faults, "/values/user/name", name);
    }
    faults.into_result()
}

/// Accepts only rules that add or remove commands, so that no other rule gets in this way.
fn is_command_rule(rule: &str) -> bool {
    let Some(command) = rule.strip_prefix(['+', '-']) else { return false };
    let command = command.strip_prefix('@').unwrap_or(command);
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '|');
    !command.is_empty() && command.chars().all(letter)
}

fn check_name(faults: &mut Faults, place: &str, name: &str) {
    if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        faults.add(place, "may have neither white space nor control characters in it: Redis rejects them");
    }
}

/// Values in their only spelling, with a name.
pub(crate) fn normalise(inputs: &mut Raw<RedisInputs>) {
    if let Some(Json::Array(rules)) = inputs.document_mut().pointer_mut("/values/user/commands") {
        for rule in rules {
            if let Json::String(rule) = rule {
                *rule = rule.trim().to_ascii_lowercase();
            }
        }
    }
}

pub(crate) fn default_name(subject: &Subject) -> String {
    let last = subject.local_name.rsplit('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '-' };
    let name: String = last.chars().map(plain).take(40).collect();
    format!("{name}-{}", subject.guresid.get(..12).unwrap_or_default())
}
