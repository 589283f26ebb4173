//! A secret stays secret, whatever a template does with it.

#![allow(clippy::panic, reason = "helpers of tests")]

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::*;

struct Still;

impl Host for Still {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), String> {
        buffer.fill(7);
        Ok(())
    }
    fn now(&self) -> Result<i64, String> {
        Ok(1_700_000_000)
    }
}

fn data() -> (Json, SecretMask) {
    let data = json!({
        "open": "clear", "n": 3, "list": ["a", "b"], "map": {"k": "v"},
        "s": {"pw": "hunter2", "user": "user", "none": "", "pin": 1234, "flag": true, "off": false,
              "pem": "-----BEGIN\nline one\n  line two\n-----END", "list": ["first", "second"],
              "map": {"in": "deep", "out": "far"}, "quote": "a\"b: #c", "null": null},
    });
    let mask = SecretMask::map([("s", SecretMask::leaves(&data["s"]))]);
    (data, mask)
}

fn rendered(template: &str) -> Rendered {
    let engine = Engine::new(Arc::new(Still));
    let (data, mask) = data();
    let parsed = engine.parse(template).unwrap_or_else(|faults| panic!("{template}: {faults:?}"));
    engine.render_masked(&parsed, &data, &mask).unwrap_or_else(|fault| panic!("{template}: {fault}"))
}

/// The secret places of the YAML that a template renders.
fn places(template: &str) -> Vec<String> {
    rendered(template).document().unwrap_or_else(|fault| panic!("{template}: {fault}")).1
}

#[test]
fn every_function_carries_a_secret_through() {
    for call in [
        "upper .s.pw",
        "b64enc .s.pw",
        "b32enc .s.pw",
        "sha256sum .s.pw",
        "printf \"%s\" .s.pw",
        "printf \"%v\" .s",
        "print .s.pw",
        "len .s.pw",
        "len .s.map.in",
        "toJson .s",
        "toYaml .s.map",
        "quote .s.pw",
        "join \",\" .s.list",
        "index .s.list 0",
        "index .s \"pw\"",
        "get .s \"pw\"",
        "dig \"map\" \"in\" \"x\" .s",
        "first .s.list",
        "last (list .open .s.pw)",
        "(dict \"a\" .s.pw).a",
        "(dict \"a\" (dict \"b\" .s.pw)).a.b",
        "(dict \"a\" .s.pw | toJson | fromJson).a",
        "(merge (dict) .s).pw",
        "(mergeOverwrite (dict \"pw\" 1) .s).pw",
        "(set (dict) \"a\" .s.pw).a",
        "(pick .s \"pw\").pw",
        "(omit .s \"user\").pw",
        "values .s | first",
        "pluck \"pw\" .s | first",
        "regexFind \".\" .s.pw",
        "regexReplaceAll \"z\" .open .s.pw",
        "substr 0 1 .s.pw",
        "trunc 1 .s.pw",
        "default \"x\" .s.pw",
        "default .s.pw .nothing",
        "coalesce .nothing .s.pw",
        "ternary .s.pw .open true",
        "ternary \"a\" \"b\" (eq .s.pw \"x\")",
        "ternary \"a\" \"b\" .s.flag",
        "eq .s.pw \"hunter2\"",
        "contains \"h\" .s.pw",
        "hasPrefix .s.pw .open",
        "and .open .s.pw",
        "or .s.pw .open",
        "or .s.off .open",
        "and .s.flag .open",
        "not .s.flag",
        "empty .s.off",
        "add .s.pin 1",
        "atoi (toString .s.pin)",
        "int .s.pin",
        "until (len .s.pw) | len",
        "kindOf .s.pw",
        "repeat (int .s.pin) \"\"",
        "urlquery .s.pw",
        "html .s.pw",
        "js .s.pw",
        "slice .s.pw 0 2",
        "splitList \"n\" .s.pw",
        "(split \"n\" .s.pw)._0",
        "cat .open .s.pw",
        "replace \"c\" .s.pw .open",
        "index .list (len (trunc 1 .s.pw))",
        "get .map .s.pw",
        "dict .s.pw 1",
        "keys (dict .s.pw 1)",
        "has \"first\" .s.list",
        "without .s.list \"first\"",
        "uniq .s.list",
        "compact .s.list",
        "reverse .s.list | first",
        "append .list .s.pw | last",
        "prepend .list .s.pw | first",
        "concat .list .s.list | last",
        "chunk 1 .s.list | first",
        "rest .s.list",
        "initial .s.list",
        "sortAlpha .s.list",
        "deepCopy .s | toJson",
        "urlParse (printf \"http://%s\" .s.pw)",
        "urlJoin (dict \"scheme\" \"x\" \"host\" .s.pw)",
        "semverCompare \"1\" (printf \"1.0.%d\" .s.pin)",
        "required \"x\" .s.pw",
        "toString .s.pw",
        "toStrings .s.list",
        "deepEqual .s.pw .open",
        "all .s.flag",
        "any .s.off",
        "lower .s.pw | b64enc | sha1sum",
        ".s.null | default .s.pw",
        "biggest 1 .s.pin",
        "date .s.pin .s.pin",
    ] {
        let made = rendered(&format!("a: {{{{ {call} }}}}"));
        assert!(made.is_secret(), "{call}: {}", made.text());
    }
}

