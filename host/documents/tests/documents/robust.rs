//! No text or file may cause a panic, a hang, or exhaust the memory.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use purlin_documents::{Input, Loaded, load};

const SAMPLE: &str = r##"# A bit of everything.
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: "d\u00e9f"}
spec:
  type: postgres
  driver: purlin/echo@^1
  inputs:
    values: &values
      host: 'it''s ${resources["dns"].outputs.host}'
      text: |
        one ${context.app.id}
          two $\{x}
      folded: >-
        a
        b ${values.x}
      again: *host
    secret_refs: {a: {store: s, ref: r}, b: {value: "${params.p}"}}
  provision:
    aws-policy: {match_dependents: true, params: {<<: *values}}
  criteria: [{app_id: shop, class: big}, {}]
  lifecycle: {ignore_changes: ["values.*['a.b']", /values/~1], replace_with: [dns.@#@], deleted_with: dns}
---
apiVersion: score.dev/v1b1
metadata: {name: web}
containers:
  main:
    image: x
    variables: {A: "$${x} ${resources.db.host}", B: '${metadata.name}'}
    files: {/a: {content: "${resources.db}", mode: "0600"}}
resources: {db: {type: postgres, params: {size: 1.5e3}}}
---
{"modules": {"m": {"spec": {"a": "${externals.x.y}"}, "externals": {"x": {"type": "t"}}}}, "shared": {}}
---
apiVersion: purlin.dev/v1
kind: Deployment
spec: {app: shop, env: {id: dev, type: development}, shared: {db: {type: postgres}}, values: {x: [1, ~]}}
lifecycle:
  postgres#shared.db: {aliases: [postgres#x, "urn:purlin:dev/o::a::shared::postgres.default::y"], import: 'a$\{b'}
---
apiVersion: purlin.dev/v1
kind: Workspace
spec: {drivers: {a/b: {source: ./x, limits: {memory: 1MiB}, grants: {dirs: [{host: a, guest: /a}]}}}}
---
apiVersion: purlin.dev/v1
kind: ResourceType
spec: {type: t, params: {type: object, properties: {a: {type: string, pattern: "^a+$"}}}}
---
apiVersion: purlin.dev/v1
kind: ResourceType
spec:
  type: ec2/subnet
  manifest: [{group: ec2.aws.crossplane.io, kind: Subnet}]
  params:
    properties:
      vpcId: {x-reference: {type: ec2/vpc, output: id}}
      path: {x-reference: {build: "/p/${ref.project}/${ref.name}"}}
      nets: {type: array, items: {$ref: "#/$defs/net"}, x-reference: {type: net, field: netIdRefs}}
    $defs: {net: {anyOf: [{properties: {more: {$ref: "#/$defs/net"}}}, {type: string}]}}
---
apiVersion: ec2.aws.crossplane.io/v1beta1
kind: Subnet
metadata:
  name: front
  namespace: shop
  labels: {tier: front}
  annotations: {crossplane.io/paused: "true", purlin.dev/protect: "true", crossplane.io/external-name: x, purlin.dev/depends-on: "[{kind: ConfigMap, name: c, blocking: false}]"}
spec:
  forProvider:
    vpcId: x
    vpcIdRef: {name: net, policy: {resolve: IfNotPresent, resolution: Optional}}
    pathRef: {name: net, namespace: other}
    groupIdRefs: [{name: a}, {name: b}]
    nets: [a]
    netIdSelector: {matchLabels: {tier: front}, matchControllerRef: false}
    list: [{keyIdRef: {name: k}}, 'a ${b}']
    passwordSecretRef: {name: x, namespace: y, key: z}
  dependsOn: [{kind: ConfigMap, name: c, blocking: false}]
  managementPolicies: [Observe, Create]
  deletionPolicy: Delete
  providerConfigRef: {name: p}
---
apiVersion: v1
kind: List
items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}, data: {a: "b"}}]
"##;

fn load_text(text: &str) -> Loaded {
    load(&[Input::Text { name: "-".into(), text: text.into() }])
}

/// Loads and renders; every place must be one in the text.
fn survives(text: &str) {
    let loaded = load_text(text);
    for color in [false, true] {
        let shown = loaded.sources.render(&loaded.diagnostics, color, 80);
        assert_eq!(shown.is_empty(), loaded.diagnostics.is_empty());
    }
    let plain = loaded.sources.render(&loaded.diagnostics, false, 80);
    assert!(!plain.contains(|c: char| c.is_control() && c != '\n'), "{plain:?}");
    for diagnostic in &loaded.diagnostics {
        let place = diagnostic.location.as_ref().expect("a place");
        assert!(place.line as usize <= text.split('\n').count() + 1, "{diagnostic:?}");
        assert!(!diagnostic.message.is_empty());
    }
}

