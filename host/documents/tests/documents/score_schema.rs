//! Score files: the parser agrees with the published schema, on real documents and on every small
//! change to them.

use purlin_documents::{Input, SchemaKind, load, schema};
use serde_json::{Value, json};

/// The published schema with our own two rules: types of SPEC §2, classes in lower case.
fn published() -> Option<Value> {
    let path = purlin_corpus::find("score/score-spec/score-v1b1.json")?;
    let text = std::fs::read_to_string(path).expect("a schema");
    let mut schema: Value = serde_json::from_str(&text).expect("JSON");
    let resource = &mut schema["$defs"]["resource"]["properties"];
    resource["type"] = json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_/-]*$"});
    resource["class"]["pattern"] = json!("^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$");
    Some(schema)
}

/// Every field of the format.
fn full() -> Value {
    json!({
        "apiVersion": "score.dev/v1b1",
        "metadata": {"name": "web", "annotations": {"my.domain.org/a.b": "c"}, "more": {"a": 1}},
        "service": {"ports": {"www": {"port": 80, "protocol": "TCP", "targetPort": 8080}}},
        "containers": {"main": {
            "image": "img:1", "command": ["a"], "args": ["b"],
            "variables": {"A": "${resources.db.host}"},
            "files": {"/a": {"content": "x", "mode": "0600", "noExpand": true}, "/b": {"source": "s"}, "/c": {"binaryContent": "eA=="}},
            "volumes": {"/v": {"source": "${resources.vol}", "path": "p", "readOnly": true}},
            "before": {"other": {"ready": "started"}},
            "resources": {"limits": {"memory": "1.5Gi", "cpu": "125m"}, "requests": {"memory": "125M", "cpu": "0.5"}},
            "livenessProbe": {"httpGet": {"host": "h", "scheme": "HTTP", "path": "/", "port": 80, "httpHeaders": [{"name": "X-A", "value": "v"}]}},
            "readinessProbe": {"exec": {"command": ["true"]}},
        }, "other": {
            "image": ".",
            "files": [{"target": "/t", "content": "x"}],
            "volumes": [{"target": "/t", "source": "x"}],
        }},
        "resources": {
            "db": {"type": "postgres", "class": "big", "id": "a.b-c", "metadata": {"annotations": {"ab": "c"}, "x": 1}, "params": {"a": [1]}},
            "vol": {"type": "volume"},
        },
    })
}

fn pool() -> Vec<Value> {
    vec![
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(80.0),
        json!(80.5),
        json!(65536),
        json!(-1),
        json!(""),
        json!("a"),
        json!("A"),
        json!("ab"),
        json!("a-"),
        json!("a.b"),
        json!("a..b"),
        json!("aB"),
        json!("a_b"),
        json!("x y"),
        json!("a".repeat(63)),
        json!("a".repeat(64)),
        json!("TCP"),
        json!("HTTPS"),
        json!("complete"),
        json!("1.5Gi"),
        json!("0.5"),
        json!("00"),
        json!("125m"),
        json!("0755"),
        json!("755"),
        json!("0800"),
        json!("acme/queue"),
        json!("é"),
        json!([]),
        json!(["a"]),
        json!([1]),
        json!([{}]),
        json!({}),
        json!({"a": 1}),
        json!({"ab": {}}),
        json!({"ab": "c"}),
        json!({"content": "x"}),
        json!({"source": "x", "content": "x"}),
        json!({"target": "/x", "source": "x"}),
        json!({"type": "x"}),
        json!([{"source": "x"}]),
        json!([{"target": "", "source": "x"}]),
        json!({"image": "x"}),
        json!({"exec": {}}),
        json!({"port": 1}),
        json!({"ready": "soon"}),
    ]
}

const KEYS: [&str; 10] = ["a", "ab", "target", "A=B", "", "x.y/zz", "-a", "AB", "a_b", "params"];

/// Every pointer in a document, to containers and to leaves.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => {
            for (key, item) in map {
                pointers(item, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, item)| pointers(item, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

/// All small changes: a part replaced, removed, renamed, or added.
fn mutations(document: &Value, check: &mut dyn FnMut(&Value)) {
    check(document);
    let mut places = Vec::new();
    pointers(document, "", &mut places);
    for place in &places {
        for value in pool() {
            let mut changed = document.clone();
            *changed.pointer_mut(place).expect("a place") = value;
            check(&changed);
        }
        let Some(Value::Object(map)) = document.pointer(place) else { continue };
        for key in map.keys() {
            let mut changed = document.clone();
            let object = changed.pointer_mut(place).and_then(Value::as_object_mut).expect("an object");
            let taken = object.shift_remove(key);
            check(&changed);
            for name in KEYS {
                let mut renamed = changed.clone();
                let object = renamed.pointer_mut(place).and_then(Value::as_object_mut).expect("an object");
                object.insert(name.to_owned(), taken.clone().unwrap_or_default());
                check(&renamed);
            }
        }
    }
}

/// Faults in the names of a document, and not in its form.
const ELSEWHERE: [&str; 3] = ["unknown-resource", "unreadable-file", "outside-path"];

/// Whether the parser accepts the form of a document, regardless of the names in its placeholders.
fn parses(document: &Value) -> Result<(), String> {
    let loaded = load(&[Input::Text { name: "score.yaml".into(), text: document.to_string() }]);
    let errors: Vec<_> =
        loaded.diagnostics.iter().filter(|d| d.is_error() && !ELSEWHERE.contains(&d.code)).cloned().collect();
    if errors.is_empty() { Ok(()) } else { Err(loaded.sources.render(&errors, false, 100)) }
}

#[test]
fn parser_published_schema_and_our_schema_agree() {
    let Some(published) = published() else { return };
    let theirs = jsonschema::draft202012::new(&published).expect("a schema");
    let ours = jsonschema::draft202012::new(&schema(SchemaKind::Score)).expect("a schema");
    let (mut good, mut bad) = (0, 0);
    mutations(&full(), &mut |document| {
        // An empty document is not a document.
        if document.is_null() {
            return;
        }
        let verdict = theirs.is_valid(document);
        assert_eq!(ours.is_valid(document), verdict, "our schema: {document:#}");
        match parses(document) {
            Ok(()) => assert!(verdict, "the schema says no: {:?}\n{document:#}", theirs.validate(document)),
            Err(shown) => assert!(!verdict, "the schema says yes: {shown}\n{document:#}"),
        }
        *(if verdict { &mut good } else { &mut bad }) += 1;
    });
    println!("{good} good ones, {bad} bad ones");
    assert!(good > 300 && bad > 2000, "{good} {bad}");
}

#[test]
fn real_files_are_read_as_another_yaml_reader_reads_them() {
    if published().is_none() {
        return;
    }
    let schema = jsonschema::draft202012::new(&schema(SchemaKind::Score)).expect("a schema");
    let Some(samples) = purlin_corpus::find("score") else { return };
    let mut folders = vec![samples];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if !name.starts_with("score") || !name.ends_with(".yaml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("text");
            let document: Value = serde_saphyr::from_str(&text).expect("YAML");
            assert_eq!(schema.is_valid(&document), parses(&document).is_ok(), "{}", path.display());
            let loaded = load(&[Input::Path(path.clone())]);
            let workload = &loaded.deployment.workloads[0];
            assert_eq!(&*workload.name, document["metadata"]["name"].as_str().expect("a name"));
            let requests = document["resources"].as_object().map_or(0, serde_json::Map::len);
            assert_eq!(workload.resources.len(), requests, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 15, "{seen}");
}
