//! Forecasts that are too large, false, or say what they must not.

use serde_json::json;

use crate::harness::{Attack, Call, attack};
use crate::text::{ENCODINGS, ESCAPES};

const TOO_MUCH: &str = "returned more than 4 MiB, its output limit; `drivers.acme/bad.limits.output`";

fn forecast() -> Attack {
    attack("nothing").called(Call::Preview)
}

fn with_part(part: serde_json::Value) -> Attack {
    let mut all = json!({"address": "a"});
    for (name, value) in part.as_object().into_iter().flatten() {
        all[name] = value.clone();
    }
    forecast().with("parts", json!([all]))
}

#[test]
fn large_forecasts_are_rejected() {
    let large = 5 << 20;
    for name in ["outputs-bytes", "secrets-bytes", "token"] {
        forecast().with(name, large).fails(TOO_MUCH);
    }
    forecast().with("token", 3 << 20).answers("3145728 bytes");
    for name in ["type-bytes", "holds_data-bytes", "address-bytes"] {
        with_part(json!({name: large})).fails(TOO_MUCH);
    }
    // Each text for people is cut.
    with_part(json!({"type-bytes": 3 << 20})).answers("xxx…");
    with_part(json!({"holds_data-bytes": 3 << 20})).answers("xxx…");
    with_part(json!({"address-bytes": 4097})).fails("the address of a part has 1 to 4096 bytes");
    with_part(json!({"moved_from": "x".repeat(4097)})).fails("the address of a part has 1 to 4096 bytes");
    with_part(json!({})).with("count", 10_000).answers(" 10000 parts ");
    with_part(json!({})).with("count", 10_001).fails("it foresees 10001 parts, and 10000 are allowed");
    with_part(json!({})).with("count", 100_000).fails(TOO_MUCH);
    with_part(json!({"after": format!("\"{}\"", "x".repeat(500))})).with("count", 10_000).fails(TOO_MUCH);
    let notes: serde_json::Map<_, _> = (0..65).map(|n| (n.to_string(), "0".into())).collect();
    forecast().with("notes", notes.clone()).fails("it has 65 notes, and 64 are allowed");
    with_part(json!({"notes": notes})).fails("it has 65 notes, and 64 are allowed");
}

#[test]
fn forecasts_that_grow_when_they_are_read_are_rejected() {
    let lists = format!("[{}0]", "[],".repeat(1_000));
    // Its parts share the values that an answer may have.
    with_part(json!({"after": lists})).with("count", 1_000).fails("it contains more than 104857 values");
    with_part(json!({"after": "[".repeat(10_000)})).fails("recursion limit exceeded");
    forecast().with("outputs", "{\"a\":".repeat(10_000)).fails("recursion limit exceeded");
}

#[test]
fn forecasts_that_take_long_to_read_are_harmless() {
    for places in [json!([""]), json!(["/nowhere"]), json!(["/after/x"]), json!(["/before/0/0"])] {
        let part =
            json!({"after": "{\"x\": [1]}", "sensitive": places, "replaces": places, "places": 100_000});
        with_part(part).harmless();
        forecast().with("sensitive", places).with("places", 100_000).harmless();
    }
    forecast().with("unknown", json!(["/outputs/x", "/secrets"])).with("places", 100_000).harmless();
    with_part(json!({"unknown": ["/after/x", "/before"], "after": "{}", "places": 100_000})).harmless();
    // As many texts as there are secrets to look for in each.
    with_part(json!({"holds_data": "all", "type": "t"})).with("count", 10_000).secrets(40_000).harmless();
}

