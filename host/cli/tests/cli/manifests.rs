//! Tests of folders with managed resources that refer to one another (SPEC §7).

use purlin_systems::Project;

const PLATFORM: &str = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: aws}
spec:
  type: '*'
  driver: purlin/echo
  inputs: {values: {id: '${context.res.type}-${context.res.id}', spec: '${params}'}}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: ResourceType
metadata: {name: subnet}
spec:
  type: ec2/subnet
  params:
    type: object
    properties:
      vpcId: {type: string, x-reference: {type: ec2/vpc, output: id}}
";

const VPC: &str = "\
apiVersion: ec2.aws.crossplane.io/v1beta1
kind: VPC
metadata: {name: net}
spec: {forProvider: {cidrBlock: 10.0.0.0/16}}
";

const SUBNET: &str = "\
apiVersion: ec2.aws.crossplane.io/v1beta1
kind: Subnet
metadata: {name: web, labels: {tier: web}}
spec:
  forProvider:
    vpcIdRef: {name: net}
    note: '${aws:username} stays as it is'
";

const INSTANCE: &str = "\
apiVersion: ec2.aws.crossplane.io/v1beta1
kind: Instance
metadata: {name: host}
spec:
  forProvider:
    subnetIdSelector: {matchLabels: {tier: web}}
    roleRef: {name: nobody, policy: {resolution: Optional}}
";

fn project(parts: &[(&str, &str)]) -> Project {
    let project = Project::empty();
    project.write(
        "purlin.yaml",
        "apiVersion: purlin.dev/v1\nkind: Workspace\nspec: {defaults: {app: shop, env: dev}}\n",
    );
    project.write("platform.yaml", PLATFORM);
    for (name, text) in parts {
        project.write(name, text);
    }
    project
}

fn done(project: &Project, arguments: &[&str], status: i32) -> Vec<String> {
    let arguments: Vec<&str> = arguments.iter().chain(&["--format", "json"]).copied().collect();
    let events = project.run(&arguments).status(status).events();
    let succeeded = events.iter().filter(|event| event["phase"] == "succeeded");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    succeeded.map(|event| format!("{} {}", text(&event["action"]), text(&event["key"]))).collect()
}

#[test]
fn a_folder_is_applied_in_order_and_deleted_the_other_way() {
    let project = project(&[("a.yaml", INSTANCE), ("b.yaml", SUBNET), ("c.yaml", VPC)]);
    let made = ["ec2/vpc.default#net", "ec2/subnet.default#web", "ec2/instance.default#host"];
    let of = |action: &str, keys: &mut dyn Iterator<Item = &&str>| -> Vec<String> {
        keys.map(|key| format!("{action} {key}")).collect()
    };
    let ours = |lines: Vec<String>| -> Vec<String> {
        lines.into_iter().filter(|line| line.contains("ec2/")).collect()
    };
    assert_eq!(ours(done(&project, &["up", "--yes"], 0)), of("create", &mut made.iter()));
    let outputs = project.run(&["outputs", "--format", "json"]).status(0).json();
    let host = &outputs["resources"]["ec2/instance.default#host"]["spec"];
    assert_eq!(*host, serde_json::json!({"subnetId": "ec2/subnet-web"}));
    let web = &outputs["resources"]["ec2/subnet.default#web"]["spec"];
    assert_eq!(*web, serde_json::json!({"vpcId": "ec2/vpc-net", "note": "${aws:username} stays as it is"}));
    project.run(&["plan", "--detailed-exitcode"]).status(0);
    assert_eq!(ours(done(&project, &["destroy", "--yes"], 0)), of("delete", &mut made.iter().rev()));
}

