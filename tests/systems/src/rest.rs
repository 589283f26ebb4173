//! A REST service on loopback whose behaviour a test decides, and a client for manual requests to
//! services.
//!
//! The service stores things in collections: `POST /COLLECTION` creates one with an id of the
//! server's choice, `PUT /COLLECTION/ID` creates or changes one, `GET`, `PATCH` and `DELETE` do
//! what they say, and `GET /COLLECTION?name=N` lists, two items per page: `next` is the path of the
//! next page, and `after` the parameter in its query. Names need not be unique, so creating a thing
//! twice gives two things. The answer to a creation has a `token`, which is returned again only if
//! the creation is repeated with the same idempotency key. [`Misbehaviour`]s make it misbehave as services
//! do, once; a [`Strain`] makes it hard to use all the time; [`Service::key`] rotates its token, and
//! [`Service::renames`] turns it into another version of itself.

mod strain;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use strain::Progress;
pub use strain::Strain;

/// How long to wait for a request.
const PATIENCE: Duration = Duration::from_secs(120);

/// A service's misbehaviour, once, at the next request with a method.
#[derive(Clone, Debug)]
pub enum Misbehaviour {
    /// Answers with this, and does nothing.
    Refuse(u16, Vec<(&'static str, String)>, String),
    /// Carries out the request, and answers nothing.
    LoseAnswer,
    /// Carries out the request, and answers with this.
    DoAndAnswer(u16, String),
    /// Waits this long in the middle of the answer.
    Slow(Duration),
    /// Takes the request, and carries it out at [`Service::do_late`].
    DoLater {
        /// Whether the connection ends at once. Otherwise, it stays open without an answer.
        hang_up: bool,
    },
    /// Answers with this many bytes.
    Huge(usize),
    /// Ends the connection in the middle of the answer's body.
    CutOff,
}

/// What the last page of a list has as `after`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastAfter {
    /// Nothing.
    #[default]
    Missing,
    /// `null`.
    Null,
    /// An empty text.
    Empty,
    /// What it was asked for.
    Repeated,
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: Value,
    /// When it arrived.
    pub at: Instant,
}

/// The things of a collection, by id.
type Things = BTreeMap<String, Value>;

#[derive(Default)]
struct Data {
    things: BTreeMap<String, Things>,
    /// What it does all the time.
    progress: Progress,
    /// How many things were created by request.
    created: usize,
    /// Later changes of a thing: when it is ready, when an operation has ended.
    times: HashMap<String, Instant>,
    /// Answers by idempotency key.
    answered: HashMap<String, Value>,
    next: u64,
    faults: VecDeque<(String, Misbehaviour)>,
    /// Requests to be carried out later, with their connections.
    late: Vec<(Request, TcpStream)>,
    requests: Vec<Request>,
    /// How long things take to become ready; none if they are ready at once.
    takes: Option<Duration>,
    /// Whether a creation answers with an operation, and nothing else.
    asynchronous: bool,
    /// Whether operations fail.
    fails: bool,
    key: Option<String>,
    /// The `after` of the last page of a list.
    last_after: LastAfter,
    /// Whether new things are not shown, as by a replica that lags behind.
    lags: bool,
    /// The things that are not shown yet, by id.
    not_shown: HashSet<String>,
    /// How often things that are deleted from now on can still be read.
    lingers: u32,
    /// Deleted things that can still be read, by collection and id, and how often.
    lingering: BTreeMap<(String, String), (Value, u32)>,
    /// Fields with other names in answers.
    renamed: HashMap<String, String>,
}

/// A service that runs until the test ends.
#[derive(Clone)]
pub struct Service {
    port: u16,
    data: Arc<Mutex<Data>>,
}

impl Default for Service {
    fn default() -> Self {
        Self::start()
    }
}

impl Service {
    /// Starts one.
    ///
    /// # Panics
    /// If there is no port.
    pub fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let port = listener.local_addr().expect("an address").port();
        let service = Self { port, data: Arc::default() };
        let serving = service.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let service = serving.clone();
                std::thread::spawn(move || service.serve(&stream));
            }
        });
        service
    }

    /// Its port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Misbehaves once, at the next request with a method.
    pub fn fault(&self, method: &str, fault: Misbehaviour) {
        self.data().faults.push_back((method.to_owned(), fault));
    }

    /// Forgets the planned misbehaviour.
    pub fn behave(&self) {
        self.data().faults.clear();
    }

    /// Makes things take a while until they are ready, or gone.
    pub fn takes(&self, time: Option<Duration>) {
        self.data().takes = time;
    }

    /// Makes everything that still takes a while ready, or gone, and ends the operations.
    pub fn hurry(&self) {
        self.data().times.clear();
    }

    /// Carries out the requests of [`Misbehaviour::DoLater`].
    ///
    /// # Panics
    /// If none arrives.
    pub fn do_late(&self) {
        self.wait_for_late();
        let late = std::mem::take(&mut self.data().late);
        for (request, _) in &late {
            self.data().answer(request);
        }
    }

    /// Waits until a request of [`Misbehaviour::DoLater`] has arrived.
    ///
    /// # Panics
    /// If none arrives.
    pub fn wait_for_late(&self) {
        let begun = Instant::now();
        while self.data().late.is_empty() {
            assert!(begun.elapsed() < PATIENCE, "no request arrived that is late");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Makes it hard to use from now on.
    pub fn strain(&self, strain: Strain) {
        self.data().progress = Progress::new(strain);
    }

    /// How many things were created by request so far, whether or not they still exist.
    pub fn created(&self) -> usize {
        self.data().created
    }

    /// Makes creations answer with an operation.
    pub fn asynchronous(&self, asynchronous: bool, fails: bool) {
        let mut data = self.data();
        (data.asynchronous, data.fails) = (asynchronous, fails);
    }

    /// Makes answers use another name for a field from now on, or the original one if both are the
    /// same.
    pub fn renames(&self, field: &str, to: &str) {
        self.data().renamed.insert(field.to_owned(), to.to_owned());
    }

    /// Ends lists like this from now on.
    pub fn ends_lists(&self, last: LastAfter) {
        self.data().last_after = last;
    }

    /// Shows what is created from now on neither in lists nor by its id, as a replica that lags behind,
    /// or shows everything again.
    pub fn lags(&self, lags: bool) {
        let mut data = self.data();
        data.lags = lags;
        data.not_shown.clear();
    }

    /// Answers 200 to deletions from now on, and still shows what was deleted until it was read by its id
    /// this often. With 0, only what exists is shown again.
    pub fn lingers(&self, reads: u32) {
        let mut data = self.data();
        data.lingers = reads;
        if reads == 0 {
            data.lingering.clear();
        }
    }

    /// Accepts only this bearer token. An earlier one gets 401.
    pub fn key(&self, key: &str) {
        self.data().key = Some(key.to_owned());
    }

    /// The contents of a collection, by id.
    pub fn all(&self, collection: &str) -> BTreeMap<String, Value> {
        self.data().things.get(collection).cloned().unwrap_or_default()
    }

    /// Puts a thing there manually.
    pub fn put(&self, collection: &str, id: &str, thing: Value) {
        self.data().things.entry(collection.to_owned()).or_default().insert(id.to_owned(), thing);
    }

    /// Removes everything.
    pub fn empty(&self) {
        self.data().things.clear();
    }

    /// The requests since the last call.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.data().requests)
    }

    fn serve(&self, stream: &TcpStream) {
        let Some(request) = read(stream) else { return };
        let fault = {
            let mut data = self.data();
            data.requests.push(request.clone());
            if data.progress.refuses() {
                let headers = vec![("retry-after".to_owned(), "0".to_owned())];
                return answer(stream, 429, headers, br#"{"error": "too many requests"}"#, &None);
            }
            let at = data.faults.iter().position(|(method, _)| *method == request.method);
            at.and_then(|at| data.faults.remove(at)).map(|(_, fault)| fault)
        };
        let (status, headers, body) = match &fault {
            Some(Misbehaviour::Refuse(status, headers, body)) => {
                let headers =
                    headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
                return answer(stream, *status, headers, body.as_bytes(), &fault);
            }
            Some(Misbehaviour::DoLater { hang_up }) => {
                let kept = stream.try_clone().expect("the connection twice");
                self.data().late.push((request, kept));
                if *hang_up {
                    let _ = stream.shutdown(Shutdown::Both);
                }
                return;
            }
            _ => self.data().answer(&request),
        };
        match &fault {
            Some(Misbehaviour::LoseAnswer) => {
                let _ = stream.shutdown(Shutdown::Both);
            }
            Some(Misbehaviour::DoAndAnswer(status, body)) => {
                answer(stream, *status, Vec::new(), body.as_bytes(), &fault)
            }
            Some(Misbehaviour::Huge(size)) => answer(stream, status, headers, &vec![b' '; *size], &fault),
            _ => answer(stream, status, headers, body.to_string().as_bytes(), &fault),
        }
    }
}

type Answer = (u16, Vec<(String, String)>, Value);

fn plain(status: u16, body: Value) -> Answer {
    (status, Vec::new(), body)
}

/// What takes a while.
fn accepted(body: Value) -> Answer {
    (202, vec![("retry-after".to_owned(), "0".to_owned())], body)
}

fn missing() -> Answer {
    plain(404, json!({"error": "no such thing"}))
}

/// A document with other field names.
fn renamed(document: Value, names: &HashMap<String, String>) -> Value {
    match document {
        Value::Array(items) => items.into_iter().map(|item| renamed(item, names)).collect(),
        Value::Object(fields) => {
            let name = |name: String| names.get(&name).cloned().unwrap_or(name);
            fields.into_iter().map(|(field, value)| (name(field), renamed(value, names))).collect()
        }
        other => other,
    }
}

impl Data {
    fn answer(&mut self, request: &Request) -> Answer {
        let (status, headers, body) = self.act(request);
        (status, headers, renamed(body, &self.renamed))
    }

    fn act(&mut self, request: &Request) -> Answer {
        if let Some(key) = &self.key
            && request.headers.get("authorization") != Some(&format!("Bearer {key}"))
        {
            return plain(401, json!({"error": "who are you?"}));
        }
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", ["operations", id]) => self.operation(id),
            ("POST", [collection]) => self.make(collection, request),
            ("GET", [collection]) => self.list(collection, query),
            (method, [collection, id]) => self.thing(method, collection, id, &request.body),
            _ => missing(),
        }
    }

    fn fresh(&mut self, collection: &str) -> String {
        self.next += 1;
        format!("{collection}-{}", self.next)
    }

    fn make(&mut self, collection: &str, request: &Request) -> Answer {
        let key = request.headers.get("idempotency-key").cloned();
        if let Some(there) = key.as_ref().and_then(|key| self.answered.get(key)) {
            return plain(201, there.clone());
        }
        let id = self.fresh(collection);
        self.created += 1;
        if self.asynchronous {
            let operation = self.fresh("operation");
            let thing = with_id(&request.body, &id);
            let pending = json!({"collection": collection, "thing": thing, "state": "running"});
            self.things.entry("operations".to_owned()).or_default().insert(operation.clone(), pending);
            self.later(&operation);
            let place = format!("/operations/{operation}");
            return (202, vec![("operation-location".to_owned(), place)], json!({"accepted": true}));
        }
        let mut thing = with_id(&request.body, &id);
        if self.takes.is_some() {
            thing["status"] = json!("creating");
            self.later(&id);
        }
        if self.lags {
            self.not_shown.insert(id.clone());
        }
        self.progress.hide(&id);
        let takes = self.progress.work(&id, &mut thing, "creating");
        self.things.entry(collection.to_owned()).or_default().insert(id.clone(), thing.clone());
        // Returned once, and never again.
        thing["token"] = json!(format!("token-of-{id}"));
        if let Some(key) = key {
            self.answered.insert(key, thing.clone());
        }
        if takes {
            return accepted(thing);
        }
        let place = format!("/{collection}/{id}");
        (201, vec![("location".to_owned(), place)], thing)
    }

    fn later(&mut self, id: &str) {
        let time = self.takes.unwrap_or_default();
        self.times.insert(id.to_owned(), Instant::now() + time);
    }

    fn is_due(&self, id: &str) -> bool {
        self.times.get(id).is_none_or(|time| *time <= Instant::now())
    }

    fn operation(&mut self, id: &str) -> Answer {
        let is_due = self.is_due(id);
        let Some(mut operation) = self.things.get("operations").and_then(|all| all.get(id)).cloned() else {
            return missing();
        };
        if operation["state"] == "running" && is_due {
            if self.fails {
                operation = json!({"state": "failed", "error": "there is no room"});
            } else {
                let (collection, thing) = (operation["collection"].clone(), operation["thing"].clone());
                let made = thing["id"].clone();
                let collection = collection.as_str().unwrap_or_default().to_owned();
                let key = made.as_str().unwrap_or_default().to_owned();
                self.things.entry(collection).or_default().insert(key, thing);
                operation = json!({"state": "done", "result": {"id": made}});
            }
            self.things.entry("operations".to_owned()).or_default().insert(id.to_owned(), operation.clone());
        }
        plain(200, operation)
    }

    fn list(&mut self, collection: &str, query: &str) -> Answer {
        const PAGE: usize = 2;
        let parameters: HashMap<&str, &str> =
            query.split('&').filter_map(|one| one.split_once('=')).collect();
        let asked = parameters.get("after").copied();
        let Ok(after) = asked.unwrap_or("0").parse::<usize>() else {
            return plain(400, json!({"error": "there is no such page"}));
        };
        let wanted = parameters.get("name").copied();
        let nulls = self.progress.strain.nulls;
        if nulls && asked.is_none() {
            return plain(
                200,
                json!({"items": null, "after": "0", "next": format!("/{collection}?{query}&after=0")}),
            );
        }
        let is_wanted = |thing: &Value| wanted.is_none_or(|name| thing["name"] == name);
        let mut hidden = HashSet::new();
        if let Some(things) = self.things.get_mut(collection) {
            let ids = things.iter().filter(|(_, thing)| is_wanted(thing)).map(|(id, _)| id.clone());
            for id in ids.collect::<Vec<_>>() {
                if !self.progress.look(&id, things) {
                    hidden.insert(id);
                }
            }
        }
        let all: Vec<Value> = self
            .things
            .get(collection)
            .into_iter()
            .flatten()
            .chain(
                self.lingering
                    .iter()
                    .filter(|(key, _)| key.0 == collection)
                    .map(|((_, id), (thing, _))| (id, thing)),
            )
            .filter(|(id, thing)| !self.not_shown.contains(*id) && !hidden.contains(*id) && is_wanted(thing))
            .map(|(_, thing)| thing.clone())
            .collect();
        let items: Vec<Value> = all.iter().skip(after).take(PAGE).cloned().collect();
        let mut page = json!({"items": items});
        if nulls && items.is_empty() {
            page["items"] = Value::Null;
        }
        if after + PAGE < all.len() {
            let name = wanted.map(|name| format!("&name={name}")).unwrap_or_default();
            page["after"] = json!((after + PAGE).to_string());
            page["next"] = json!(format!("/{collection}?after={}{name}", after + PAGE));
        } else {
            match self.last_after {
                LastAfter::Missing => {}
                LastAfter::Null => page["after"] = Value::Null,
                LastAfter::Empty => page["after"] = json!(""),
                LastAfter::Repeated => page["after"] = json!(asked),
            }
            if nulls {
                (page["after"], page["next"]) = (Value::Null, Value::Null);
            }
        }
        plain(200, page)
    }

    fn thing(&mut self, method: &str, collection: &str, id: &str, body: &Value) -> Answer {
        let (is_due, takes) = (self.is_due(id), self.takes.is_some());
        let things = self.things.entry(collection.to_owned()).or_default();
        if is_due && let Some(thing) = things.get_mut(id) {
            match thing["status"].as_str() {
                Some("creating") => thing["status"] = json!("ready"),
                Some("deleting") => drop(things.remove(id)),
                _ => {}
            }
        }
        let place = (collection.to_owned(), id.to_owned());
        if things.get(id).is_none()
            && let Some((thing, left)) = self.lingering.get_mut(&place)
            && matches!(method, "GET" | "DELETE")
        {
            let answer = plain(200, thing.clone());
            if method == "GET" {
                *left -= 1;
                if *left == 0 {
                    self.lingering.remove(&place);
                }
            }
            return answer;
        }
        // A deletion that is repeated asks how far the first one is.
        let is_deleted = self.progress.strain.working > 0
            && things.get(id).is_some_and(|thing| thing["status"] == "deleting");
        if (method == "GET" || method == "DELETE" && is_deleted) && !self.progress.look(id, things) {
            return missing();
        }
        match (method, things.get_mut(id)) {
            ("GET", Some(_)) if self.not_shown.contains(id) => missing(),
            ("GET", Some(thing)) => plain(200, thing.clone()),
            ("PUT", there) => {
                let status = if there.is_some() { 200 } else { 201 };
                let thing = with_id(body, id);
                things.insert(id.to_owned(), thing.clone());
                plain(status, thing)
            }
            ("PATCH", Some(thing)) => {
                for (name, value) in body.as_object().into_iter().flatten() {
                    thing[name] = value.clone();
                }
                if self.progress.work(id, thing, "updating") {
                    return accepted(thing.clone());
                }
                plain(200, thing.clone())
            }
            ("DELETE", Some(thing)) => {
                if is_deleted || self.progress.work(id, thing, "deleting") {
                    return accepted(Value::Null);
                }
                if takes {
                    // A deletion that is repeated begins no second time.
                    if thing["status"] != "deleting" {
                        thing["status"] = json!("deleting");
                        self.later(id);
                    }
                    return plain(202, Value::Null);
                }
                let deleted = things.remove(id).unwrap_or_default();
                if self.lingers > 0 {
                    self.lingering.insert(place, (deleted.clone(), self.lingers));
                    return plain(200, deleted);
                }
                plain(204, Value::Null)
            }
            _ => missing(),
        }
    }
}

