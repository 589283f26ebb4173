//! Parts of a graph, and its page.

use purlin_systems::Project;
use serde_json::Value;

fn keys(graph: &Value) -> Vec<&str> {
    graph["nodes"].as_array().expect("nodes").iter().filter_map(|node| node["key"].as_str()).collect()
}

/// The data in a page.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"graph\">").expect("data");
    let (data, _) = rest.split_once("</script>").expect("an end");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn a_target_shows_its_connections() {
    let project = Project::new();
    let password = "password.default#modules.web.externals.db";
    let postgres = "postgres.default#modules.web.externals.db";
    let web = "workload.default#modules.web";
    let part = |arguments: &[&str]| {
        let ran = project.run(&[&["graph", "--format", "json"], arguments].concat()).status(0);
        let graph = ran.json();
        (keys(&graph).into_iter().map(str::to_owned).collect::<Vec<_>>(), graph, ran.err)
    };
    let (all, graph, _) = part(&["--target", postgres]);
    assert_eq!(all, [password, postgres, web]);
    assert_eq!(graph["omitted"], 2);
    let urn = "urn:purlin:dev/default::shop::web::postgres.default::modules.web.externals.db";
    let urn = graph["nodes"][1]["urn"].as_str().unwrap_or(urn).to_owned();
    for name in ["postgres#modules.web.externals.db", "postgres", "postgres*", "db", &urn] {
        assert_eq!(part(&["--target", name]).0, all, "{name}");
    }
    assert_eq!(part(&["--target", postgres, "--target", "dns"]).0.len(), 4);

    let (near, graph, stderr) = part(&["--target", password, "--depth", "1"]);
    assert_eq!(near, [password, postgres]);
    assert_eq!(graph["nodes"][0]["omitted"], Value::Null);
    assert_eq!(graph["nodes"][1]["omitted"]["dependents"], 1);
    assert_eq!((&graph["omitted"], stderr.as_str()), (&3.into(), "note: 3 of 5 resources are not shown\n"));
    assert_eq!(part(&["--target", password, "--depth", "0"]).0, [password]);

    let (near, graph, _) = part(&["--depth", "1"]);
    assert!(!near.iter().any(|key| key == password), "{near:?}");
    assert_eq!(graph["omitted"], 1);
    assert_eq!(part(&["--depth", "2"]).0.len(), 5);

    let wrong = project.run(&["graph", "--target", "postgrs"]).status(2);
    assert!(wrong.err.contains("`--target postgrs` names no resource of the documents\n"), "{}", wrong.err);
    let wrong = project.run(&["graph", "--target", "nothing-like-it"]).status(2);
    assert!(wrong.err.contains("hint: `purlin graph` shows the keys\n"), "{}", wrong.err);
    let explained = project.run(&["explain", "db", "--format", "json"]).status(0).json();
    assert_eq!(explained["key"], postgres);
    let plan = project.run(&["plan", "--target", "db", "--target", password, "--format", "json"]);
    assert_eq!(plan.status(0).json()["steps"].as_array().map(Vec::len), Some(2));
}

#[test]
fn every_format_counts_omitted_resources() {
    let project = Project::new();
    for format in ["tree", "dot", "mermaid", "svg", "html"] {
        let out = project.run(&["graph", "--depth", "1", "--format", format]).status(0).out;
        assert!(out.contains("and 1 more"), "{format}: {out}");
    }
}

#[test]
fn a_page_shows_resources_and_no_secret() {
    let project = Project::new();
    let page = project.run(&["graph", "--format", "html"]).status(0).out;
    assert!(page.starts_with("<!DOCTYPE html>\n") && page.contains("default-src 'none'"), "{page}");
    for other in ["src=", "href=\"", "url(", "@import", "https:"] {
        assert!(!page.contains(other), "a page needs no network, but has {other}");
    }
    let data = data(&page);
    let node = data["nodes"].as_array().expect("nodes").iter().find(|node| node["type"] == "postgres");
    let node = node.expect("a node");
    assert_eq!(node["short"], "db");
    assert!(node["at"].as_str().is_some_and(|at| at.contains(".yaml:")), "{node}");
    assert!(!node["inputs"].as_array().expect("inputs").is_empty(), "{node}");
}

#[test]
fn a_hostile_document_cannot_inject_anything() {
    let project = Project::new();
    let hostile = "</script><script>alert(1)</script><!-- \\\" ' & \\u0000 \\u001b[31m \\u202e \\u2028";
    project.write(
        "odd<img src=x onerror=alert(1)>\"'.yaml",
        format!(
            "apiVersion: purlin.dev/v1
kind: Definition
metadata: {{id: odd}}
spec:
  type: base-env
  driver: purlin/echo
  inputs:
    values:
      text: \"{hostile}\"
      \"{hostile}\": x
      password: s3cr3t
    secrets: {{hidden: s3cr3t}}
  criteria: [{{}}]
"
        ),
    );
    let page = project.run(&["graph", "--format", "html"]).status(0).out;
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2), "{page}");
    assert!(!page.contains("<img") && !page.contains("<!-- "), "{page}");
    assert!(!page.contains("s3cr3t"), "{page}");
    let is_odd = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{2028}' | '\u{202e}');
    assert!(!page.contains(is_odd), "{page}");
    let data = data(&page);
    let node = data["nodes"].as_array().expect("nodes").iter().find(|node| node["definition"] == "odd");
    let node = node.expect("a node");
    let text = node["inputs"][0][1].as_str().expect("text");
    assert!(text.starts_with("</script><script>alert(1)</script>"), "{text}");
    let svg = project.run(&["graph", "--format", "svg"]).status(0).out;
    assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
}
