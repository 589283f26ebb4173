use purlin_sdk::testing::{self, inputs};
use purlin_sdk::{Failure, Json};
use serde_json::json;

use crate::Template;

fn made(document: &Json) -> Result<purlin_sdk::State, Failure> {
    testing::create::<Template>(inputs(document))
}

fn refused(document: &Json) -> String {
    made(document).err().map(|failure| failure.to_string()).unwrap_or_default()
}

#[test]
fn texts_are_read_as_yaml_and_see_earlier_results() {
    let state = made(&json!({
        "values": {"size": 3, "templates": {
            "init": "name: n{{ .id | trunc 4 }}\nport: {{ .resource.port | default 80 }}",
            "outputs": "host: {{ .init.name }}.example\nport: {{ .init.port }}\nsize: {{ .driver.values.size }}",
            "secrets": "url: u:{{ .driver.secrets.pw }}@{{ .outputs.host }}",
            "manifests": "a.yaml:\n  location: namespace\n  data: {kind: A, host: {{ .outputs.host }}}",
        }},
        "secrets": {"pw": "p"}, "params": {"port": 8080},
    }))
    .expect("made");
    assert_eq!(Json::Object(state.outputs), json!({"host": "n0123.example", "port": 8080, "size": 3}));
    assert_eq!(Json::Object(state.secrets), json!({"url": "u:p@n0123.example"}));
    assert_eq!(state.manifests[0].data, json!({"kind": "A", "host": "n0123.example"}));
    assert_eq!((&*state.manifests[0].name, &*state.manifests[0].location), ("a.yaml", "namespace"));
}

#[test]
fn maps_have_their_leaves_rendered() {
    let state = made(&json!({"values": {"templates": {
        "outputs": {"plain": 1, "list": ["{{ .id | trunc 2 }}", true], "text": "08{{ 1 }}"},
        "manifests": {
            "b.yaml": {"location": "volumes", "data": "name: {{ .id | trunc 2 | quote }}\nn: {{ 1 }}"},
            "c.yaml": {"location": "cluster", "data": {"name": "{{ .id | trunc 2 }}"}},
            "gone.yaml": {"location": "cluster", "data": "{{ if false }}a: b{{ end }}"},
        },
    }}}))
    .expect("made");
    assert_eq!(Json::Object(state.outputs), json!({"plain": 1, "list": ["01", true], "text": "081"}));
    assert_eq!(state.manifests.len(), 2);
    assert_eq!(state.manifests[0].data, json!({"name": "01", "n": 1}));
    assert_eq!(state.manifests[1].data, json!({"name": "01"}));
}

#[test]
fn a_cookie_keeps_random_values() {
    let document = json!({"values": {"templates": {
        "init": "{{ if and .cookie .cookie.n }}n: {{ .cookie.n | quote }}{{ else }}n: {{ randNumeric 12 | quote }}{{ end }}",
        "cookie": "n: {{ .init.n | quote }}",
        "outputs": {"n": "{{ .init.n }}"},
    }}});
    let first = made(&document).expect("made");
    let other = made(&document).expect("made");
    assert_ne!(first.outputs["n"], other.outputs["n"]);
    let again = testing::update::<Template>(inputs(&document), inputs(&document), &first).expect("updated");
    assert_eq!(again.outputs["n"], first.outputs["n"]);
    assert_eq!(again.cookie, first.cookie);
}

