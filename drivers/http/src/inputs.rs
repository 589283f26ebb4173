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
    /// The name of the resource in the API; by default its `guresid`.
    #[input(replaces, min_length = 1, max_length = 1024)]
    pub(crate) name: Option<String>,
    /// Headers of every request.
    #[input(assumed)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Values for paths, as `{vars.X}`.
    #[input(assumed)]
    pub(crate) vars: Object,
    /// Where to find the API's id of a new resource; by default `/id` in the response to `create`.
    #[input(assumed)]
    pub(crate) id: Id,
    /// The request that creates the resource: `POST`, or `PUT` if the name is the id. Its `path` is
    /// required.
    pub(crate) create: Operation,
    /// The request that reads the resource: `GET`, by default at `create.path` followed by `/{id}`,
    /// or at `create.path` if the name is the id.
    #[input(assumed)]
    pub(crate) read: Operation,
    /// The request that updates the resource: `PUT` at the path of `read`, with the body of
    /// `create`. Without it, every change of `create`, `vars` or the secret body replaces the
    /// resource.
    pub(crate) update: Option<Operation>,
    /// The request that deletes the resource: `DELETE` at the path of `read`.
    #[input(assumed)]
    pub(crate) delete: Operation,
    /// Operations that the API does not support.
    #[input(assumed)]
    pub(crate) without: Vec<Lacking>,
    /// Outputs, as JSON Pointers into the response to `read`.
    #[input(assumed)]
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": POINTER}))]
    pub(crate) outputs: BTreeMap<String, String>,
    /// Secret outputs, as JSON Pointers into the response to `read` or, failing that, the
    /// response to `create`. Values that only the response to `create` contains are kept.
    #[input(assumed)]
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": POINTER}))]
    pub(crate) secret_outputs: BTreeMap<String, String>,
    /// How to find the resource by its name: before it is created, and after a response was lost.
    pub(crate) find: Option<Find>,
    /// A JSON Pointer to the owner's mark: a text that contains the `guresid`, or a list with it.
    #[input(pattern = POINTER)]
    pub(crate) mark: Option<String>,
    /// From places in `/create/body`, `/update/body` or `/vars` of the values to JSON Pointers into
    /// the response to `read`. A difference is drift.
    #[input(assumed)]
    #[schemars(extend("additionalProperties" = {"type": "string", "pattern": POINTER}))]
    pub(crate) observe: BTreeMap<String, String>,
    /// When the resource is ready.
    pub(crate) wait: Option<Wait>,
    /// How to follow an operation that continues after a response with status 202.
    pub(crate) operation: Option<LongOperation>,
    /// Statuses that mean that nothing was done and that the request should be retried, in addition
    /// to 429, and to 408 and 503 with the header `Retry-After`.
    #[input(assumed)]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub(crate) retry: Vec<u16>,
    /// Statuses that mean that the resource does not exist.
    #[input(assumed = vec![404, 410])]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub(crate) gone: Vec<u16>,
    /// A condition on the response, under which a resource that can still be read counts as
    /// deleted.
    pub(crate) gone_when: Option<Condition>,
    /// The header for the idempotency key.
    pub(crate) idempotency_header: Option<String>,
    /// Places in the values whose change requires a new resource, such as `/create/body/region`.
    #[input(assumed)]
    // Read in inputs that are not known as a whole.
    #[serde(rename = "replaces")]
    #[schemars(inner(regex(pattern = POINTER)))]
    _replaces: Vec<String>,
    /// Whether deleting the resource loses data. Then a plan that deletes or replaces it needs
    /// `--allow-data-loss`. The driver cannot find out by itself.
    // Read by the host, in the recorded inputs.
    #[serde(rename = "holds_data")]
    #[schemars(extend("if" = {"const": true}, "then" = {"x-purlin-holds-data": true}))]
    _holds_data: Option<bool>,
}

/// An operation that an API does not support.
#[derive(Clone, Copy, Input, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Lacking {
    Read,
    Delete,
}

