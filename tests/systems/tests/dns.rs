//! `purlin/dns` against a real PowerDNS, whose answers are checked over DNS.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr)]

use purlin_systems::powerdns::{KEY, PowerDns};
use purlin_systems::tools::component;
use purlin_systems::tools::root;
use purlin_systems::{Project, Proxy, at_every_message};
use serde_json::{Value, json};

const DEFINITIONS: &str = r#"
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: zone}
spec:
  type: dns-zone
  driver: purlin/dns
  inputs:
    connection: {url: "URL", api_key: "KEY"}
    values:
      zone: {name: "${params.name}", kind: "${params.kind}", nameservers: [ns1.example.net]}
  criteria: [{}]
---
apiVersion: purlin.dev/v1
kind: Definition
metadata: {id: record}
spec:
  type: dns-record
  driver: purlin/dns
  inputs:
    connection: {url: "URL", api_key: "KEY"}
    values:
      records:
        zone: "${params.zone}"
        name: "${params.name}"
        type: "${params.type}"
        ttl: "${params.ttl}"
        content: "${params.content}"
  criteria: [{}]
"#;

/// A workspace that may reach a server at a port.
fn workspace(port: u16, env: &str, key: &str) -> Project {
    let url = format!("http://127.0.0.1:{port}");
    let workspace = Project::empty();
    workspace.write(
        "purlin.yaml",
        format!(
            "apiVersion: purlin.dev/v1\nkind: Workspace\nspec:\n  defaults: {{org: acme, app: shop, env: {env}, env_type: development}}\n  drivers:\n    purlin/dns:\n      source: {}\n      grants: {{http: [\"GET,POST,PUT,PATCH,DELETE {url}/api/v1/servers/localhost/*\"]}}\n",
            component("dns").display()
        ),
    );
    workspace.write("definitions.yaml", DEFINITIONS.replace("URL", &url).replace("KEY", key));
    workspace
}

/// The wanted objects: a zone, and records in it.
fn wanted(workspace: &Project, zone: &Value, records: &[(&str, Value)]) {
    let mut shared = serde_json::Map::new();
    if !zone.is_null() {
        shared.insert("zone".to_owned(), json!({"type": "dns-zone", "params": zone}));
    }
    for (name, params) in records {
        let mut params = params.clone();
        params["zone"] = match zone.is_null() {
            true => params["zone"].take(),
            false => json!("${resources['dns-zone.default#shared.zone'].outputs.name}"),
        };
        shared.insert((*name).to_owned(), json!({"type": "dns-record", "params": params}));
    }
    let deployment = json!({
        "apiVersion": "purlin.dev/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"shared": shared},
    });
    workspace.write("deployment.json", deployment.to_string());
}

fn zone(name: &str) -> Value {
    json!({"name": name, "kind": "Native"})
}

fn a(name: &str, content: &[&str]) -> Value {
    json!({"name": name, "type": "A", "ttl": 60, "content": content})
}

/// Sets of records of a zone, except those that every zone has.
fn sets(dns: &PowerDns, zone: &str) -> Vec<Value> {
    let (status, zone) = dns.api("GET", &format!("/zones/{zone}"), &Value::Null);
    assert_eq!(status, 200);
    let all = zone["rrsets"].as_array().expect("sets").clone();
    all.into_iter().filter(|set| set["type"] != "SOA" && set["type"] != "NS").collect()
}

fn rrset(name: &str, kind: &str, ttl: u32, content: &str, account: Option<&str>) -> Value {
    let records = json!([{"content": content, "disabled": false}]);
    let comments: Vec<Value> =
        account.iter().map(|account| json!({"account": account, "content": "by hand"})).collect();
    json!({"rrsets": [{"name": name, "type": kind, "ttl": ttl, "changetype": "REPLACE", "records": records, "comments": comments}]})
}