#[test]
fn unaffected_outputs_are_known_in_advance() {
    let document = |values: &Json, templates: &Json| {
        let mut document = json!({"values": values, "secrets": {"pw": "p"}});
        document["values"]["templates"] = templates.clone();
        document
    };
    let kept = |templates: &Json, before: &Json, after: &Json, unknown: &[&str]| {
        let (before, after) = (document(before, templates), document(after, templates));
        let state = made(&before).expect("made");
        let after = testing::unknown(inputs(&after), unknown);
        let impact = testing::update_impact::<Template>(inputs(&before), after, &state).expect("an impact");
        assert!(impact.replaces.is_empty() && !impact.delete_before_replace);
        impact.stable_outputs
    };
    let (a, b) = (json!({"a": 1, "b": 1}), json!({"a": 1, "b": 2}));
    let plain = json!({
        "outputs": "a: {{ .driver.values.a }}\nb: {{ .driver.values.b }}\nlist: [{{ .driver.values.a }}]",
        "secrets": "s: {{ .driver.secrets.pw }}\nt: {{ .driver.secrets.pw }}{{ .driver.values.b }}",
    });
    assert_eq!(kept(&plain, &a, &b, &[]), ["/outputs/a", "/outputs/list", "/secrets/s"]);
    assert_eq!(kept(&plain, &a, &b, &["/values/b"]), Vec::<String>::new());

    // A cookie comes from the last call.
    let cookie = json!({
        "init": "n: {{ with .cookie }}{{ .n }}{{ else }}{{ .driver.values.b }}{{ end }}",
        "cookie": "n: {{ .init.n }}",
        "outputs": "n: {{ .init.n }}\nb: {{ .driver.values.b }}",
    });
    assert_eq!(kept(&cookie, &a, &b, &[]), ["/outputs/n"]);

    // Random values and the time promise nothing, although both render the same here.
    for drawn in ["{{ randInt 0 1 }}", "{{ mul 0 now }}"] {
        let drawn = json!({"outputs": format!("a: {{{{ .driver.values.a }}}}\nb: {drawn}")});
        assert_eq!(kept(&drawn, &a, &b, &[]), Vec::<String>::new(), "{drawn}");
    }
    // A new output is not absent.
    let more = json!({"outputs": "a: 1\n{{ if eq (int .driver.values.b) 2 }}c: 2{{ end }}"});
    assert_eq!(kept(&more, &a, &b, &[]), Vec::<String>::new());
}

#[test]
fn secrets_in_values_make_secret_outputs() {
    let mut given =
        inputs(&json!({"values": {"u": "s", "templates": {"outputs": "a: {{ .driver.values.u }}"}}}));
    given.sensitive = vec!["/values/u".to_owned()];
    let state = testing::create::<Template>(given).expect("made");
    assert!(state.outputs.is_empty());
    assert_eq!(Json::Object(state.secrets), json!({"a": "s"}));
    let state = made(&json!({"secrets": {"templates": {"outputs": "a: s"}}})).expect("made");
    assert_eq!(Json::Object(state.secrets), json!({"a": "s"}));
}

#[test]
fn templates_have_no_context() {
    let refused = refused(&json!({"values": {"templates": {
        "init": "a: 1\nhost: {{ printf \"%s.example\" .context.env.id }}",
        "outputs": {"a": "{{ with .init }}{{ .context }}{{ end }}"},
    }}}));
    assert!(
        refused.contains("line 2: a template has no `.context`: pass what it needs in `values`"),
        "{refused}"
    );
    assert!(!refused.contains("outputs"), "{refused}");
}

#[test]
fn check_reports_every_fault_of_every_template() {
    let document = json!({"values": {"templates": {
        "init": "a: {{ nothere }}",
        "outputs": {"deep": {"x/y": "{{ if }}"}},
        "manifests": "{{/* open *//}",
    }}});
    let faults = match testing::check::<Template>(inputs(&document), None) {
        Err(Failure::InvalidInputs(faults)) => faults,
        _ => panic!("it has faults"),
    };
    let pointers: Vec<&str> = faults.iter().map(|fault| &*fault.pointer).collect();
    let wanted =
        ["/values/templates/init", "/values/templates/outputs/deep/x~1y", "/values/templates/manifests"];
    assert_eq!(pointers, wanted);
    assert!(faults[2].message.starts_with("line 1: comment"), "{}", faults[2].message);

    let unknown = testing::unknown(
        inputs(
            &json!({"values": {"a": null, "templates": {"init": null, "outputs": "b: {{ .driver.values.a.b }}"}}}),
        ),
        &["/values/a", "/values/templates/init"],
    );
    let checked = testing::check::<Template>(unknown, None).expect("nothing is wrong with it");
    assert_eq!(checked.values["templates"]["init"], Json::Null);
}

