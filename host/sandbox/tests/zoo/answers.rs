//! Answers that are too large, too deep, or false.

use serde_json::json;

use crate::harness::{Call, attack};

const TOO_MUCH: &str = "returned more than 4 MiB, its output limit; `drivers.acme/bad.limits.output`";

#[test]
fn large_answers_are_rejected() {
    for name in [
        "huge-output",
        "huge-secrets",
        "huge-cookie",
        "huge-id",
        "huge-note",
        "huge-failure",
        "huge-checkpoint",
        "huge-checkpoint-cookie",
    ] {
        attack(name).fails(TOO_MUCH);
    }
    attack("huge-id").with("bytes", 10 << 20).fails(TOO_MUCH);
    attack("huge-id").with("bytes", 4097).fails("the id of a resource has 1 to 4096 bytes");
    attack("huge-cookie").with("bytes", 10_241).fails("its cookie has 10241 bytes, and 10240 are allowed");
    attack("huge-checkpoint").with("bytes", 4097).fails("the id of a checkpoint has 1 to 4096 bytes");
    attack("huge-checkpoint-cookie")
        .with("bytes", 10_241)
        .fails("the cookie of its checkpoint has 10241 bytes, and 10240 are allowed");
    attack("huge-failure").with("bytes", 4_000_000).fails("xxx…");
    attack("many-faults").fails("invalid inputs: `/values`: xxx");
    attack("many-manifests").with("count", 300_000).fails(TOO_MUCH);
    attack("many-manifests").with("count", 30_000).harmless();
    attack("many-notes").with("count", 300_000).fails(TOO_MUCH);
    attack("many-notes").with("count", 65).fails("it has 65 notes, and 64 are allowed");
    attack("many-notes").with("count", 64).answers("63 0");
    let details = |count: u32| attack("fail").with("text", "x".repeat(2_000)).with("details", count);
    details(2_000).fails(TOO_MUCH);
    details(500).fails("x…");
}

#[test]
fn answers_that_grow_when_they_are_read_are_rejected() {
    for name in ["many-lists", "many-keys", "many-numbers"] {
        attack(name).fails("it contains more than 104857 values");
    }
    attack("many-numbers").with("count", 100_000).answers("[0,0,");
    for open in ["[", "{\"a\":", "[{\"a\":", "[[{\"b\":[", " ["] {
        attack("deep")
            .with("open", open)
            .fails("its outputs cannot be read as JSON: recursion limit exceeded");
    }
}

