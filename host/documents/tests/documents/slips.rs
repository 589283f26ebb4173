//! Slips that would make a document, a resource or a reference vanish.

use purlin_documents::{Input, Loaded, content, load, meant_placeholder};

fn load_text(text: &str) -> Loaded {
    load(&[Input::Text { name: "test.yaml".into(), text: text.into() }])
}

/// The codes of the faults of two files in a folder, of which nobody named the second one.
fn of_folder(text: &str) -> Vec<(&'static str, bool)> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("m.yaml"), text).expect("written");
    let loaded = load(&[Input::Path(folder.path().to_owned())]);
    loaded.diagnostics.iter().map(|fault| (fault.code, fault.is_error())).collect()
}

const GROUP: &str = "\
apiVersion: ec2.example.org/v1
kind: SecurityGroup
metadata:
  name: ssh
spec: {}
";

#[test]
fn a_misspelt_head_of_a_manifest_is_an_error() {
    for (from, to, help) in [
        ("kind:", "knd:", "`kind`"),
        ("kind:", "kinds:", "`kind`"),
        ("metadata:", "metadta:", "`metadata`"),
        ("apiVersion:", "apiVersoin:", "`apiVersion`"),
        ("name:", "nmae:", "`name`"),
    ] {
        let loaded = load_text(&GROUP.replace(from, to));
        let fault = loaded.diagnostics.first().expect("a fault");
        assert_eq!(fault.code, "unknown-field", "{to}: {}", fault.message);
        assert!(fault.help.as_ref().is_some_and(|text| text.contains(help)), "{to}");
        assert_eq!(of_folder(&GROUP.replace(from, to)), [("unknown-field", true)], "{to}");
    }
    assert_eq!(of_folder(&GROUP.replace("  name: ssh", "name: ssh")), [("missing-field", true)]);
    let list = "apiVersion: v1\nkind: List\nitems: [{apiVersion: ec2.example.orgv1, kind: A, metadata: {name: a}}]\n";
    assert_eq!(of_folder(list), [("unknown-version", true)]);
    assert_eq!(of_folder(GROUP), []);
}

#[test]
fn documents_of_others_are_still_skipped() {
    for text in [
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Component\nmetadata: {annotations: {a: b}}\n",
        "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
        "apiVersion: example.org/v1\nkind: A\nmetadata: {generateName: b}\n",
    ] {
        assert_eq!(of_folder(text), [("not-a-document", false)], "{text}");
    }
}

#[test]
fn a_key_that_is_given_twice_is_reported_in_a_skipped_document_too() {
    let twice = GROUP.replace("metadata:\n", "metadata:\nmetadata:\n");
    assert!(of_folder(&twice).contains(&("missing-field", true)), "{:?}", of_folder(&twice));
    let chart = "name: chart\nname: chart\n";
    assert!(of_folder(chart).contains(&("duplicate-key", false)), "{:?}", of_folder(chart));
    let beside = format!("{GROUP}---\napiVersion: v2\nname: chart\nname: chart\n");
    assert!(of_folder(&beside).contains(&("duplicate-key", true)), "{:?}", of_folder(&beside));
}

#[test]
fn a_part_that_is_no_longer_a_document_is_found() {
    let other = "apiVersion: v2\nname: chart\n";
    let before = content("m.yaml", &format!("{GROUP}---\n{other}"));
    let broken = GROUP.replace("kind:", "knid:");
    let now = content("m.yaml", &format!("{broken}---\n{other}"));
    assert_eq!(now.newly_unread(&before).len(), 1);
    assert_eq!(now.newly_unread(&before)[0].fault.location.as_ref().map(|place| place.line), Some(2));
    // Edits of what was no document before do not count.
    let edited = content("m.yaml", &format!("---\n{other}version: 1\n"));
    assert_eq!(edited.newly_unread(&before).len(), 0);
}

fn deployment(values: &str) -> String {
    format!("apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  values:\n    region: x\n{values}")
}

#[test]
fn sections_and_resources_among_the_values_are_errors() {
    for values in [
        "    shared:\n    orders: {type: postgres, params: {size: 50}}\n",
        "    workloads:\n",
        "    requires: []\n",
        "    lifecycle: {'s3#shared.a': {protect: true}}\n",
        "    shared: {orders: {type: postgres}}\n",
    ] {
        let loaded = load_text(&deployment(values));
        let faults: Vec<_> = loaded.diagnostics.iter().map(|fault| fault.code).collect();
        assert!(faults.contains(&"misplaced-field"), "{values}: {faults:?}");
    }
    for values in ["    shared: yes\n", "    disk: {type: ssd, id: x}\n", "    lifecycle: {a: 1}\n"] {
        assert!(!load_text(&deployment(values)).has_errors(), "{values}");
    }
}