#[test]
fn a_zone_and_its_records_are_created_changed_and_deleted() {
    let Some(dns) = PowerDns::start() else { return };
    let workspace = workspace(dns.port(), "dev", KEY);
    let text = json!({"name": "@", "type": "TXT", "ttl": 300, "content": ["v=spf1 \"x\" -all"]});
    let mail = json!({"name": "@", "type": "MX", "ttl": 300, "content": ["10 Mail.Shop.example"]});
    let all = |www: Value| vec![("www", www), ("text", text.clone()), ("mail", mail.clone())];
    wanted(&workspace, &zone("shop.example"), &all(a("www", &["192.0.2.7", "192.0.2.5"])));
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(dns.dig("www.shop.example", "A"), ["192.0.2.5", "192.0.2.7"]);
    assert_eq!(dns.ttl("www.shop.example", "A"), Some(60));
    assert_eq!(dns.dig("shop.example", "NS"), ["ns1.example.net."]);
    assert_eq!(dns.dig("shop.example", "MX"), ["10 mail.shop.example."]);
    assert_eq!(dns.dig("shop.example", "TXT"), ["\"v=spf1 \\\"x\\\" -all\""]);

    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    workspace.purlin(&["refresh"]);
    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    // Somebody changes everything that can be changed.
    let by_hand = rrset("www.shop.example.", "A", 30, "192.0.2.99", None);
    assert_eq!(dns.api("PATCH", "/zones/shop.example.", &by_hand).0, 204);
    assert_eq!(dns.api("PUT", "/zones/shop.example.", &json!({"kind": "Master"})).0, 204);
    let servers = rrset("shop.example.", "NS", 60, "ns9.example.net.", None);
    assert_eq!(dns.api("PATCH", "/zones/shop.example.", &servers).0, 204);
    workspace
        .purlin(&["refresh"])
        .prints("values.records.ttl")
        .prints("values.records.content")
        .prints("values.zone.kind")
        .prints("values.zone.nameservers");
    assert_eq!(dns.dig("www.shop.example", "A"), ["192.0.2.99"], "refresh changes nothing");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(dns.dig("www.shop.example", "A"), ["192.0.2.5", "192.0.2.7"]);
    assert_eq!(dns.ttl("www.shop.example", "A"), Some(60));
    assert_eq!(dns.dig("shop.example", "NS"), ["ns1.example.net."]);
    assert_eq!(dns.api("GET", "/zones/shop.example.", &Value::Null).1["kind"], "Native");
    // Missing objects are created again.
    let gone = json!({"rrsets": [{"name": "www.shop.example.", "type": "A", "changetype": "DELETE"}]});
    assert_eq!(dns.api("PATCH", "/zones/shop.example.", &gone).0, 204);
    workspace.purlin(&["refresh"]).prints("it no longer exists");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(dns.dig("www.shop.example", "A"), ["192.0.2.5", "192.0.2.7"]);

    // In place, and elsewhere.
    wanted(&workspace, &zone("shop.example"), &all(a("www", &["192.0.2.8"])));
    workspace.purlin(&["up", "--yes"]).prints("1 updated");
    assert_eq!(dns.dig("www.shop.example", "A"), ["192.0.2.8"]);
    wanted(&workspace, &zone("shop.example"), &all(a("web", &["192.0.2.8"])));
    workspace.purlin(&["plan"]).prints("1 to replace");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(dns.dig("web.shop.example", "A"), ["192.0.2.8"]);
    assert!(dns.dig("www.shop.example", "A").is_empty());

    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(dns.api("GET", "/zones/shop.example.", &Value::Null).0, 404);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
}

#[test]
fn records_of_other_owners_are_left_alone() {
    let Some(dns) = PowerDns::start() else { return };
    let made = json!({"name": "taken.example.", "kind": "Native", "nameservers": ["ns1.example.net."]});
    assert_eq!(dns.api("POST", "/zones", &made).0, 201);
    assert_eq!(
        dns.api(
            "PATCH",
            "/zones/taken.example.",
            &rrset("www.taken.example.", "A", 99, "192.0.2.1", Some("ops"))
        )
        .0,
        204
    );
    let www = |content: &str| {
        let mut www = a("www", &[content]);
        www["zone"] = json!("taken.example");
        www
    };
    let by_hand = workspace(dns.port(), "dev", KEY);
    wanted(&by_hand, &zone("taken.example"), &[]);
    by_hand.run(&["up", "--yes"]).status(1).prints("the zone `taken.example.` already exists");
    wanted(&by_hand, &Value::Null, &[("www", www("192.0.2.2"))]);
    by_hand.run(&["up", "--yes"]).status(1).prints("www.taken.example. A already exists, of `ops`");
    assert_eq!(dns.dig("www.taken.example", "A"), ["192.0.2.1"]);
    // Other types of that name are other resources.
    let mut text =
        json!({"name": "www", "type": "TXT", "ttl": 60, "content": ["x"], "zone": "taken.example"});
    wanted(&by_hand, &Value::Null, &[("text", text.clone())]);
    by_hand.purlin(&["up", "--yes"]);
    // Another deployment declares the same.
    let other = workspace(dns.port(), "prod", KEY);
    text["content"] = json!(["y"]);
    wanted(&other, &Value::Null, &[("text", text)]);
    other.run(&["up", "--yes"]).status(1).prints("already exists, of");
    other
        .run(&["import", "--yes", "dns-record.default#shared.text", "www.taken.example./TXT"])
        .status(1)
        .prints("marked as another resource's");
    assert_eq!(dns.dig("www.taken.example", "TXT"), ["\"x\""]);
    by_hand.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert!(dns.dig("www.taken.example", "TXT").is_empty());
    assert_eq!(dns.dig("www.taken.example", "A"), ["192.0.2.1"]);
}

