//! The driver's inputs (the use of an API, as data) and its outputs.

use std::collections::BTreeMap;

use purlin_sdk::{Input, Inputs, Json, Object, Outputs};
use serde::Serialize;

/// A declaration of a REST resource.
#[derive(Inputs)]
pub struct HttpInputs {
    pub(crate) connection: Connection,
    pub(crate) values: Values,
    pub(crate) secrets: Secrets,
    /// Values for paths, as `{params.X}`.
    pub(crate) params: Object,
}

/// A JSON Pointer.
const POINTER: &str = "^(/.*)?$";
/// A path behind `base_url`.
const PATH: &str = "^/";
/// The methods of requests.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

#[derive(Input)]
pub(crate) struct Values {
    /// The resource's name in the API; by default its `guresid`.
    #[input(replaces, min_length = 1, max_length = 1024)]
    pub(crate) name: Option<String>,
    /// Headers of every request.
    #[input(assumed)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Values for paths, as `{vars.X}`.
    #[input(assumed)]
    pub(crate) vars: Object,
    /// Where the API's id of a new resource comes from: `/id` of the answer to `create` by default.
    #[input(assumed)]
    pub(crate) id: Id,
    /// Makes it: `POST`, or `PUT` where the name is the id. Its `path` is required.
    pub(crate) create: Operation,
    /// Reads it: `GET`, at `create.path` with `/{id}` behind it by default, or at `create.path` where the name is
    /// the id.
    #[input(assumed)]
    pub(crate) read: Operation,
    /// Changes it: `PUT`, where it is read, with the body of `create`. Without it every change of `create`, `vars`
    /// or the secret body replaces.
    pub(crate) update: Option<Operation>,
    /// Deletes it: `DELETE`, where it is read.
    #[input(assumed)]
    pub(crate) delete: Operation,
    /// What the API does not have.
    #[input(assumed)]
    pub(crate) without: Vec<Lacking>,
    /// Outputs, by JSON Pointers into what is read.
    #[input(assumed)]
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": POINTER}))]
    pub(crate) outputs: BTreeMap<String, String>,
    /// Secret outputs, by JSON Pointers into what is read, or else into the answer to `create`. What only that
    /// answer has is kept.
    #[input(assumed)]
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": POINTER}))]
    pub(crate) secret_outputs: BTreeMap<String, String>,
    /// How it is looked for by its name: before it is made, and after an answer was lost.
    pub(crate) find: Option<Find>,
    /// JSON Pointer to what tells whose it is: a text with the `guresid` in it, or a list that has it.
    #[input(pattern = POINTER)]
    pub(crate) mark: Option<String>,
    /// From places in `/create/body`, `/update/body` or `/vars` of the values to JSON Pointers into what is read:
    /// what differs is drift.
    #[input(assumed)]
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": POINTER}))]
    pub(crate) observe: BTreeMap<String, String>,
    /// When it is ready.
    pub(crate) wait: Option<Wait>,
    /// How an operation is followed that goes on after an answer with status 202.
    pub(crate) operation: Option<LongOperation>,
    /// Statuses that mean that nothing was done, and that it should be tried again; 429 and 503 do anyway.
    #[input(assumed)]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub(crate) retry: Vec<u16>,
    /// Statuses that mean that there is none.
    #[input(assumed = vec![404, 410])]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub(crate) gone: Vec<u16>,
    /// What tells in an answer that it is deleted although it is there.
    pub(crate) gone_when: Option<Condition>,
    /// The header that the API takes an idempotency key in.
    pub(crate) idempotency_header: Option<String>,
    /// Places in the values whose change needs a new resource, such as `/create/body/region`.
    #[input(assumed)]
    // Read in inputs that are not known as a whole.
    #[serde(rename = "replaces")]
    #[schemars(inner(regex(pattern = POINTER)))]
    _replaces: Vec<String>,
    /// Whether deleting it loses data; then a plan that deletes or replaces it takes `--allow-data-loss`. The driver
    /// cannot know.
    // Read by the host, in the recorded inputs.
    #[serde(rename = "holds_data")]
    #[schemars(extend("if" = {"const": true}, "then" = {"x-purlin-holds-data": true}))]
    _holds_data: Option<bool>,
}

/// What an API does not have.
#[derive(Clone, Copy, Input, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Lacking {
    Read,
    Delete,
}

/// Where the API's id of a new resource comes from.
#[derive(Default, Input, Serialize)]
pub(crate) struct Id {
    /// JSON Pointer to the id in the answer.
    #[input(pattern = POINTER)]
    pub(crate) pointer: Option<String>,
    /// A header whose last segment is the id, such as `location`.
    pub(crate) header: Option<String>,
    /// Whether the name is the id: it is made where it is read.
    #[input(assumed)]
    pub(crate) name: bool,
}

/// A request.
#[derive(Default, Input, Serialize)]
pub(crate) struct Operation {
    /// Its method.
    #[input(one_of = METHODS)]
    pub(crate) method: Option<String>,
    /// Where it is sent, behind `base_url`. `{id}`, `{name}`, `{guresid}`, `{outputs.X}`, `{params.X}` and
    /// `{vars.X}` are filled in, encoded.
    #[input(pattern = PATH)]
    pub(crate) path: Option<String>,
    /// Headers of this request.
    #[input(assumed)]
    pub(crate) headers: BTreeMap<String, String>,
    /// JSON that is sent.
    pub(crate) body: Option<Json>,
    /// Statuses that are a success; any from 200 to 299 by default.
    #[input(assumed)]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub(crate) expect: Vec<u16>,
}

