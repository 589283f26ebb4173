//! Properties of every graph.

use std::collections::HashMap;

use proptest::prelude::*;
use purlin_expression::Dialect;
use purlin_model::{Definition, Deployment};
use serde_json::json;

use crate::testing::{definition, request, resource_lifecycle, show, tell, try_build, workload};
use crate::{EdgeKind, Graph, NodeId};

/// Definitions of the types t0, t1, … whose recipes refer to, co-provision and select one another.
fn definition_lists() -> impl Strategy<Value = Vec<Definition>> {
    let index = 0..6_usize;
    let recipe = (
        proptest::collection::vec((index.clone(), any::<bool>()), 0..3),
        proptest::collection::vec((index.clone(), any::<bool>(), any::<bool>()), 0..2),
        proptest::option::of((index.clone(), any::<bool>())),
    );
    proptest::collection::vec(recipe, 6).prop_map(|recipes| {
        let build = |(number, (references, provisions, selector)): (usize, _)| {
            let references: Vec<(usize, bool)> = references;
            let provisions: Vec<(usize, bool, bool)> = provisions;
            let mut values: Vec<String> = references
                .into_iter()
                .map(|(to, fixed)| {
                    format!("${{resources['t{to}{}'].outputs.x}}", if fixed { "#fixed" } else { "" })
                })
                .collect();
            let selector: Option<(usize, bool)> = selector;
            if let Some((to, up)) = selector {
                values
                    .push(format!("${{resources['t{number}{}t{to}'].guresid}}", if up { '<' } else { '>' }));
            }
            let provision: serde_json::Map<_, _> = provisions
                .into_iter()
                .map(|(to, dependent, matching)| {
                    (format!("t{to}"), json!({"is_dependent": dependent, "match_dependents": matching}))
                })
                .collect();
            definition(
                &format!("d{number}"),
                &format!("t{number}"),
                json!({"values": {"v": values}, "provision": provision}),
            )
        };
        recipes.into_iter().enumerate().map(build).collect()
    })
}

/// Settings for shared resources: the resource, one of the three kinds, and the target.
fn settings() -> impl Strategy<Value = Vec<(usize, usize, usize)>> {
    proptest::collection::vec((0..3_usize, 0..3_usize, 0..3_usize), 0..3)
}

fn deployment(order: &[usize], settings: &[(usize, usize, usize)]) -> Deployment {
    let all = [("a", "t0"), ("b", "t1"), ("c", "t2")];
    let keys = ["t0.default#shared.a", "t1.default#shared.b", "t2.default#shared.c"];
    let requests = order.iter().filter_map(|index| all.get(*index));
    let shared =
        requests.map(|(name, kind)| request("deploy", name, kind, None, Dialect::Definition)).collect();
    let one = |name: &str| {
        workload(name, &[("r", "t3", serde_json::Value::Null)], json!({"v": "${resources.r.x}"}))
    };
    let mut workloads = vec![one("v"), one("w")];
    if order.first() == Some(&1) {
        workloads.reverse();
    }
    let lifecycle = order.iter().map(|owner| {
        let mut lifecycles = serde_json::Map::new();
        for (_, kind, to) in settings.iter().filter(|(from, _, _)| from == owner) {
            let to = keys[*to];
            match kind {
                0 => lifecycles.insert("depends_on".to_owned(), json!([to])),
                1 => lifecycles.insert("replace_with".to_owned(), json!([to])),
                _ => lifecycles.insert("deleted_with".to_owned(), json!(to)),
            };
        }
        resource_lifecycle(keys[*owner], &lifecycles.into())
    });
    Deployment { shared, workloads, lifecycle: lifecycle.collect(), ..Deployment::default() }
}