fn with_id(body: &Value, id: &str) -> Value {
    let mut thing = body.clone();
    if thing.is_object() {
        thing["id"] = json!(id);
    }
    thing
}

/// Reads a request, if one comes.
pub(crate) fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim().split_once(':') {
            Some((name, value)) => drop(headers.insert(name.to_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (body, at) = (serde_json::from_slice(&body).unwrap_or_default(), Instant::now());
    Some(Request { method, path, headers, body, at })
}

/// Answers a request, and ends the connection.
pub(crate) fn answer(
    mut stream: &TcpStream,
    status: u16,
    headers: Vec<(String, String)>,
    body: &[u8],
    fault: &Option<Misbehaviour>,
) {
    let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-type: application/json\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let body = if status == 204 { &[][..] } else { body };
    if status != 204 {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    // The client may have gone.
    let _ = stream.write_all(head.as_bytes());
    let half = body.len() / 2;
    match fault {
        Some(Misbehaviour::Slow(time)) => {
            let _ = stream.write_all(body.get(..half).unwrap_or_default());
            std::thread::sleep(*time);
            let _ = stream.write_all(body.get(half..).unwrap_or_default());
        }
        Some(Misbehaviour::CutOff) => drop(stream.write_all(body.get(..half).unwrap_or_default())),
        _ => drop(stream.write_all(body)),
    }
    let _ = stream.shutdown(Shutdown::Both);
}

/// Sends a manual request to a server on loopback: status and JSON.
///
/// # Panics
/// If it does not answer.
pub fn ask(method: &str, url: &str, headers: &[(&str, &str)], body: &Value) -> (u16, Value) {
    let rest = url.strip_prefix("http://").expect("a URL of http");
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut stream = TcpStream::connect(authority).expect("a server");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut request = format!("{method} /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n");
    request.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    (status, serde_json::from_str(body).unwrap_or_default())
}