#[test]
fn faults_name_template_line_and_reason() {
    let cases = [
        (
            json!({"outputs": "a: 1\nb: {{ .drivers.x }}"}),
            "/values/templates/outputs: line 2: `.drivers.x` has no value",
        ),
        (json!({"outputs": "- 1"}), "/values/templates/outputs: it has to render a map, not a list"),
        (json!({"outputs": "a: 1\nb: ]"}), "/values/templates/outputs: line 2: "),
        (
            json!({"manifests": {"a": {"data": "x: 1"}}}),
            "/values/templates/manifests/a: a manifest needs a `location`",
        ),
        (
            json!({"manifests": {"a": {"location": "x", "data": "text"}}}),
            "/values/templates/manifests/a: `data` has to be a map, not text",
        ),
        (json!({"output": "a: 1"}), "/values/templates/output: unknown field `output`, expected one of"),
        (json!({"init": "{{ fail \"asked for\" }}"}), "/values/templates/init: line 1: asked for"),
    ];
    for (templates, wanted) in cases {
        let message = refused(&json!({"values": {"templates": templates}}));
        assert!(message.contains(wanted), "{templates}: {message}");
    }
}

#[test]
fn a_workload_offers_the_names_that_others_expect() {
    let state = made(&json!({
        "values": {"templates": {"outputs":
            "p: {{ get (.resource.spec.service.ports | values | first) \"service_port\" }}\nc: {{ .resource.spec.service.ports.www.container_port }}"}},
        "params": {"id": "web", "spec": {"service": {"ports": {"www": {"port": 80, "targetPort": 8080}}}}},
    }))
    .expect("made");
    assert_eq!(Json::Object(state.outputs), json!({"p": 80, "c": 8080}));
}

#[test]
fn a_secret_stays_one_wherever_a_template_puts_it() {
    let state = made(&json!({
        "values": {"host": "h", "templates": {
            "init": "up: {{ .driver.secrets.pw | upper }}\nopen: {{ .driver.values.host }}",
            "outputs": "host: {{ .init.open }}\nup: {{ .init.up }}\ndb:\n  host: {{ .init.open }}\n  auth: {{ .driver.secrets.pw | b64enc }}",
            "secrets": "pw: {{ .driver.secrets.pw }}",
            "manifests": {"secret.yaml": {"location": "namespace", "data":
                "kind: Secret\ndata:\n  auth: {{ printf \"u:%s\" .secrets.pw | b64enc }}\n  name: {{ .outputs.host }}"}},
            "cookie": "up: {{ .init.up }}\nhost: {{ .init.open }}",
        }},
        "secrets": {"pw": "hunter2"},
    }))
    .expect("made");
    assert_eq!(
        Json::Object(state.outputs),
        json!({"host": "h", "db": {"host": "h", "auth": "aHVudGVyMg=="}})
    );
    assert_eq!(Json::Object(state.secrets), json!({"pw": "hunter2", "up": "HUNTER2"}));
    assert_eq!(state.sensitive, ["/manifests/secret.yaml/data/auth", "/outputs/db/auth"]);
}

#[test]
fn a_cookie_keeps_secrets_secret() {
    let document = json!({
        "values": {"templates": {
            "init": "{{ if .cookie }}pw: {{ .cookie.pw }}\nn: {{ .cookie.n }}{{ else }}pw: {{ .driver.secrets.pw }}\nn: 1{{ end }}",
            "cookie": "pw: {{ .init.pw }}\nn: {{ .init.n }}",
            "outputs": {"pw": "{{ .init.pw | upper }}", "n": "{{ .init.n }}"},
        }},
        "secrets": {"pw": "hunter2"},
    });
    let first = made(&document).expect("made");
    let without = inputs(&json!({"values": document["values"]}));
    let mut again = first;
    for _ in 0..2 {
        again = testing::update::<Template>(inputs(&document), without.clone(), &again).expect("updated");
        assert_eq!(Json::Object(again.outputs.clone()), json!({"n": "1"}));
        assert_eq!(Json::Object(again.secrets.clone()), json!({"pw": "HUNTER2"}));
    }
}

