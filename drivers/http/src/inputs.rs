//! What the driver is given: how an API is spoken to, as data.

use std::collections::BTreeMap;

use purlin_sdk::{Json, Object};
use serde::Deserialize;

/// A declaration of a REST resource.
#[derive(Deserialize)]
pub struct HttpInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    #[serde(default)]
    pub(crate) secrets: Secrets,
    #[serde(default)]
    pub(crate) params: Object,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Values {
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) vars: Object,
    #[serde(default)]
    pub(crate) id: Id,
    pub(crate) create: Operation,
    #[serde(default)]
    pub(crate) read: Operation,
    pub(crate) update: Option<Operation>,
    #[serde(default)]
    pub(crate) delete: Operation,
    #[serde(default)]
    pub(crate) without: Vec<Lacking>,
    #[serde(default)]
    pub(crate) outputs: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) secret_outputs: BTreeMap<String, String>,
    pub(crate) find: Option<Find>,
    pub(crate) mark: Option<String>,
    #[serde(default)]
    pub(crate) observe: BTreeMap<String, String>,
    pub(crate) wait: Option<Wait>,
    pub(crate) operation: Option<LongOperation>,
    #[serde(default)]
    pub(crate) retry: Vec<u16>,
    #[serde(default = "gone")]
    pub(crate) gone: Vec<u16>,
    pub(crate) gone_when: Option<Condition>,
    pub(crate) idempotency_header: Option<String>,
    #[serde(default)]
    pub(crate) replaces: Vec<String>,
    /// Read by the host, in the recorded inputs: see the schema.
    #[serde(default, rename = "holds_data")]
    _holds_data: Option<bool>,
}

fn gone() -> Vec<u16> {
    vec![404, 410]
}

/// What an API does not have.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Lacking {
    Read,
    Delete,
}

/// Where the API's id of a new resource comes from; `/id` of the answer where nothing is said.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Id {
    pub(crate) pointer: Option<String>,
    pub(crate) header: Option<String>,
    #[serde(default)]
    pub(crate) name: bool,
}

/// A request.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Operation {
    pub(crate) method: Option<String>,
    pub(crate) path: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Option<Json>,
    #[serde(default)]
    pub(crate) expect: Vec<u16>,
}

/// How a resource is looked for by its name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Find {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) items: String,
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) next: Option<String>,
}

/// When a resource is ready.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wait {
    pub(crate) path: Option<String>,
    pub(crate) until: Condition,
    pub(crate) fail: Option<Condition>,
    #[serde(default = "every")]
    pub(crate) every_ms: u64,
    pub(crate) at_most_ms: Option<u64>,
}

/// An operation that goes on after the answer, and has a place of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LongOperation {
    pub(crate) header: String,
    pub(crate) id: Option<String>,
    pub(crate) until: Condition,
    pub(crate) fail: Option<Condition>,
    #[serde(default = "every")]
    pub(crate) every_ms: u64,
    pub(crate) at_most_ms: Option<u64>,
}

fn every() -> u64 {
    1000
}

/// A place in an answer, and what has to stand there.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Condition {
    pub(crate) pointer: String,
    pub(crate) equals: Option<Json>,
    #[serde(default, rename = "in")]
    pub(crate) one_of: Vec<Json>,
}

impl Condition {
    pub(crate) fn holds(&self, document: &Json) -> bool {
        document.pointer(&self.pointer).is_some_and(|there| {
            self.equals.as_ref().is_some_and(|wanted| wanted == there) || self.one_of.contains(there)
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Secrets {
    pub(crate) body: Option<Json>,
}

/// Where the API is, and who asks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Connection {
    pub(crate) base_url: String,
    pub(crate) bearer: Option<String>,
    pub(crate) basic: Option<Basic>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) query: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Basic {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl HttpInputs {
    pub(crate) fn lacks(&self, lacking: Lacking) -> bool {
        self.values.without.contains(&lacking)
    }

    /// The path that a resource is read at, and known by.
    pub(crate) fn read_path(&self) -> String {
        let create = self.values.create.path.as_deref().unwrap_or_default();
        match &self.values.read.path {
            Some(path) => path.clone(),
            None if self.values.id.name => create.to_owned(),
            None => format!("{create}/{{id}}"),
        }
    }

    /// Whether a resource can be looked for by its name.
    pub(crate) fn can_look(&self) -> bool {
        self.values.find.is_some() || (self.values.id.name && !self.lacks(Lacking::Read))
    }

    /// What is sent where a resource is made or changed: values, and secrets laid over them.
    pub(crate) fn body(&self, body: Option<&Json>) -> Option<Json> {
        match (body, &self.secrets.body) {
            (None, None) => None,
            (Some(body), None) => Some(body.clone()),
            (None, Some(secrets)) => Some(secrets.clone()),
            (Some(body), Some(secrets)) => {
                let mut body = body.clone();
                lay_over(&mut body, secrets);
                Some(body)
            }
        }
    }
}

fn lay_over(below: &mut Json, above: &Json) {
    match (below, above) {
        (Json::Object(below), Json::Object(above)) => {
            for (name, value) in above {
                lay_over(below.entry(name.as_str()).or_insert(Json::Null), value);
            }
        }
        (below, above) => *below = above.clone(),
    }
}
