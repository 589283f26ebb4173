//! PowerDNS with its own database, on loopback.

use std::process::Command;

use serde_json::Value;

use crate::server::{Server, free_port, guarded, listens};
use crate::{rest, tools};

/// Where Debian installs the tables.
const SCHEMAS: [&str; 2] = [
    "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql",
    "/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql",
];

/// The key of its API.
pub const KEY: &str = "sesame-open-0815";

/// How often `dig` asks, and for how many seconds it waits for each answer.
const TRIES: &str = "+tries=60";
const TIME: &str = "+time=2";

/// A running PowerDNS.
#[derive(Debug)]
pub struct PowerDns {
    _server: Server,
    api: u16,
    dns: u16,
}

impl PowerDns {
    /// Starts one; none if it is not installed.
    ///
    /// # Panics
    /// If it is installed and does not start.
    pub fn start() -> Option<Self> {
        let (server, sqlite) = (tools::need("pdns_server")?, tools::need("sqlite3")?);
        tools::need("dig")?;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().display().to_string();
        let schema = SCHEMAS.iter().find_map(|schema| std::fs::read_to_string(schema).ok()).expect("tables");
        let made = Command::new(sqlite).arg(format!("{path}/db")).arg(schema).status();
        assert!(made.expect("sqlite3 runs").success(), "the tables cannot be made");
        let (api, dns) = (free_port(), free_port());
        // No caches: answers show the current state.
        let settings = format!(
            "launch=gsqlite3\ngsqlite3-database={path}/db\ngsqlite3-pragma-synchronous=0\n\
             local-address=127.0.0.1\nlocal-port={dns}\nsocket-dir={path}\n\
             api=yes\napi-key={KEY}\nwebserver-address=127.0.0.1\nwebserver-port={api}\n\
             guardian=no\ndaemon=no\ndisable-syslog=yes\nsecurity-poll-suffix=\n\
             cache-ttl=0\nquery-cache-ttl=0\nnegquery-cache-ttl=0\nzone-cache-refresh-interval=0\n"
        );
        std::fs::write(folder.path().join("pdns.conf"), settings).expect("settings");
        let mut command = guarded(server, None);
        command.arg(format!("--config-dir={path}"));
        let server = Server::start(command, folder, || listens(api) && listens(dns));
        Some(Self { _server: server, api, dns })
    }

    /// The port of its API.
    pub fn port(&self) -> u16 {
        self.api
    }

    /// The URL of its API.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.api)
    }

    /// Sends a manual request to its API, below the server's own path, such as `/zones`.
    pub fn api(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}/api/v1/servers/localhost{path}", self.url());
        rest::ask(method, &url, &[("x-api-key", KEY)], body)
    }

    /// Its answer over DNS: the contents, sorted.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn dig(&self, name: &str, kind: &str) -> Vec<String> {
        let port = self.dns.to_string();
        let dig = Command::new("dig")
            .args(["+short", TRIES, TIME, "-p", &port, "@127.0.0.1", name, kind])
            .output()
            .expect("dig runs");
        assert!(dig.status.success(), "dig: {dig:?}");
        let mut answers: Vec<String> =
            String::from_utf8_lossy(&dig.stdout).lines().map(|line| line.trim().to_owned()).collect();
        answers.sort();
        answers
    }

    /// The time for which an answer may be cached.
    pub fn ttl(&self, name: &str, kind: &str) -> Option<u32> {
        let port = self.dns.to_string();
        let dig = Command::new("dig")
            .args(["+noall", "+answer", TRIES, TIME, "-p", &port, "@127.0.0.1", name, kind])
            .output()
            .expect("dig runs");
        let text = String::from_utf8_lossy(&dig.stdout).into_owned();
        text.split_whitespace().nth(1).and_then(|ttl| ttl.parse().ok())
    }
}
