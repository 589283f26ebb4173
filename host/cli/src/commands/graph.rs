//! `purlin graph`

use std::collections::HashSet;

use clap::ValueEnum;
use purlin_host::graph::MOST_REDUCED;

use super::Output;
use crate::app::App;
use crate::args::DocumentArgs;
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report;

/// Show the resource graph: what would be provisioned, by which definition, and why.
///
/// Needs no state and no drivers. An arrow points from a resource to its dependency.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin graph                             a tree, workloads first
  purlin graph --format svg > graph.svg    a picture
  purlin graph --reduce --format mermaid   fewer arrows
  purlin graph --format dot | dot -Tpdf -o graph.pdf
  purlin graph --format json | jq -r '.order[][]'

Kinds of edges: dependency (a workload declares it), reference (a placeholder reads it),
co-provision, match-dependents, selector, requires, ref, depends-on.")]
pub(crate) struct Args {
    #[command(flatten)]
    documents: DocumentArgs,

    /// Show the graph in this format.
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "tree")]
    format: GraphFormat,

    /// Also show implicit resources that nothing refers to.
    #[arg(long)]
    all: bool,

    /// Omit edges that a longer path implies.
    #[arg(long)]
    reduce: bool,
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
}

impl Args {
    pub(super) fn output(&self) -> Output {
        if self.format == GraphFormat::Json { Output::Json } else { Output::Text }
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
    let report = app.timings.time("describe graph", || report::graph::Graph::new(&graph, args.all, &implied));
    match args.format {
        GraphFormat::Json => app.ui.json(&report),
        GraphFormat::Tree => app.ui.data(&render::tree::render(&report)),
        GraphFormat::Dot => app.ui.data(&render::dot::render(&report)),
        GraphFormat::Mermaid => app.ui.data(&render::mermaid::render(&report)),
        GraphFormat::Svg => app.ui.data(&app.timings.time("draw", || render::svg::render(&report))),
    }
    Ok(Status::Done)
}
