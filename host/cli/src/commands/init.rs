//! `purlin init`

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::app::App;
use crate::args::{Format, FormatArg};
use crate::failure::{Failure, Status};
use crate::files;
use crate::report::FORMAT;
use crate::surroundings::WORKSPACE_FILE;
use crate::text;

/// Create a small working project.
///
/// The project contains a workload (a Score file) that needs a database and a host name, and definitions
/// that provision them. Existing files are not overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin init                              in the current folder
  purlin init shop                         in the folder `shop`, which is created
  purlin init shop --platform kubernetes   with definitions that deploy to a cluster

With `--format json`:
  {\"format\": 1, \"app\", \"files\": [FILE]}")]
pub(crate) struct Args {
    /// The folder to write to.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,

    /// Name the application [default: the folder's name].
    #[arg(long, value_name = "ID")]
    app: Option<String>,

    /// Write definitions for real servers instead of ones that need no server.
    #[arg(long, value_name = "NAME", value_enum)]
    platform: Option<Platform>,

    #[command(flatten)]
    pub(super) format: FormatArg,
}

#[derive(Serialize)]
struct InitReport {
    format: u8,
    app: String,
    /// The files that were written.
    files: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Platform {
    /// Workloads in a Kubernetes cluster, and databases in PostgreSQL.
    Kubernetes,
}

/// File paths with their contents.
type Files = [(&'static str, &'static str)];

/// The application, which is the same for every platform.
const APPS: &Files = &[("apps/web.yaml", include_str!("init/web.yaml"))];

/// A platform that needs no server.
const SMALL: &Files = &[
    (WORKSPACE_FILE, include_str!("init/purlin.yaml")),
    ("platform/dns.yaml", include_str!("init/dns.yaml")),
    ("platform/postgres.yaml", include_str!("init/postgres.yaml")),
];

macro_rules! example {
    ($($file:literal)*) => {
        &[$(($file, include_str!(concat!("../../../../examples/kubernetes/", $file)))),*]
    };
}

/// The platform of `examples/kubernetes`.
const KUBERNETES: &Files = example!(
    "purlin.yaml"
    "platform/environment.yaml"
    "platform/metadata.yaml"
    "platform/postgres.yaml"
    "platform/route.yaml"
    "platform/types.yaml"
    "platform/variables.yaml"
    "platform/volume.yaml"
    "platform/workload.yaml"
);

/// The name of the example's application in its `purlin.yaml`.
const EXAMPLE: &str = "{app: shop,";

/// The certificate of the cluster's authority in that file, and the same for a project that does not
/// have it yet: a file that is granted has to be there.
const AUTHORITY: (&str, &str) = ("        ca: [cluster-ca.pem]\n", "        # ca: [cluster-ca.pem]\n");

impl Args {
    /// The files of a new project, for an application of this name.
    fn files(&self, name: &str) -> Vec<(&'static str, String)> {
        // The state folder holds data of this machine only, and the key that encrypts its secrets.
        let (platform, ignored) = match self.platform {
            None => (SMALL, "/.purlin/\n"),
            Some(Platform::Kubernetes) => (KUBERNETES, "/.purlin/\n/secrets/\n"),
        };
        let name = scalar(name);
        let (certificate, later) = AUTHORITY;
        let own = |text: &str| {
            let text = text.replace("APPLICATION", &name).replace(EXAMPLE, &format!("{{app: {name},"));
            text.replace(certificate, later)
        };
        let files = platform.iter().chain(APPS).copied().chain([(".gitignore", ignored)]);
        files.map(|(file, text)| (file, own(text))).collect()
    }

    /// The steps that are necessary before the project can be deployed.
    fn first(&self) -> Option<&'static str> {
        match self.platform? {
            Platform::Kubernetes => Some(
                "first set the addresses in purlin.yaml and platform/environment.yaml, write secrets/cluster, \
                 secrets/postgres and cluster-ca.pem, and remove the `#` before `ca` in purlin.yaml",
            ),
        }
    }
}

pub(super) fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let name = match &args.app {
        // The name becomes a part of host names and of namespaces.
        Some(name) if application(name) == *name => name.clone(),
        Some(name) => {
            let shown = text::line(name);
            return Err(Failure::input(format!("`{shown}` cannot be the name of the application")).hint(format!(
                "the project uses it in host names: write up to 40 lower-case letters, digits and `-`, such as `{}`",
                application(name)
            )));
        }
        None => application(&folder_name(&app.folder.join(&args.folder))),
    };
    files::no_parent(&args.folder, &app.folder)?;
    let files: Vec<(PathBuf, String)> = args
        .files(&name)
        .into_iter()
        .map(|(file, content)| (args.folder.join(file), content))
        // Keep an existing `.gitignore`.
        .filter(|(path, _)| path.symlink_metadata().is_err() || !path.ends_with(".gitignore"))
        .collect();
    let written = files::write_new_files(&args.folder, &files, "purlin init DIR")?;
    let report = InitReport { format: FORMAT, app: name, files: written };
    if args.format.format == Format::Text {
        report.files.iter().for_each(|file| app.ui.data(&format!("{file}\n")));
    }
    if args.format.format == Format::Json {
        app.ui.json(&report);
    }
    let steps = if args.folder == Path::new(".") {
        String::new()
    } else {
        format!("cd {} && ", text::shell_word(&args.folder.display().to_string()))
    };
    if let Some(first) = args.first() {
        app.ui.hint(first);
    }
    app.ui.hint(&format!("`{steps}purlin graph` shows the resources, `{steps}purlin up` creates them"));
    Ok(Status::Done)
}

fn folder_name(folder: &Path) -> String {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A name as YAML text, in quotes if it needs them.
fn scalar(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_plain);
    let is_keyword = ["null", "true", "false"].iter().any(|word| name.eq_ignore_ascii_case(word));
    match is_word && !is_keyword {
        true => name.to_owned(),
        false => serde_json::Value::from(name).to_string(),
    }
}

/// Turns a folder's name into a valid name for an application.
fn application(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(plain).collect();
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").chars().take(40).collect();
    if name.is_empty() { "app".to_owned() } else { name.trim_end_matches('-').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{application, scalar};

    #[test]
    fn names_are_quoted_where_yaml_needs_it() {
        for (name, written) in [("shop", "shop"), ("12", "\"12\""), ("true", "\"true\"")] {
            assert_eq!(scalar(name), written);
        }
    }

    #[test]
    fn any_folder_makes_an_application() {
        for (folder, name) in
            [("shop", "shop"), ("My Shop!", "my-shop"), ("", "app"), ("漢字", "app"), ("-a--b-", "a-b")]
        {
            assert_eq!(application(folder), name, "{folder}");
        }
    }
}