#[test]
fn parts_may_come_in_any_order() {
    let parts = [("a.yaml", INSTANCE), ("b.yaml", SUBNET), ("c.yaml", VPC)];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1]] {
        let project = project(&[]);
        for (number, part) in order.iter().enumerate() {
            project.write(parts[*part].0, parts[*part].1);
            let whole = order[..=number].contains(&2)
                && (order[..=number].contains(&1) || !order[..=number].contains(&0));
            done(&project, &["up", "--yes"], i32::from(!whole));
        }
        let outputs = project.run(&["outputs", "--format", "json"]).status(0).json();
        let host = &outputs["resources"]["ec2/instance.default#host"]["spec"]["subnetId"];
        assert_eq!(*host, "ec2/subnet-web", "{order:?}");
        project.run(&["plan", "--detailed-exitcode"]).status(0);
    }
}

#[test]
fn waiting_resources_report_the_whole_chain() {
    let project = project(&[("a.yaml", INSTANCE), ("b.yaml", &SUBNET.replace("name: net", "name: nett"))]);
    project.write("c.yaml", VPC);
    let waits = "it waits for `ec2/subnet#web`, which waits for ec2/vpc `nett`, which no document declares";
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let plan = project.run(&["plan"]).status(0);
    assert!(joined(&plan.out).contains(waits), "{}", plan.out);
    assert!(joined(&plan.out).contains("did you mean `net`?"), "{}", plan.out);
    let up = project.run(&["up", "--yes"]).status(1);
    assert!(joined(&up.err).contains(waits), "{}", up.err);
    assert!(up.err.contains("2 waiting"), "{}", up.err);
    let valid = project.run(&["validate"]).status(0);
    assert!(valid.err.contains("no document declares ec2/vpc `nett`"), "{}{}", valid.out, valid.err);
    // Of `{name: nett}`, only the name is underlined.
    assert!(valid.err.lines().any(|line| line.trim_matches([' ', '|']) == "^^^^"), "{}", valid.err);
    // A provisioned resource is not deleted when its target disappears.
    project.write("b.yaml", SUBNET);
    project.run(&["up", "--yes"]).status(0);
    project.write("b.yaml", SUBNET.replace("name: net", "name: gone"));
    assert_eq!(done(&project, &["up", "--yes"], 1), Vec::<String>::new());
    assert_eq!(project.run(&["state", "list"]).status(0).out.matches("ec2/").count(), 3);
}

