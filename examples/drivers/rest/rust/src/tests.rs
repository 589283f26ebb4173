//! The driver without WebAssembly: against a transport that responds from memory.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use purlin_sdk::{Call, Failure, Json};
use purlin_sdk_http::{Client, Error, Limits, Request, Response};
use serde_json::json;

use crate::api::Api;
use crate::schema::{Connection, Region, Values};

/// The response to a request: a status and a body, or a lost response.
type Answer = Option<(u16, Json)>;

/// An API that returns these responses, and the requests that it received.
fn api(answers: Vec<Answer>) -> (Api, Rc<RefCell<Vec<Request>>>) {
    let requests = Rc::new(RefCell::new(Vec::new()));
    let (seen, left) = (Rc::clone(&requests), RefCell::new(answers.into_iter()));
    let transport = move |request: &Request, _: &Limits| {
        seen.borrow_mut().push(request.clone());
        match left.borrow_mut().next().expect("an answer") {
            Some((status, body)) => {
                let patience = ("retry-after".to_owned(), "0".to_owned());
                Ok(Response::new(status, vec![patience], body.to_string()))
            }
            None => Err(Error::Lost {
                target: request.target(),
                message: "the connection ended before the answer".to_owned(),
                repeatable: request.is_repeatable(),
                effects: request.has_effects(),
            }),
        }
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time");
    let deadline = (now + Duration::from_secs(60)).as_millis() as u64;
    let call = Call { idempotency_key: "key-1".to_owned(), deadline, ..Call::default() };
    let connection = Connection { server: "https://api.example/v1/".to_owned(), token: "secret".to_owned() };
    let client = Client::new(&call).with_transport(transport);
    (Api::with_client(client, &connection, &call), requests)
}

fn wanted() -> Values {
    Values { name: "hello".to_owned(), region: Region::Eu, size: 2 }
}

fn project(id: &str, owner: &str) -> Json {
    json!({"id": id, "name": "hello", "region": "eu", "size": 2, "owner": owner})
}

#[test]
fn a_lost_answer_is_requested_again_with_the_same_key() {
    let mut created = project("p-1", "me");
    created["token"] = json!("shown-once");
    let (api, requests) = api(vec![None, Some((429, json!({}))), Some((201, created))]);
    let made = api.create(&wanted(), "me").expect("created");
    assert_eq!((made.id.as_str(), made.token.as_deref()), ("p-1", Some("shown-once")));
    let requests = requests.borrow();
    assert_eq!(requests.len(), 3);
    for request in requests.iter() {
        assert_eq!(request.target(), "POST https://api.example/v1/projects");
        assert_eq!(request.get_header("idempotency-key"), Some("key-1"));
        assert_eq!(request.get_header("authorization"), Some("Bearer secret"));
    }
}

#[test]
fn an_unknown_outcome_is_undecided() {
    let (lost, _) = api(vec![None, None, None, None]);
    assert!(matches!(lost.create(&wanted(), "me"), Err(Failure::Undecided(_))));
    let (strange, _) = api(vec![Some((201, json!({"ok": true})))]);
    assert!(matches!(strange.create(&wanted(), "me"), Err(Failure::Undecided(_))));
    let (rejected, _) = api(vec![Some((400, json!({"error": "no such region"})))]);
    let failure = rejected.create(&wanted(), "me").map(|made| made.id).expect_err("rejected");
    let problem = failure.problem().expect("a problem");
    assert!(problem.message.contains("no such region") && problem.detail("status") == Some("400"));
}

#[test]
fn a_project_is_found_on_any_page() {
    let others = json!({"items": [project("p-1", "other"), project("p-2", "me")], "after": "2"});
    let none = json!({"items": null, "after": "3"});
    let own = json!({"items": [project("p-3", "me")], "after": null});
    let (api, requests) = api(vec![Some((200, others)), Some((200, none)), Some((200, own))]);
    let found = api.find("hello", "me", &["p-2".to_owned()]).expect("a list").expect("found");
    assert_eq!(found.id, "p-3");
    let urls: Vec<_> = requests.borrow().iter().map(|request| request.url.clone()).collect();
    let list = "https://api.example/v1/projects?name=hello";
    assert_eq!(urls, [list.to_owned(), format!("{list}&after=2"), format!("{list}&after=3")]);
}

#[test]
fn gone_is_deleted_and_nothing_to_read() {
    let missing = || Some((404, json!({})));
    let answers = vec![Some((204, Json::Null)), missing(), missing(), missing(), missing()];
    let (api, requests) = api(answers);
    api.delete("a/b").expect("deleted");
    api.delete("a/b").expect("gone already");
    assert!(api.get("a/b").expect("an answer").is_none());
    assert_eq!(requests.borrow()[0].url, "https://api.example/v1/projects/a%2Fb");
}

#[test]
fn a_project_that_can_still_be_read_is_not_gone() {
    let answers = vec![Some((200, json!({}))), Some((200, project("p-1", "me"))), Some((202, json!({})))];
    let (api, _) = api(answers);
    for _ in 0..2 {
        assert!(matches!(api.delete("p-1"), Err(Failure::Pending { state: None, .. })));
    }
}

#[test]
fn a_project_is_pending_until_it_is_ready() {
    let mut creating = project("p-1", "me");
    creating["status"] = json!("creating");
    creating["token"] = json!("shown-once");
    let ready = project("p-1", "me");
    let answers = vec![Some((201, creating)), Some((202, ready.clone())), Some((200, ready))];
    let (api, _) = api(answers);
    let pending = crate::ready(api.create(&wanted(), "me").expect("created"));
    let Err(Failure::Pending { state: Some(state), .. }) = pending else { panic!("it is ready") };
    assert_eq!((state.id.as_str(), &state.secrets["token"]), ("p-1", &json!("shown-once")));
    assert!(crate::ready(api.update("p-1", &wanted()).expect("accepted")).is_err());
    assert!(crate::ready(api.get("p-1").expect("an answer").expect("there")).is_ok());
}

#[test]
fn an_unreadable_resource_is_not_reported_as_gone() {
    let (api, _) = api(vec![Some((200, json!({"uid": "p-1"}))), Some((401, json!({}))), Some((200, json!({})))]);
    assert!(matches!(api.get("p-1"), Err(Failure::Failed(_))));
    assert!(matches!(api.get("p-1"), Err(Failure::Failed(_))));
    assert!(matches!(api.find("hello", "me", &[]), Err(Failure::Failed(_))));
}
