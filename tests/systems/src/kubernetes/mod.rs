//! A strict stand-in for a Kubernetes API server, for no real one can be installed from the
//! registries that this project uses.
//!
//! It holds objects to the published types, keeps managed fields and merges as server-side apply
//! does, runs finalizers and small controllers, and answers as the real one does: `kubectl` works
//! with it. It is no Kubernetes: there are no nodes, no admission, no versions of a kind but one,
//! no watches, and RBAC is two tokens.

mod controllers;
mod fields;
mod http;
mod kinds;
mod rules;
mod schema;
mod secured;
mod status;
mod store;

use std::io::BufReader;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

pub use secured::Secured;

use http::Request;
use kinds::Kind;
use status::{Refused, refused};
use store::{Asking, Store};

/// Who may do everything.
pub const TOKEN: &str = "token-of-an-administrator";
/// Who may only look.
pub const READER: &str = "token-of-a-reader";

/// How often the controllers look.
const TICK: Duration = Duration::from_millis(25);

/// A running cluster. It ends with the test.
#[derive(Debug)]
pub struct Kubernetes {
    port: u16,
    open: u16,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    store: Mutex<Store>,
    /// Requests that are still to be put off.
    busy: AtomicUsize,
    ended: AtomicBool,
    log: Mutex<Vec<String>>,
}

impl Default for Kubernetes {
    fn default() -> Self {
        Self::start()
    }
}

impl Kubernetes {
    /// A cluster with the namespaces `default` and `kube-system`.
    pub fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let (port, open) = (listen(&shared, false), listen(&shared, true));
        let controllers = shared.clone();
        std::thread::spawn(move || {
            while !controllers.ended.load(Ordering::SeqCst) {
                controllers::step(&mut controllers.store());
                std::thread::sleep(TICK);
            }
        });
        Self { port, open, shared }
    }

    /// Where it listens, on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens for those who need no token, on loopback: `kubectl` gives none away over
    /// plain HTTP.
    pub fn open_port(&self) -> u16 {
        self.open
    }

    /// Puts off so many requests with 429.
    pub fn be_busy(&self, requests: usize) {
        self.shared.busy.store(requests, Ordering::SeqCst);
    }

    /// An object by `apiVersion/plural`, namespace and name.
    pub fn get(&self, plural: &str, namespace: &str, name: &str) -> Option<Value> {
        let store = self.shared.store();
        let kind = kind_of(&store, plural)?;
        store.get(&kind, namespace, name).ok()
    }

    /// Names of all objects of a kind in a namespace.
    pub fn names(&self, plural: &str, namespace: &str) -> Vec<String> {
        let store = self.shared.store();
        let Some(kind) = kind_of(&store, plural) else { return Vec::new() };
        let found = store.objects.keys().filter(|key| key.0 == kind.resource() && key.1 == namespace);
        found.map(|key| key.2.clone()).collect()
    }

    /// How often an object of this name was made.
    pub fn made(&self, plural: &str, namespace: &str, name: &str) -> usize {
        let store = self.shared.store();
        let Some(kind) = kind_of(&store, plural) else { return 0 };
        store.made.get(&store::key(&kind, namespace, name)).copied().unwrap_or(0)
    }

    /// Changes an object, or makes it, as a client does that knows nothing of apply.
    ///
    /// # Panics
    /// When it is refused.
    pub fn edit(
        &self,
        manager: &str,
        plural: &str,
        namespace: &str,
        name: &str,
        edit: impl FnOnce(&mut Value),
    ) {
        let mut store = self.shared.store();
        let kind = kind_of(&store, plural).expect("a kind");
        let mut object = store.get(&kind, namespace, name).unwrap_or_else(
            |_| json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": {"name": name}}),
        );
        edit(&mut object);
        let asking = Asking { manager: manager.to_owned(), ..Asking::default() };
        store.put(&kind, namespace, name, object, &asking).expect("it is kept");
    }

    /// Deletes an object in the background.
    pub fn delete(&self, plural: &str, namespace: &str, name: &str) {
        let mut store = self.shared.store();
        if let Some(kind) = kind_of(&store, plural) {
            let _ = store.delete(&kind, namespace, name, &json!({}), false);
        }
    }

    /// Requests since the last time, as `METHOD /path status`.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.log.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the listeners, so that they end.
        for port in [self.port, self.open] {
            let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        }
    }
}

/// Listens on a port of loopback; on an open one nobody has to say who they are.
fn listen(shared: &Arc<Shared>, open: bool) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
    let port = listener.local_addr().expect("an address").port();
    let shared = shared.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if shared.ended.load(Ordering::SeqCst) {
                break;
            }
            let shared = shared.clone();
            std::thread::spawn(move || shared.serve(stream, open));
        }
    });
    port
}

