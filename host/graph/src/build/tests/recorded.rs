//! Implicit resources that a definition created before (SPEC §2).

use std::sync::Arc;

use purlin_model::{Definition, Deployment, Diagnostic, Key};
use serde_json::json;

use crate::testing::{context, definition, workload};
use crate::{DefinitionIndex, Graph, Input, UnknownOutputs, build};

fn built(definitions: Vec<Definition>, recorded: &[&str]) -> Result<Graph, Vec<Diagnostic>> {
    let deployment = Deployment { workloads: vec![workload("web", &[], json!({}))], ..Deployment::default() };
    build(&Input {
        context: Arc::new(context()),
        definition_index: Arc::new(DefinitionIndex::new(definitions).expect("definitions")),
        deployment: Arc::new(deployment),
        outputs: &UnknownOutputs,
        recorded: &|key: &Key| recorded.contains(&key.as_str()),
    })
}

#[test]
fn an_implicit_resource_that_a_definition_made_needs_one() {
    let keys = [
        "k8s-namespace.default#k8s-namespace",
        "k8s-cluster.default#k8s-cluster",
        "agent.default#agent",
        "base-env.default#base-env",
        "workload.default#modules.web",
    ];
    assert!(built(Vec::new(), &[]).is_ok());
    for key in keys {
        let faults = built(Vec::new(), &[key]).expect_err("no definition");
        let [fault] = faults.as_slice() else { panic!("{faults:?}") };
        let short = key.replacen(".default#", "#", 1);
        assert_eq!((fault.code, fault.message.contains(&short)), ("no-match", true), "{fault:?}");
        let help = fault.help.as_deref().unwrap_or_default();
        assert!(help.contains("add a definition") && help.contains("--accept-missing"), "{help}");
        let (type_name, _) = key.split_once('.').expect("a type");
        assert!(built(vec![definition("d", type_name, json!({}))], &[key]).is_ok());
        let other = json!({"criteria": [{"env_type": "production"}]});
        let Err(faults) = built(vec![definition("d", type_name, other)], &[key]) else {
            panic!("it does not match")
        };
        assert!(faults.iter().any(|fault| !fault.related.is_empty()), "{faults:?}");
    }
}