#[test]
fn forecasts_that_are_wrong_are_rejected() {
    for wrong in ["", "{", "{}{}", "{\"a\":NaN}", "{\"a\":\"\u{1b}\"}", "{\"a\":\"\\ud800\"}"] {
        forecast().with("outputs", wrong).fails("its outputs cannot be read as JSON");
        forecast().with("secrets", wrong).fails("its secrets cannot be read as JSON");
        forecast().with("notes", json!({"n": wrong})).fails("its note cannot be read as JSON");
        for side in ["before", "after"] {
            with_part(json!({side: wrong})).fails("its attributes of a part cannot be read as JSON");
        }
    }
    for wrong in ["[]", "1", "null"] {
        forecast().with("outputs", wrong).fails("not a JSON object");
    }
    forecast()
        .with("parts", json!([{"address": "a"}, {"address": "a"}]))
        .fails("two parts have the address `a`");
    with_part(json!({"address": ""})).fails("the address of a part has 1 to 4096 bytes");
    for nowhere in ["", "/", "x", "/afterwards/x", "/outputs~1x", "outputs/x", "/sensitive"] {
        forecast().with("unknown", json!([nowhere])).fails("is no place in");
        with_part(json!({"unknown": [nowhere]})).fails("is no place in");
    }
    // What nobody can find hides all of what is above it.
    for nowhere in ["/after/x/y", "/after/9", "/nowhere", "x", "/after/-1", "/after/99999999999999999999"] {
        let part = json!({"after": "[\"an attribute\"]", "sensitive": [nowhere]});
        with_part(part).answers(r#""after":"[secret]""#);
    }
    // An unknown place that is not there, too.
    with_part(json!({"after": "[1]", "unknown": ["/after/5/x"]})).answers(r#""after":"[unknown]""#);
    with_part(json!({"after": "[1]", "unknown": ["/before"]})).answers(" 1 parts ");
    let both = with_part(json!({"after": "[1]", "unknown": ["/after"], "sensitive": ["/after/0/0"]}));
    both.answers(" 1 parts ");
}

#[test]
fn forecasts_reveal_no_secret() {
    for encoding in ENCODINGS {
        let encoded = |attack: Attack| attack.with("encoding", encoding);
        // Not each encoding is one of JSON.
        encoded(forecast().with("outputs", r#"{"a":"{secret}"}"#)).harmless();
        encoded(forecast().with("outputs", r#"{"{secret}":1}"#)).harmless();
        encoded(forecast().with("secrets", r#"{"a":"{secret}"}"#)).harmless();
        encoded(forecast().with("unknown", json!(["/{secret}"]))).fails("[secret]");
        encoded(forecast().with("notes", json!({"n{secret}": "1", "n": "\"{secret}\""}))).harmless();
        for field in ["address", "moved_from", "type", "holds_data"] {
            encoded(with_part(json!({field: "my {secret}"}))).answers("[secret]");
        }
        encoded(with_part(json!({"after": r#"{"a":["{secret}"]}"#}))).harmless();
        encoded(with_part(json!({"before": r#"{"{secret}": 1}"#}))).harmless();
        encoded(with_part(json!({"replaces": ["/after/{secret}"]}))).answers("[secret]");
        encoded(with_part(json!({"unknown": ["/{secret}"]}))).fails("[secret]");
        encoded(with_part(json!({"sensitive": ["/{secret}"], "after": "[\"{secret}\"]"}))).harmless();
        encoded(with_part(json!({"notes": {"reason": "\"because of {secret}\"", "{secret}": "1"}})))
            .harmless();
        let twice = json!([{"address": "{secret}"}, {"address": "{secret}"}]);
        encoded(forecast().with("parts", twice)).fails("[secret]");
        encoded(with_part(json!({"holds_data": "{secret}", "action": "delete"})))
            .called(Call::PreviewOfDelete)
            .answers("[secret]");
    }
}

#[test]
fn forecasts_have_no_effect_on_a_terminal() {
    for escape in ESCAPES {
        for field in ["address", "moved_from", "type", "holds_data"] {
            with_part(json!({field: format!("a{escape}")})).answers(" 1 parts ");
        }
        with_part(json!({"replaces": [escape]})).answers(" 1 parts ");
        with_part(json!({"notes": {escape: "1"}})).answers(" 1 parts ");
        forecast().with("unknown", json!([escape])).fails("is no place in");
        let twice = json!([{"address": escape}, {"address": escape}]);
        forecast().with("parts", twice).fails("two parts have the address");
    }
}

#[test]
fn a_forecast_may_be_another_one_each_time() {
    with_part(json!({"action": "delete"})).with("varies", true).answers(" 1 parts ");
}

#[test]
fn a_preview_attacks_as_any_other_function() {
    for name in ["huge-failure", "loop", "grow-by-page", "stack"] {
        attack(name).with("at", "preview").called(Call::Preview).briefly().harmless();
    }
    attack("checkpoint")
        .with("at", "preview")
        .with("id", "id")
        .called(Call::Preview)
        .fails("it reported a checkpoint outside `create` and `update`");
    let fail = |kind: &str| attack("fail").with("kind", kind).with("text", "{secret}").with("at", "preview");
    for kind in ["pending", "partial", "undecided", "needs-delete-before"] {
        fail(kind)
            .called(Call::Preview)
            .fails(format!("`preview` has no effects, and cannot fail with `{kind}`"));
    }
    for kind in ["failed", "not-found", "conflict", "retry-after", "denied", "invalid-inputs"] {
        fail(kind).called(Call::PreviewOfDelete).fails("[secret]");
    }
}