#[test]
fn values_made_without_secrets_are_not_masked() {
    for call in [
        ".open",
        "index .list 0",
        "len .list",
        "keys .s | join \",\"",
        "hasKey .s \"pw\"",
        "len .s",
        "len .s.list",
        "ternary \"a\" \"b\" (not .s.pw)",
        "ternary \"a\" \"b\" (empty .s.none)",
        "(dict \"a\" .s.pw \"b\" .open).b",
        "first (list .open .s.pw)",
        "default .open .s.none",
        "default 1 .s.null",
        "(omit .s \"pw\").nothing | default 1",
        "(set (dict \"a\" .open) \"b\" .s.pw).a",
        "dig \"none\" \"x\" .map",
        "coalesce .s.none .open",
        "upper .open",
        "(deepCopy .).open",
    ] {
        let made = rendered(&format!("a: {{{{ {call} }}}}"));
        assert!(!made.is_secret(), "{call}: {}", made.text());
    }
}

#[test]
fn control_flow_carries_it_too() {
    for template in [
        "{{ if eq .s.pw \"x\" }}a{{ else }}b{{ end }}",
        "{{ if eq .s.pw \"x\" }}a{{ end }}",
        "{{ if .s.flag }}a{{ end }}",
        "{{ with .s.pw }}{{ . }}{{ end }}",
        "{{ with upper .s.pw }}a{{ end }}",
        "{{ range .s.list }}{{ . }}{{ end }}",
        "{{ range $k, $v := .s.map }}{{ $v }}{{ end }}",
        "{{ range until (len .s.pw) }}x{{ end }}",
        "{{ range splitList \"\" .s.pw }}x{{ end }}",
        "{{ $x := \"a\" }}{{ if eq .s.pw \"x\" }}{{ $x = \"b\" }}{{ end }}{{ $x }}",
        "{{ $x := dict }}{{ if eq .s.pw \"x\" }}{{ $_ := set $x \"a\" 1 }}{{ end }}{{ $x }}",
        "{{ $x := .s.pw }}{{ $y := $x }}{{ $y }}",
        "{{ $x := \"\" }}{{ range .s.list }}{{ $x = print $x . }}{{ end }}{{ $x }}",
        "{{ range .list }}{{ if eq . $.s.pw }}{{ break }}{{ end }}x{{ end }}y",
        "{{ range .list }}{{ if ne . $.s.pw }}{{ continue }}{{ end }}x{{ end }}y",
        "{{ define \"t\" }}{{ .a }}{{ end }}{{ template \"t\" (dict \"a\" .s.pw) }}",
        "{{ block \"t\" .s.pw }}{{ . | upper }}{{ end }}",
        "{{ define \"t\" }}x{{ end }}{{ if eq .s.pin 1 }}{{ template \"t\" }}{{ else }}{{ template \"t\" }}{{ end }}",
    ] {
        assert!(rendered(template).is_secret(), "{template}");
    }
    for template in [
        "{{ if .s.pw }}there{{ end }}",
        "{{ if and .open .s.pw }}there{{ end }}",
        "{{ range $k, $v := .s.map }}{{ $k }}{{ end }}",
        "{{ if eq .open \"clear\" }}x{{ end }}",
        "{{ with .open }}{{ . }}{{ end }}",
        "{{ define \"t\" }}{{ .b }}{{ end }}{{ template \"t\" (dict \"a\" .s.pw \"b\" .open) }}",
    ] {
        assert!(!rendered(template).is_secret(), "{template}");
    }
}

