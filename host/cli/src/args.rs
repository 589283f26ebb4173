//! Arguments and options that several commands share.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::ArgPredicate;
use clap::{Arg, ArgAction, Args, ValueEnum};
use purlin_engine::{PlanOptions, Scope};
use purlin_host::{ContextChanges, Selection};
use purlin_model::ContextDefaults;

use crate::choices::{BundleArgs, ChoiceArgs};
use crate::failure::Failure;

/// Names that other tools have for `--yes`.
pub(crate) const YES: [&str; 2] = ["auto-approve", "approve"];

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Run as if in this folder: all paths of the command line are relative to it.
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(crate) chdir: Option<PathBuf>,

    /// Control the use of colours; `auto` uses them on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto")]
    color: When,

    /// The name that other tools have for `--color never`.
    #[arg(long, global = true, hide = true, conflicts_with = "color")]
    no_color: bool,

    /// Print more on standard error, such as the logs of drivers; repeat for even more, such as their
    /// measurements.
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "quiet")]
    pub(crate) verbose: u8,

    /// Print only errors.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// Run up to N driver calls at once [default: the workspace's, else 32].
    #[arg(long, alias = "parallel", global = true, value_name = "N", allow_negative_numbers = true)]
    pub(crate) parallelism: Option<NonZeroUsize>,

    /// End with what is in progress instead of waiting for it; the next run goes on.
    #[arg(long, global = true)]
    pub(crate) no_wait: bool,

    /// Wait up to this long for another deployment of the same environment, such as `30s` or `5m`
    /// [default: do not wait].
    #[arg(long, global = true, value_name = "TIME", value_parser = duration)]
    pub(crate) lock_timeout: Option<Duration>,

    /// Say why, for those who read `purlin audit`.
    #[arg(long, global = true, value_name = "TEXT", value_parser = reason)]
    pub(crate) reason: Option<String>,

    /// Print how the run spent its time.
    #[arg(long, global = true)]
    pub(crate) timings: bool,

    /// Use the embedded state in this folder [default: the workspace's, else `.purlin` beside
    /// purlin.yaml or in the current folder].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
}

impl Global {
    /// When to use colours.
    pub(crate) fn color(&self) -> When {
        if self.no_color { When::Never } else { self.color }
    }
}

fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("the reason is empty".to_owned()),
        reason => Ok(reason.to_owned()),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    purlin_documents::duration(text).ok_or_else(|| "write a number and a unit, such as 10m".to_owned())
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Even in a pipe or a file.
    Always,
    /// Never.
    Never,
}

/// The format of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Human-readable text.
    #[default]
    Text,
    /// Machine-readable JSON, with a version in `format`.
    Json,
}

/// `--format` of commands that write text or JSON.
#[derive(Clone, Copy, Debug, Args)]
#[command(arg(json()))]
pub(crate) struct FormatArg {
    /// Write the result in this format.
    #[arg(long, alias = "output", short_alias = 'o', value_name = "FORMAT", value_enum)]
    #[arg(default_value = "text", default_value_if("json", ArgPredicate::IsPresent, "json"))]
    pub(crate) format: Format,
}

/// The format of changes, which people review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CommentFormat {
    /// Human-readable text.
    #[default]
    Text,
    /// Machine-readable JSON, with a version in `format`.
    Json,
    /// For a comment on a pull request, in Markdown.
    Markdown,
}

/// `--format` of commands that show changes.
#[derive(Clone, Copy, Debug, Args)]
#[command(arg(json()))]
pub(crate) struct CommentFormatArg {
    /// Write the result in this format.
    #[arg(long, alias = "output", short_alias = 'o', value_name = "FORMAT", value_enum)]
    #[arg(default_value = "text", default_value_if("json", ArgPredicate::IsPresent, "json"))]
    pub(crate) format: CommentFormat,
}

/// `--json`, the name that other tools have for `--format json`. The default of `--format` depends on it.
pub(crate) fn json() -> Arg {
    Arg::new("json").long("json").action(ArgAction::SetTrue).hide(true).conflicts_with("format")
}

/// The heading of these options in help texts.
const CONTEXT: &str = "Documents and context";

