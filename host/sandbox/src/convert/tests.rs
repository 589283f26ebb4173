//! What a driver is given.

use purlin_model::{Context, EnvironmentId, Key, Urn};
use serde_json::json;

use super::*;

fn subject_in(org: &str, namespace: &str) -> Subject {
    let context = Context {
        org: org.into(),
        app: "shop".into(),
        env: EnvironmentId { id: "dev".into(), kind: "development".into() },
        namespace: namespace.into(),
        deployment: "1".into(),
    };
    let key = Key::parse("postgres.small#modules.web.externals.db").expect("a key");
    Subject { urn: Urn::new(&context, &key), key, context }
}

#[test]
fn what_is_not_set_is_none() {
    let labels = [("owner".to_owned(), "platform".to_owned())];
    let there = subject(&subject_in("acme", "teams"), &labels);
    assert_eq!(there.context.labels, labels);
    assert_eq!((there.type_name.as_str(), there.class.as_str()), ("postgres", "small"));
    assert_eq!(there.local_name, "modules.web.externals.db");
    assert_eq!(
        (there.context.org.as_deref(), there.context.namespace.as_deref()),
        (Some("acme"), Some("teams"))
    );
    let none = subject(&subject_in("", ""), &[]).context;
    assert_eq!((none.org, none.namespace), (None, None));
}

#[test]
fn accounts_and_connections_are_objects_and_always_the_current_ones() {
    let given = Inputs {
        values: json!({"size": 1}).into(),
        connection: json!({"host": "db"}).into(),
        account: Some("a \"name\"".into()),
        ..Inputs::default()
    };
    let now = inputs(&given);
    assert_eq!((now.values.as_str(), now.secrets.as_str()), (r#"{"size":1}"#, "{}"));
    assert_eq!(
        (now.connection.as_str(), now.account.as_str()),
        (r#"{"host":"db"}"#, r#"{"name":"a \"name\""}"#)
    );
    let before = previous(&given);
    assert_eq!(
        (before.values.as_str(), before.connection.as_str(), before.account.as_str()),
        (r#"{"size":1}"#, "{}", "{}")
    );
}

#[test]
fn secret_places_of_a_state_are_named() {
    let hidden = |text: &str| Value::from(text).into_secret();
    let map = |name: &str, value: Value| Value::Map(Map::from_iter([(name.into(), value)]));
    let file = |name: &str, data| ManifestFile { name: name.into(), location: "l".into(), data };
    let outputs = [
        ("a/b".into(), map("p~w", hidden("1"))),
        ("list".into(), Value::List(vec!["open".into(), hidden("2")])),
        ("whole".into(), hidden("3")),
    ];
    let described = ResourceState {
        id: "i".into(),
        outputs: Value::Map(Map::from_iter(outputs)),
        cookie: b"c".to_vec().into(),
        manifests: vec![file("x/y", map("token", hidden("4"))), file("z", hidden("5"))],
        version: 7,
        notes: Map::from_iter([("health".into(), map("seen", hidden("6")))]),
    };
    let converted = state(&described, "acme/any").expect("converted");
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    assert_eq!(parsed(&converted.outputs), json!({"a/b": {"p~w": "1"}, "list": ["open", "2"]}));
    assert_eq!(parsed(&converted.secrets), json!({"whole": "3"}), "secret as a whole");
    let places = ["/outputs/a~1b/p~0w", "/outputs/list/1", "/manifests/x~1y/token", "/manifests/z"];
    assert_eq!(converted.sensitive, places);
    assert_eq!((converted.version, converted.cookie.as_slice()), (7, &b"c"[..]));
    assert_eq!(converted.notes, [("health".to_owned(), r#"{"seen":"6"}"#.to_owned())]);
    // All outputs may be one secret.
    let sealed =
        ResourceState { outputs: Value::from(json!({"a": 1})).into_secret(), ..ResourceState::default() };
    let sealed = state(&sealed, "acme/any").expect("converted");
    assert_eq!((sealed.outputs.as_str(), sealed.secrets.as_str()), ("{}", r#"{"a":1}"#));
    // Without its cookie, the driver would see another resource.
    let stored = described.cookie.to_stored(|| Ok::<_, ()>([1; 16])).expect("drawn");
    let error = state(&ResourceState { cookie: stored.into(), ..described }, "acme/any");
    assert!(matches!(error, Err(CallError::Cookie { .. })));
}
