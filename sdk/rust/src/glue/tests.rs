//! Drivers as the host calls them: one of a single type, and one of several.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{failure, raw};
use crate::preview::{Action, consent};
use crate::testing::{self, Exported, HostMessage};
use crate::{
    Anything, Check, CheckRequest, Checked, CreateRequest, DeleteRequest, Driver, DriverInfo, Failure,
    Forecast, Json, ManifestFile, Object, Observed, Part, Preview, PreviewRequest, Problem, Read,
    ReadRequest, RequestedCapability, ResourceType, State, TypeSchema, Update, UpdateRequest, operation,
};

fn schema(type_name: &str) -> TypeSchema {
    TypeSchema { type_name: type_name.to_owned(), inputs: json!({}), outputs: json!({}) }
}

/// What a checkpoint keeps of an attempt.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Attempt {
    ticket: u64,
}

/// A driver of one type, whose resources need a while.
struct Slow;

impl Driver for Slow {
    const NAME: &str = "acme/slow";
    const DESCRIPTION: &str = "Things that need a while.";
    type Inputs = Anything;

    fn notes() -> Object {
        [("license".to_owned(), json!("Apache-2.0"))].into_iter().collect()
    }

    fn create(request: CreateRequest<Anything>) -> Result<State, Failure> {
        operation::checkpoint_with("slow-1", Attempt { ticket: 7 })?;
        let mut state = State::new("slow-1").version(3).note("health", json!({"ready": false})).outputs(
            json!({"db": {"host": "h", "password": "p"}, "biggest": u64::MAX, "account": request.inputs.account}),
        )?;
        state.manifests.push(ManifestFile {
            name: "a.json".to_owned(),
            location: "namespace".to_owned(),
            data: json!({"key": "k"}),
        });
        let state = state.sensitive("/outputs/db/password").sensitive("/manifests/a.json/key");
        Err(state.pending(Duration::from_secs(5), "it warms up"))
    }

    fn delete(request: DeleteRequest<Anything>) -> Result<(), Failure> {
        match request.data_loss_allowed {
            true => Err(Failure::pending(Duration::from_millis(1500), "it cools down")),
            false => {
                let attempt = request.call.hints.get("attempt").map(Json::to_string).unwrap_or_default();
                let failure = Failure::conflict("it holds data").with_detail("status", "409");
                Err(failure.with_detail("attempt", attempt))
            }
        }
    }
}

impl Read for Slow {
    fn read(request: ReadRequest<Anything>) -> Result<Option<Observed>, Failure> {
        let attempt = request.state.map(|state| state.read_cookie::<Attempt>()).transpose()?.flatten();
        Ok(attempt.map(|attempt| State::new(format!("slow-{}", attempt.ticket)).into()))
    }
}

export!(Slow);

/// What is said once about a driver of several types.
struct Messaging;

impl DriverInfo for Messaging {
    const NAME: &str = "acme/messaging";
    const DESCRIPTION: &str = "Queues, topics and others.";

    fn requested_capabilities() -> Vec<RequestedCapability> {
        vec![RequestedCapability {
            capability: "http".to_owned(),
            pattern: None,
            reason: "to reach the broker".to_owned(),
        }]
    }
}

/// A type of its own, with inputs of its own and a `check`.
struct Queue;

#[derive(Deserialize)]
struct QueueInputs {
    values: QueueValues,
}

#[derive(Deserialize)]
struct QueueValues {
    length: u32,
}

impl ResourceType for Queue {
    const REPEAT_CREATE: bool = true;
    type Inputs = QueueInputs;

    fn types() -> Vec<TypeSchema> {
        vec![schema("queue")]
    }

    fn create(request: CreateRequest<QueueInputs>) -> Result<State, Failure> {
        State::new("queue").outputs(json!({"length": request.inputs.values.length}))
    }

    fn delete(_: DeleteRequest<QueueInputs>) -> Result<(), Failure> {
        Ok(())
    }
}

impl Check for Queue {
    fn check(request: CheckRequest<QueueInputs>) -> Result<Checked, Failure> {
        Ok(Checked::unchanged(request.inputs).warning("/values/length", "it is long"))
    }
}

/// Another type, with an `update`.
struct Topic;

impl ResourceType for Topic {
    type Inputs = Anything;

    fn types() -> Vec<TypeSchema> {
        vec![schema("topic"), schema("stream")]
    }

    fn create(request: CreateRequest<Anything>) -> Result<State, Failure> {
        Ok(State::new(request.subject.type_name))
    }

    fn delete(_: DeleteRequest<Anything>) -> Result<(), Failure> {
        Err(Failure::failed("topics stay"))
    }
}

impl Preview for Topic {
    fn preview(request: PreviewRequest<Anything>) -> Result<Forecast, Failure> {
        let secret = request.after().is_some_and(|inputs| inputs.is_given("/secrets/key"));
        let part =
            Part { holds_data: Some("messages".to_owned()), ..Part::new("a", "partition", Action::Create) };
        let forecast = Forecast::default().outputs(json!({"name": request.name}))?.part(part);
        if secret { forecast.secrets(json!({"key": "k"})) } else { Ok(forecast) }
    }
}

