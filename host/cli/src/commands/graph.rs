//! `purlin graph`

use std::collections::HashSet;

use clap::ValueEnum;
use clap::builder::ArgPredicate;
use purlin_engine::{Misnamed, Role, select, with_aliases};
use purlin_graph::{Graph, MOST_REDUCED, NodeId};
use purlin_model::{Key, Urn};

use super::Output;
use crate::app::App;
use crate::args::{DocumentArgs, json};
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;
use crate::render;
use crate::report;
use crate::text;

/// Show the resource graph: what would be provisioned, by which definition, and why.
///
/// Needs no state and no drivers. An arrow points from a resource to its dependency.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin graph                             a tree, workloads first
  purlin graph --format html > graph.html  a page to search, fold and click
  purlin graph --format svg > graph.svg    a picture
  purlin graph --target web --depth 2      what is at most two edges away from `web`
  purlin graph --reduce --format mermaid   fewer arrows
  purlin graph --format dot | dot -Tpdf -o graph.pdf
  purlin graph --format json | jq -r '.order[][]'

Kinds of edges: dependency (a workload declares it), reference (a placeholder reads it),
co-provision, match-dependents, selector, requires, ref, depends-on.")]
#[command(arg(json()))]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Show the graph in this format.
    #[arg(long, alias = "output", short_alias = 'o', value_name = "FORMAT", value_enum)]
    #[arg(default_value = "tree", default_value_if("json", ArgPredicate::IsPresent, "json"))]
    format: GraphFormat,

    /// Also show implicit resources that nothing refers to.
    #[arg(long)]
    all: bool,

    /// Omit edges that a longer path implies.
    #[arg(long)]
    reduce: bool,

    /// Show only these resources, their dependencies and their dependents; may be repeated. A key (the
    /// class `default` can be omitted), a unique short name, a pattern with `*`, or a URN.
    #[arg(long, value_name = "KEY")]
    target: Vec<String>,

    /// Show only what is at most this many edges away from the targets; without `--target`, from the
    /// workloads and other resources without dependents.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    depth: Option<usize>,
}

/// The format of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphFormat {
    /// Text for people.
    #[value(alias = "text")]
    Tree,
    /// For programs.
    Json,
    /// For Graphviz.
    Dot,
    /// For pages that draw Mermaid.
    Mermaid,
    /// A picture.
    Svg,
    /// A page for browsers, in one file.
    Html,
}

impl Args {
    pub(super) fn output(&self) -> Output {
        if self.format == GraphFormat::Json { Output::Json } else { Output::Text }
    }

    /// The resources to show; `None` for all.
    fn part(&self, graph: &Graph) -> Result<Option<HashSet<NodeId>>, Failure> {
        if self.target.is_empty() && self.depth.is_none() {
            return Ok(None);
        }
        let is_root = |id| graph.dependents(id).is_empty();
        let is_hidden = |id| graph.node(id).is_some_and(|node| !self.all && !node.shown);
        if self.target.is_empty() {
            let roots = graph.nodes().filter(|node| node.key.type_name() == "workload" || is_root(node.id));
            let roots: Vec<NodeId> = roots.map(|node| node.id).filter(|id| !is_hidden(*id)).collect();
            return Ok(Some(graph.with_dependencies(&roots, self.depth)));
        }
        let targets = self.targets(graph)?;
        let mut part = graph.with_dependencies(&targets, self.depth);
        part.extend(graph.with_dependents(&targets, self.depth));
        part.retain(|id| !is_hidden(*id) || targets.contains(id));
        Ok(Some(part))
    }

    fn targets(&self, graph: &Graph) -> Result<Vec<NodeId>, Failure> {
        let declared = graph.declared();
        let mut targets = Vec::new();
        let mut errors: Vec<(Role, Misnamed)> = Vec::new();
        for name in &self.target {
            let key = Urn::parse(name).ok().and_then(|urn| urn.key());
            let of_urn = key.filter(|key| Urn::new(graph.context(), key).as_str() == name);
            let name = of_urn.as_ref().map_or(name.as_str(), Key::as_str);
            let own = || select(name, graph.nodes().map(|node| node.key), &declared);
            match with_aliases(name, Some(graph), |key| vec![key], own) {
                Ok(keys) => targets.extend(keys.into_iter().filter_map(|key| graph.find(key.as_str()))),
                Err(error) => errors.push((Role::Target, error)),
            }
        }
        if errors.is_empty() { Ok(targets) } else { Err(naming::failure_of_documents(&errors)) }
    }
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let given = input::given(&args.documents, app).await?;
    input::warn_of_nothing(&given, app);
    let purlin = input::orchestrator(&given.workspace, app)?;
    let graph = app.timings.wait("build graph", purlin.graph(&given.documents)).await;
    let graph = graph.map_err(|error| given.failure(error))?;
    let implied = match args.reduce {
        true => graph.implied_edges().ok_or_else(|| {
            let message = format!("a graph of more than {MOST_REDUCED} resources is not reduced");
            Failure::input(message).hint("leave out `--reduce`")
        })?,
        false => HashSet::new(),
    };
    let only = args.part(&graph)?;
    let part = report::graph::GraphSelection { only, all: args.all, implied };
    let report = app.timings.time("describe graph", || report::graph::Graph::new(&graph, &part));
    if report.omitted > 0 {
        let (omitted, total) = (report.omitted, report.omitted + report.nodes.len());
        let verb = if omitted == 1 { "is" } else { "are" };
        app.ui.note(&format!("{omitted} of {} {verb} not shown", text::count(total, "resource")));
    }
    match args.format {
        GraphFormat::Json => app.ui.json(&report),
        GraphFormat::Tree => app.ui.data(&render::tree::render(&report)),
        GraphFormat::Dot => app.ui.data(&render::dot::render(&report)),
        GraphFormat::Mermaid => app.ui.data(&render::mermaid::render(&report)),
        GraphFormat::Svg => app.ui.data(&app.timings.time("draw", || render::svg::render(&report))),
        GraphFormat::Html => {
            let details = report::details::Details::new(&graph, &report);
            app.ui.data(&app.timings.time("draw", || render::html::render(&report, &details)));
        }
    }
    Ok(Status::Done)
}