fn kind_of(store: &Store, plural: &str) -> Option<Kind> {
    store.kinds().into_iter().find(|kind| kind.resource() == plural || kind.plural == plural)
}

impl Shared {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream, open: bool) {
        let Ok(reading) = stream.try_clone() else { return };
        let mut reading = BufReader::new(reading);
        while let Some(request) = http::read(&mut reading) {
            // What nobody waits for any more is not begun.
            if self.ended.load(Ordering::SeqCst) || http::is_closed(&stream) {
                break;
            }
            let (status, body) = match self.answer(&request, open) {
                Ok((status, body)) => (status, body),
                Err(Refused(code, body)) => (code, body),
            };
            let line = format!("{} /{} {status}", request.method, request.path.join("/"));
            self.log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            let headers: &[(&str, &str)] = if status == 429 { &[("retry-after", "1")] } else { &[] };
            if http::answer(&stream, status, headers, &body).is_err() {
                break;
            }
        }
    }

    fn answer(&self, request: &Request, open: bool) -> Result<(u16, Value), Refused> {
        let reads = request.method == "GET";
        match request.header("authorization").strip_prefix("Bearer ") {
            _ if open => {}
            Some(TOKEN) => {}
            Some(READER) if reads => {}
            Some(READER) => {
                return Err(refused(
                    403,
                    "Forbidden",
                    format!("User \"reader\" cannot {} this", request.method.to_lowercase()),
                ));
            }
            _ => return Err(refused(401, "Unauthorized", "Unauthorized")),
        }
        let put_off = self.busy.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if put_off.is_ok() {
            return Err(refused(429, "TooManyRequests", "too many requests, please try again later"));
        }
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let mut store = self.store();
        match path.as_slice() {
            ["version"] => Ok((
                200,
                json!({"major": "1", "minor": "34", "gitVersion": "v1.34.0-stand-in", "platform": "linux/amd64"}),
            )),
            ["api"] => Ok((200, json!({"kind": "APIVersions", "versions": ["v1"]}))),
            ["apis"] => Ok((200, groups(&store))),
            ["api", version] => listed(&store, "", version),
            ["apis", group, version] => listed(&store, group, version),
            ["api", version, rest @ ..] => objects(&mut store, request, "", version, rest),
            ["apis", group, version, rest @ ..] => objects(&mut store, request, group, version, rest),
            _ => Ok(no_page()),
        }
    }
}

/// What the API server says where it has no such path at all.
fn no_page() -> (u16, Value) {
    (404, Value::String("404 page not found\n".to_owned()))
}

fn groups(store: &Store) -> Value {
    let mut groups: Vec<Value> = Vec::new();
    for kind in store.kinds().into_iter().filter(|kind| !kind.group.is_empty()) {
        let version = json!({"groupVersion": kind.api_version(), "version": kind.version});
        if !groups.iter().any(|group| group["name"] == kind.group.as_str()) {
            groups.push(json!({"name": kind.group, "versions": [version], "preferredVersion": version}));
        }
    }
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

fn listed(store: &Store, group: &str, version: &str) -> Result<(u16, Value), Refused> {
    let kinds = store.kinds().into_iter().filter(|kind| kind.group == group && kind.version == version);
    let resources: Vec<Value> = kinds.map(|kind| kind.listed()).collect();
    if resources.is_empty() {
        return Ok(no_page());
    }
    let name = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Ok((
        200,
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}),
    ))
}