#[test]
fn the_name_and_location_of_a_manifest_are_not_secret() {
    for manifests in [
        json!("{{ .driver.secrets.pw }}.yaml: {location: namespace, data: {a: 1}}"),
        json!("a.yaml: {location: '{{ .driver.secrets.pw }}', data: {a: 1}}"),
        json!({"a.yaml": {"location": "{{ .driver.secrets.pw }}", "data": {"a": "1"}}}),
    ] {
        let message = refused(
            &json!({"values": {"templates": {"manifests": manifests}}, "secrets": {"pw": "hunter2"}}),
        );
        assert!(message.contains("the manifest's name or location depends on a secret"), "{message}");
    }
}

#[test]
fn the_readme_has_the_table_of_the_schema() {
    testing::check_readme::<Template>(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
        .expect("the README agrees");
}

#[test]
fn templates_of_humanitec_read_the_outputs_as_values() {
    // The form of a published definition that joins the parts of a URL.
    let document = |outputs: &str| {
        json!({"values": {"host": "example.com", "port": 8080, "templates": {
            "init": "hostport: {{ .driver.values.host }}:{{ .driver.values.port }}",
            "outputs": outputs,
            "secrets": "url: {{ .outputs.values | merge (dict \"userinfo\" (.driver.secrets.user | default \"\") \"host\" .init.hostport) | urlJoin | toRawJson }}",
            "manifests": "a.yaml: {location: namespace, data: {all: {{ toJson .outputs }}}}",
        }}})
    };
    let outputs = "scheme: {{ .driver.values.scheme | default \"http\" }}\npath: /a\nquery: b=c";
    let state = made(&document(outputs)).expect("made");
    assert_eq!(Json::Object(state.secrets), json!({"url": "http://example.com:8080/a?b=c"}));
    let all = json!({"scheme": "http", "path": "/a", "query": "b=c"});
    assert_eq!(Json::Object(state.outputs), all);
    assert_eq!(state.manifests[0].data, json!({"all": all}), "other templates see only the outputs");

    let mut with_user = document(outputs);
    with_user["secrets"] = json!({"user": "me:pw"});
    let state = made(&with_user).expect("made");
    assert_eq!(Json::Object(state.secrets), json!({"url": "http://me:pw@example.com:8080/a?b=c"}));
    // An output of this name is that output.
    let state = made(&document("values: {scheme: ftp, path: ''}")).expect("made");
    assert_eq!(Json::Object(state.secrets), json!({"url": "ftp://example.com:8080"}));
}

#[test]
fn secret_outputs_stay_secret_as_values() {
    let state = made(&json!({"values": {"templates": {
        "outputs": "pw: {{ .driver.secrets.pw }}\nhost: h",
        "manifests": {"a.yaml": {"location": "namespace", "data":
            "pw: {{ .outputs.values.pw }}\nhost: {{ .outputs.values.host }}"}},
    }}, "secrets": {"pw": "hunter2"}}))
    .expect("made");
    assert_eq!(state.manifests[0].data, json!({"pw": "hunter2", "host": "h"}));
    assert_eq!(state.sensitive, ["/manifests/a.yaml/pw"]);
}

#[test]
fn no_name_is_an_output_and_a_secret_output() {
    let message =
        refused(&json!({"values": {"templates": {"outputs": "a: {x: 1}", "secrets": "a: {y: 2}"}}}));
    assert!(message.contains("/values/templates/secrets: `a` is an output already"), "{message}");
}