#[test]
fn leaves_with_secrets_are_reported() {
    for (template, wanted) in [
        ("host: {{ .open }}\npw: {{ .s.pw }}", &["/pw"][..]),
        ("host: {{ .open }}\nurl: http://u:{{ .s.pw | urlquery }}@{{ .open }}", &["/url"]),
        ("host: h\npw: {{ .s.quote | quote }}\nport: 1", &["/pw"]),
        ("host: h\n{{- if .s.pw }}\npw: {{ .s.pw }}\n{{- end }}", &["/pw"]),
        ("a: 1\nb:\n  c: {{ .s.pin }}\n  d: 1\nl: [1, {{ .s.pw | quote }}]", &["/b/c", "/l/1"]),
        ("a: 1\nb: {{ toJson .s }}", &["/b"]),
        ("a: 1\nb:\n  {{- toYaml .s.map | nindent 2 }}", &["/b"]),
        ("a: 1\npem: |\n{{ .s.pem | indent 2 }}\nb: 2", &["/pem"]),
        ("a: 1\npem: |-\n  {{- .s.pem | nindent 2 }}\nb: 2", &["/pem"]),
        ("data:\n  a: {{ .s.pw | b64enc }}\n  b: {{ .open | b64enc }}\nkind: Secret", &["/data/a"]),
        ("{{ range $k, $v := .s.map }}{{ $k }}: {{ $v }}\n{{ end }}x: 1", &["/in", "/out"]),
        ("a: {{ .s.none }}\nb: 1", &["/a"]),
        ("a: {{ .s.flag }}\nb: {{ .s.null | default \"x\" }}", &["/a"]),
        ("a: 1 # {{ .s.pw }}\nb: 2", &[]),
        // Names that come from a secret make their map secret.
        ("a: 1\nm: {{ dict .s.pw 1 \"x\" 2 | toJson }}", &["/m"]),
        ("a: 1\n{{ .s.pw }}: 2", &[""]),
        ("m:\n  {{ .s.user }}: 2\n  b: 3\na: 1", &["/m"]),
        ("{{ if eq .s.pw \"hunter2\" }}a: 1\n{{ end }}b: 2", &[""]),
        ("{{ if eq .s.pw \"x\" }}a: 1\n{{ end }}b: 2", &[""]),
        ("{{ toJson .s }}", &[""]),
        ("a: &x {{ .s.pw }}\nb: *x\nc: 1", &["/a", "/b"]),
        ("a: 1", &[]),
    ] {
        assert_eq!(places(template), wanted, "{template}");
    }
}

#[test]
fn a_fault_never_reveals_the_secret() {
    let engine = Engine::new(Arc::new(Still));
    let (data, mask) = data();
    for template in [
        "{{ fail .s.pw }}",
        "{{ b64dec .s.pw }}",
        "{{ fromJson .s.pw }}",
        "{{ required .s.pw .nothing }}",
        "{{ index .list .s.pin }}",
        "{{ semver .s.pw }}",
        "{{ range $a, $b := .s.pin }}{{ end }}",
        "{{ dig .s.pw \"x\" 1 (dict \"hunter2\" 1) }}",
        "{{ regexMatch (print .s.pw \"(\") \"x\" }}",
        "{{ get .s.pw \"x\" }}",
        "{{ .s.pw.x }}",
        "{{ printf \"%d\" .s.pw | fail }}",
    ] {
        let parsed = engine.parse(template).expect("parses");
        let fault = engine.render_masked(&parsed, &data, &mask).expect_err(template).to_string();
        assert!(!fault.contains("hunter2") && !fault.contains("1234"), "{template}: {fault}");
    }
    for template in ["a: \"{{ .s.quote }}\"", "a: {{ .s.quote }}", "{{ .s.quote }}\n  - a: [\n"] {
        let parsed = engine.parse(template).expect("parses");
        let made = engine.render_masked(&parsed, &data, &mask).expect("renders");
        if let Err(fault) = made.document() {
            assert!(!fault.to_string().contains("a\"b"), "{template}: {fault}");
        }
    }
}

#[test]
fn shared_parts_take_no_longer() {
    let made =
        rendered("{{ $l := list .s.pw }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ len $l }}");
    assert!(made.is_secret() || made.text() == "2");
    let template = "{{ $l := list .s.pw }}{{ range until 60 }}{{ $l = merge (dict \"a\" $l) (dict \"b\" $l) }}{{ end }}{{ len $l }}";
    assert_eq!(rendered(template).text(), "2");
}
