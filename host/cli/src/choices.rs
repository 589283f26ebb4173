//! The command line's choices for requirements: bundles, parameters and credentials (SPEC §6).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use purlin_documents::{Input, NAMES_WITH_SLASHES, SourceMap, plain_file, plain_value};
use purlin_model::{Answer, BundleReference, Choices, RequirementChoice, ResourceId, Setting};
use purlin_requirements::Unmapped;

use crate::app::App;
use crate::failure::Failure;
use crate::text;

/// The heading of these options in help texts.
const BUNDLES: &str = "Bundles";

/// The name of the document that stands for `--bundle`.
const NAME_OF_TEXT: &str = "--bundle";

/// The bundle to install, if no document requests one.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BundleArgs {
    /// Use this bundle instead of documents. Folders serve as the catalog: Deployments, Score files and
    /// manifests in them are ignored. Unless options override this, the application is named after the
    /// installation, and the environment after the namespace.
    #[arg(long, value_name = "REFERENCE", help_heading = BUNDLES)]
    pub(crate) bundle: Option<String>,

    /// Name the installation [default: the last part of the bundle's name].
    #[arg(long, value_name = "NAME", requires = "bundle", help_heading = BUNDLES)]
    pub(crate) name: Option<String>,
}

/// Choices for the requirements of bundles.
#[derive(Clone, Default, Args)]
pub(crate) struct ChoiceArgs {
    /// Satisfy a requirement with this bundle or existing installation. NAME is its name in the bundle
    /// or the name of its installation; INSTALLATION is NAMESPACE/NAME, /NAME in the global namespace,
    /// or a URN. Later runs keep this choice; `NAME=` removes it. May be repeated.
    #[arg(long, value_name = "NAME=REFERENCE|INSTALLATION", help_heading = BUNDLES)]
    pub(crate) with: Vec<String>,

    /// Set a parameter of an installation. The text becomes the type that the bundle declares. `K:=V`
    /// parses V as YAML. Later runs remember it. May be repeated. NAME is enough if only one
    /// installation is requested.
    #[arg(long, value_name = "[INSTALLATION.]NAME=V", help_heading = BUNDLES)]
    param: Vec<String>,

    /// Set a credential of an installation, in the same way. Others on this machine may see it while the
    /// command runs; prefer a file or a variable.
    #[arg(long, value_name = "[INSTALLATION.]NAME=V", help_heading = BUNDLES)]
    credential: Vec<String>,

    /// Read parameters from this file, a map in YAML or JSON. May be repeated.
    #[arg(long, value_name = "FILE", help_heading = BUNDLES)]
    params: Vec<PathBuf>,

    /// Read credentials from this file, in the same way.
    #[arg(long, value_name = "FILE", help_heading = BUNDLES)]
    credentials: Vec<PathBuf>,

    /// Read the text of a parameter from an environment variable. May be repeated.
    #[arg(long, value_name = "[INSTALLATION.]NAME=VARIABLE", help_heading = BUNDLES)]
    param_env: Vec<String>,

    /// Read the text of a credential from an environment variable. May be repeated.
    #[arg(long, value_name = "[INSTALLATION.]NAME=VARIABLE", help_heading = BUNDLES)]
    credential_env: Vec<String>,
}

/// Hides the values, which may be secrets.
impl std::fmt::Debug for ChoiceArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChoiceArgs").field("with", &self.with).finish_non_exhaustive()
    }
}

impl ChoiceArgs {
    /// The first of these options that is given.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let Self { with, param, credential, params, credentials, param_env, credential_env } = self;
        let given = [
            ("--with", with.is_empty()),
            ("--param", param.is_empty()),
            ("--credential", credential.is_empty()),
            ("--params", params.is_empty()),
            ("--credentials", credentials.is_empty()),
            ("--param-env", param_env.is_empty()),
            ("--credential-env", credential_env.is_empty()),
        ];
        given.into_iter().find(|(_, is_empty)| !is_empty).map(|(option, _)| option)
    }

    /// Whether any option is given.
    pub(crate) fn are_given(&self) -> bool {
        self.first().is_some()
    }
}

