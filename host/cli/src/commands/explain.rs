//! `purlin explain`

use purlin_host::model::Key;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::render;
use crate::report;

/// Say why a resource is provisioned as it is.
///
/// Which definition wins, which would without it, why each of the others lost, what brought the
/// resource into the graph, and what it depends on and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin explain postgres#modules.web.externals.db
  purlin explain workload#modules.web --env production
  purlin explain dns.public#shared.api --format json | jq .winner.definition

Keys of resources are those that `purlin graph` shows: TYPE[.CLASS]#ID, the class being `default`
where it is left out.")]
pub(crate) struct Args {
    /// The resource, as TYPE[.CLASS]#ID.
    #[arg(value_name = "KEY", value_parser = key)]
    key: Key,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

/// Reads a key; what is wrong with it is said by the command line's parser.
fn key(text: &str) -> Result<Key, String> {
    if !text.contains('#') {
        return Err("a key is TYPE[.CLASS]#ID; `purlin graph` shows those there are".to_owned());
    }
    Key::parse(text).map_err(|error| error.to_string())
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let given = input::given(&args.documents, app)?;
    input::warn_of_nothing(&given, app);
    let purlin = input::orchestrator(&given.workspace, app)?;
    let explanation = purlin.explain(&given.documents, &args.key);
    // Why a definition wins can be said of a graph that is wrong elsewhere, too.
    let graph = match app.timings.wait("build graph", purlin.graph(&given.documents)).await {
        Ok(graph) => Some(graph),
        Err(error) => {
            if args.format.format == Format::Text {
                app.ui.warning(&format!("the graph is wrong ({error}), so only definitions are explained"));
                app.ui.hint("`purlin validate` shows what is wrong with it");
            }
            None
        }
    };
    let report = report::explain::Explanation::new(&explanation, graph.as_deref());
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => {
            app.ui.data(&render::explain::render(&report));
            if report.in_graph == Some(false) {
                app.ui.warning("no such resource is in the graph; this is what it would get");
                if let Some(graph) = &graph {
                    near(graph, &args.key, app);
                }
            }
        }
    }
    Ok(Status::Done)
}

/// Names resources that may have been meant.
fn near(graph: &purlin_host::graph::Graph, key: &Key, app: &App) {
    let mut keys: Vec<&Key> = graph
        .nodes()
        .map(|node| node.key)
        .filter(|other| other.type_name() == key.type_name() || other.id() == key.id())
        .collect();
    keys.sort();
    keys.truncate(5);
    if !keys.is_empty() {
        let keys: Vec<String> = keys.into_iter().map(|key| format!("`{key}`")).collect();
        app.ui.hint(&format!("there is {}", keys.join(", ")));
    }
}
