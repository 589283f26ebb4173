//! Measures the graph of an environment of any size: `measure-graph SHAPE COUNT`, with the shape
//! `ind`, `layer10` or `chain`. One JSON object on standard output: seconds, and bytes of memory.
//!
//! The documents are created in memory, parsed, before the clock starts. `cargo xtask bench` runs
//! it once per process, because of the memory.
#![allow(clippy::print_stdout, reason = "a measurement")]

#[path = "../../../xtask/src/bench/documents.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the bench, which needs more of it")]
mod documents;
#[path = "../../../xtask/src/bench/shape.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the bench, which needs more of it")]
mod shape;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use purlin_expression::{Dialect, parse_text};
use purlin_graph::{DefinitionIndex, Input, OutputNames, build};
use purlin_model::{
    Class, Context, Criterion, Definition, Deployment, Diagnostic, DriverRequirement, EnvironmentId,
    Lifecycle, Location, Recipe, ResourceRequest, Template, TypeName,
};
use shape::Shape;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let shape: Shape = arguments.next().ok_or("which shape?")?.parse()?;
    let count: usize = arguments.next().ok_or("of how many resources?")?.parse()?;

    let before = memory("VmRSS:");
    let deployment = Arc::new(deployment(shape, count)?);
    let definitions = vec![definition()?];
    let context = Arc::new(context());
    let written = memory("VmRSS:");

    let start = Instant::now();
    let definition_index = Arc::new(DefinitionIndex::new(definitions).map_err(faults)?);
    let graph = build(&Input { context, definition_index, deployment, outputs: &Echo, recorded: &|_| false })
        .map_err(faults)?;
    let seconds = start.elapsed().as_secs_f64();

    // One more than requested: `base-env` is part of every environment.
    let edges = (0..count).map(|index| shape.reads(index, count).len()).sum();
    if (graph.len(), graph.edge_count()) != (count + 1, edges) {
        return Err(format!("a graph of {} resources and {} edges", graph.len(), graph.edge_count()).into());
    }
    println!(
        "{{\"seconds\":{seconds},\"resources\":{count},\"documents\":{},\"graph\":{}}}",
        written.saturating_sub(before),
        memory("VmHWM:").saturating_sub(written),
    );
    Ok(())
}

/// The outputs of echo, from its manifest: they have the names of the inputs.
struct Echo;

impl OutputNames for Echo {
    fn outputs(&self, _: &str, _: &Recipe) -> Option<Vec<String>> {
        Some(["v", "a", "b"].map(String::from).to_vec())
    }
}

fn deployment(shape: Shape, count: usize) -> Result<Deployment> {
    let type_name = TypeName::new("node")?;
    let class = Class::default_class();
    let file: Arc<str> = "deployment.yaml".into();
    let mut shared = Vec::with_capacity(count);
    for index in 0..count {
        let at = |column| Location {
            file: file.clone(),
            line: u32::try_from(index * 3).unwrap_or_default(),
            column,
        };
        let mut params = Vec::with_capacity(3);
        for (name, value) in documents::params(shape, index, count) {
            params.push((Arc::from(name), text(&value, &|_| at(10))?));
        }
        shared.push(ResourceRequest {
            name: shape.name(index, count).into(),
            type_name: type_name.clone(),
            class: class.clone(),
            id: None,
            params: Some(Arc::new(Template::Map(Box::new(params.into_iter().collect())))),
            location: at(5),
        });
    }
    Ok(Deployment { shared, ..Deployment::default() })
}

fn definition() -> Result<Definition> {
    let mut values = Vec::new();
    for name in ["v", "a", "b"] {
        values.push((Arc::from(name), text(&format!("${{params.{name}}}"), &|_| Location::default())?));
    }
    let criterion = Criterion {
        env_type: None,
        app_id: None,
        env_id: None,
        res_id: None,
        class: Class::default_class(),
        location: Location::default(),
    };
    let driver = DriverRequirement { name: "purlin/echo".into(), range: None, location: Location::default() };
    let recipe = Recipe {
        name: Some("node".into()),
        driver,
        account: None,
        values: Template::Map(Box::new(values.into_iter().collect())),
        secrets: Template::default(),
        secret_refs: None,
        connection: None,
        promoted: None,
        provision: Vec::new(),
        requires: Vec::new(),
        lifecycle: Lifecycle::default(),
        location: Location::default(),
    };
    Ok(Definition {
        id: "node".into(),
        type_pattern: "node".into(),
        recipe: Arc::new(recipe),
        criteria: vec![criterion],
        location: Location::default(),
    })
}

fn context() -> Context {
    Context {
        org: "default".into(),
        app: "bench".into(),
        env: EnvironmentId { id: "dev".into(), kind: "development".into() },
        namespace: "dev".into(),
        deployment: "1".into(),
    }
}

fn text(text: &str, at: &dyn Fn(usize) -> Location) -> Result<Template> {
    parse_text(text, Dialect::Definition, at).map_err(|faults| message(&faults).into())
}

fn faults(faults: Vec<Diagnostic>) -> Box<dyn Error> {
    message(&faults).into()
}

fn message(faults: &[Diagnostic]) -> String {
    faults.iter().map(|fault| fault.message.as_str()).collect::<Vec<_>>().join("; ")
}

/// Bytes of memory of this process; 0 if the system does not report them.
fn memory(which: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or_default() << 10
}