#[test]
fn a_map_with_a_defined_type_and_a_class_is_a_resource() {
    let definition = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: d}\nspec: {type: disk, driver: purlin/echo, criteria: [{}]}\n---\n";
    let with = |params: &str| {
        format!(
            "{definition}apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  shared:\n    a: {{type: disk, params: {params}}}\n"
        )
    };
    let codes =
        |text: &str| -> Vec<&str> { load_text(text).diagnostics.iter().map(|fault| fault.code).collect() };
    assert_eq!(codes(&with("{b: {type: disk, class: fast}}")), ["misplaced-field"]);
    assert_eq!(codes(&with("{b: {type: disk, id: x}}")), ["misplaced-field"]);
    assert_eq!(codes(&with("{b: {type: ssd, class: fast}}")), Vec::<&str>::new());
    assert_eq!(codes(&with("{b: {type: disk}}")), Vec::<&str>::new());
    // Below other maps, too.
    assert_eq!(codes(&with("{b: {c: {type: disk, params: {size: 1}}}}")), ["misplaced-field"]);
    assert_eq!(codes(&with("{b: {c: {d: {type: disk, class: fast}}}}")), ["misplaced-field"]);
    assert_eq!(codes(&with("{b: {c: {type: ssd, params: {size: 1}}}}")), Vec::<&str>::new());
}

#[test]
fn a_kind_that_misspells_a_described_one_is_an_error() {
    let described = "apiVersion: purlin.dev/v1\nkind: ResourceType\nmetadata: {name: group}\nspec: {type: group, manifest: {group: ec2.example.org, kind: SecurityGroup}}\n---\n";
    for (from, to, correct) in [
        ("kind: SecurityGroup", "kind: SecurtyGroup", "`SecurityGroup`"),
        ("ec2.example.org", "ec2.exmple.org", "`ec2.example.org`"),
    ] {
        let loaded = load_text(&format!("{described}{}", GROUP.replace(from, to)));
        let [fault] = &*loaded.diagnostics else { panic!("{:?}", loaded.diagnostics) };
        assert_eq!((fault.code, fault.is_error()), ("unknown-kind", true), "{to}");
        assert!(fault.help.as_ref().is_some_and(|help| help.contains(correct)), "{to}");
    }
    // A type that a document names is meant, and so are numbers.
    let named = "apiVersion: purlin.dev/v1\nkind: ResourceType\nmetadata: {name: other}\nspec: {type: ec2/security-groups}\n---\n";
    let other = GROUP.replace("SecurityGroup", "SecurityGroups");
    assert!(!load_text(&format!("{described}{named}{other}")).has_errors());
    assert!(
        !load_text(&format!("{described}{}", GROUP.replace("SecurityGroup", "SecurityGroup2"))).has_errors()
    );
}

#[test]
fn a_lost_dollar_is_a_warning_with_its_place() {
    let text = "apiVersion: purlin.dev/v1\nkind: Definition\nmetadata: {id: d}\nspec:\n  type: db\n  driver: purlin/echo\n  inputs:\n    values: {password: '{resources.password.outputs.value}'}\n  criteria: [{}]\n";
    let loaded = load_text(text);
    let [fault] = &*loaded.diagnostics else { panic!("{:?}", loaded.diagnostics) };
    assert_eq!((fault.code, fault.is_error()), ("placeholder-without-dollar", false));
    assert_eq!(fault.location.as_ref().map(|place| (place.line, place.column)), Some((8, 25)));
    assert!(fault.help.as_ref().is_some_and(|help| help.contains("`${resources.password.outputs.value}`")));
    let doubled =
        text.replace("'{resources.password.outputs.value}'", "'{{ resources.password.outputs.value }}'");
    let loaded = load_text(&doubled);
    let [fault] = &*loaded.diagnostics else { panic!("{:?}", loaded.diagnostics) };
    let place = fault.location.as_ref().expect("a place");
    assert_eq!((fault.code, fault.length), ("placeholder-without-dollar", 38));
    assert_eq!(meant_placeholder(&doubled, place).as_deref(), Some("${resources.password.outputs.value}"));
    let score = "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers:\n  main:\n    image: x\n    variables: {A: '{resources.db.host}'}\n    files: {/a: {content: 'b $resources.db.host}'}}\nresources: {db: {type: db}}\n";
    let codes: Vec<_> = load_text(score).diagnostics.iter().map(|fault| fault.code).collect();
    assert_eq!(codes, ["placeholder-without-dollar"; 2]);
}
