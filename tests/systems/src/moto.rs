//! Moto, a server compatible with AWS, and boto3 to check its contents. Moto checks the signature
//! of every request with AWS's own library, and whether the keys permit it.

pub mod stumble;

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::server::{Server, free_port, guarded, listens};
use crate::tools;

/// Requests that need no signature, just enough to create the first user and its key.
const UNSIGNED: &str = "3";

/// The server, with one user who has all rights.
#[derive(Debug)]
pub struct Moto {
    port: u16,
    /// Id and secret of the user's key.
    pub key: (String, String),
    referee: Mutex<Referee>,
    _server: Server,
}

#[derive(Debug)]
struct Referee {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Moto {
    /// A server, or none and a message about the missing program.
    pub fn start() -> Option<Self> {
        let program = tools::need("moto_server")?;
        let python = tools::need("python3")?;
        let port = free_port();
        let mut command = guarded(program, None);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        command.env("INITIAL_NO_AUTH_ACTION_COUNT", UNSIGNED).env("MOTO_IAM_LOAD_MANAGED_POLICIES", "true");
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(command, folder, || listens(port));
        let referee = |id: &str, secret: &str| Referee::start(&python, port, id, secret);
        let mut first = referee("nobody", "nothing");
        let document = json!({
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
        });
        let policy =
            json!({"UserName": "tester", "PolicyName": "all", "PolicyDocument": document.to_string()});
        first.ask("iam", "create_user", &json!({"UserName": "tester"})).expect("a user");
        first.ask("iam", "put_user_policy", &policy).expect("a policy");
        let made = first.ask("iam", "create_access_key", &json!({"UserName": "tester"})).expect("a key");
        let text = |name| made["AccessKey"][name].as_str().expect("a text").to_owned();
        let key = (text("AccessKeyId"), text("SecretAccessKey"));
        let referee = Mutex::new(referee(&key.0, &key.1));
        Some(Self { port, key, referee, _server: server })
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends it a request through boto3.
    ///
    /// # Panics
    /// If it rejects the request.
    #[track_caller]
    pub fn ask(&self, service: &str, call: &str, arguments: Value) -> Value {
        let answer = self.try_ask(service, call, arguments);
        answer.unwrap_or_else(|error| panic!("{service}.{call}: {error}"))
    }

    /// Sends it a request through boto3; an error is returned as its code, such as `NoSuchBucket`.
    ///
    /// # Errors
    /// The code.
    pub fn try_ask(&self, service: &str, call: &str, arguments: Value) -> Result<Value, String> {
        self.referee.lock().unwrap_or_else(PoisonError::into_inner).ask(service, call, &arguments)
    }

    /// Names of all buckets.
    pub fn buckets(&self) -> Vec<String> {
        names(&self.ask("s3", "list_buckets", json!({}))["Buckets"], "Name")
    }

    /// Tags of a bucket.
    pub fn bucket_tags(&self, bucket: &str) -> Value {
        match self.try_ask("s3", "get_bucket_tagging", json!({"Bucket": bucket})) {
            Ok(answer) => tags(&answer["TagSet"]),
            Err(code) => {
                assert_eq!(code, "NoSuchTagSet");
                json!({})
            }
        }
    }

    /// A workspace with a driver that connects to a port of loopback, which is this server's or
    /// that of a wire before it. The key is in a secret store. `SIGNED` in the documents becomes
    /// the content of a connection.
    pub fn workspace(&self, drivers: &[&str], port: u16, env: &str, documents: &str) -> crate::Workspace {
        let mut text = String::from("apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n");
        let _ = write!(
            text,
            "  defaults: {{app: shop, env: {env}}}\n  secret_stores: {{keys: {{file: ./secrets}}}}\n  drivers:\n"
        );
        for driver in drivers {
            let source = crate::workspace::component(driver);
            let _ = write!(
                text,
                "    purlin/{driver}:\n      source: {}\n      grants: {{http: [\"http://127.0.0.1:{port}/*\"], secrets: [keys]}}\n      limits: {{time: 60s}}\n",
                source.display()
            );
        }
        let signed = format!(
            "endpoint: {{url: \"http://127.0.0.1:{port}\", region: eu-west-1}}, \
             access_key_id: {{store: keys, ref: id}}, secret_access_key: {{store: keys, ref: key}}"
        );
        let documents = documents.replace("SIGNED", &signed);
        crate::Workspace::with(&[
            ("purlin.yaml", &text),
            ("documents.yaml", &documents),
            ("secrets/id", &self.key.0),
            ("secrets/key", &self.key.1),
        ])
    }
}

impl Referee {
    fn start(python: &std::path::Path, port: u16, id: &str, secret: &str) -> Self {
        let mut child = Command::new(python)
            .args(["-c", include_str!("referee.py"), &format!("http://127.0.0.1:{port}"), id, secret])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python runs");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout }
    }

    fn ask(&mut self, service: &str, call: &str, arguments: &Value) -> Result<Value, String> {
        writeln!(self.stdin, "{}", json!([service, call, arguments])).expect("the referee listens");
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the referee answers");
        let mut answer: Value = serde_json::from_str(&line).expect("JSON");
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["ok"].take()),
        }
    }
}

impl Drop for Referee {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One field of each item of a list, sorted.
pub fn names(list: &Value, name: &str) -> Vec<String> {
    let text = |item: &Value| item[name].as_str().unwrap_or_default().to_owned();
    let mut names: Vec<String> = list.as_array().into_iter().flatten().map(text).collect();
    names.sort();
    names
}

/// A list of tags as an object.
pub fn tags(list: &Value) -> Value {
    let text = |tag: &Value, name: &str| tag[name].as_str().unwrap_or_default().to_owned();
    let pair = |tag: &Value| (text(tag, "Key"), Value::String(text(tag, "Value")));
    Value::Object(list.as_array().into_iter().flatten().map(pair).collect())
}