/// Which documents to read.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DocumentArgs {
    /// Documents to read: files, folders (recursively), or `-` for standard input [default: the
    /// folder of the nearest purlin.yaml, else the current folder].
    #[arg(value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,

    /// Read these documents, like the arguments; may be repeated.
    #[arg(short, long, value_name = "FILE|DIR", help_heading = CONTEXT)]
    pub(crate) file: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) context: ContextArgs,

    #[command(flatten)]
    pub(crate) values: ValueArgs,

    #[command(flatten)]
    pub(crate) changes: ChangeArgs,

    #[command(flatten)]
    pub(crate) bundle: BundleArgs,

    #[command(flatten)]
    pub(crate) choices: ChoiceArgs,
}

impl DocumentArgs {
    /// The first given option that says something about documents, besides their context.
    pub(crate) fn of_documents(&self) -> Option<&'static str> {
        let ValueArgs { files, set } = &self.values;
        let ChangeArgs { new_environment, change_env_type, change_namespace } = self.changes;
        let BundleArgs { bundle, name: _ } = &self.bundle;
        let given = [
            ("--values", !files.is_empty()),
            ("--set", !set.is_empty()),
            ("--new-environment", new_environment),
            ("--change-env-type", change_env_type),
            ("--change-namespace", change_namespace),
            ("--bundle", bundle.is_some()),
        ];
        let given = given.into_iter().find(|(_, given)| *given).map(|(option, _)| option);
        given.or_else(|| self.choices.first())
    }
}

/// Values for `${values.K}` that override those of documents.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ValueArgs {
    /// Override values of documents and of the environment with this file, a map in YAML or JSON. May be
    /// repeated; later files override earlier ones.
    #[arg(long = "values", alias = "var-file", value_name = "FILE", help_heading = CONTEXT)]
    pub(crate) files: Vec<PathBuf>,

    /// Set a value, overriding all others. The text becomes a number or a boolean if it replaces one.
    /// `K:=V` parses V as YAML. May be repeated.
    #[arg(long, alias = "var", value_name = "K=V", help_heading = CONTEXT)]
    set: Vec<String>,
}

impl ValueArgs {
    /// The values of `--set`. Errors do not show the values, which may be secrets.
    pub(crate) fn assignments(&self) -> Result<Vec<Assignment>, Failure> {
        self.set
            .iter()
            .map(|text| assignment(text).map_err(|(message, hint)| Failure::input(message).hint(hint)))
            .collect()
    }
}

/// One `--set`.
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: Assigned,
}

/// The value of a `--set`.
pub(crate) enum Assigned {
    Text(String),
    Value(serde_json::Value),
}

fn assignment(text: &str) -> Result<Assignment, (String, String)> {
    let like = || "write NAME=VALUE, such as `--set domain=example.com`".to_owned();
    let Some((name, value)) = text.split_once('=') else {
        return Err(("`--set` has no `=`".to_owned(), like()));
    };
    let (name, typed) = match name.strip_suffix(':') {
        Some(name) => (name, true),
        None => (name, false),
    };
    if name.is_empty() || name.chars().any(char::is_whitespace) {
        return Err(("`--set` has no name, or a name with spaces".to_owned(), like()));
    }
    if let Some((first, _)) = name.split_once(['.', '[']) {
        let hint = format!("write `--set {first}:={{…}}`, or a file for `--values`");
        return Err((
            format!("`--set {name}` sets a part of a value, and `--set` sets whole values only"),
            hint,
        ));
    }
    let value = match typed {
        false => Assigned::Text(value.to_owned()),
        true => match purlin_documents::plain_value(&"--set".into(), value) {
            Ok(value) => Assigned::Value(value.redact()),
            Err(_) => {
                let hint = format!("`--set {name}=VALUE` passes it as text");
                return Err((format!("the value of `--set {name}:=` is not valid YAML"), hint));
            }
        },
    };
    Ok(Assignment { name: name.to_owned(), value })
}

/// Intended differences from the declared or recorded environment.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct ChangeArgs {
    /// Accept an environment that purlin.yaml does not declare, or a second one from the same documents.
    #[arg(long, help_heading = CONTEXT)]
    pub(crate) new_environment: bool,

    /// Accept an environment type that differs from the recorded one.
    #[arg(long, help_heading = CONTEXT)]
    pub(crate) change_env_type: bool,

    /// Accept a namespace that differs from the recorded one.
    #[arg(long, help_heading = CONTEXT)]
    pub(crate) change_namespace: bool,
}

