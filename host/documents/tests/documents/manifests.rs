//! Rules of managed resources, each with documents that show it.

use purlin_model::{
    Attribute, DocumentPart, LifecycleOptions, Manifest, Modifiers, Piece, Reference, Severity, Template,
    Value,
};

use purlin_documents::{Input, Loaded, load};

fn load_text(text: &str) -> Loaded {
    load(&[Input::Text { name: "test.yaml".into(), text: text.into() }])
}

fn read(text: &str) -> Loaded {
    let loaded = load_text(text);
    let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
    assert!(!loaded.has_errors(), "{shown}");
    loaded
}

fn manifests(text: &str) -> Vec<Manifest> {
    read(text).deployment.manifests
}

/// A template as text, with the targets of its placeholders.
fn show(template: &Template) -> String {
    match template {
        Template::Constant(value) => value.redact().to_string(),
        Template::Text(text) => text.iter().map(piece).collect(),
        Template::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(",")),
        Template::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{key}: {}", show(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Literal(text) => text.to_string(),
        Piece::Placeholder(placeholder) => {
            let Reference::Field(field) = &placeholder.reference else { panic!("another reference") };
            let optional = if placeholder.modifiers.is_some() { "?" } else { "" };
            match &field.read {
                Attribute::Output(path) => format!("<{} {path}{optional}>", field.target),
                Attribute::Field(path) => format!("<{} field {path}{optional}>", field.target),
            }
        }
    }
}

/// The params of a manifest with this `forProvider`, beside further documents.
fn params_with(provider: &str, more: &str) -> String {
    let text = format!(
        "apiVersion: ec2.aws.crossplane.io/v1\nkind: Subnet\nmetadata: {{name: a, namespace: n}}\nspec: {{forProvider: {provider}}}\n{more}"
    );
    show(&manifests(&text).first().expect("a manifest").params)
}

fn params(provider: &str) -> String {
    params_with(provider, "")
}

#[track_caller]
fn faults(text: &str, expected: &[(&str, &str)]) {
    let loaded = load_text(text);
    let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
    let found: Vec<_> = loaded
        .diagnostics
        .iter()
        .map(|fault| {
            let place = fault.location.as_ref().expect("a place");
            (fault.code, format!("{}:{}", place.line, place.column))
        })
        .collect();
    let found: Vec<_> = found.iter().map(|(code, place)| (*code, place.as_str())).collect();
    assert_eq!(found, expected, "{shown}");
}

