//! The processes: Moto, with one user who has all rights, and boto3, through which others ask it. A pool
//! can lend them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::pool::Lendable;
use crate::rest;
use crate::server::{Server, free_port, guarded, listens};
use crate::tools;

/// Requests that need no signature, just enough to create the first user and its key.
const UNSIGNED: u8 = 3;

/// Id and secret of a key.
pub(super) type Key = (String, String);

/// The processes, until they are dropped.
#[derive(Debug)]
pub(crate) struct MotoServer {
    port: u16,
    key: Key,
    referee: Referee,
    _server: Server,
}

#[derive(Debug)]
struct Referee {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// Both programs, `moto_server` and Python; none and a message if one is not installed.
pub(super) fn programs() -> Option<[std::path::PathBuf; 2]> {
    Some([tools::need("moto_server")?, tools::need("python3")?])
}

/// The line that asks for a call with a key.
pub(super) fn question(service: &str, call: &str, arguments: &Value, key: &Key) -> String {
    json!([service, call, arguments, key.0, key.1]).to_string()
}

/// The result of a call, or the code of its error.
pub(super) fn result(answer: &str) -> Result<Value, String> {
    let mut answer: Value = serde_json::from_str(answer).expect("JSON");
    match answer.get("error").and_then(Value::as_str) {
        Some(error) => Err(error.to_owned()),
        None => Ok(answer["ok"].take()),
    }
}

impl MotoServer {
    /// Sends a line to boto3, and returns its answer.
    pub(super) fn ask(&mut self, line: &str) -> String {
        self.referee.ask(line)
    }

    /// Sends a request to Moto's own API, and returns whether it was accepted.
    fn control(&self, call: &str, body: &Value) -> bool {
        let url = format!("http://127.0.0.1:{}/moto-api/{call}", self.port);
        rest::ask("POST", &url, &[], body).0 == 200
    }

    fn renew(&mut self) -> Result<(), String> {
        let accepted = |done: bool| done.then_some(()).ok_or_else(|| "it rejects a reset".to_owned());
        // Without users, each request is rejected. A request that was accepted before may still leave
        // something until the rejection of a later one arrives; the second reset removes it.
        accepted(self.control("reset", &Value::Null))?;
        let rejected = result(&self.ask(&question("iam", "list_users", &json!({}), &self.key)));
        if rejected.is_ok() {
            return Err("the key of the last test is still valid".to_owned());
        }
        accepted(self.control("reset", &Value::Null))?;
        accepted(self.control("reset-auth", &json!(UNSIGNED)))?;
        // A late request would use up one of those that need no signature, and this would fail.
        self.key = first_key(&mut self.referee)?;
        Ok(())
    }
}

impl Lendable for MotoServer {
    const KIND: &'static str = "moto";

    fn start() -> Option<Self> {
        let [program, python] = programs()?;
        let port = free_port();
        let mut command = guarded(program, None);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        command.env("INITIAL_NO_AUTH_ACTION_COUNT", UNSIGNED.to_string());
        command.env("MOTO_IAM_LOAD_MANAGED_POLICIES", "true");
        let folder = tempfile::tempdir().expect("a folder");
        let server = Server::start(command, folder, || listens(port));
        let mut referee = Referee::start(&python, port);
        let key = first_key(&mut referee).expect("the first user");
        Some(Self { port, key, referee, _server: server })
    }

    fn describe(&self) -> Value {
        json!({"port": self.port, "id": self.key.0, "secret": self.key.1})
    }

    fn answer(&mut self, line: &str) -> Option<String> {
        Some(self.ask(line))
    }

    fn reset(&mut self) -> bool {
        let renewed = self.renew();
        if let Err(reason) = &renewed {
            eprintln!("Moto at port {} is not lent again: {reason}", self.port);
        }
        renewed.is_ok()
    }
}

/// Creates the user with all rights, by requests that need no signature, and returns its key.
fn first_key(referee: &mut Referee) -> Result<Key, String> {
    let document = json!({
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}],
    });
    let policy = json!({"UserName": "tester", "PolicyName": "all", "PolicyDocument": document.to_string()});
    let nobody = ("nobody".to_owned(), "nothing".to_owned());
    let mut ask = |call, arguments: &Value| result(&referee.ask(&question("iam", call, arguments, &nobody)));
    ask("create_user", &json!({"UserName": "tester"}))?;
    ask("put_user_policy", &policy)?;
    let made = ask("create_access_key", &json!({"UserName": "tester"}))?;
    let text = |name| made["AccessKey"][name].as_str().expect("a text").to_owned();
    Ok((text("AccessKeyId"), text("SecretAccessKey")))
}

impl Referee {
    fn start(python: &Path, port: u16) -> Self {
        let mut child = Command::new(python)
            .args(["-c", include_str!("../referee.py"), &format!("http://127.0.0.1:{port}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python runs");
        let stdin = child.stdin.take().expect("a pipe");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout }
    }

    fn ask(&mut self, line: &str) -> String {
        writeln!(self.stdin, "{line}").expect("the referee listens");
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).expect("the referee answers");
        answer.trim_end().to_owned()
    }
}

impl Drop for Referee {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