/// Where to find the API's id of a new resource.
#[derive(Default, Input, Serialize)]
pub(crate) struct Id {
    /// A JSON Pointer to the id in the response.
    #[input(pattern = POINTER)]
    pub(crate) pointer: Option<String>,
    /// A header whose last path segment is the id, such as `location`.
    pub(crate) header: Option<String>,
    /// Whether the name is the id. The resource is then created at the path where it is read.
    #[input(assumed)]
    pub(crate) name: bool,
}

/// A request.
#[derive(Default, Input, Serialize)]
pub(crate) struct Operation {
    /// The method.
    #[input(one_of = METHODS)]
    pub(crate) method: Option<String>,
    /// The path after `base_url`. `{id}`, `{name}`, `{guresid}`, `{outputs.X}`, `{params.X}` and
    /// `{vars.X}` are replaced with their encoded values.
    #[input(pattern = PATH)]
    pub(crate) path: Option<String>,
    /// Headers of this request.
    #[input(assumed)]
    pub(crate) headers: BTreeMap<String, String>,
    /// The JSON body.
    pub(crate) body: Option<Json>,
    /// Statuses that mean success; by default all from 200 to 299.
    #[input(assumed)]
    #[schemars(inner(range(min = 200, max = 599)))]
    pub(crate) expect: Vec<u16>,
}

/// How to find a resource by its name.
#[derive(Input)]
pub(crate) struct Find {
    /// The path of a list, after `base_url`. Placeholders are replaced as in other paths.
    #[input(pattern = PATH)]
    pub(crate) path: String,
    /// A JSON Pointer to the items; by default the whole response.
    #[input(assumed, pattern = POINTER)]
    pub(crate) items: String,
    /// A JSON Pointer to the name in an item.
    #[input(pattern = POINTER)]
    pub(crate) name: String,
    /// A JSON Pointer to the id in an item; by default at the same place as in the response to
    /// `create`.
    #[input(pattern = POINTER)]
    pub(crate) id: Option<String>,
    /// A JSON Pointer to the URL of the next page, or `link` for the header.
    #[input(pattern = "^(link|/.*)?$")]
    pub(crate) next: Option<String>,
}

/// When a resource is ready.
#[derive(Input)]
pub(crate) struct Wait {
    /// The path of the request, after `base_url`; by default that of `read`.
    #[input(pattern = PATH)]
    pub(crate) path: Option<String>,
    /// The condition to wait for.
    pub(crate) until: Condition,
    /// The condition that means failure.
    pub(crate) fail: Option<Condition>,
    /// Milliseconds between two requests.
    #[input(assumed = 1000, min = 20, max = 60_000)]
    pub(crate) every_ms: u64,
}

/// An operation that continues after the response and has a URL of its own.
#[derive(Input)]
pub(crate) struct LongOperation {
    /// The header with the URL of the operation, such as `operation-location`.
    pub(crate) header: String,
    /// A JSON Pointer to the id of the created resource, once the operation has ended.
    #[input(pattern = POINTER)]
    pub(crate) id: Option<String>,
    /// The condition that means success.
    pub(crate) until: Condition,
    /// The condition that means failure.
    pub(crate) fail: Option<Condition>,
    /// Milliseconds between two requests.
    #[input(assumed = 1000, min = 20, max = 60_000)]
    pub(crate) every_ms: u64,
}

/// A place in a response, and the expected value.
#[derive(Input)]
pub(crate) struct Condition {
    /// A JSON Pointer to the value.
    #[input(pattern = POINTER)]
    pub(crate) pointer: String,
    /// The expected value.
    pub(crate) equals: Option<Json>,
    /// The expected values, of which one must match.
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
    /// Merged into the body of `create` and `update`.
    pub(crate) body: Option<Json>,
}

/// The API, and the credentials for it. Credentials can be rotated at any time, since Purlin always
/// uses the current connection.
#[derive(Input)]
pub(crate) struct Connection {
    /// The URL before all paths, without a trailing `/`.
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
    /// A user and password for every request.
    #[input(secret)]
    pub(crate) basic: Option<Basic>,
    /// Secret headers of every request, such as an API key.
    #[input(secret, assumed)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Query parameters of every request.
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

/// The outputs, in addition to those in `outputs` and `secret_outputs`.
#[derive(Outputs)]
#[output(open)]
pub(crate) struct HttpOutputs {
    /// The API's id.
    pub(crate) id: String,
    /// The URL at which the resource is read.
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