impl BundleArgs {
    /// The name of the installation; `None` if `--bundle` is not given.
    pub(crate) fn installation(&self) -> Option<&str> {
        let bundle = self.bundle.as_deref()?;
        let repository = bundle.split('@').next().unwrap_or_default();
        let last = repository.rsplit('/').next().unwrap_or_default();
        let default = last.split(':').next().unwrap_or_default();
        Some(self.name.as_deref().unwrap_or(default))
    }

    /// A Deployment document that requires the bundle; `None` if `--bundle` is not given.
    pub(crate) fn deployment(&self) -> Result<Option<Input>, Failure> {
        let (Some(bundle), Some(name)) = (&self.bundle, self.installation()) else { return Ok(None) };
        let _: BundleReference = bundle.parse().map_err(|error| {
            Failure::input(format!("`--bundle {}`: {error}", text::line(bundle)))
                .hint("write REPOSITORY:TAG, such as `--bundle getporter/mysql:v1.0.0`")
        })?;
        check_name(name)?;
        let reference = serde_json::Value::from(bundle.as_str());
        let text = format!(
            "apiVersion: purlin.dev/v1\nkind: Deployment\nspec:\n  requires:\n    - name: {}\n      bundle: {{reference: {reference}}}\n",
            serde_json::Value::from(name),
        );
        Ok(Some(Input::Text { name: NAME_OF_TEXT.into(), text }))
    }
}

/// Checks the name of an installation that the command line requests.
///
/// # Errors
/// If the name is not allowed.
pub(crate) fn check_name(name: &str) -> Result<(), Failure> {
    let shown = text::line(name);
    if name.contains('/') {
        return Err(Failure::input(format!(
            "`--name {shown}`: the name of a requested installation has no `/`"
        ))
        .hint(NAMES_WITH_SLASHES));
    }
    match ResourceId::new(name) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::input(format!("`--name {shown}`: {error}"))
            .hint("choose a name of letters, digits and `-`, such as `--name blog`")),
    }
}

impl ChoiceArgs {
    /// The choices of these options. Options override environment variables, and those override
    /// files.
    ///
    /// # Errors
    /// If an option or a file is malformed or cannot be read. The message shows no values.
    pub(crate) fn choices(&self) -> Result<Choices, Failure> {
        let mut answers = Vec::new();
        for (part, files, variables, options) in [
            (Setting::Parameter, &self.params, &self.param_env, &self.param),
            (Setting::Credential, &self.credentials, &self.credential_env, &self.credential),
        ] {
            for file in files {
                for (name, value) in file_of(part, file)? {
                    answers.push(Answer { part, name, value, is_text: false });
                }
            }
            for text in variables {
                let (name, value) = variable(part, text)?;
                answers.push(Answer { part, name, value: value.into(), is_text: true });
            }
            for text in options {
                answers.push(option(part, text)?);
            }
        }
        Ok(Choices { with: with(&self.with)?, answers, makes: false })
    }
}

/// Parses the `--with` options into a map from requirement to choice.
fn with(all: &[String]) -> Result<BTreeMap<Arc<str>, Option<RequirementChoice>>, Failure> {
    let mut with = BTreeMap::new();
    for written in all {
        let shown = text::line(written);
        let like = "write REQUIREMENT=REFERENCE, such as `--with mysql=getporter/mysql:v8.0.1`";
        let Some((name, reference)) = written.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::input(format!("`--with {shown}` names no requirement")).hint(like));
        };
        let reference = match reference {
            "" => None,
            text => Some(
                text.parse()
                    .map_err(|error| Failure::input(format!("`--with {shown}`: {error}")).hint(like))?,
            ),
        };
        if with.insert(Arc::from(name), reference).is_some() {
            let name = text::line(name);
            return Err(Failure::input(format!("`--with {name}=…` is given twice")).hint("keep one of them"));
        }
    }
    Ok(with)
}