#[test]
fn existing_resources_are_imported() {
    let Some(dns) = PowerDns::start() else { return };
    let made = json!({"name": "old.example.", "kind": "Native", "nameservers": ["ns1.example.net."], "soa_edit_api": "DEFAULT"});
    assert_eq!(dns.api("POST", "/zones", &made).0, 201);
    assert_eq!(
        dns.api(
            "PATCH",
            "/zones/old.example.",
            &rrset("www.old.example.", "A", 99, "192.0.2.1", Some("ops"))
        )
        .0,
        204
    );
    let workspace = workspace(dns.port(), "dev", KEY);
    wanted(&workspace, &zone("old.example"), &[("www", a("www", &["192.0.2.1"]))]);
    workspace
        .run(&["import", "--yes", "dns-zone.default#shared.zone", "other.example"])
        .status(1)
        .prints("and not `other.example`");
    workspace.purlin(&["import", "--yes", "dns-zone.default#shared.zone", "old.example"]);
    workspace.purlin(&["import", "--yes", "dns-record.default#shared.www", "www.old.example./A"]);
    // Differences are repaired, and people's comments stay.
    workspace.purlin(&["plan"]).prints("values.records.ttl: 99 → 60").prints("1 to update");
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(dns.ttl("www.old.example", "A"), Some(60));
    let comments = sets(&dns, "old.example.")[0]["comments"].clone();
    assert!(
        comments.to_string().contains("\"ops\"") && comments.to_string().contains("managed by Purlin"),
        "{comments}"
    );
    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    // An import is recognised by its id in the documents, at each run.
    workspace.purlin(&["state", "forget", "dns-zone.default#shared.zone", "--yes", "--force"]);
    workspace.purlin(&["state", "forget", "dns-record.default#shared.www", "--yes"]);
    let imports = json!({"dns-zone#shared.zone": {"import": "old.example"}, "dns-record#shared.www": {"import": "www.old.example./A"}});
    let imports =
        json!({"apiVersion": "purlin.dev/v1", "kind": "Deployment", "spec": {"lifecycle": imports}});
    workspace.write("imports.json", imports.to_string());
    workspace.purlin(&["up", "--yes"]).prints("2 adopted");
    workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
    assert_eq!(dns.api("GET", "/zones/old.example.", &Value::Null).0, 404);
}

#[test]
fn a_zone_with_records_of_others_is_not_deleted() {
    let Some(dns) = PowerDns::start() else { return };
    let workspace = workspace(dns.port(), "dev", KEY);
    wanted(&workspace, &zone("full.example"), &[]);
    workspace.purlin(&["up", "--yes"]);
    assert_eq!(
        dns.api("PATCH", "/zones/full.example.", &rrset("www.full.example.", "A", 99, "192.0.2.1", None)).0,
        204
    );
    workspace
        .run(&["destroy", "--yes", "--allow-data-loss"])
        .status(1)
        .prints("the zone `full.example.` is not empty, there are records in it: www.full.example./A");
    assert_eq!(dns.dig("www.full.example", "A"), ["192.0.2.1"]);
    let gone = json!({"rrsets": [{"name": "www.full.example.", "type": "A", "changetype": "DELETE"}]});
    assert_eq!(dns.api("PATCH", "/zones/full.example.", &gone).0, 204);
    workspace.purlin(&["destroy", "--yes", "--allow-data-loss"]);
}

