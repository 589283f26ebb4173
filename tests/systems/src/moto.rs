//! Moto, a server compatible with AWS, and boto3 to check its contents. Moto checks the signature
//! of every request with AWS's own library, and whether the keys permit it.

mod server;
pub mod stumble;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use crate::pool::{self, Lease, Lendable as _};

pub(crate) use server::MotoServer;

/// The server, with one user who has all rights, for one test.
#[derive(Debug)]
pub struct Moto {
    port: u16,
    /// Id and secret of the user's key.
    pub key: (String, String),
    source: Mutex<Source>,
}

/// Where the server is from. It ends with this, or goes back.
#[derive(Debug)]
enum Source {
    Own(MotoServer),
    Lent(Lease),
}

impl Moto {
    /// A server, or none and a message about the missing program.
    pub fn start() -> Option<Self> {
        if let Some(pool) = pool::of_this_run() {
            return Self::lent(&pool);
        }
        let own = MotoServer::start()?;
        Some(Self::new(&own.describe(), Source::Own(own)))
    }

    /// A server of the pool with this socket, or none and a message about the missing program.
    ///
    /// # Panics
    /// If it does not start.
    pub fn lent(pool: &Path) -> Option<Self> {
        server::programs()?;
        let (lease, description) = Lease::take::<MotoServer>(pool)?;
        Some(Self::new(&description, Source::Lent(lease)))
    }

    fn new(description: &Value, source: Source) -> Self {
        let key = (pool::text(&description["id"]), pool::text(&description["secret"]));
        Self { port: pool::port(&description["port"]), key, source: Mutex::new(source) }
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
        let question = server::question(service, call, &arguments, &self.key);
        let answer = match &mut *self.source.lock().unwrap_or_else(PoisonError::into_inner) {
            Source::Own(server) => server.ask(&question),
            Source::Lent(lease) => lease.ask(&question),
        };
        server::result(&answer)
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
    pub fn workspace(&self, drivers: &[&str], port: u16, env: &str, documents: &str) -> crate::Project {
        let mut text = String::from("apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n");
        let _ = write!(
            text,
            "  defaults: {{app: shop, env: {env}}}\n  secret_stores: {{keys: {{file: ./secrets}}}}\n  drivers:\n"
        );
        for driver in drivers {
            let source = crate::tools::component(driver);
            let _ = write!(
                text,
                "    purlin/{driver}:\n      source: {}\n      grants: {{http: [\"http://127.0.0.1:{port}/*\"], secrets: [keys]}}\n      limits: {{time: 60s, grace: 0s}}\n",
                source.display()
            );
        }
        let signed = format!(
            "endpoint: {{url: \"http://127.0.0.1:{port}\", region: eu-west-1}}, \
             access_key_id: {{store: keys, ref: id}}, secret_access_key: {{store: keys, ref: key}}"
        );
        let documents = documents.replace("SIGNED", &signed);
        crate::Project::with(&[
            ("purlin.yaml", &text),
            ("documents.yaml", &documents),
            ("secrets/id", &self.key.0),
            ("secrets/key", &self.key.1),
        ])
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