impl Update for Topic {
    fn update(request: UpdateRequest<Anything>) -> Result<State, Failure> {
        Ok(request.state)
    }
}

export!(Messaging with preview: Queue, Topic);

/// Another one, with a type for all others.
struct Open;

impl DriverInfo for Open {
    const NAME: &str = "acme/open";
    const DESCRIPTION: &str = "Queues, and anything else.";
}

struct Rest;

impl ResourceType for Rest {
    type Inputs = Anything;

    fn types() -> Vec<TypeSchema> {
        vec![schema("*")]
    }

    fn create(_: CreateRequest<Anything>) -> Result<State, Failure> {
        Ok(State::new("rest"))
    }

    fn delete(_: DeleteRequest<Anything>) -> Result<(), Failure> {
        Ok(())
    }
}

struct Crate;

impl ResourceType for Crate {
    type Inputs = Anything;

    fn types() -> Vec<TypeSchema> {
        vec![schema("crate")]
    }

    fn create(_: CreateRequest<Anything>) -> Result<State, Failure> {
        Ok(State::new("crate"))
    }

    fn delete(_: DeleteRequest<Anything>) -> Result<(), Failure> {
        Ok(())
    }
}

export!(Open: Rest, Crate);

fn call() -> raw::Call {
    let hints = vec![("attempt".to_owned(), "2".to_owned())];
    raw::Call { idempotency_key: "k".to_owned(), deadline: 0, hints }
}

fn create_as<D: Exported>(type_name: &str, inputs: &Json) -> Result<State, Failure> {
    let request = raw::CreateRequest {
        subject: raw::Subject { type_name: type_name.to_owned(), ..testing::subject() },
        inputs: testing::inputs(inputs),
        name: "n".to_owned(),
        replaces: None,
        call: call(),
    };
    Ok(D::create(request).map_err(failure)?.try_into()?)
}

#[test]
fn what_is_not_ready_is_pending_with_its_state() {
    let failure = testing::create::<Slow>(testing::inputs(&json!({"account": {"name": "prod"}})));
    let Err(Failure::Pending { state: Some(state), after, message }) = failure else { panic!("pending") };
    assert_eq!((after, message.as_str()), (Duration::from_secs(5), "it warms up"));
    assert_eq!(state.outputs["biggest"], json!(18_446_744_073_709_551_615_u64));
    assert_eq!(state.outputs["account"], json!({"name": "prod"}));
    assert_eq!(state.sensitive, ["/outputs/db/password", "/manifests/a.json/key"]);
    assert_eq!((state.version, json!(state.notes)), (3, json!({"health": {"ready": false}})));
    assert!(state.secrets.is_empty());
    let again = raw::State::from((*state).clone());
    let again = State::try_from(again).expect("a state");
    assert_eq!((again.version, again.notes, again.sensitive), (3, state.notes, state.sensitive));
}

#[test]
fn a_checkpoint_has_a_cookie_that_a_recovery_reads() {
    drop(testing::create::<Slow>(testing::inputs(&json!({}))));
    let messages = testing::messages();
    let [HostMessage::Checkpoint(id, Some(cookie))] = messages.as_slice() else { panic!("{messages:?}") };
    let state = State { id: id.clone(), cookie: cookie.clone(), ..State::default() };
    let found = testing::read::<Slow>(testing::inputs(&json!({})), &state).expect("read");
    assert_eq!(found.map(|found| found.state.id).as_deref(), Some("slow-7"));
    assert!(testing::find::<Slow>(testing::inputs(&json!({})), None).expect("read").is_none());
}

#[test]
fn a_deletion_can_be_pending_and_can_ask_for_consent() {
    let state = State::new("slow-1");
    let pending = testing::delete::<Slow>(testing::inputs(&json!({})), &state).err();
    let Some(Failure::Pending { state: None, after, .. }) = pending else { panic!("{pending:?}") };
    assert_eq!(after, Duration::from_millis(1500));
    let request = raw::DeleteRequest {
        subject: testing::subject(),
        state: state.into(),
        inputs: testing::inputs(&json!({})),
        data_loss_allowed: false,
        call: call(),
    };
    let conflict = <Slow as Exported>::delete(request).map_err(failure).expect_err("data");
    let expected = Problem::new("it holds data").with_detail("status", "409").with_detail("attempt", "2");
    assert_eq!(conflict.problem(), Some(&expected));
}