/// A piece that has a meaning in YAML or in our formats.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "\n",
        "\r\n",
        "  ",
        "\t",
        "- ",
        ": ",
        "? ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "'",
        "\"",
        "|\n",
        ">+2\n",
        "#",
        "&a ",
        "*a",
        "!!str ",
        "!x ",
        "<<: ",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "${",
        "}",
        "$",
        "\\",
        "\\u",
        "\u{feff}",
        "\u{0}",
        "\u{85}",
        "é",
        "0x",
        ".inf",
        "null",
        "~",
        "spec:",
        "type",
        "apiVersion: purlin.dev/v1\n",
        "1e999",
    ];
    prop_oneof![3 => proptest::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text(pieces in proptest::collection::vec(piece(), 0..40)) {
        survives(&pieces.concat());
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.yaml");
        std::fs::write(&path, &bytes).expect("written");
        let loaded = load(&[Input::Path(path)]);
        loaded.sources.render(&loaded.diagnostics, false, 80);
        prop_assert!(std::str::from_utf8(&bytes).is_ok() || loaded.has_errors());
    }

    #[test]
    fn changed_documents(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), 0usize..12, piece()), 1..6)
    ) {
        let mut text: Vec<char> = SAMPLE.chars().collect();
        for (index, taken, piece) in changes {
            let at = index.index(text.len());
            let until = (at + taken).min(text.len());
            text.splice(at..until, piece.chars());
        }
        survives(&text.into_iter().collect::<String>());
    }

    #[test]
    fn lines_may_end_either_way(extra in "[ a-z]{0,5}") {
        let text = SAMPLE.replace("*host", "x").replace("# A", &format!("# {extra}A"));
        let (unix, windows) = (load_text(&text), load_text(&text.replace('\n', "\r\n")));
        prop_assert!(!unix.has_errors(), "{}", unix.sources.render(&unix.diagnostics, false, 80));
        prop_assert_eq!(unix.diagnostics, windows.diagnostics);
        prop_assert_eq!(unix.definitions, windows.definitions);
        prop_assert_eq!(unix.deployment, windows.deployment);
    }
}

/// A bomb takes far longer than this, and nothing else does, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(300);

#[track_caller]
fn refused(text: &str, code: &str) {
    let start = Instant::now();
    let loaded = load_text(text);
    let shown = loaded.sources.render(&loaded.diagnostics, false, 80);
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    assert!(loaded.diagnostics.iter().any(|diagnostic| diagnostic.code == code), "{code}: {shown}");
    assert!(shown.len() < 100_000);
}

#[test]
fn bombs_are_defused() {
    let mut laughs = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (before, name) in "abcdefgh".chars().zip("bcdefghi".chars()) {
        laughs += &format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(","));
    }
    refused(&laughs, "alias-bomb");
    let large = format!("a: &a \"{}\"\nb: [{}]", "x".repeat(1 << 20), ["*a"; 100].join(","));
    refused(&large, "alias-bomb");
    let nested =
        format!("{}{}", (0..100).map(|i| format!("&a{i} [")).collect::<String>(), "x, ".repeat(200_000));
    refused(&format!("{nested}{}", "]".repeat(100)), "alias-bomb");
    refused("a: &a [*a]", "alias-loop");
    refused(&"[".repeat(1 << 20), "too-deep");
    refused(&"{a: ".repeat(1 << 20), "too-deep");
    refused(&"- ".repeat(1 << 20), "too-deep");
    refused(&(0..500).map(|i| format!("{}a:\n", " ".repeat(i))).collect::<String>(), "too-deep");
    let mut tower = String::from("a0: &a0 [x]\n");
    for i in 1..200 {
        tower += &format!("a{i}: &a{i} [*a{}]\n", i - 1);
    }
    refused(&tower, "too-deep");
    refused(&"x".repeat((10 << 20) + 1), "file-too-large");
    refused(&"? a\n".repeat(100_000), "not-a-document");
    let twice = format!("apiVersion: purlin.dev/v1\nkind: Definition\n{}", "a: 1\n".repeat(100_000));
    refused(&twice, "duplicate-key");
    let text = "${context.app.id} $ \n".repeat(100_000);
    refused(
        &format!("apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {{app: 1, values: {{a: {text:?}}}}}"),
        "wrong-type",
    );
}

/// How many bytes this thread has read so far.
fn bytes_read() -> u64 {
    let counts = std::fs::read_to_string("/proc/thread-self/io").expect("Linux counts them");
    let count = counts.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("its first line");
    count.parse().expect("a number")
}

#[test]
fn a_file_of_50_megabytes_is_rejected_unread() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("big.yaml");
    std::fs::File::create(&path).and_then(|file| file.set_len(50 << 20)).expect("a file");
    let before = bytes_read();
    let loaded = load(&[Input::Path(path)]);
    let read = bytes_read() - before;
    assert_eq!(loaded.diagnostics[0].code, "file-too-large");
    // The counters and the folders around the file are read as well.
    assert!(read < 1 << 20, "{read} bytes");
}