fn objects(
    store: &mut Store,
    request: &Request,
    group: &str,
    version: &str,
    rest: &[&str],
) -> Result<(u16, Value), Refused> {
    let (namespace, plural, name) = match rest {
        ["namespaces"] => ("", "namespaces", None),
        ["namespaces", name] => ("", "namespaces", Some(*name)),
        ["namespaces", namespace, plural] => (*namespace, *plural, None),
        ["namespaces", namespace, plural, name] => (*namespace, *plural, Some(*name)),
        [plural] => ("", *plural, None),
        [plural, name] => ("", *plural, Some(*name)),
        _ => return Ok(no_page()),
    };
    let Some(kind) = store.find(group, version, plural) else { return Ok(no_page()) };
    if name.is_some() && kind.namespaced == namespace.is_empty() {
        return Ok(no_page());
    }
    let asking = Asking {
        manager: match request.parameter("fieldManager") {
            "" => request.header("user-agent").split('/').next().unwrap_or("unknown").to_owned(),
            manager => manager.to_owned(),
        },
        force: request.parameter("force") == "true",
        dry: request.parameter("dryRun") == "All",
    };
    match (request.method.as_str(), name) {
        ("GET", Some(name)) => store.get(&kind, namespace, name).map(|found| (200, found)),
        ("GET", None) => Ok((200, list(store, request, &kind, namespace))),
        ("POST", None) => {
            let object = body(request)?;
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            if store.get(&kind, namespace, &name).is_ok() {
                let message = format!("{} \"{name}\" already exists", kind.resource());
                return Err(refused(409, "AlreadyExists", message));
            }
            store.put(&kind, namespace, &name, object, &asking).map(|made| (201, made))
        }
        ("PUT", Some(name)) => {
            let old = store.get(&kind, namespace, name)?;
            let new = body(request)?;
            let version = &new["metadata"]["resourceVersion"];
            if !version.is_null() && *version != old["metadata"]["resourceVersion"] {
                return Err(refused(
                    409,
                    "Conflict",
                    "the object has been modified; please apply your changes to the latest version",
                ));
            }
            store.put(&kind, namespace, name, new, &asking).map(|made| (200, made))
        }
        ("PATCH", Some(name)) => patch(store, request, &kind, namespace, name, &asking),
        ("DELETE", Some(name)) => {
            let options = if request.body.is_empty() { json!({}) } else { body(request)? };
            store.delete(&kind, namespace, name, &options, asking.dry).map(|said| (200, said))
        }
        _ => Err(refused(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )),
    }
}

fn patch(
    store: &mut Store,
    request: &Request,
    kind: &Kind,
    namespace: &str,
    name: &str,
    asking: &Asking,
) -> Result<(u16, Value), Refused> {
    match request.header("content-type").split(';').next().unwrap_or_default() {
        "application/apply-patch+yaml" => {
            if request.parameter("fieldManager").is_empty() {
                return Err(refused(
                    422,
                    "Invalid",
                    "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
                ));
            }
            let config = body(request)?;
            let said = |path: &str| config.pointer(path).and_then(Value::as_str).unwrap_or_default();
            if said("/kind") != kind.kind || said("/apiVersion") != kind.api_version() {
                return Err(refused(400, "BadRequest", "invalid object type"));
            }
            if !said("/metadata/name").is_empty() && said("/metadata/name") != name {
                return Err(refused(400, "BadRequest", "metadata.name does not match the URL"));
            }
            if !matches!(said("/metadata/namespace"), "") && said("/metadata/namespace") != namespace {
                return Err(refused(
                    400,
                    "BadRequest",
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            let is_new = store.get(kind, namespace, name).is_err();
            let made = store.apply(kind, namespace, name, &config, asking)?;
            Ok((if is_new { 201 } else { 200 }, made))
        }
        "application/merge-patch+json" => {
            let mut object = store.get(kind, namespace, name)?;
            merge_patch(&mut object, &body(request)?);
            store.put(kind, namespace, name, object, asking).map(|made| (200, made))
        }
        other => Err(refused(
            415,
            "UnsupportedMediaType",
            format!("the body of the request was in an unknown format - {other}"),
        )),
    }
}

/// RFC 7386.
fn merge_patch(value: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    for (name, patch) in patch {
        if patch.is_null() {
            if let Some(members) = value.as_object_mut() {
                members.shift_remove(name);
            }
        } else {
            merge_patch(&mut value[name.as_str()], patch);
        }
    }
}

fn list(store: &Store, request: &Request, kind: &Kind, namespace: &str) -> Value {
    let labels: Vec<(&str, &str)> =
        request.parameter("labelSelector").split(',').filter_map(|pair| pair.split_once('=')).collect();
    let name = request.parameter("fieldSelector").strip_prefix("metadata.name=");
    let items: Vec<Value> = store
        .objects
        .iter()
        .filter(|(key, _)| key.0 == kind.resource() && (namespace.is_empty() || key.1 == namespace))
        .filter(|(key, _)| name.is_none_or(|name| key.2 == name))
        .map(|(_, stored)| stored.shown())
        .filter(|object| labels.iter().all(|(label, value)| object["metadata"]["labels"][*label] == *value))
        .collect();
    json!({"kind": format!("{}List", kind.kind), "apiVersion": kind.api_version(), "metadata": {"resourceVersion": "1"}, "items": items})
}

fn body(request: &Request) -> Result<Value, Refused> {
    serde_json::from_slice(&request.body)
        .map_err(|error| refused(400, "BadRequest", format!("the body is not JSON: {error}")))
}