#[test]
fn plan_and_explain_say_which_fields_are_references() {
    let instance = INSTANCE.replace("roleRef:", "subnetIdRef: {name: web}\n    roleRef:");
    let project = project(&[("a.yaml", &instance), ("b.yaml", SUBNET), ("c.yaml", VPC)]);
    let fields = [
        ("subnetIdSelector", None, "a.yaml:6:5"),
        ("subnetIdRef", Some("subnetId"), "a.yaml:7:5"),
        ("roleRef", Some("role"), "a.yaml:8:5"),
    ];
    let path = |name: &str| format!("/spec/forProvider/{name}");
    let expected: Vec<_> = fields
        .iter()
        .map(|(field, fills, at)| serde_json::json!({"field": path(field), "fills": fills.map(path), "at": at}))
        .collect();
    let plan = project.run(&["plan", "--format", "json"]).status(0).json();
    let step = plan["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .find(|step| step["key"] == "ec2/instance.default#host");
    assert_eq!(step.expect("a step")["references"], serde_json::json!(expected));
    let explained = project.run(&["explain", "ec2/instance#host", "--format", "json"]).status(0).json();
    assert_eq!(explained["references"], serde_json::json!(expected));
    for command in [&["plan"][..], &["explain", "ec2/instance#host"]] {
        let text = project.run(command).status(0).out;
        for (field, fills, _) in fields {
            let end = fills.map_or("read by Purlin and left out".to_owned(), |name| {
                format!("a reference and fills {name}")
            });
            assert!(text.contains(&format!("spec.forProvider.{field} is {end}")), "{text}");
        }
    }
    // Nothing is said about a value that stays.
    project.write("b.yaml", SUBNET.replace("ec2.aws.crossplane.io", "ec2.acme.dev"));
    project.write("a.yaml", "");
    project.write("c.yaml", "");
    project.write("platform.yaml", PLATFORM.split("---").next().expect("a definition"));
    let explained = project.run(&["explain", "ec2/subnet#web", "--format", "json"]).status(0).json();
    assert_eq!(explained["references"], serde_json::Value::Null, "{explained}");
}

/// A definition that passes the whole manifest on.
const WHOLE: &str = "\
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: whole}
spec:
  type: '*'
  driver: purlin/echo
  inputs: {values: {manifest: '${manifest}'}}
  criteria: [{}]
";

/// Manifests of public kinds, with fields that look like references. Where nobody described one,
/// they are none.
const PUBLIC: [(&str, &str, &str); 18] = [
    (
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        r#""spec": {"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "web", "port": 80}]}]}"#,
    ),
    (
        "gateway.networking.k8s.io/v1",
        "Gateway",
        r#""spec": {"gatewayClassName": "x", "listeners": [{"name": "l", "port": 443, "tls": {"certificateRefs": [{"name": "c", "namespace": "other"}]}}]}"#,
    ),
    (
        "keda.sh/v1alpha1",
        "ScaledObject",
        r#""spec": {"scaleTargetRef": {"name": "web"}, "triggers": [{"type": "cpu", "authenticationRef": {"name": "a"}}]}"#,
    ),
    ("cert-manager.io/v1", "Certificate", r#""spec": {"issuerRef": {"name": "ca"}, "secretName": "s"}"#),
    (
        "cert-manager.io/v1",
        "ClusterIssuer",
        r#""spec": {"acme": {"privateKeySecretRef": {"name": "own"}, "server": "x"}}"#,
    ),
    (
        "monitoring.coreos.com/v1",
        "Prometheus",
        r#""spec": {"serviceMonitorSelector": {"matchLabels": {"team": "a"}}, "ruleSelector": {}, "podMonitorSelector": null}"#,
    ),
    (
        "kustomize.toolkit.fluxcd.io/v1",
        "Kustomization",
        r#""spec": {"dependsOn": [{"name": "b"}], "sourceRef": {"kind": "GitRepository", "name": "r"}, "decryption": {"secretRef": {"name": "d"}}}"#,
    ),
    (
        "source.toolkit.fluxcd.io/v1",
        "GitRepository",
        r#""spec": {"secretRef": {"name": "own"}, "url": "https://x"}"#,
    ),
    (
        "apiextensions.crossplane.io/v1",
        "Composition",
        r#""spec": {"resources": [{"base": {"spec": {"forProvider": {"vpcIdSelector": {"matchControllerRef": true}}}}}]}"#,
    ),
    (
        "meta.pkg.crossplane.io/v1",
        "Configuration",
        r#""spec": {"dependsOn": [{"provider": "xpkg/x", "version": ">=v0.1.0"}]}"#,
    ),
    (
        "meta.dev.upbound.io/v1alpha1",
        "Project",
        r#""spec": {"dependsOn": [{"provider": "xpkg/x", "version": "v1"}]}"#,
    ),
    (
        "database.example.org/v1",
        "PostgreSQLInstance",
        r#""spec": {"compositionRef": {"name": "own"}, "compositionSelector": {"matchLabels": {"a": "b"}}, "writeConnectionSecretToRef": {"name": "own"}}"#,
    ),
    (
        "v1",
        "PersistentVolume",
        r#""spec": {"claimRef": {"name": "own", "namespace": "x"}, "capacity": {"storage": "1Gi"}}"#,
    ),
    ("v1", "ConfigMap", r#""data": {"a": "${b}", "n": "1"}, "binaryData": {"fooRef": "eA=="}"#),
    (
        "rbac.authorization.k8s.io/v1",
        "Role",
        r#""rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]"#,
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        r#""roleRef": {"name": "own"}, "subjects": [{"kind": "User", "name": "u"}]"#,
    ),
    (
        "storage.k8s.io/v1",
        "StorageClass",
        r#""provisioner": "p", "parameters": {"secretRef": {"name": "own"}}, "dependsOn": [{"name": "own"}]"#,
    ),
    (
        "argoproj.io/v1alpha1",
        "Application",
        r#""spec": {"destination": {"name": "in"}, "ratio": 0.30000000000000004}"#,
    ),
];

#[test]
fn manifests_of_public_kinds_reach_their_driver_as_they_were_written() {
    let project = Project::empty();
    project.write("platform.yaml", WHOLE);
    let mut expected = Vec::new();
    for (number, (version, kind, body)) in PUBLIC.iter().enumerate() {
        let text = format!(
            r#"{{"apiVersion": "{version}", "kind": "{kind}", "metadata": {{"name": "own", "finalizers": ["a/b"], "labels": {{"n": "{number}"}}}}, {body}}}"#
        );
        project.write(&format!("m{number:02}.yaml"), &text);
        expected.push(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"));
    }
    project.run(&["up", "--yes"]).status(0);
    let outputs = project.run(&["outputs", "--format", "json"]).status(0).json();
    let reached: Vec<_> = outputs["resources"].as_object().expect("resources").values().collect();
    for manifest in expected {
        let same = |outputs: &&&serde_json::Value| outputs["manifest"]["metadata"] == manifest["metadata"];
        let found = reached.iter().find(same).map(|outputs| &outputs["manifest"]);
        assert_eq!(found, Some(&manifest));
    }
}

#[test]
fn a_definition_reads_entire_manifests() {
    let any = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: any}\nspec:\n  type: '*'\n  driver: purlin/echo\n  inputs: {values: {id: '${context.res.id}', object: '${manifest}', kind: '${manifest.kind}', owner: \"${manifest.metadata.labels['owner']?}\"}}\n  criteria: [{}]\n";
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: n, annotations: {a: b, purlin.dev/protect: 'false'}}\ndata: {k: v}\n";
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: s, labels: {owner: web}}\nspec: {ports: [{port: 1}], mapRef: {name: c, namespace: n}}\n";
    let vpc = VPC.replace("spec: {", "spec: {deletionPolicy: Orphan, ");
    let files =
        [("platform.yaml", any), ("config.yaml", config), ("service.yaml", service), ("vpc.yaml", &vpc)];
    let project = project(&files);
    project.run(&["up", "--yes"]).status(0);
    let outputs = project.run(&["outputs", "--format", "json"]).status(0).json();
    let of = |key: &str| outputs["resources"][key].clone();
    assert_eq!(
        of("config-map.default#n/c"),
        serde_json::json!({"id": "n/c", "kind": "ConfigMap", "object": {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "c", "namespace": "n", "annotations": {"a": "b"}},
            "data": {"k": "v"},
        }})
    );
    assert_eq!(
        of("service.default#s")["object"],
        serde_json::json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "labels": {"owner": "web"}},
            "spec": {"ports": [{"port": 1}], "mapRef": {"name": "c", "namespace": "n"}},
        })
    );
    assert_eq!(of("service.default#s")["owner"], "web");
    assert_eq!(
        of("ec2/vpc.default#net")["object"]["spec"],
        serde_json::json!({"forProvider": {"cidrBlock": "10.0.0.0/16"}, "deletionPolicy": "Orphan"})
    );
    // A definition of all types does not provision Purlin's implicit resources.
    let listed = project.run(&["state", "list", "--format", "json"]).status(0).json();
    assert_eq!(listed["resources"].as_array().map(Vec::len), Some(4), "{listed}");
    let explained = project.run(&["explain", "base-env#base-env"]);
    assert!(explained.out.contains("which matches no resource that Purlin adds"), "{}", explained.out);
    // A mistake is reported before anything runs.
    project.write("platform.yaml", any.replace("${manifest.kind}", "${manifest.knid}"));
    let ran = project.run(&["plan"]).status(2);
    assert!(ran.err.contains("has no `knid`") && ran.err.contains("`kind`"), "{}", ran.err);
    project.write(
        "more.yaml",
        "apiVersion: purlin.dev/v1\nkind: Deployment\nspec: {shared: {x: {type: thing}}}\n",
    );
    let ran = project.run(&["plan"]).status(2);
    assert!(ran.err.contains("`thing.default#shared.x` was not written as a manifest"), "{}", ran.err);
}