fn check_order(graph: &Graph) {
    let place: HashMap<NodeId, usize> = graph.order().enumerate().map(|(at, node)| (node, at)).collect();
    assert_eq!(place.len(), graph.len(), "every node has one place");
    for edge in graph.edges() {
        assert!(place[&edge.to] < place[&edge.from]);
        assert!(graph.node(edge.to).expect("a node").level < graph.node(edge.from).expect("a node").level);
        assert!(graph.dependents(edge.to).contains(&edge.from));
        assert!(!graph.reasons(edge.from, edge.to).is_empty());
        // Everything that was read has a place.
        for reason in graph.reasons(edge.from, edge.to) {
            assert!(reason.location.is_some(), "{reason:?}");
        }
    }
    for level in graph.levels() {
        assert!(level.is_sorted_by_key(|node| graph.key(*node)));
    }
    for node in graph.nodes() {
        let with = graph.replace_with(node.id).into_iter().chain(graph.deleted_with(node.id));
        for to in with {
            let mut edges = graph.dependency_edges(node.id);
            assert!(edges.any(|edge| edge.to == to && edge.kinds.contains(EdgeKind::DependsOn)));
        }
        assert!(!graph.origins(node.id).is_empty(), "{}", node.key);
    }
    // The fixed point of match_dependents, by its definition.
    for by in graph.nodes() {
        let here: Vec<_> = by
            .recipe
            .provision
            .iter()
            .map(|p| (purlin_model::Key::relative(&p.descriptor, by.key), p))
            .collect();
        for (key, provision) in &here {
            let new = graph.find(key.as_str()).expect("co-provisioned");
            for dependent in graph.dependents(by.id).iter().filter(|_| provision.match_dependents) {
                let brought = here.iter().any(|(key, _)| graph.find(key.as_str()) == Some(*dependent));
                let only_selects = graph
                    .dependency_edges(*dependent)
                    .any(|edge| edge.to == by.id && edge.kinds.iter().all(|kind| kind == EdgeKind::Selector));
                if !brought && !only_selects {
                    assert!(graph.dependencies(*dependent).contains(&new));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn order_holds_and_does_not_depend_on_the_order_of_documents(
        definitions in definition_lists(),
        shuffled in Just([0_usize, 1, 2].to_vec()).prop_shuffle(),
        turn in 0..6_usize,
        settings in settings(),
    ) {
        let first = try_build(definitions.clone(), deployment(&[0, 1, 2], &settings));
        let mut turned = definitions;
        turned.rotate_left(turn);
        match (first, try_build(turned, deployment(&shuffled, &settings))) {
            (Ok(first), Ok(second)) => {
                check_order(&first);
                prop_assert_eq!(show(&first), show(&second));
            }
            (Err(first), Err(second)) => {
                prop_assert!(!first.is_empty());
                let sorted = |faults: &[purlin_model::Diagnostic]| {
                    let mut lines: Vec<String> = faults.iter().map(|f| tell(std::slice::from_ref(f))).collect();
                    lines.sort();
                    lines
                };
                prop_assert_eq!(sorted(&first), sorted(&second));
            }
            (first, second) => prop_assert!(false, "{:?} {:?}", first.is_ok(), second.is_ok()),
        }
    }
}

#[test]
fn ten_layers_of_a_thousand_resources_have_every_edge() {
    let mut deployment = Deployment::default();
    for layer in 0..10 {
        for number in 0..1000 {
            let below = |offset: usize| match layer {
                0 => "seed".to_owned(),
                _ => format!(
                    "${{resources['node#shared.l{}-{}'].outputs.v}}",
                    layer - 1,
                    (number + offset) % 1000
                ),
            };
            let params = json!({"a": below(0), "b": below(1)});
            let name = format!("l{layer}-{number}");
            deployment.shared.push(request("deploy", &name, "node", Some(params), Dialect::Definition));
        }
    }
    let node = definition("node", "node", json!({"values": {"a": "${params.a}", "b": "${params.b}"}}));
    let graph = try_build(vec![node], deployment).expect("a graph");
    assert_eq!((graph.len(), graph.edge_count(), graph.levels().len()), (10_001, 18_000, 10));
}