const SUBNETS: &str = "---
apiVersion: purlin.dev/v1
kind: ResourceType
spec:
  type: ec2/subnet
  params:
    type: object
    properties:
      vpcId: {type: string, x-reference: {type: ec2/vpc, output: network.id}}
      network: {type: string, x-reference: {type: net, build: \"/p/${ref.project}/n/${ref.name}\"}}
      groups: {type: array, items: {type: string, x-reference: {type: ec2/group}}, x-reference: {type: ec2/group, field: groupIdRefs}}
      peers: {type: array, x-reference: {type: ec2/peer, build: \"$\\\\{x}/${ref.name}\"}}
      nested: {type: object, properties: {list: {type: array, items: {$ref: \"#/$defs/item\"}}}}
    $defs: {item: {allOf: [{properties: {keyId: {x-reference: {type: kms/key, output: arn}}}}]}}
";

#[test]
fn heads_are_read() {
    let text = "apiVersion: ec2.aws.crossplane.io/v1beta1\nkind: VPC\nmetadata: {name: net, namespace: shop, labels: {a: b}}\nspec: {cidr: x}
---
apiVersion: v1\nkind: List\nitems:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: '${b}'}}
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}
";
    let found = manifests(text);
    let keys: Vec<_> = found.iter().map(|manifest| manifest.key().to_string()).collect();
    assert_eq!(
        keys,
        ["ec2/vpc.default#shop/net", "config-map.default#settings", "apps/deployment.default#web"]
    );
    let all: Vec<_> = found.iter().map(|manifest| show(&manifest.params)).collect();
    assert_eq!(all, [r#"{"cidr":"x"}"#, r#"{"data":{"a":"${b}"}}"#, r#"{"replicas":2}"#]);
    assert_eq!(found[0].labels.len(), 1);
    assert_eq!((found[1].location.line, found[1].location.column), (9, 56));
}

#[test]
fn params_are_for_provider_else_spec_else_everything() {
    let of = |rest: &str| {
        let text = format!("{{apiVersion: a.b/v1, kind: C, metadata: {{name: d}}, {rest}}}");
        show(&manifests(&text)[0].params)
    };
    assert_eq!(of("spec: {forProvider: {a: 1}, deletionPolicy: Delete}"), r#"{"a":1}"#);
    assert_eq!(of("spec: {forProvider: }"), "{}");
    assert_eq!(
        of("spec: {a: 1, dependsOn: [{name: x}], providerConfigRef: {name: p, kind: q}}").replace('"', ""),
        "{a:1,dependsOn:[{name:x}],providerConfigRef:{name:p,kind:q}}"
    );
    assert_eq!(
        of("rules: [1], status: {a: 1}, dependsOn: [{name: x}]"),
        r#"{"rules":[1],"dependsOn":[{"name":"x"}]}"#
    );
    assert_eq!(of("spec: "), "{}");
}

#[test]
fn the_data_of_a_secret_is_secret() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ntype: Opaque\nstringData: {a: hidden}\ndata: {b: aGlkZGVu}\n";
    let found = manifests(text);
    let shown = show(&found[0].params);
    assert_eq!(shown, r#"{"type":"Opaque","stringData":{"a":"[secret]"},"data":{"b":"[secret]"}}"#);
    assert!(!format!("{found:?}").contains("hidden"));
}

#[test]
fn a_reference_fills_the_corresponding_field() {
    assert_eq!(params("{vpcIdRef: {name: net}}"), "{vpcId: <manifest `n/net` id>}");
    assert_eq!(params("{vpcIdRef: {name: net, namespace: m}}"), "{vpcId: <manifest `m/net` id>}");
    assert_eq!(params("{a: [{b: {vpcIdRef: {name: net}}}]}"), "{a: [{b: {vpcId: <manifest `n/net` id>}}]}");
    // The reference overrides a literal.
    assert_eq!(params("{vpcId: x, a: 1, vpcIdRef: {name: net}}"), "{a: 1, vpcId: <manifest `n/net` id>}");
    let keep = "policy: {resolve: IfNotPresent}";
    assert_eq!(params(&format!("{{vpcId: x, vpcIdRef: {{name: net, {keep}}}}}")), r#"{"vpcId":"x"}"#);
    assert_eq!(params(&format!("{{vpcIdRef: {{name: net, {keep}}}}}")), "{vpcId: <manifest `n/net` id>}");
    assert_eq!(
        params(&format!("{{vpcId: '', vpcIdRef: {{name: net, {keep}}}}}")),
        "{vpcId: <manifest `n/net` id>}"
    );
    assert_eq!(
        params("{vpcIdRef: {name: net, policy: {resolution: Optional, resolve: Always}}}"),
        "{vpcId: <manifest `n/net` id?>}"
    );
}

#[test]
fn errors_show_references_as_written() {
    let loaded = read(
        "apiVersion: a.crossplane.io/v1\nkind: C\nmetadata: {name: d}\nspec:\n  vpcIdRef:\n    name: net\n",
    );
    let mut seen = Vec::new();
    loaded.deployment.manifests[0].params.placeholders(&mut |placeholder| {
        let Some(Modifiers { .. }) = placeholder.modifiers.as_deref() else {
            seen.push((
                placeholder.source().to_string(),
                placeholder.location.line,
                placeholder.location.column,
            ));
            return;
        };
    });
    assert_eq!(seen, [("vpcIdRef: net".to_owned(), 6, 11)]);
}

#[test]
fn references_fill_a_list_in_their_order() {
    let two = "[{name: x}, {name: y, namespace: m}]";
    let list = "[<manifest `n/x` id>,<manifest `m/y` id>]";
    assert_eq!(params(&format!("{{subnetIdRefs: {two}}}")), format!("{{subnetIds: {list}}}"));
    assert_eq!(params(&format!("{{groupIDsRefs: {two}}}")), format!("{{groupIDs: {list}}}"));
    assert_eq!(params(&format!("{{subnetId: [z], subnetIdRefs: {two}}}")), format!("{{subnetId: {list}}}"));
    assert_eq!(
        params(&format!("{{subnetId: z, subnetIdRefs: {two}}}")),
        format!("{{subnetId: \"z\", subnetIds: {list}}}")
    );
    assert_eq!(params(&format!("{{subnetIds: [z], subnetIdRefs: {two}}}")), format!("{{subnetIds: {list}}}"));
    let keep = "[{name: x, policy: {resolve: IfNotPresent}}]";
    assert_eq!(params(&format!("{{subnetIds: [z], subnetIdRefs: {keep}}}")), r#"{"subnetIds":["z"]}"#);
    assert_eq!(
        params(&format!("{{subnetIds: [], subnetIdRefs: {keep}}}")),
        "{subnetIds: [<manifest `n/x` id>]}"
    );
    assert_eq!(params("{subnetIdRefs: []}"), r#"{"subnetIdRefs":[]}"#);
}

#[test]
fn references_of_a_schema_must_be_references() {
    for field in [
        "vpcIdRef: net",
        "vpcIdRef: {}",
        "vpcIdRef: {name: net, kind: VPC}",
        "vpcIdSelector: {a: b}",
        "networkRef: [x]",
        "groupIdRefs: [x]",
        "groupIdRefs: {name: x}",
        "groupsSelector: {a: b}",
    ] {
        let text = format!(
            "apiVersion: ec2.aws.crossplane.io/v1\nkind: Subnet\nmetadata: {{name: a}}\nspec: {{forProvider: {{{field}}}}}\n{SUBNETS}"
        );
        faults(&text, &[("wrong-value", "4:22")]);
    }
    // Fields that it does not mention are data, and so are fields without a reference.
    assert_eq!(params_with("{keyRef: net}", SUBNETS), r#"{"keyRef":"net"}"#);
    assert_eq!(
        params_with("{vpcIdRef: null, groupIdRefs: []}", SUBNETS),
        r#"{"vpcIdRef":null,"groupIdRefs":[]}"#
    );
    assert_eq!(params("{vpcIdRef: net}"), r#"{"vpcIdRef":"net"}"#);
}

#[test]
fn selectors_choose_one_or_all() {
    let tier = "{matchLabels: {tier: db, a: b}, matchControllerRef: false}";
    assert_eq!(
        params(&format!("{{vpcIdSelector: {tier}}}")),
        "{vpcId: <a manifest with `a: b`, `tier: db` id>}"
    );
    let all = "<any manifest with `a: b`, `tier: db` id>";
    assert_eq!(params(&format!("{{vpcIds: [x], vpcIdSelector: {tier}}}")), format!("{{vpcIds: {all}}}"));
    assert_eq!(params(&format!("{{vpcIDsSelector: {tier}}}")), format!("{{vpcIDs: {all}}}"));
    // A reference by name takes precedence.
    assert_eq!(
        params(&format!("{{vpcIdSelector: {tier}, vpcIdRef: {{name: x}}}}")),
        "{vpcId: <manifest `n/x` id>}"
    );
    assert_eq!(
        params(&format!("{{vpcIdRefs: [{{name: x}}], vpcIdSelector: {tier}}}")),
        "{vpcIds: [<manifest `n/x` id>]}"
    );
    let optional = "{matchLabels: {a: b}, policy: {resolution: Optional}}";
    assert_eq!(params(&format!("{{vpcIdSelector: {optional}}}")), "{vpcId: <a manifest with `a: b` id?>}");
}

#[test]
fn only_values_of_that_shape_are_references() {
    for plain in [
        "{passwordSecretRef: {name: x, namespace: y, key: z}}",
        "{fooRef: x, barRefs: {name: x}, bazRefs: [x], Ref: {name: x}, fooSelector: y}",
        "{roleRef: {apiGroup: a, kind: b, name: c}}",
        "{fooRef: {}, barRef: , bazSelector: {matchExpressions: [{key: a}]}}",
        "{fooRef: {from: {name: a, kind: b}}, barRef: {from: {}}, bazRef: {from: x}}",
    ] {
        let loaded = read(&format!(
            "apiVersion: a.crossplane.io/v1\nkind: C\nmetadata: {{name: d}}\nspec: {{forProvider: {plain}}}\n"
        ));
        assert!(matches!(&*loaded.deployment.manifests[0].params, Template::Constant(_)), "{plain}");
        assert_eq!(loaded.diagnostics, [], "{plain}");
    }
    let text = "apiVersion: a.crossplane.io/v1\nkind: C\nmetadata: {name: d}\nspec: {forProvider: {fooRef: {nmae: x}, barSelector: {matchLabel: {a: b}}}}\n";
    faults(text, &[("unknown-field", "4:31"), ("unknown-field", "4:55")]);
    assert_eq!(load_text(text).diagnostics[0].severity, Severity::Warning);
    // A reference without a name is a value, and Purlin says so.
    let text = "apiVersion: a.crossplane.io/v1\nkind: C\nmetadata: {name: d}\nspec: {fooRef: {namespace: b}, barSelector: {matchControllerRef: true}}\n";
    faults(text, &[("unknown-field", "4:17"), ("unknown-field", "4:46")]);
    assert_eq!(show(&read(text).deployment.manifests[0].params).matches("Ref").count(), 2);
}

/// A manifest with fields that look like references.
fn lookalike(group: &str, body: &str) -> String {
    format!("apiVersion: {group}/v1\nkind: C\nmetadata: {{name: d}}\n{body}\n")
}

const LOOKALIKES: &str = "{parentRefs: [{name: gw}], issuerRef: {name: ca}, webSelector: {matchLabels: {a: b}}, podSelector: {matchLabels: {}}, \
     dependsOn: [{name: b}, {provider: x, version: y}], deep: [{secretRef: {name: d}, xSelector: {matchControllerRef: true}}]}";

#[test]
fn fields_are_references_only_where_somebody_says_so() {
    for group in [
        "gateway.networking.k8s.io",
        "apps",
        "keda.sh",
        "cert-manager.io",
        "monitoring.coreos.com",
        "kustomize.toolkit.fluxcd.io",
        "apiextensions.crossplane.io",
        "meta.pkg.crossplane.io",
        "pkg.crossplane.io",
        "meta.dev.upbound.io",
        "platform.acme.org",
    ] {
        for body in [format!("spec: {LOOKALIKES}"), format!("extra: {LOOKALIKES}")] {
            let loaded = read(&lookalike(group, &body));
            let [manifest] = &*loaded.deployment.manifests else { panic!("one manifest") };
            assert!(matches!(&*manifest.params, Template::Constant(_)), "{group} {body}");
            assert!(manifest.depends_on.is_empty() && manifest.references.is_empty(), "{group} {body}");
            assert_eq!(loaded.diagnostics, [], "{group}");
        }
    }
    let by_convention = "spec: {parentRefs: [{name: gw}], vpcRef: {from: {name: v, namespace: n}}}";
    let expected = "{parents: [<manifest `gw` id>], vpc: <manifest `n/v` id>}";
    for group in [
        "ec2.aws.crossplane.io",
        "network.azure.upbound.io",
        "pubsub.cnrm.cloud.google.com",
        "ec2.services.k8s.aws",
    ] {
        assert_eq!(show(&manifests(&lookalike(group, by_convention))[0].params), expected, "{group}");
        // Only their params are: `spec`, or `forProvider` in it.
        let top = by_convention.replace("spec:", "extra:");
        assert!(matches!(&*manifests(&lookalike(group, &top))[0].params, Template::Constant(_)));
    }
    // The workspace adds groups.
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("purlin.yaml", "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {references: ['*.acme.org']}\n");
    write("a.yaml", &lookalike("net.acme.org", by_convention));
    write("b.yaml", &lookalike("acme.org", by_convention));
    let loaded = load(&[Input::Path(folder.path().into())]);
    let shown: Vec<_> = loaded.deployment.manifests.iter().map(|manifest| show(&manifest.params)).collect();
    assert_eq!(shown[0], expected);
    assert!(!shown[1].contains('<'), "{}", shown[1]);
    let workspace = |patterns: &str| {
        format!("apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {{references: [{patterns}]}}\n")
    };
    faults(
        &workspace("a/v1, A.b, pkg.crossplane.io"),
        &[("wrong-value", "3:21"), ("wrong-value", "3:27"), ("wrong-value", "3:32")],
    );
}

#[test]
fn a_resource_type_takes_fields_out_and_describes_dependencies() {
    let own = |properties: &str| {
        format!(
            "---\napiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {{type: x/c, manifest: {{group: x.acme.org, kind: C}}, params: {{properties: {{{properties}}}}}}}\n"
        )
    };
    let with = |body: &str, properties: &str| {
        manifests(&format!("{}{}", lookalike("x.acme.org", body), own(properties))).remove(0)
    };
    // In a group without a convention, what is described is a reference, and nothing else is.
    let body = "spec: {aRef: {name: n}, bRef: {name: n}}";
    let found = with(body, "a: {x-reference: {}}");
    assert_eq!(show(&found.params), r#"{a: <manifest `n` id>, bRef: {"name":"n"}}"#);
    assert_eq!(
        found.references.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["spec.aRef is a reference and fills a"]
    );
    // Without `spec` as well.
    assert_eq!(show(&with("aRef: {name: n}", "a: {x-reference: {}}").params), "{a: <manifest `n` id>}");
    // `false` takes out one field of a group with a convention, by either name.
    for property in ["aRef: {x-reference: false}", "a: {x-reference: false}"] {
        let found = with(body, property);
        assert_eq!(show(&found.params), r#"{"aRef":{"name":"n"},"bRef":{"name":"n"}}"#);
        let crossplane = format!(
            "{}{}",
            lookalike("x.crossplane.io", body),
            own(property).replace("x.acme.org", "x.crossplane.io")
        );
        assert_eq!(show(&manifests(&crossplane)[0].params), r#"{aRef: {"name":"n"}, b: <manifest `n` id>}"#);
    }
    // Dependencies are described like references, wherever they are.
    for body in [
        "spec: {a: 1, dependsOn: [{name: n, blocking: false}]}",
        "spec: {forProvider: {a: 1}, dependsOn: [{name: n, blocking: false}]}",
        "spec: {a: 1}\ndependsOn: [{name: n, blocking: false}]",
        "a: 1\ndependsOn: [{name: n, blocking: false}]",
    ] {
        let found = with(body, "dependsOn: {x-reference: {type: x/d}}");
        assert_eq!(show(&found.params), r#"{"a":1}"#, "{body}");
        assert!(!format!("{:?}", found.around).contains("dependsOn"), "{body}");
        let [dependency] = &*found.depends_on else { panic!("one dependency: {body}") };
        assert_eq!((dependency.target.to_string().as_str(), dependency.blocking), ("x/d `n`", false));
        assert!(found.references[0].to_string().ends_with("dependsOn is read by Purlin and left out"));
    }
    let rule = |rule: &str| own(&format!("dependsOn: {{x-reference: {rule}}}"));
    assert!(load_text(&rule("{output: id}")).has_errors());
    assert!(load_text(&rule("true")).has_errors());
    // Beside `spec` it is a value that no param has, and Purlin says so.
    let beside = lookalike("x.acme.org", "spec: {}\ndependsOn: [{name: n}]");
    faults(&beside, &[("no-effect", "5:1")]);
    assert!(format!("{:?}", read(&beside).deployment.manifests[0].around).contains("dependsOn"));
}

#[test]
fn a_resource_type_describes_reference_fields() {
    assert_eq!(params_with("{vpcIdRef: {name: x}}", SUBNETS), "{vpcId: <ec2/vpc `n/x` network.id>}");
    assert_eq!(
        params_with("{networkRef: {name: x}}", SUBNETS),
        "{network: /p/<net `n/x` field project>/n/<net `n/x` field name>}"
    );
    assert_eq!(params_with("{groupIdRefs: [{name: x}]}", SUBNETS), "{groups: [<ec2/group `n/x` id>]}");
    assert_eq!(
        params_with("{groupIdSelector: {matchLabels: {a: b}}}", SUBNETS),
        "{groups: <any ec2/group with `a: b` id>}"
    );
    assert_eq!(
        params_with("{groupSelector: {matchLabels: {}}}", SUBNETS),
        "{groups: <any ec2/group with  id>}"
    );
    assert_eq!(
        params_with("{nested: {list: [{keyIdRef: {name: k}}]}}", SUBNETS),
        "{nested: {list: [{keyId: <kms/key `n/k` arn>}]}}"
    );
    let peers = "---\napiVersion: ec2.x/v1\nkind: Peer\nmetadata: {name: p2, namespace: n, labels: {a: b}}\n---\napiVersion: ec2.x/v1\nkind: Peer\nmetadata: {name: p1, namespace: n, labels: {a: b}}\n";
    assert_eq!(
        params_with("{peersSelector: {matchLabels: {a: b}}}", &format!("{SUBNETS}{peers}")),
        "{peers: [${x}/<ec2/peer `n/p1` field name>,${x}/<ec2/peer `n/p2` field name>]}"
    );
}

#[test]
fn a_resource_type_may_name_its_manifests() {
    let own = "apiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {type: net, manifest: [{group: ec2.a.io, kind: VPC}, {group: '', kind: Net}]}\n---\n";
    let text = format!(
        "{own}{{apiVersion: ec2.a.io/v1, kind: VPC, metadata: {{name: a}}}}\n---\n{{apiVersion: v7, kind: Net, metadata: {{name: b}}}}\n---\n{{apiVersion: ec2.b.io/v1, kind: VPC, metadata: {{name: a}}}}\n"
    );
    let keys: Vec<_> = manifests(&text).iter().map(|manifest| manifest.key().to_string()).collect();
    assert_eq!(keys, ["net.default#a", "net.default#b", "ec2/vpc.default#a"]);
}

#[test]
fn types_that_collide() {
    let one = |group: &str, name: &str| {
        format!("apiVersion: {group}\nkind: VPC\nmetadata: {{name: {name}}}\n---\n")
    };
    faults(&format!("{}{}", one("ec2.a.io/v1", "a"), one("ec2.b.io/v1", "b")), &[("type-collision", "6:7")]);
    read(&format!("{}{}", one("ec2.a.io/v1", "a"), one("ec2.a.io/v2", "b")));
    faults(
        &format!("{}{}", one("ec2.a.io/v1", "a"), one("ec2.a.io/v2", "a")),
        &[("duplicate-document", "7:18")],
    );
    let own = |name: &str| {
        format!(
            "apiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {{type: {name}, manifest: {{group: a.io, kind: B}}}}\n---\n"
        )
    };
    faults(&format!("{}{}", own("x"), own("y")), &[("manifest-of-two-types", "7:47")]);
    faults(&format!("{}{}", own("ec2/vpc"), one("ec2.b.io/v1", "b")), &[("type-collision", "6:7")]);
}

#[test]
fn faults_of_heads() {
    let one = |rest: &str| format!("apiVersion: a.b/v1\nkind: C\n{rest}\n");
    faults(&one("metadata: {name: a/b}"), &[("bad-name", "3:18")]);
    faults(&one("metadata: {name: }"), &[("wrong-type", "3:16")]);
    faults(&one("metadata: {name: modules.a}"), &[("bad-name", "3:18")]);
    faults(&one("metadata: {name: a, namespce: b}"), &[("unknown-field", "3:21")]);
    faults(&one("metadata: {name: a, labels: {b: 1}}"), &[("wrong-type", "3:33")]);
    faults(&one("metadata: {name: a}\nspec: {}\nspce: {a: b}"), &[("unknown-field", "5:1")]);
    faults(&one("metadata: {name: a}\nspec: {forProvider: {}, more: {}}"), &[("unknown-field", "4:25")]);
    faults(
        "apiVersion: v1\nkind: List\nitems: [{a: b}, {apiVersion: v1, kind: C}]\n",
        &[("missing-field", "3:10"), ("missing-field", "3:18")],
    );
    faults("apiVersion: v1\nkind: a b\nmetadata: {name: a}\n", &[("bad-name", "2:7")]);
    // One of ours with a completely wrong group.
    faults(
        "apiVersion: example.org/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {app: a, env: b}\n",
        &[("unknown-version", "1:13")],
    );
}

#[test]
fn faults_of_reference_fields() {
    let one = |provider: &str| {
        format!(
            "apiVersion: a.crossplane.io/v1\nkind: C\nmetadata: {{name: d}}\nspec:\n  forProvider: {provider}\n"
        )
    };
    faults(&one("{aRef: {name: }}"), &[("wrong-type", "5:28")]);
    let described = "---\napiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {type: a/c, params: {properties: {a: {x-reference: {}}}}}\n";
    let text = format!("{}{described}", one("{aRef: {namespace: b}}"));
    faults(&text, &[("missing-field", "5:24")]);
    faults(&one("{aRef: {name: b, policy: {resolve: always}}}"), &[("wrong-value", "5:51")]);
    faults(
        &one("{aRef: {name: b, policy: {resolution: Maybe, x: y}}}"),
        &[("wrong-value", "5:54"), ("unknown-field", "5:61")],
    );
    faults(&one("{aRefs: [{name: b}, c]}"), &[("wrong-value", "5:36")]);
    faults(&one("{aSelector: {matchLabels: {}}}"), &[("missing-field", "5:42")]);
    faults(&one("{aSelector: {matchLabels: {b: c}, matchControllerRef: true}}"), &[("wrong-value", "5:70")]);
    faults(&one("{aSelector: {matchLabels: {b: 1}}}"), &[("wrong-type", "5:46")]);
    faults(&one("{aRefs: [{name: b}], asRefs: [{name: c}]}"), &[("filled-twice", "5:37")]);
}

#[test]
fn faults_of_x_reference() {
    let one = |rule: &str| {
        format!(
            "apiVersion: purlin.dev/v1\nkind: ResourceType\nspec:\n  type: t\n  params:\n    properties:\n      a: {{x-reference: {rule}}}\n"
        )
    };
    for (rule, code, column) in [
        ("{typ: b}", "unknown-field", 25),
        ("{type: b c}", "bad-name", 31),
        ("{type: b, output: c, build: '${ref.d}'}", "wrong-value", 45),
        ("{build: '/${context.d}'}", "placeholder", 34),
        ("{build: '/${ref.d'}", "placeholder", 34),
        ("{build: 'x'}", "wrong-value", 32),
        ("{output: 'a..b'}", "wrong-value", 33),
        ("{field: subnetIds}", "wrong-value", 32),
        ("x", "wrong-type", 24),
    ] {
        faults(&one(rule), &[(code, &format!("7:{column}"))]);
    }
    let outputs =
        "apiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {type: t, outputs: {x-reference: {}}}\n";
    faults(outputs, &[("misplaced-field", "3:27")]);
    // A property may have that name.
    read(
        "apiVersion: purlin.dev/v1\nkind: ResourceType\nspec: {type: t, params: {properties: {x-reference: {type: string}}}}\n",
    );
}

#[test]
fn dependencies_are_read_from_an_annotation() {
    let text = "apiVersion: ec2.aws.crossplane.io/v1
kind: Subnet
metadata:
  name: a
  namespace: n
  annotations:
    purlin.dev/depends-on: |
      - {kind: Table, name: t, blocking: false}
      - {apiVersion: x.y/v1, kind: Thing, name: u, namespace: m, optional: true}
      - {name: v}
      - {kind: Other, name: w}
spec:
  forProvider: {}
  providerConfigRef: {name: p}
---
{apiVersion: rds.aws.crossplane.io/v1, kind: Table, metadata: {name: t, namespace: n}}
---
{apiVersion: aws.crossplane.io/v1, kind: ProviderConfig, metadata: {name: p}}
";
    let loaded = read(text);
    let shown: Vec<_> = loaded.deployment.manifests[0]
        .depends_on
        .iter()
        .map(|entry| {
            format!(
                "{} {} {} {}:{}",
                entry.target, entry.blocking, entry.optional, entry.location.line, entry.location.column
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            "rds/table `n/t` false false 8:29",
            "x/thing `m/u` true true 9:49",
            "manifest `n/v` true false 10:16",
            "ec2/other `n/w` true false 11:29",
            "aws/provider-config `p` true true 14:29",
        ]
    );
    assert!(!format!("{:?}", loaded.deployment.manifests[0].around).contains("depends-on"));
    let one = |entry: &str| {
        format!(
            "apiVersion: a.b/v1\nkind: C\nmetadata: {{name: d, annotations: {{purlin.dev/depends-on: '[{entry}]'}}}}\n---\n{{apiVersion: x.y/v1, kind: K, metadata: {{name: k}}}}\n---\n{{apiVersion: z.y/v1, kind: K, metadata: {{name: k}}}}\n"
        )
    };
    faults(&one("{kind: K, name: k}"), &[("wrong-value", "3:67")]);
    faults(&one("{apiVersion: x.y/v1, name: k}"), &[("missing-field", "3:73")]);
    faults(&one("{nam: k}"), &[("missing-field", "3:61"), ("unknown-field", "3:61")]);
    faults(&one("k"), &[("wrong-type", "3:60")]);
    read(&one("{apiVersion: z.y/v1, kind: K, name: k}"));
    faults(&one("k").replace("'[k]'", "[k]"), &[("wrong-type", "3:58")]);
    assert!(load_text(&one("k").replace("'[k]'", "'[k'")).has_errors());
    // The annotation works in every manifest.
    for (group, body) in [("v1", "data: {a: b}"), ("gateway.networking.k8s.io/v1", "spec: {}")] {
        let text = format!(
            "apiVersion: {group}\nkind: C\nmetadata: {{name: d, annotations: {{purlin.dev/depends-on: '[{{name: e}}]', a: b}}}}\n{body}\n"
        );
        assert_eq!(manifests(&text)[0].depends_on.len(), 1);
    }
}

fn life(beside: &str, annotations: &str) -> (Option<LifecycleOptions>, Vec<&'static str>) {
    let text = format!(
        "apiVersion: a.b/v1\nkind: C\nmetadata: {{name: d, annotations: {{{annotations}}}}}\nspec: {{forProvider: {{}}, {beside}}}\n"
    );
    let loaded = read(&text);
    let options = loaded.deployment.lifecycle.first().map(|setting| setting.options.clone());
    (options, loaded.diagnostics.iter().map(|fault| fault.code).collect())
}

fn policy(beside: &str) -> String {
    let (options, _) = life(beside, "crossplane.io/external-name: x");
    let Some(options) = options else { return String::new() };
    let rest = &options;
    let mut words = Vec::new();
    words.extend(options.paused.filter(|yes| *yes).map(|_| "paused".to_owned()));
    words.extend(options.retain.map(|yes| format!("retain {yes}")));
    words.extend((!rest.ignore_changes.is_empty()).then(|| "ignore".to_owned()));
    words.extend(rest.import.as_ref().map(|id| format!("import {id}")));
    words.extend(rest.observe.as_ref().map(|id| format!("observe {id}")));
    words.join(", ")
}

#[test]
fn policies_of_a_life() {
    for (beside, words) in [
        ("deletionPolicy: Delete", ""),
        ("deletionPolicy: Orphan", "retain true"),
        ("managementPolicies: ['*']", ""),
        ("managementPolicies: ['*'], deletionPolicy: Orphan", "retain true"),
        ("managementPolicies: [Delete]", "ignore, import x"),
        ("managementPolicies: [Delete], deletionPolicy: Orphan", "ignore, import x"),
        ("managementPolicies: [Observe]", "observe x"),
        ("managementPolicies: [Observe], deletionPolicy: Delete", "observe x"),
        ("managementPolicies: []", "paused"),
        ("managementPolicies: [Observe, Create, Update, LateInitialize, Delete]", ""),
        ("managementPolicies: [Observe, Create, Update, LateInitialize]", "retain true"),
        ("managementPolicies: [Observe, Create, Delete]", "ignore"),
        ("managementPolicies: [Observe, Create]", "retain true, ignore"),
        ("managementPolicies: [Observe, Update]", "retain true, import x"),
        ("managementPolicies: [Observe, Delete]", "ignore, import x"),
    ] {
        assert_eq!(policy(beside), words, "{beside}");
    }
    let one = |beside: &str| {
        format!("apiVersion: a.b/v1\nkind: C\nmetadata: {{name: d}}\nspec: {{forProvider: {{}}, {beside}}}\n")
    };
    faults(&one("managementPolicies: [Update]"), &[("wrong-value", "4:25")]);
    faults(&one("managementPolicies: ['*', Update]"), &[("wrong-value", "4:25")]);
    faults(&one("managementPolicies: [Watch]"), &[("wrong-value", "4:46")]);
    faults(&one("deletionPolicy: Retain"), &[("wrong-value", "4:41")]);
}

#[test]
fn annotations_of_a_life() {
    let (options, codes) = life("", "crossplane.io/paused: 'true', purlin.dev/protect: 'true'");
    let options = options.expect("options");
    assert_eq!((options.paused, options.protect, codes), (Some(true), Some(true), vec![]));
    assert_eq!(life("", "crossplane.io/external-name: x"), (None, vec!["no-effect"]));
    // LIFE-11, LIFE-12, LIFE-13: how often it is read, and a request to read it at once.
    let (options, codes) =
        life("", "crossplane.io/poll-interval: 1m, purlin.dev/reconcile-requested-at: now");
    let rest = options.expect("options");
    assert_eq!(rest.poll_interval, Some(std::time::Duration::from_secs(60)));
    assert_eq!((rest.reconcile_requested.as_deref(), codes), (Some("now"), vec![]));
    assert_eq!(life("", "crossplane.io/poll-interval: abc"), (None, vec!["no-effect"]));
    assert_eq!(life("", "crossplane.io/pausd: 'true'"), (None, vec!["no-effect"]));
    assert_eq!(life("", "example.org/note: x"), (None, vec![]));
    assert_eq!(life("writeConnectionSecretToRef: {name: s}", ""), (None, vec!["no-effect"]));
    let one = |annotation: &str| {
        format!("apiVersion: a.b/v1\nkind: C\nmetadata: {{name: d, annotations: {{{annotation}}}}}\n")
    };
    faults(&one("purlin.dev/paused: 'yes'"), &[("wrong-value", "3:54")]);
    faults(&one("purlin.dev/pause: 'true'"), &[("unknown-field", "3:35")]);
    // Without an external name, the name of the manifest is used.
    let (options, _) = life("managementPolicies: [Observe]", "");
    assert_eq!(options.expect("options").observe.as_deref(), Some("d"));
}

#[test]
fn a_deployment_has_the_last_word() {
    let text = "apiVersion: a.b/v1\nkind: C\nmetadata: {name: d}\nspec: {forProvider: {}, deletionPolicy: Orphan}\n---
apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {lifecycle: {'a/c#d': {retain: false, protect: true}}}\n";
    let loaded = read(text);
    let settings = &loaded.deployment.lifecycle;
    assert_eq!(settings.len(), 1);
    assert_eq!((settings[0].options.retain, settings[0].options.protect), (Some(false), Some(true)));
}

#[test]
fn settings_without_for_provider_are_params() {
    let text = "apiVersion: a.b/v1\nkind: C\nmetadata: {name: d}\nspec: {deletionPolicy: Orphan}\n";
    faults(text, &[("no-effect", "4:8")]);
    assert_eq!(read(text).deployment.lifecycle, []);
}

#[test]
fn values_are_found_where_they_were_written() {
    let text = "apiVersion: v1
kind: List
items:
  - apiVersion: ec2.crossplane.io/v1
    kind: VPC
    metadata: {name: net, labels: {x: y}}
    spec:
      forProvider:
        cidr: 10.0.0.0/8
        subnetIdRefs: [{name: a}]
        tags: [{key: k}]
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {d: e}}
";
    let loaded = read(text);
    let place = |manifest: usize, pointer: &str| {
        let place = &loaded.deployment.manifests[manifest].location;
        let spot = loaded.sources.find(DocumentPart::Manifest(place), pointer, false).expect("a spot");
        format!("{}:{}", spot.location.line, spot.location.column)
    };
    assert_eq!(place(0, "/cidr"), "9:15");
    assert_eq!(place(0, "/tags/0/key"), "11:22");
    assert_eq!(place(0, "/subnetIds"), "10:9");
    assert_eq!(place(0, "/subnetIds/0"), "10:24");
    assert_eq!(place(0, "/missing"), "8:7");
    assert_eq!(place(1, "/data/d"), "12:70");
}

#[test]
fn a_score_file_is_not_a_manifest() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write(
        "a.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {workloads: [{score: x/secret.yaml}]}\n",
    );
    std::fs::create_dir(folder.path().join("x")).expect("a folder");
    write("x/secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: hidden}\ndata: {a: b}\n");
    let loaded = load(&[Input::Path(folder.path().join("a.yaml"))]);
    let shown = loaded.sources.render(&loaded.diagnostics, false, 100);
    assert!(loaded.has_errors() && !shown.contains("hidden"), "{shown}");
    assert_eq!(loaded.deployment.manifests, []);
}

#[test]
fn nothing_is_made_of_a_constant() {
    assert!(matches!(
        &*manifests("apiVersion: a.b/v1\nkind: C\nmetadata: {name: d}\nspec: {a: '${x}'}\n")[0].params,
        Template::Constant(Value::Map(_))
    ));
}
