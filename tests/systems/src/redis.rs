//! A Redis server on loopback.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::certificates::Authority;
use crate::server::{Server, free_port, guarded};
use crate::tools::need;

/// The password of the user `default`.
pub const PASSWORD: &str = "the-admin's-secret-0815";

/// A running server.
#[derive(Debug)]
pub struct Redis {
    server: Server,
    cli: PathBuf,
    /// Its port on loopback.
    pub port: u16,
    tls: Vec<String>,
}

impl Redis {
    /// A server with or without a file of users; none if Redis is not installed.
    ///
    /// # Panics
    /// If it cannot be configured.
    pub fn start(aclfile: bool, authority: Option<&Authority>) -> Option<Self> {
        let (program, cli) = (need("redis-server")?, need("redis-cli")?);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let port = free_port();
        let users = folder.path().join("users.acl");
        let mut command = guarded(program, None);
        command.args(["--bind", "127.0.0.1", "--save", "", "--dir"]).arg(folder.path());
        if aclfile {
            fs::write(&users, format!("user default on {} ~* &* +@all\n", digest(PASSWORD))).expect("a file");
            command.arg("--aclfile").arg(&users);
        } else {
            command.args(["--requirepass", PASSWORD]);
        }
        let mut tls = Vec::new();
        match authority {
            None => {
                command.args(["--port", &port.to_string()]);
            }
            Some(authority) => {
                let (certificate, key) = (folder.path().join("server.crt"), folder.path().join("server.key"));
                authority.issue("localhost", &certificate, &key);
                let ca = folder.path().join("ca.crt");
                fs::write(&ca, authority.pem()).expect("a file");
                command.args(["--port", "0", "--tls-port", &port.to_string(), "--tls-auth-clients", "no"]);
                command.arg("--tls-cert-file").arg(certificate).arg("--tls-key-file").arg(key);
                command.arg("--tls-ca-cert-file").arg(&ca);
                tls = vec!["--tls".to_owned(), "--cacert".to_owned(), ca.display().to_string()];
            }
        }
        let ready = {
            let (cli, tls) = (cli.clone(), tls.clone());
            move || ask(&cli, port, &tls, "default", PASSWORD, &["PING"]) == "PONG"
        };
        let server = Server::start(command, folder, ready);
        Some(Self { server, cli, port, tls })
    }

    /// The content of the file of users.
    pub fn users_file(&self) -> String {
        fs::read_to_string(self.server.folder().join("users.acl")).unwrap_or_default()
    }

    /// Runs a command as the user `default`.
    pub fn ask(&self, words: &[&str]) -> String {
        self.ask_as("default", PASSWORD, words)
    }

    /// Runs a command as any user; an error is returned as the answer.
    pub fn ask_as(&self, user: &str, password: &str, words: &[&str]) -> String {
        ask(&self.cli, self.port, &self.tls, user, password, words)
    }

    /// Users besides `default`, in order.
    pub fn users(&self) -> Vec<String> {
        let all = self.ask(&["ACL", "USERS"]);
        let mut users: Vec<String> =
            all.lines().filter(|user| *user != "default").map(str::to_owned).collect();
        users.sort();
        users
    }
}

fn ask(cli: &PathBuf, port: u16, tls: &[String], user: &str, password: &str, words: &[&str]) -> String {
    let mut command = Command::new(cli);
    command.args(["-h", "localhost", "-p", &port.to_string(), "--no-auth-warning", "--user", user]);
    command.args(tls).args(words).env("REDISCLI_AUTH", password);
    let done = command.output().expect("redis-cli runs");
    let text = if done.stdout.is_empty() { done.stderr } else { done.stdout };
    String::from_utf8_lossy(&text).trim_end().to_owned()
}

/// A password in the form of a file of users.
fn digest(password: &str) -> String {
    let mut command = Command::new("sha256sum");
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("sha256sum runs");
    use std::io::Write as _;
    child.stdin.take().expect("its input").write_all(password.as_bytes()).expect("the password");
    let done = child.wait_with_output().expect("its output");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    format!("#{}", text.split_whitespace().next().unwrap_or_default())
}
