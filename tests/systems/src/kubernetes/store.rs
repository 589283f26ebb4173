//! The objects of a cluster as etcd has them. Deleting one here ignores its finalizers and its owner.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde_json::{Value, json};

use super::client;

/// Where the API server keeps all objects.
const OBJECTS: &str = "/registry/";
/// Events of all namespaces. They expire by themselves.
const EVENTS: &str = "/registry/events/";
/// How many keys a request deletes. etcd allows 128.
const AT_ONCE: usize = 100;

/// etcd, through its gateway for JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct Store {
    pub(super) port: u16,
}

impl Store {
    /// Keys of all objects, and the revision that wrote each of them.
    ///
    /// # Errors
    /// If etcd does not answer.
    pub(super) fn objects(self) -> Result<BTreeMap<String, String>, String> {
        let mut range = prefix(OBJECTS);
        range["keys_only"] = true.into();
        let answer = self.ask("range", &range)?;
        let objects = answer["kvs"].as_array().into_iter().flatten();
        objects
            .map(|object| {
                let key = BASE64.decode(object["key"].as_str().unwrap_or_default().as_bytes());
                let key = key.ok().and_then(|key| String::from_utf8(key).ok());
                let revision = object["mod_revision"].as_str();
                key.zip(revision.map(str::to_owned)).ok_or_else(|| format!("etcd has an object {object}"))
            })
            .collect()
    }

    /// Deletes the objects with these keys.
    ///
    /// # Errors
    /// If etcd does not do it.
    pub(super) fn delete(self, keys: &[String]) -> Result<(), String> {
        for keys in keys.chunks(AT_ONCE) {
            let delete =
                |key: &String| json!({"request_delete_range": {"key": BASE64.encode(key.as_bytes())}});
            let deletions: Vec<Value> = keys.iter().map(delete).collect();
            self.ask("txn", &json!({"success": deletions}))?;
        }
        Ok(())
    }

    /// Deletes all events.
    ///
    /// # Errors
    /// If etcd does not do it.
    pub(super) fn delete_events(self) -> Result<(), String> {
        self.ask("deleterange", &prefix(EVENTS)).map(drop)
    }

    fn ask(self, call: &str, body: &Value) -> Result<Value, String> {
        let path = format!("/v3/kv/{call}");
        let headers = "content-type: application/json\r\n";
        let sent = client::request(self.port, "POST", &path, headers, &body.to_string());
        match sent.and_then(client::answer) {
            Ok((200, answer)) => Ok(answer),
            other => Err(format!("etcd does not answer {path}: {other:?}")),
        }
    }
}

/// A range of keys that begin with a path, which ends with `/`: up to the same path with the next character.
fn prefix(path: &str) -> Value {
    let end = format!("{}0", path.trim_end_matches('/'));
    json!({"key": BASE64.encode(path.as_bytes()), "range_end": BASE64.encode(end.as_bytes())})
}
