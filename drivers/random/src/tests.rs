use purlin_sdk::testing::{self, inputs};
use purlin_sdk::{Json, State};
use serde_json::json;

use crate::Random;

fn made(values: &Json) -> State {
    testing::create::<Random>(inputs(&json!({"values": values}))).expect("made")
}

fn value(state: &State) -> &Json {
    state.outputs.get("value").or_else(|| state.secrets.get("value")).expect("a value")
}

#[test]
fn a_password_is_secret_and_has_the_requested_characters() {
    for _ in 0..200 {
        let state = made(
            &json!({"length": 8, "min_upper": 2, "min_digits": 3, "min_special": 1, "special_characters": "!!?"}),
        );
        assert!(state.outputs.is_empty());
        let text = value(&state).as_str().expect("text");
        let count = |is: fn(&char) -> bool| text.chars().filter(is).count();
        assert_eq!(text.len(), 8);
        assert!(count(char::is_ascii_uppercase) >= 2 && count(char::is_ascii_digit) >= 3, "{text}");
        assert!(text.contains(['!', '?']) && state.secrets["password"] == *text, "{text}");
    }
}

#[test]
fn a_password_can_stand_in_a_url_as_it_is() {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    for _ in 0..200 {
        let state = made(&json!({"min_special": 6}));
        let text = value(&state).as_str().expect("text");
        assert!(text.chars().all(is_plain), "{text}");
    }
}

/// A password with the default characters of version 0.1.0 is in use.
#[test]
fn a_password_with_the_former_signs_stays() {
    let former = json!({"values": {"special_characters": "!#$%&*()-_=+[]{}<>:?"}});
    let state = testing::create::<Random>(inputs(&former)).expect("made");
    let kept =
        testing::update::<Random>(inputs(&former), inputs(&json!({"values": {}})), &state).expect("kept");
    assert_eq!(value(&kept), value(&state));
}

#[test]
fn every_kind_has_its_shape() {
    let text = |values: Json| value(&made(&values)).as_str().map(str::to_owned).unwrap_or_default();
    let id = text(json!({"kind": "id", "length": 5, "prefix": "x-"}));
    assert!(id.starts_with("x-") && id.len() == 7, "{id}");
    assert_eq!(text(json!({"kind": "pet", "length": 3, "separator": "_"})).split('_').count(), 3);
    let uuid = text(json!({"kind": "uuid"}));
    assert!(uuid.len() == 36 && uuid.as_bytes()[14] == b'4', "{uuid}");
    assert_eq!(text(json!({"kind": "bytes", "length": 3})).len(), 4);
    let number =
        |min: i64, max: i64| value(&made(&json!({"kind": "integer", "min": min, "max": max}))).as_i64();
    for _ in 0..200 {
        assert!(number(-2, 2).is_some_and(|drawn| (-2..=2).contains(&drawn)));
    }
    assert_eq!(number(7, 7), Some(7));
    assert!(number(i64::MIN, i64::MAX).is_some());
}

#[test]
fn draws_are_even() {
    let mut counts = [0u32; 6];
    for _ in 0..6000 {
        let drawn = value(&made(&json!({"kind": "integer", "min": 0, "max": 5}))).as_u64().expect("a number");
        counts[usize::try_from(drawn).expect("small")] += 1;
    }
    assert!(counts.iter().all(|count| (800..1200).contains(count)), "{counts:?}");
}

#[test]
fn a_value_stays_until_its_keepers_or_shape_change() {
    let before = inputs(&json!({"values": {"keepers": {"a": 1}}}));
    let state = testing::create::<Random>(before.clone()).expect("made");
    let change = |values: Json| {
        let after = inputs(&json!({"values": values, "params": {"irrelevant": true}}));
        let impact =
            testing::update_impact::<Random>(before.clone(), after.clone(), &state).expect("an impact");
        let updated = testing::update::<Random>(before.clone(), after, &state).expect("updated");
        assert_eq!((updated.id.as_str(), impact.replaces.len()), (state.id.as_str(), 0));
        let same = value(&updated) == value(&state);
        let stays = impact.stable_outputs.iter().any(|place| place.ends_with("s/value"));
        assert_eq!(same, stays);
        same
    };
    assert!(change(json!({"keepers": {"a": 1}, "length": null})));
    assert!(!change(json!({"keepers": {"a": 2}})));
    assert!(!change(json!({"keepers": {"a": 1}, "length": 25})));

    let unknown =
        testing::unknown(inputs(&json!({"values": {"keepers": {"a": null}}})), &["/values/keepers/a"]);
    let impact = testing::update_impact::<Random>(before.clone(), unknown, &state).expect("an impact");
    assert!(impact.stable_outputs.is_empty());
}

#[test]
fn impossible_shapes_are_rejected_with_all_faults() {
    let cases = [
        (
            json!({"length": 1, "lower": false, "min_lower": 2}),
            "/values/length: is less than the sum of `min_lower`, `min_upper`, `min_digits` and `min_special`; /values/min_lower",
        ),
        (json!({"lower": false, "upper": false, "digits": false, "special": false}), "one of `lower`"),
        (json!({"special_characters": ""}), "/values/special_characters"),
        (json!({"kind": "integer", "min": 2, "max": 1}), "/values/min: is higher than `max`"),
        (json!({"kind": "pet", "length": 11}), "at most 10 for the kind `pet`"),
        (json!({"kind": "cat"}), "/values/kind: unknown variant `cat`"),
        (json!({"lenght": 3}), "unknown field `lenght`"),
        (json!({"length": -1}), "/values/length"),
    ];
    for (values, wanted) in cases {
        let given = inputs(&json!({"values": values}));
        let checked =
            testing::check::<Random>(given.clone(), None).map(drop).expect_err("refused").to_string();
        assert!(checked.contains(wanted), "{values}: {checked}");
        assert!(testing::create::<Random>(given).is_err(), "{values}");
    }
}

#[test]
fn the_readme_has_the_tables_of_the_schema() {
    testing::check_readme::<Random>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}
