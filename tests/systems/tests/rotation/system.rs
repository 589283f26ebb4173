//! Systems with a credential that can be rotated.

use std::sync::Mutex;

use purlin_systems::moto::Moto;
use purlin_systems::postgres::Postgres;
use purlin_systems::redis::Redis;
use serde_json::{Value, json};

/// A system, and one kind of thing on it.
pub(crate) trait System {
    /// The driver for it, by the name of its folder.
    fn driver(&self) -> &'static str;

    fn port(&self) -> u16;

    fn grants(&self, port: u16) -> Value;

    /// Inputs without a credential, with `${params.name}` and `${params.change}`.
    fn inputs(&self, port: u16) -> Value;

    /// Two values of `${params.change}`.
    fn changes(&self) -> [Value; 2];

    /// The current content of the connection.
    fn credential(&self) -> Vec<(&'static str, String)>;

    /// Replaces the credential. The former one is useless from now on.
    fn rotate(&self);

    /// The message for a client with a former one.
    fn denial(&self) -> &'static str;

    /// Names of the existing things, in order.
    fn objects(&self) -> Vec<String>;
}

/// A different password each time.
struct Passwords(Mutex<u32>);

impl Passwords {
    fn first() -> Self {
        Self(Mutex::new(1))
    }

    fn current(&self) -> String {
        format!("the-credential-0815-{}-of-the-operator", self.0.lock().expect("a number"))
    }

    fn next(&self) -> String {
        *self.0.lock().expect("a number") += 1;
        self.current()
    }
}

fn tcp(port: u16) -> Value {
    json!({"tcp": [format!("127.0.0.1:{port}")], "addresses": ["127.0.0.1"]})
}

fn server(port: u16) -> Value {
    json!({"host": "127.0.0.1", "port": port, "tls": "disable", "user": "operator", "connect_timeout": 120})
}

fn without_operator(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| name != "operator");
    names.sort();
    names
}

/// PostgreSQL, with roles.
pub(crate) struct Role {
    server: Postgres,
    passwords: Passwords,
}

impl Role {
    pub(crate) fn start() -> Option<Self> {
        let (server, passwords) = (Postgres::start()?, Passwords::first());
        server.ask(&format!("CREATE ROLE operator SUPERUSER LOGIN PASSWORD '{}'", passwords.current()));
        Some(Self { server, passwords })
    }
}

impl System for Role {
    fn driver(&self) -> &'static str {
        "postgres"
    }

    fn port(&self) -> u16 {
        self.server.port
    }

    fn grants(&self, port: u16) -> Value {
        tcp(port)
    }

    fn inputs(&self, port: u16) -> Value {
        json!({
            "connection": server(port),
            "values": {"role": {"name": "${params.name}", "connection_limit": "${params.change}"}},
            "secrets": {"role_password": "the-role's"},
        })
    }

    fn changes(&self) -> [Value; 2] {
        [json!(3), json!(4)]
    }

    fn credential(&self) -> Vec<(&'static str, String)> {
        vec![("password", self.passwords.current())]
    }

    fn rotate(&self) {
        self.server.ask(&format!("ALTER ROLE operator PASSWORD '{}'", self.passwords.next()));
    }

    fn denial(&self) -> &'static str {
        "`connection.user` and `connection.password` have to be those of a role that may log in"
    }

    fn objects(&self) -> Vec<String> {
        without_operator(self.server.roles())
    }
}

/// Redis, with users.
pub(crate) struct RedisUser {
    server: Redis,
    passwords: Passwords,
}

impl RedisUser {
    pub(crate) fn start() -> Option<Self> {
        let (server, passwords) = (Redis::start(true, None)?, Passwords::first());
        let password = format!(">{}", passwords.current());
        assert_eq!(
            server.ask(&["ACL", "SETUSER", "operator", "on", &password, "~*", "&*", "+@all"]).trim(),
            "OK"
        );
        Some(Self { server, passwords })
    }
}

impl System for RedisUser {
    fn driver(&self) -> &'static str {
        "redis"
    }

    fn port(&self) -> u16 {
        self.server.port
    }

    fn grants(&self, port: u16) -> Value {
        tcp(port)
    }

    fn inputs(&self, port: u16) -> Value {
        json!({
            "connection": server(port),
            "values": {"user": {"name": "${params.name}", "enabled": "${params.change}", "commands": ["+get"]}},
            "secrets": {"user_password": "the-user's"},
        })
    }

    fn changes(&self) -> [Value; 2] {
        [json!(true), json!(false)]
    }

    fn credential(&self) -> Vec<(&'static str, String)> {
        vec![("password", self.passwords.current())]
    }

    fn rotate(&self) {
        let password = format!(">{}", self.passwords.next());
        let words = ["ACL", "SETUSER", "operator", "resetpass", &password];
        assert_eq!(self.server.ask(&words).trim(), "OK");
    }

    fn denial(&self) -> &'static str {
        "`connection.password` has to be the password of `connection.user`"
    }

    fn objects(&self) -> Vec<String> {
        without_operator(self.server.users())
    }
}

/// S3, with buckets.
pub(crate) struct Bucket {
    server: Moto,
    key: Mutex<(String, String)>,
}

impl Bucket {
    pub(crate) fn start() -> Option<Self> {
        let server = Moto::start()?;
        server.ask("iam", "create_user", json!({"UserName": "operator"}));
        let document = json!({
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
        });
        let policy =
            json!({"UserName": "operator", "PolicyName": "all", "PolicyDocument": document.to_string()});
        server.ask("iam", "put_user_policy", policy);
        let key = Mutex::new(Self::another(&server));
        Some(Self { server, key })
    }

    fn another(server: &Moto) -> (String, String) {
        let made = server.ask("iam", "create_access_key", json!({"UserName": "operator"}));
        let text = |name| made["AccessKey"][name].as_str().expect("a text").to_owned();
        (text("AccessKeyId"), text("SecretAccessKey"))
    }
}

impl System for Bucket {
    fn driver(&self) -> &'static str {
        "s3"
    }

    fn port(&self) -> u16 {
        self.server.port()
    }

    fn grants(&self, port: u16) -> Value {
        json!({"http": [format!("http://127.0.0.1:{port}/*")]})
    }

    fn inputs(&self, port: u16) -> Value {
        json!({
            "connection": {"endpoint": {"url": format!("http://127.0.0.1:{port}"), "region": "eu-west-1"}},
            "values": {"bucket": {"name": "${params.name}", "versioning": "${params.change}"}},
        })
    }

    fn changes(&self) -> [Value; 2] {
        [json!(false), json!(true)]
    }

    fn credential(&self) -> Vec<(&'static str, String)> {
        let (id, secret) = self.key.lock().expect("a key").clone();
        vec![("access_key_id", id), ("secret_access_key", secret)]
    }

    fn rotate(&self) {
        let mut key = self.key.lock().expect("a key");
        let former = std::mem::replace(&mut *key, Self::another(&self.server));
        let former = json!({"UserName": "operator", "AccessKeyId": former.0});
        self.server.ask("iam", "delete_access_key", former);
    }

    fn denial(&self) -> &'static str {
        "`access_key_id`"
    }

    fn objects(&self) -> Vec<String> {
        self.server.buckets()
    }
}
