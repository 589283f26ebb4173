//! `purlin bundle explain`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use purlin_documents::{ANOTHER_VERSION, Bundles, FORMS_OF_BUNDLES, bundles};
use purlin_model::{Bundle, BundleReference, Context, Diagnostic, RequirementContext, Severity};
use purlin_requirements::{Catalog as _, Folders, Root, Why, choose, resolve};

use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::choices::{self, ChoiceArgs};
use crate::failure::{Failure, Status};
use crate::render;
use crate::report;
use crate::{input, naming, text};

/// Explain what a bundle requires, and why each requirement resolves to its bundle.
///
/// Resolves every requirement, at any depth. For each installation that would be created, it shows the
/// bundle and version and why they were chosen, which others were not and why, who shares it, and what
/// sets its parameters. It also shows settings without a value. Creates nothing, and needs no state.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin bundle explain ./wordpress
  purlin bundle explain getporter/wordpress:v1.0.0 --catalog ./bundles
  purlin bundle explain ./wordpress --with mysql=getporter/mysql:v8.0.1
  purlin bundle explain ./wordpress --format json | jq '.installations[].bundle'

With `--format json`:
  {\"format\": 1,
   \"installations\": [{\"name\", \"bundle\", \"version\", \"why\": {\"code\", \"text\"}, \"group\",
                      \"lost\": [{\"bundle\", \"code\", \"text\"}],
                      \"requires\": [{\"name\", \"installation\"}],
                      \"given\": [{\"part\", \"name\", \"reads\"}],
                      \"values\": [{\"part\", \"name\", \"$id\", \"declared\", \"from\", \"sensitive\"}]}],
   \"unmapped\": [{\"installation\", \"part\", \"name\", \"description\", \"sensitive\"}],
   \"diagnostics\": […]}
The installations are listed in an order in which they can be created, the bundle itself last.
\"values\" are its outputs, parameters and credentials; \"from\" is \"driver\", \"requirement\",
\"parameter\", \"default\", \"installation\", \"given\" or \"nothing\".")]
pub(super) struct Args {
    /// The bundle: its file or folder, or a reference in the catalog.
    #[arg(value_name = "PATH|REFERENCE")]
    bundle: String,

    /// Look for bundles in these folders [default: the folder of the nearest purlin.yaml, else the
    /// current folder].
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,

    /// Name the installation [default: the last part of the bundle's name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Set the namespace of the installation [default: the global one].
    #[arg(long, short_alias = 'n', value_name = "NAMESPACE")]
    namespace: Option<String>,

    #[command(flatten)]
    choices: ChoiceArgs,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

pub(super) async fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let now = args.choices.choices()?;
    let folders = match args.catalog.is_empty() {
        true => &vec![input::default_catalog(app)?],
        false => &args.catalog,
    };
    if let Some(lost) = args.catalog.iter().find(|folder| !folder.is_dir()) {
        return Err(Failure::input(format!("`--catalog {}` is not a folder", text::path(lost)))
            .hint("name a folder with bundles in it"));
    }
    let path = Path::new(&args.bundle);
    let own = path.exists().then_some(path);
    let mut paths: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
    // Bundles in a folder of the catalog are read only once.
    let is_within = |path: &Path| {
        let whole = path.canonicalize();
        whole.is_ok_and(|whole| folders.iter().any(|f| f.canonicalize().is_ok_and(|f| whole.starts_with(f))))
    };
    paths.extend(own.filter(|path| !is_within(path)));
    let read = bundles(&paths);
    if read.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Failure::documents(read.diagnostics, read.sources));
    }
    let root = match own {
        Some(path) => Some(alone(path)?),
        None => None,
    };
    let Bundles { bundles, mut diagnostics, sources } = read;
    let (catalog, twins) = Folders::new(bundles);
    diagnostics.extend(twins.iter().map(|(second, first)| twin(second, first)));
    let bundle = match root {
        Some(bundle) => Arc::new(bundle),
        None => in_catalog(&args.bundle, &catalog).await?,
    };
    let name = args.name.as_deref().unwrap_or_else(|| last_part(&bundle.repository));
    choices::check_name(name)?;
    let namespace = args.namespace.as_deref().unwrap_or("").into();
    let context = Arc::new(Context { namespace, ..Context::default() });
    let root = Root { name: name.into(), context, bundle };
    let context = RequirementContext { now, ..RequirementContext::default() };
    let resolution = resolve(root, &catalog, &context).await.map_err(|error| Failure::run(error.0))?;
    diagnostics.extend(resolution.diagnostics.iter().cloned());
    if resolution.has_errors() {
        return Err(Failure::documents(diagnostics, sources));
    }
    let report = report::bundle::Explained::new(&resolution, &diagnostics);
    match args.format.format {
        Format::Json => app.ui.json(&report),
        Format::Text => {
            input::show(&diagnostics, &sources, app);
            app.ui.data(&render::bundle::explained(&report, app.ui.columns()));
        }
    }
    Ok(Status::Done)
}