impl ChangeArgs {
    /// Converts the options to the type that the host takes.
    pub(crate) fn changes(self) -> ContextChanges {
        ContextChanges {
            env_type: self.change_env_type,
            namespace: self.change_namespace,
            new_environment: self.new_environment,
        }
    }
}

/// The context of the deployment, unless a Deployment sets it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ContextArgs {
    /// Set the organisation, if no Deployment does [default: the workspace's, else `default`].
    #[arg(long, value_name = "ID", help_heading = CONTEXT)]
    pub(crate) org: Option<String>,

    /// Set the application, if no Deployment does [default: the workspace's, else `default`].
    #[arg(long, value_name = "ID", help_heading = CONTEXT)]
    pub(crate) app: Option<String>,

    /// Set the environment, if no Deployment does [default: the workspace's, else `development`].
    #[arg(long, aliases = ["stack", "environment"], value_name = "ID", help_heading = CONTEXT)]
    pub(crate) env: Option<String>,

    /// Set the type of the environment, if no Deployment does [default: the workspace's, else
    /// `development`].
    #[arg(long, value_name = "TYPE", help_heading = CONTEXT)]
    pub(crate) env_type: Option<String>,

    /// Set the namespace, if no Deployment does [default: the workspace's, else the environment's id].
    #[arg(long, short_alias = 'n', value_name = "NAME", help_heading = CONTEXT)]
    pub(crate) namespace: Option<String>,
}

/// The heading of the options of a run in help texts.
const RUN: &str = "What to do";

/// The resources to include.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ScopeArgs {
    /// Include only these resources; may be repeated. A key (the class `default` can be omitted), or a
    /// pattern with `*`.
    #[arg(long, value_name = "KEY", help_heading = RUN)]
    pub(crate) target: Vec<String>,

    /// Include the resources that depend on the targets.
    #[arg(long, requires = "target", help_heading = RUN)]
    pub(crate) target_dependents: bool,

    /// Exclude these resources; may be repeated.
    #[arg(long, value_name = "KEY", help_heading = RUN)]
    pub(crate) exclude: Vec<String>,
}

impl ScopeArgs {
    /// Converts the options to the type that the host takes.
    pub(crate) fn scope(&self) -> Scope {
        Scope {
            targets: self.target.clone(),
            exclude: self.exclude.clone(),
            dependents: self.target_dependents,
        }
    }
}

/// How to make a plan.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,

    /// Read every resource first and include drift in the plan.
    #[arg(long, help_heading = RUN)]
    pub(crate) refresh: bool,

    /// Provision every resource, even if nothing changed.
    #[arg(long, help_heading = RUN)]
    pub(crate) full: bool,

    /// Keep resources that are no longer in the documents.
    #[arg(long, help_heading = RUN)]
    pub(crate) keep_removed: bool,

    #[command(flatten)]
    pub(crate) hand_over: HandOverArgs,

    /// Replace this resource, regardless of its inputs; may be repeated.
    #[arg(long, value_name = "KEY", help_heading = RUN)]
    pub(crate) replace: Vec<String>,
}

impl PlanArgs {
    /// Converts the options to the type that the host takes.
    pub(crate) fn options(&self) -> PlanOptions {
        // The run reads the resources before it plans.
        let Self { scope, refresh: _, full, keep_removed, hand_over, replace } = self;
        PlanOptions {
            full: *full,
            keep_removed: *keep_removed,
            orphan_shared: hand_over.orphan_shared,
            scope: scope.scope(),
            replace: replace.clone(),
            ..PlanOptions::default()
        }
    }
}

/// How to treat resources that others use.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct HandOverArgs {
    /// Keep resources that other environments use, and their dependencies, until the last user is gone.
    /// Without this option, such resources cannot be deleted.
    #[arg(long, help_heading = RUN)]
    pub(crate) orphan_shared: bool,
}

/// Documents and definitions that may be missing.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AcceptArgs {
    /// Accept that this file or folder of the last deployment no longer holds documents or is not read
    /// this time; may be repeated. `-` is standard input. The key of a resource that Purlin adds by
    /// itself, such as `k8s-namespace#k8s-namespace`, accepts that no definition matches it any more; the key of another one
    /// accepts that a resource with a similar type, class or name takes its place.
    #[arg(long, value_name = "FILE|DIR", help_heading = RUN)]
    pub(crate) accept_missing: Vec<String>,
}