#[test]
fn errors_are_reported() {
    let Some(dns) = PowerDns::start() else { return };
    let wrong_key = workspace(dns.port(), "dev", "wrong-key-0815");
    wanted(&wrong_key, &zone("a.example"), &[]);
    let done = wrong_key.run(&["up", "--yes"]).status(1).prints("status 401").prints("connection.api_key");
    assert!(!done.to_string().contains("wrong-key-0815"), "{done}");
    let denied = workspace(dns.port(), "dev", KEY);
    wanted(&denied, &zone("a.example"), &[]);
    denied.edit("purlin.yaml", "GET,POST,PUT,PATCH,DELETE", "GET");
    let grant = format!("POST http://127.0.0.1:{}/api/v1/servers/localhost/zones", dns.port());
    denied.run(&["up", "--yes"]).status(1).prints("is not granted").prints(&grant);
    assert_eq!(dns.api("GET", "/zones/a.example.", &Value::Null).0, 404);
    let workspace = workspace(dns.port(), "dev", KEY);
    let lonely =
        json!({"name": "www", "type": "A", "ttl": 60, "content": ["192.0.2.1"], "zone": "nowhere.example"});
    wanted(&workspace, &Value::Null, &[("www", lonely)]);
    workspace.run(&["up", "--yes"]).status(1).prints("there is no zone `nowhere.example.`");
    let odd =
        json!({"name": "www", "type": "A", "ttl": 60, "content": ["192.0.2.300"], "zone": "nowhere.example"});
    wanted(&workspace, &Value::Null, &[("www", odd)]);
    workspace.run(&["plan"]).status(2).prints("is not an address such as 192.0.2.1");
    // The server itself rejects inputs that looked right.
    wanted(
        &workspace,
        &zone("b.example"),
        &[("one", json!({"name": "x", "type": "CAA", "ttl": 60, "content": ["nonsense"]}))],
    );
    workspace.run(&["up", "--yes"]).status(1).prints("status 422");
}

#[test]
fn a_kill_at_any_message_makes_nothing_twice() {
    let Some(dns) = PowerDns::start() else { return };
    let proxy = Proxy::to(dns.port());
    let name = |number: usize| format!("kill{number}.example");
    let scene = |number: usize| {
        let workspace = workspace(proxy.port(), "dev", KEY);
        wanted(
            &workspace,
            &zone(&name(number)),
            &[("www", a("www", &["192.0.2.1"])), ("api", a("api", &["192.0.2.2"]))],
        );
        workspace
    };
    let there = |number: usize, www: &str| {
        assert_eq!(dns.dig(&format!("www.{}", name(number)), "A"), [www]);
        let sets = sets(&dns, &format!("{}.", name(number)));
        assert_eq!(sets.len(), 2, "{sets:?}");
        for set in sets {
            assert_eq!(set["comments"].as_array().map(Vec::len), Some(1), "{set}");
        }
    };
    let kills = at_every_message(&proxy, &["up", "--yes"], scene, |number, workspace| {
        there(number, "192.0.2.1");
        workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    });
    assert!(kills >= 10, "there are messages to be killed at: {kills}");
    // A change, and a replacement.
    let changed = |number: usize| {
        let workspace = scene(number + 1000);
        workspace.purlin(&["up", "--yes"]);
        wanted(
            &workspace,
            &zone(&name(number + 1000)),
            &[("www", a("www", &["192.0.2.3"])), ("api", a("api2", &["192.0.2.2"]))],
        );
        workspace
    };
    at_every_message(&proxy, &["up", "--yes"], changed, |number, workspace| {
        there(number + 1000, "192.0.2.3");
        assert_eq!(dns.dig(&format!("api2.{}", name(number + 1000)), "A"), ["192.0.2.2"]);
        workspace.purlin(&["up", "--yes"]).prints("Nothing to change");
    });
    let made = |number: usize| {
        let workspace = scene(number + 2000);
        workspace.purlin(&["up", "--yes"]);
        workspace
    };
    at_every_message(&proxy, &["destroy", "--yes", "--allow-data-loss"], made, |number, _| {
        assert_eq!(dns.api("GET", &format!("/zones/{}.", name(number + 2000)), &Value::Null).0, 404);
    });
}

#[test]
fn the_contract_is_held() {
    let Some(dns) = PowerDns::start() else { return };
    let base = json!({"name": "base.example.", "kind": "Native", "nameservers": ["ns1.example.net."]});
    assert_eq!(dns.api("POST", "/zones", &base).0, 201);
    let workspace = workspace(dns.port(), "dev", KEY);
    let cases = std::fs::read_to_string(root().join("drivers/dns/check.yaml")).expect("the cases");
    workspace.write("cases.yaml", cases.replace("http://127.0.0.1:8081", &dns.url()));
    workspace.purlin(&["driver", "check", "purlin/dns", "--cases", "cases.yaml"]);
    assert!(sets(&dns, "base.example.").is_empty(), "nothing is left");
    assert_eq!(dns.api("GET", "/zones", &Value::Null).1.as_array().map(Vec::len), Some(1));
}