/// The only bundle of a file or folder.
fn alone(path: &Path) -> Result<Bundle, Failure> {
    let Bundles { bundles: mut all, diagnostics, sources } = bundles(&[path]);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(Failure::documents(diagnostics, sources));
    }
    let several = text::count(all.len(), "bundle");
    let names: Vec<String> = all.iter().map(|bundle| bundle.reference().to_string()).collect();
    match (all.pop(), names.len()) {
        (Some(bundle), 1) => Ok(bundle),
        // A warning about a file that is almost a bundle says why.
        (None, _) if !diagnostics.is_empty() => {
            let errors = diagnostics.into_iter().map(|one| Diagnostic { severity: Severity::Error, ..one });
            Err(Failure::documents(errors.collect(), sources))
        }
        (None, _) => {
            Err(Failure::input(format!("there is no bundle in `{}`", text::path(path)))
                .hint(FORMS_OF_BUNDLES))
        }
        (Some(_), _) => Err(Failure::input(format!("there are {several} in `{}`", text::path(path)))
            .hint(format!("name one by its reference: {}", names.join(", ")))),
    }
}

/// The bundle that a reference names; its highest release if the reference names no version.
async fn in_catalog(reference: &str, catalog: &Folders) -> Result<Arc<Bundle>, Failure> {
    let requested: BundleReference = reference.parse().map_err(|_| {
        Failure::input(format!("`{reference}` is neither a file nor the name of a bundle"))
            .hint("name a folder with a bundle in it, or REPOSITORY:TAG, such as `getporter/mysql:v1.0.0`")
    })?;
    let failed = |error: purlin_requirements::CatalogError| Failure::run(error.0);
    let tags = catalog.tags(&requested.repository).await.map_err(failed)?;
    let found = match choose(&requested, &tags) {
        Some((chosen, Why::Reference | Why::HighestRelease | Why::Latest)) => {
            catalog.bundle(&chosen).await.map_err(failed)?
        }
        _ => None,
    };
    found.ok_or_else(|| {
        let known: Vec<&str> = tags.iter().map(|tag| &**tag).collect();
        let failure = Failure::input(format!("the catalog has no bundle `{requested}`"));
        match &*known {
            _ if requested.digest.is_some() => failure.hint(
                "bundles in folders have no digests: name it by its version, such as `ORG/NAME:v1.0.0`",
            ),
            [] => {
                let all = catalog.repositories();
                let all = all.iter().map(|name| &**name);
                naming::suggest(failure, &requested.repository, all, "name its folder with `--catalog DIR`")
            }
            known => failure.hint(format!("there is {}", known.join(", "))),
        }
    })
}

fn twin(second: &Bundle, first: &Bundle) -> Diagnostic {
    Diagnostic::warning("bundle-twice", format!("`{}` is in the catalog twice", second.reference()))
        .at(&second.location)
        .related(&first.location, "this one is used")
        .help(ANOTHER_VERSION)
}

fn last_part(repository: &str) -> &str {
    repository.rsplit('/').next().unwrap_or(repository)
}
