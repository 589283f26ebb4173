//! Secrets, terminal commands and floods, in every channel.

use serde_json::json;

use crate::harness::{Attack, Call, attack};

pub(crate) const ENCODINGS: [&str; 11] = [
    "",
    "json",
    "base64",
    "base64-url",
    "base64-basic",
    "base64-shifted",
    "hex",
    "upper-hex",
    "percent",
    "percent-lower",
    "percent-all",
];

pub(crate) const ESCAPES: [&str; 13] = [
    "\u{1b}[2J\u{1b}[1;1H",
    "\u{1b}]8;;http://evil.example\u{1b}\\click\u{1b}]8;;\u{1b}\\",
    "\u{1b}]52;c;Y29weQ==\u{7}",
    "bell \u{7}",
    "all is well\rnothing is",
    "back\u{8}\u{8}\u{8}\u{8}",
    "\u{9b}31m",
    "\u{202e}txt.exe",
    "\u{2066}a\u{2069}",
    "zero\u{200b}width\u{feff}",
    "line\u{2028}end",
    "tag\u{e0041}",
    "\u{7f}\u{0}",
];

/// Every output channel.
fn channels(text: &str) -> Vec<(&'static str, Attack)> {
    let say = |channel: &str| attack("say").with("channel", channel).with("text", text);
    let fail = |kind: &str| attack("fail").with("kind", kind).with("text", text);
    vec![
        ("stdout", say("stdout")),
        ("stderr", say("stderr")),
        ("log", say("log")),
        ("progress", say("progress")),
        ("metrics", say("metrics")),
        ("panic", say("panic")),
        ("invalid-inputs", fail("invalid-inputs")),
        ("denied", fail("denied")),
        ("not-found", fail("not-found")),
        ("conflict", fail("conflict")),
        ("retry-after", fail("retry-after")),
        ("pending", fail("pending")),
        ("partial", fail("partial")),
        ("failed", fail("failed")),
        ("undecided", fail("undecided")),
        ("needs-delete-before", fail("needs-delete-before")),
        ("details", fail("failed").with("details", 20)),
        ("notes", attack("answer").with("notes", vec![text])),
        ("warnings", attack("texts").with("warnings", vec![text]).called(Call::Check)),
        ("replaces", attack("texts").with("replaces", vec![text]).called(Call::Impact)),
    ]
}

#[test]
fn secrets_are_masked_in_every_channel() {
    for (_, attack) in channels("before {secret} after") {
        attack.harmless();
    }
}

#[test]
fn secrets_are_masked_in_every_encoding() {
    for encoding in ENCODINGS {
        for channel in ["stdout", "log", "progress", "panic"] {
            let text = "before {secret} after";
            attack("say").with("channel", channel).with("encoding", encoding).with("text", text).harmless();
        }
        attack("fail").with("encoding", encoding).with("text", "{secret}").fails("[secret]");
        let outputs = json!({"a": "x {secret} y", "b": ["{secret}"]}).to_string();
        if !encoding.is_empty() && encoding != "json" {
            attack("answer")
                .with("encoding", encoding)
                .with("outputs", outputs)
                .answers(r#"id {"a":"[secret]","b":["[secret]"]}"#);
        }
    }
}

#[test]
fn secrets_in_answers_are_masked() {
    let answer = |outputs: &str| attack("answer").with("encoding", "percent").with("outputs", outputs);
    answer(r#"{"{secret}":1}"#).answers(r#"id "[secret]""#);
    answer(r#"{"a":{"b":{"{secret}":1}},"c":2}"#).answers(r#"{"a":{"b":"[secret]"},"c":2}"#);
    answer("{}")
        .with("manifests", json!([{"name": "a", "data": "{\"u\":\"x{secret}\"}"}]))
        .answers(r#"a {"u":"[secret]"}"#);
    answer("{").with("outputs", "{\"{secret}\": {secret}").fails("its outputs cannot be read as JSON");
}

#[test]
fn a_secret_in_two_writes_is_masked() {
    attack("say-halves").with("text", "begin {secret} end").logs("begin [secret] end").harmless();
}

#[test]
fn escapes_are_shown_in_plain_in_every_channel() {
    let all = ESCAPES.join("|");
    for (_, attack) in channels(&all) {
        attack.harmless();
    }
    for escape in ESCAPES {
        attack("fail").with("text", escape).fails("\\u{");
        attack("say").with("channel", "stdout").with("text", escape).logs("\\u{").harmless();
    }
}

#[test]
fn long_words_are_harmless_in_every_channel() {
    for (_, attack) in channels(&"\u{1b}".repeat(200_000)) {
        attack.harmless();
    }
}

#[test]
fn bytes_that_are_not_text_are_harmless() {
    attack("say-bytes").logs("before").harmless();
}

#[test]
fn floods_are_harmless_in_every_channel() {
    for channel in ["stdout", "stderr", "log", "progress", "metrics"] {
        attack("flood").with("channel", channel).with("count", 20_000).briefly().harmless();
    }
    let dropped = "further lines are dropped: over 1 MiB, the log limit of a call";
    attack("flood").with("channel", "log").with("count", 3_000).logs(dropped).harmless();
    attack("one-long-line").with("count", 10_000).harmless();
    attack("empty-lines").harmless();
    attack("log-of-lines").briefly().harmless();
}

#[test]
fn metrics_named_after_a_secret_do_not_show_it() {
    let say = attack("say").with("channel", "metrics").with("encoding", "hex");
    say.with("text", "x.{secret}").harmless();
}
