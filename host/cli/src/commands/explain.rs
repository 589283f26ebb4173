//! `purlin explain`

use purlin_engine as engine;
use purlin_graph::Graph;
use purlin_host::Documents;
use purlin_model::Key;

use crate::app::App;
use crate::args::{DocumentArgs, Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::input;
use crate::naming;
use crate::render;
use crate::report;
use crate::ui::Level;

/// Explain why a resource is provisioned as it is.
///
/// Shows which definition wins, which would win without it, why each of the others lost, how the resource
/// came into the graph, and what it depends on and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin explain postgres#modules.web.externals.db
  purlin explain web.db                                the resource `db` of the workload `web`
  purlin explain workload#modules.web --env production
  purlin explain dns.public#shared.api --format json | jq .winner.definition

`purlin graph` shows the keys of resources: TYPE[.CLASS]#ID. If the class is omitted, it is
`default`. A short name such as `web.db`, `db` or `dns` is enough if it is unique, or if the
documents declare only one resource of that name.")]
pub(crate) struct Args {
    /// The resource: TYPE[.CLASS]#ID, or a unique short name.
    #[arg(value_name = "KEY")]
    key: String,

    #[command(flatten)]
    documents: DocumentArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let given = input::given(&args.documents, app).await?;
    input::warn_of_nothing(&given, app);
    let purlin = input::orchestrator(&given.workspace, app)?;
    // Matching can be explained even if the graph has faults elsewhere.
    let graph = match app.timings.wait("build graph", purlin.graph(&given.documents)).await {
        Ok(graph) => Some(graph),
        Err(error) => {
            if args.format.format == Format::Text {
                app.ui.warning(&format!("the graph is invalid ({error}), so only definitions are explained"));
                app.ui.hint("`purlin validate` shows the errors");
            }
            None
        }
    };
    let key = find(&args.key, graph.as_deref(), &given.documents)?;
    let explanation = purlin.explain(&given.documents, &key);
    let report =
        report::explain::Explanation::new(&explanation, graph.as_deref(), given.documents.resolution());
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => {
            let columns = app.ui.columns().filter(|_| app.ui.level < Level::Verbose);
            app.ui.data(&render::explain::render(&report, columns));
        }
    }
    Ok(Status::Done)
}

/// The resource that a name stands for, which must be in the graph. If the graph could not be
/// built, the resource may also be one that the documents declare, or any key, since it may be the
/// reason for the fault.
fn find(name: &str, graph: Option<&Graph>, documents: &Documents) -> Result<Key, Failure> {
    if let Some(graph) = graph {
        let keys = graph.nodes().map(|node| node.key);
        let own = || engine::find_declared(name, keys, &graph.declared());
        let found = engine::with_aliases(name, Some(graph), |key| key, own);
        return found.cloned().map_err(|wrong| naming::unrequested(&wrong));
    }
    let declared = documents.deployment().keys();
    match engine::find(name, &declared) {
        Ok(key) => Ok(key.clone()),
        Err(wrong) if wrong.fits.is_empty() => Key::parse(name).map_err(|_| naming::unrequested(&wrong)),
        Err(wrong) => Err(naming::unrequested(&wrong)),
    }
}