/// How a resource is looked for by its name.
#[derive(Input)]
pub(crate) struct Find {
    /// A list, behind `base_url`; places are filled in as in those of requests.
    #[input(pattern = PATH)]
    pub(crate) path: String,
    /// JSON Pointer to the items; the whole answer by default.
    #[input(assumed, pattern = POINTER)]
    pub(crate) items: String,
    /// JSON Pointer to the name in an item.
    #[input(pattern = POINTER)]
    pub(crate) name: String,
    /// JSON Pointer to the id in an item; by default where the answer to `create` has it.
    #[input(pattern = POINTER)]
    pub(crate) id: Option<String>,
    /// JSON Pointer to the URL of the next page, or `link` for the header.
    #[input(pattern = "^(link|/.*)?$")]
    pub(crate) next: Option<String>,
}

/// When a resource is ready.
#[derive(Input)]
pub(crate) struct Wait {
    /// What is asked, behind `base_url`; by default where it is read.
    #[input(pattern = PATH)]
    pub(crate) path: Option<String>,
    /// What is waited for.
    pub(crate) until: Condition,
    /// What ends the waiting.
    pub(crate) fail: Option<Condition>,
    /// Milliseconds between two looks.
    #[input(assumed = 1000, min = 20, max = 60_000)]
    pub(crate) every_ms: u64,
    /// Milliseconds of the longest wait; by default until the call has to end.
    #[input(min = 20)]
    pub(crate) at_most_ms: Option<u64>,
}

/// An operation that goes on after the answer, and has a place of its own.
#[derive(Input)]
pub(crate) struct LongOperation {
    /// The header that has its URL, such as `operation-location`.
    pub(crate) header: String,
    /// JSON Pointer to the id of what was made, once it has ended.
    #[input(pattern = POINTER)]
    pub(crate) id: Option<String>,
    /// When it has ended well.
    pub(crate) until: Condition,
    /// When it has failed.
    pub(crate) fail: Option<Condition>,
    /// Milliseconds between two looks.
    #[input(assumed = 1000, min = 20, max = 60_000)]
    pub(crate) every_ms: u64,
    /// Milliseconds of the longest wait; by default until the call has to end.
    #[input(min = 20)]
    pub(crate) at_most_ms: Option<u64>,
}

/// A place in an answer, and what has to stand there.
#[derive(Input)]
pub(crate) struct Condition {
    /// JSON Pointer to what is compared.
    #[input(pattern = POINTER)]
    pub(crate) pointer: String,
    /// What it has to be.
    pub(crate) equals: Option<Json>,
    /// One of which it has to be.
    #[serde(rename = "in")]
    #[input(assumed)]
    pub(crate) one_of: Vec<Json>,
}

impl Condition {
    pub(crate) fn holds(&self, document: &Json) -> bool {
        document.pointer(&self.pointer).is_some_and(|there| {
            self.equals.as_ref().is_some_and(|wanted| wanted == there) || self.one_of.contains(there)
        })
    }
}

#[derive(Input)]
pub(crate) struct Secrets {
    /// Laid over the body of `create` and `update`.
    pub(crate) body: Option<Json>,
}

/// Where the API is, and who asks. Credentials can be rotated at any time: Purlin uses the connection that the
/// documents have now.
#[derive(Input)]
pub(crate) struct Connection {
    /// What all paths are put behind, without `/` at its end.
    #[input(reaches = "http", replaces, pattern = "^[Hh][Tt][Tt][Pp][Ss]?://")]
    #[schemars(extend("x-purlin-methods" = [
        {"method": "POST", "at": "/values/create/method", "unless": {"/values/id/name": true}},
        {"method": "GET", "at": "/values/read/method", "unless": {"/values/without": "read"}},
        {"method": "PUT", "at": "/values/update/method", "if": "/values/update", "later": true},
        {"method": "DELETE", "at": "/values/delete/method", "unless": {"/values/without": "delete"}, "later": true},
    ]))]
    pub(crate) base_url: String,
    /// A token for every request.
    #[input(secret)]
    pub(crate) bearer: Option<String>,
    /// A user and a password for every request.
    #[input(secret)]
    pub(crate) basic: Option<Basic>,
    /// Headers of every request that are secret, such as an API key.
    #[input(secret, assumed)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Parameters of the query of every request.
    #[input(secret, assumed)]
    pub(crate) query: BTreeMap<String, String>,
}

#[derive(Input)]
pub(crate) struct Basic {
    /// The user.
    pub(crate) user: String,
    /// The user's password.
    pub(crate) password: String,
}

/// What others may read, besides what `outputs` and `secret_outputs` name.
#[derive(Outputs)]
pub(crate) struct HttpOutputs {
    /// The API's id.
    pub(crate) id: String,
    /// Where it is read.
    pub(crate) url: String,
}

impl HttpInputs {
    pub(crate) fn lacks(&self, lacking: Lacking) -> bool {
        self.values.without.contains(&lacking)
    }

    /// The path at which a resource is read, and which identifies it.
    pub(crate) fn read_path(&self) -> String {
        let create = self.values.create.path.as_deref().unwrap_or_default();
        match &self.values.read.path {
            Some(path) => path.clone(),
            None if self.values.id.name => create.to_owned(),
            None => format!("{create}/{{id}}"),
        }
    }

    /// Whether a resource can be found by its name.
    pub(crate) fn can_look(&self) -> bool {
        self.values.find.is_some() || (self.values.id.name && !self.lacks(Lacking::Read))
    }

    /// The body of a creation or change: values, with secrets merged over them.
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