#[test]
fn answers_that_take_long_to_read_are_harmless() {
    for place in ["", "manifests", "elsewhere"] {
        attack("many-places").with("place", place).harmless();
    }
    // As many names as there are secrets to look for in each.
    attack("many-keys").with("count", 40_000).secrets(40_000).answers("id ");
    attack("answer").with("outputs", r#"{"a":"the secret no. 39999"}"#).secrets(40_000).answers("[secret]");
}

#[test]
fn outputs_that_are_not_json_are_rejected() {
    let outputs = |text: &str| attack("answer").with("outputs", text);
    for wrong in [
        "",
        "{",
        "{oops",
        "{\"a\":}",
        "{}{}",
        "\u{feff}{}",
        "{\"a\":1e999}",
        "{\"a\":NaN}",
        "{\"a\":-}",
        "{\"a\":\"\u{1b}\"}",
        "{\"a\":\"\\ud800\"}",
        "{'a':1}",
        "{\"a\":01}",
        "/*c*/{}",
    ] {
        outputs(wrong).fails("its outputs cannot be read as JSON");
    }
    for wrong in ["[]", "1", "\"a\"", "true", "null"] {
        outputs(wrong).fails("not a JSON object");
    }
    let digits = "9".repeat(100_000);
    // Neither can be kept with all its digits.
    outputs(&format!("{{\"a\":{digits}}}")).fails("has more digits than can be kept");
    outputs(&format!("{{\"a\":0.{digits}}}")).fails("has more digits than can be kept");
    // The last one is used, as everywhere in the program.
    outputs(r#"{"a":1,"a":2}"#).answers(r#"id {"a":2}"#);
    outputs("{\"a\":\"\\u0000\\u001b\"}").answers(r#"{"a":"\u0000\u001b"}"#);
}

#[test]
fn keys_that_mean_something_elsewhere_are_plain_keys() {
    for key in ["__proto__", "constructor", "a.b", "a['b']", "${resources.x}", "", "a/b~c", "$ref", "\\n"] {
        let outputs = json!({key: {"x": 1}}).to_string();
        attack("answer").with("outputs", outputs.clone()).answers(outputs);
    }
}

#[test]
fn ids_that_look_like_something_else_are_plain_ids() {
    for id in ["../../etc/passwd", "/", "urn:purlin:a", "a#b", "${x}", "-rf", "http://h/"] {
        attack("answer").with("id", id).answers(format!("{id} {{}}"));
    }
    attack("answer").with("id", "").fails("the id of a resource has 1 to 4096 bytes");
    attack("checkpoint").with("id", "").fails("the id of a checkpoint has 1 to 4096 bytes");
}

#[test]
fn empty_and_overlong_names_are_rejected() {
    attack("name")
        .with("length", 4097)
        .called(Call::Name)
        .fails("the name of a resource has 1 to 4096 bytes");
    attack("name").with("name", "").called(Call::Name).fails("the name of a resource has 1 to 4096 bytes");
    attack("name").with("length", 4096).called(Call::Name).answers("nnnn");
}

#[test]
fn manifests_that_collide_are_rejected() {
    let files = |names: &[&str]| {
        let files: Vec<_> = names.iter().map(|name| json!({"name": name})).collect();
        attack("answer").with("manifests", files)
    };
    files(&["a", "a"]).fails("has no name, or that of another one");
    files(&[""]).fails("has no name, or that of another one");
    files(&["\u{1b}[2J", "\u{1b}[2J"]).fails("has no name, or that of another one");
    attack("answer")
        .with("manifests", json!([{"name": "a", "data": "{"}]))
        .fails("its manifest cannot be read as JSON");
    attack("answer")
        .with("outputs", "{\"a\":1}")
        .with("secrets", "{\"a\":2}")
        .fails("is in both outputs and secrets");
    attack("answer")
        .with("outputs", "{\"\\u001b\":1}")
        .with("secrets", "{\"\\u001b\":2}")
        .fails("is in both");
}

#[test]
fn lies_about_identity_are_rejected_or_harmless() {
    attack("two-ids").answers("the second");
    attack("checkpoint-flood").briefly().harmless();
    let checkpoint = |at: &str, call| attack("checkpoint").with("at", at).called(call).with("id", "x");
    checkpoint("update", Call::Update).fails("a checkpoint of another resource than the one that it updates");
    for (at, call) in [
        ("check", Call::Check),
        ("name", Call::Name),
        ("read", Call::Read),
        ("update-impact", Call::Impact),
        ("delete", Call::Delete),
    ] {
        checkpoint(at, call).fails("a checkpoint outside `create` and `update`");
    }
    attack("id").with("id", "another").called(Call::Update).fails("`update` changed the id of the resource");
    attack("id")
        .with("id", "another")
        .with("kind", "partial")
        .called(Call::Update)
        .fails("`update` changed the id of the resource");
    attack("id").with("id", "another").called(Call::Read).fails("`read` returned another id");
    for kind in ["partial-without-id", "pending-without-id"] {
        attack("fail").with("kind", kind).fails("the id of a resource has 1 to 4096 bytes");
    }
    attack("fail").with("kind", "pending").fails("not done yet: ");
    attack("fail").with("kind", "pending-without-state").fails("not done yet: ");
    attack("fail").with("kind", "retry-after").fails("to be called again after 86400000 ms");
}