/// Which of the recorded environments a command is about.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SelectionArgs {
    /// Only environments whose name matches; may be repeated. `*` stands for any text; a pattern with a `/`
    /// is compared with `ORG/APP/ENV` and `APP/ENV`.
    #[arg(long, value_name = "PATTERN")]
    environments: Vec<String>,

    /// Only environments of this type, such as `production`; may be repeated.
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
}

impl SelectionArgs {
    /// Converts the options to the type that the host takes.
    pub(crate) fn selection(&self) -> Selection {
        Selection::new(self.environments.clone(), self.types.clone())
    }
}

/// The environment of a command that works on the record; documents only identify it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Identify the environment by these documents [default: the folder of the nearest purlin.yaml, else
    /// the current folder].
    #[arg(short, long, value_name = "FILE|DIR", help_heading = CONTEXT)]
    pub(crate) file: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) context: ContextArgs,
}

impl PlaceArgs {
    /// The same options, for reading documents.
    pub(crate) fn documents(&self) -> DocumentArgs {
        DocumentArgs { file: self.file.clone(), context: self.context.clone(), ..DocumentArgs::default() }
    }
}

impl DocumentArgs {
    /// The context that the command line sets. A bundle on the command line gets an application of
    /// its own.
    pub(crate) fn defaults(&self) -> ContextDefaults {
        let mut defaults = self.context.defaults();
        if let Some(name) = self.bundle.installation() {
            defaults.app.get_or_insert_with(|| name.into());
            defaults.env = defaults.env.or_else(|| defaults.namespace.clone());
        }
        defaults
    }

    /// Whether the options name an environment, or a part of its name.
    pub(crate) fn names_environment(&self) -> bool {
        self.context.names_environment() || self.bundle.bundle.is_some()
    }

    /// Whether any option applies to the documents of a single environment. The options that only
    /// say which files to read do not count.
    pub(crate) fn is_about_one(&self) -> bool {
        let Self { paths: _, file: _, context, values, changes, bundle, choices } = self;
        let ContextArgs { org, app, env, env_type, namespace } = context;
        let ChangeArgs { new_environment, change_env_type, change_namespace } = changes;
        [org, app, env, env_type, namespace, &bundle.bundle].into_iter().any(Option::is_some)
            || *new_environment
            || *change_env_type
            || *change_namespace
            || !(values.files.is_empty() && values.set.is_empty())
            || choices.are_given()
    }

    /// All named files and folders, in order; empty if none is named.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.file.iter().chain(&self.paths).cloned().collect()
    }
}

impl ContextArgs {
    /// Converts the options to the type that the host takes.
    pub(crate) fn defaults(&self) -> ContextDefaults {
        let text = |text: &Option<String>| text.as_deref().map(Into::into);
        ContextDefaults {
            org: text(&self.org),
            app: text(&self.app),
            env: text(&self.env),
            env_type: text(&self.env_type),
            namespace: text(&self.namespace),
        }
    }

    /// Whether the options name an environment, or a part of its name.
    pub(crate) fn names_environment(&self) -> bool {
        self.org.is_some() || self.app.is_some() || self.env.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Assigned;

    #[test]
    fn values_are_text_by_default() {
        let set = |text: &str| match super::assignment(text).map(|set| (set.name, set.value)) {
            Ok((name, Assigned::Text(text))) => format!("{name} text {text}"),
            Ok((name, Assigned::Value(value))) => format!("{name} value {value}"),
            Err((message, hint)) => format!("{message}; {hint}"),
        };
        assert_eq!(set("a=1.10"), "a text 1.10");
        assert_eq!(set("url=https://x/?a=b"), "url text https://x/?a=b");
        assert_eq!(set("a="), "a text ");
        assert_eq!(set("a:=1.5"), "a value 1.5");
        assert_eq!(set("a:={b: [1, true]}"), r#"a value {"b":[1,true]}"#);
        assert!(set("a").contains("NAME=VALUE"));
        assert!(set("=1").contains("has no name"));
        assert!(set("a.b=1").contains("`--set a:={…}`"));
        assert!(set("a:=[1").contains("not valid YAML"));
    }
}