/// Splits `NAME=REST`.
fn split<'t>(flag: &str, written: &'t str) -> Result<(&'t str, &'t str), Failure> {
    let like = || format!("write NAME=VALUE, such as `--{flag} blog.title=News`");
    let Some((name, rest)) = written.split_once('=') else {
        return Err(Failure::input(format!("`--{flag}` has no `=`")).hint(like()));
    };
    let bare = name.strip_suffix(':').unwrap_or(name);
    if bare.is_empty() || bare.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(Failure::input(format!("`--{flag}` has no name, or a name with spaces")).hint(like()));
    }
    Ok((name, rest))
}

fn option(part: Setting, written: &str) -> Result<Answer, Failure> {
    let flag = part.option();
    let (name, value) = split(flag, written)?;
    let Some(name) = name.strip_suffix(':') else {
        return Ok(Answer { part, name: name.into(), value: value.into(), is_text: true });
    };
    match plain_value(&format!("--{flag}").into(), value) {
        Ok(value) => Ok(Answer { part, name: name.into(), value: value.redact(), is_text: false }),
        Err(_) => Err(Failure::input(format!("the value of `--{flag} {name}:=` is not valid YAML"))
            .hint(format!("`--{flag} {name}=VALUE` passes it as text"))),
    }
}

fn variable(part: Setting, written: &str) -> Result<(Arc<str>, String), Failure> {
    let flag = format!("{}-env", part.option());
    let (name, variable) = split(&flag, written)?;
    let shown = text::line(variable);
    match std::env::var(variable) {
        Ok(value) => Ok((name.into(), value)),
        Err(_) => Err(Failure::input(format!("`--{flag} {name}={shown}`: this variable is not set"))
            .hint(format!("set it, such as with `export {shown}=…`, or give the {part} in another way"))),
    }
}

/// Reads the answers from a file.
fn file_of(part: Setting, file: &Path) -> Result<BTreeMap<Arc<str>, serde_json::Value>, Failure> {
    let value = plain_file(file).map_err(|fault| Failure::documents(vec![*fault], SourceMap::default()))?;
    match value.redact() {
        serde_json::Value::Object(map) => {
            Ok(map.into_iter().map(|(name, value)| (Arc::from(name), value)).collect())
        }
        _ => Err(Failure::input(format!("`--{}s {}` is not a map", part.option(), text::path(file)))
            .hint(format!("write one {part} a line, such as `blog.title: News`"))),
    }
}

/// Asks the user for a parameter or credential that nothing has set, until the answer fits its
/// declaration. If the user answers nothing, it stays unset.
pub(crate) fn ask(unmapped: &Unmapped, choices: &mut Choices, app: &App) -> Result<(), Failure> {
    let Unmapped { installation, part, name, description, is_secret, .. } = unmapped;
    let words = description.as_deref().map(|words| format!(" ({})", text::line(words))).unwrap_or_default();
    let question = format!("The {part} `{name}` of `{installation}`{words}:");
    loop {
        let answer = match is_secret {
            true => app.ui.type_in_secretly(&question).map_err(|error| {
                Failure::caused("cannot read the answer", &error)
                    .hint(format!("give it with `--{}-env {installation}.{name}=VARIABLE`", part.option()))
            })?,
            false => app.ui.type_in(&question),
        };
        if answer.is_empty() {
            return Ok(());
        }
        match unmapped.check(&answer) {
            Ok(()) => {
                let full = format!("{installation}.{name}");
                let (name, value) = (full.into(), answer.into());
                choices.answers.push(Answer { part: *part, name, value, is_text: true });
                return Ok(());
            }
            Err(why) => app.ui.note(&format!("{}; try again, or leave it empty", text::line(&why))),
        }
    }
}