#[test]
fn a_driver_describes_what_each_type_implements() {
    let info = testing::describe::<Slow>();
    assert_eq!(info.notes, [("license".to_owned(), "\"Apache-2.0\"".to_owned())]);
    let implements = |info: raw::DriverInfo| -> Vec<_> {
        info.types
            .into_iter()
            .map(|schema| format!("{}: {}", schema.type_name, schema.implements.join(" ")))
            .collect()
    };
    assert_eq!(implements(info), ["*: read"]);
    let info = testing::describe::<Messaging>();
    assert_eq!((info.name.as_str(), info.requested_capabilities.len()), ("acme/messaging", 1));
    assert_eq!(info.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(implements(info), ["queue: check repeat-create", "topic: update", "stream: update"]);
}

#[test]
fn a_call_goes_to_the_type_of_its_resource() {
    let none = json!({});
    let id =
        |state: Result<State, Failure>| state.map(|state| state.id).map_err(|failure| failure.to_string());
    let queue = create_as::<Messaging>("queue", &json!({"values": {"length": 4}})).expect("a queue");
    assert_eq!(queue.outputs["length"], json!(4));
    assert_eq!(id(create_as::<Messaging>("stream", &none)).as_deref(), Ok("stream"));
    let unknown = id(create_as::<Messaging>("table", &none));
    assert_eq!(
        unknown,
        Err("this driver does not provision `table`; its types are `queue`, `topic`, `stream`".to_owned())
    );
    // `*` stands for every type that has no description of its own, wherever it is in the list.
    assert_eq!(id(create_as::<Open>("crate", &none)).as_deref(), Ok("crate"));
    assert_eq!(id(create_as::<Open>("table", &none)).as_deref(), Ok("rest"));
}

#[test]
fn each_type_is_tested_by_itself() {
    let checked = testing::check::<Queue>(testing::inputs(&json!({"values": {"length": 4}})), None);
    assert_eq!(checked.expect("valid").warnings.len(), 1);
    assert!(testing::check::<Topic>(testing::inputs(&json!({})), None).expect("valid").warnings.is_empty());
    let topic = testing::create::<Topic>(testing::inputs(&json!({}))).expect("a topic");
    assert_eq!(topic.id, "topic");
    let state = testing::delete::<Topic>(testing::inputs(&json!({})), &topic);
    assert_eq!(state.map_err(|failure| failure.to_string()), Err("topics stay".to_owned()));
}

#[test]
fn numbers_are_exact_or_binary64() {
    let numbers = r#"{"values": {"a": 18446744073709551615, "b": -9223372036854775808, "c": 0.1}}"#;
    let given: Json = serde_json::from_str(numbers).expect("JSON");
    let checked = testing::check::<Rest>(testing::inputs(&given), None).expect("valid");
    assert_eq!(checked.values.to_string(), given["values"].to_string());
    let mut broken = testing::inputs(&json!({}));
    broken.values = "{\"a\": 1e400}".to_owned();
    assert!(testing::create::<Rest>(broken).is_err(), "a number that cannot be kept");
}

#[test]
fn a_call_knows_how_much_time_is_left() {
    testing::time_left(Duration::from_secs(9));
    assert_eq!(operation::time_left(), Duration::from_secs(9));
    let call = crate::Call { deadline: u64::MAX, ..crate::Call::default() };
    assert_eq!(call.time_left(), Duration::from_secs(9));
    assert_eq!(crate::Call::default().time_left(), Duration::ZERO);
    testing::time_left(Duration::from_secs(3600));
}

#[test]
fn a_forecast_is_that_of_the_type() {
    let given = testing::inputs(&json!({"secrets": {"key": "k"}}));
    let forecast = testing::preview::<Topic>(given.clone()).expect("a forecast");
    assert_eq!(
        (json!(forecast.outputs), json!(forecast.secrets)),
        (json!({"name": testing::subject().guresid}), json!({"key": "k"}))
    );
    let [part] = &forecast.parts[..] else { panic!("one part") };
    assert_eq!(
        (&*part.address, part.action, part.holds_data.as_deref()),
        ("a", Action::Create, Some("messages"))
    );
    let effect = |type_name: &str| {
        raw::Effect::Create(raw::CreateRequest {
            subject: raw::Subject { type_name: type_name.to_owned(), ..testing::subject() },
            inputs: given.clone(),
            name: "n".to_owned(),
            replaces: None,
            call: call(),
        })
    };
    let of = |type_name: &str| <Messaging as raw::PreviewGuest>::preview(effect(type_name));
    assert_eq!(of("stream").expect("a forecast").outputs, r#"{"name":"n"}"#);
    // A type without a preview promises nothing.
    assert_eq!(of("queue").expect("a forecast").outputs, "{}");
    assert!(of("other").is_err());
    let state = State::new("topic");
    let change = testing::preview_update::<Topic>(given.clone(), given, &state).expect("a forecast");
    assert_eq!(change.parts.len(), 1);
}

#[test]
fn an_effect_learns_what_was_agreed() {
    assert_eq!(consent::token(), None);
    testing::agree(Some(b"plan".to_vec()));
    assert_eq!(consent::token().as_deref(), Some(&b"plan"[..]));
    testing::agree(None);
    consent::reached("a", Action::Create);
    let messages = testing::messages();
    assert!(
        matches!(&messages[..], [HostMessage::Reached(part, Action::Create)] if part == "a"),
        "{messages:?}"
    );
}
