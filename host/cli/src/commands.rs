//! The command line, and its commands, one file per command.

mod apply;
mod audit;
mod bundle;
mod completions;
mod deploy;
mod destroy;
mod diff;
mod doctor;
mod driver;
mod env;
mod explain;
mod explain_error;
mod export;
mod graph;
mod history;
mod impact;
mod import;
mod init;
mod installations;
mod manual;
mod markdown_help;
mod outputs;
mod plan;
mod reconcile;
mod refresh;
mod rollback;
mod rollout;
mod schema;
mod state;
mod status;
mod up;
mod validate;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::app::App;
use crate::args::{CommentFormat, Format, Global};
use crate::failure::{Failure, Status};

/// Provision the resources that applications declare, as definitions describe.
///
/// Purlin reads definitions (how each kind of resource is provisioned) and Score files (what a workload
/// needs), combines them into one graph, and provisions every resource with a sandboxed driver, in
/// order.
#[derive(Debug, Parser)]
#[command(
    name = "purlin",
    version,
    styles = crate::style::clap(),
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Examples:
  purlin init shop && cd shop    create a small project to start with
  purlin graph                   show what would be provisioned, and why
  purlin plan                    show what would change
  purlin up                      apply the changes
  purlin destroy                 delete everything

Exit status: 0 success; 1 something failed during the run; 2 the input or the command line is
invalid, or consent is missing; 3 `plan --detailed-exitcode` found changes, or `impact` found an
effect that `--fail-on` names or a change that is rejected; 130 Ctrl-C ended the program, or calls
were cut off; 143 SIGTERM ended the program; 129 SIGHUP ended it.

PURLIN_WORKSPACE in the environment names the purlin.yaml to use, or its folder.

With `--format json`, errors are written to standard output as well:
  {\"format\": 1, \"error\": {\"code\", \"message\", \"hints\", \"diagnostics\"}}
Every JSON document gives the version of its format in \"format\"."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Command {
    Init(init::Args),
    Validate(validate::Args),
    Graph(graph::Args),
    Explain(explain::Args),
    ExplainError(explain_error::Args),
    Bundle(bundle::Args),
    #[command(alias = "preview")]
    Plan(plan::Args),
    Apply(apply::Args),
    #[command(alias = "deploy")]
    Up(up::Args),
    Reconcile(reconcile::Args),
    Refresh(refresh::Args),
    Import(import::Args),
    #[command(alias = "down")]
    Destroy(destroy::Args),
    Rollback(rollback::Args),
    History(history::Args),
    Audit(audit::Args),
    Diff(diff::Args),
    Impact(impact::Args),
    Rollout(rollout::Args),
    Status(status::Args),
    #[command(alias = "output")]
    Outputs(outputs::Args),
    Export(export::Args),
    State(state::Args),
    Installations(installations::Args),
    Env(env::Args),
    Driver(driver::Args),
    Schema(schema::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    MarkdownHelp(markdown_help::Args),
    #[command(hide = true)]
    Manual(manual::Args),
    /// Print the version, like `--version`.
    #[command(hide = true)]
    Version,
}

/// The format of a command's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Text for people, or a format that Purlin does not define.
    Text,
    /// One JSON document.
    Json,
    /// Events, one JSON document per line.
    Events,
}

/// The format of a command's output with `--format json`.
pub(crate) fn json_output(command: &str) -> Output {
    match command {
        "apply" | "up" | "reconcile" | "refresh" | "import" | "impact" | "destroy" | "rollback" => {
            Output::Events
        }
        "schema" | "completions" => Output::Text,
        _ => Output::Json,
    }
}

impl Command {
    /// The format of the command's output. Errors are written in the same format.
    pub(crate) fn output(&self) -> Output {
        let document = |format: Format| if format == Format::Json { Output::Json } else { Output::Text };
        let events = |format: Format| if format == Format::Json { Output::Events } else { Output::Text };
        match self {
            Self::Schema(_) | Self::Completions(_) => Output::Text,
            Self::MarkdownHelp(_) | Self::Manual(_) | Self::Version => Output::Text,
            Self::Init(args) => document(args.format.format),
            Self::Validate(args) => document(args.format.format),
            Self::Graph(args) => args.output(),
            Self::Explain(args) => document(args.format.format),
            Self::ExplainError(args) => document(args.format.format),
            Self::Plan(args) if args.format.format == CommentFormat::Json => Output::Json,
            Self::Plan(_) => Output::Text,
            Self::Apply(args) => events(args.format.format),
            Self::Up(args) => events(args.format.format),
            Self::Reconcile(args) => events(args.format.format),
            Self::Refresh(args) => events(args.format.format),
            Self::Import(args) => events(args.format.format),
            Self::Destroy(args) => events(args.format.format),
            Self::Rollback(args) => events(args.format.format),
            Self::History(args) => document(args.format.format),
            Self::Audit(args) => document(args.format.format),
            Self::Diff(args) => document(args.format.format),
            Self::Impact(args) if args.format.format == CommentFormat::Json => Output::Events,
            Self::Impact(_) => Output::Text,
            Self::Rollout(args) => args.output(),
            Self::Status(args) if args.watches() => events(args.format.format),
            Self::Status(args) => document(args.format.format),
            Self::Outputs(args) => document(args.format.format),
            Self::Export(args) => document(args.format.format),
            Self::State(args) => document(args.format()),
            Self::Installations(args) => document(args.format()),
            Self::Bundle(args) => document(args.format()),
            Self::Env(args) => document(args.format()),
            Self::Driver(args) => document(args.format()),
            Self::Doctor(args) => document(args.format.format),
        }
    }

    /// The name of the command.
    pub(crate) fn name(&self) -> &'static str {
        self.into()
    }

    /// Runs the command.
    pub(crate) async fn run(self, app: &App) -> Result<Status, Failure> {
        match self {
            Self::Init(args) => init::run(&args, app),
            Self::Validate(args) => validate::run(&args, app).await,
            Self::Graph(args) => graph::run(&args, app).await,
            Self::Explain(args) => explain::run(&args, app).await,
            Self::ExplainError(args) => explain_error::run(&args, app),
            Self::Bundle(args) => bundle::run(&args, app).await,
            Self::Plan(args) => plan::run(&args, app).await,
            Self::Apply(args) => apply::run(&args, app).await,
            Self::Up(args) => up::run(&args, app).await,
            Self::Reconcile(args) => reconcile::run(&args, app).await,
            Self::Refresh(args) => refresh::run(&args, app).await,
            Self::Import(args) => import::run(&args, app).await,
            Self::Destroy(args) => destroy::run(&args, app).await,
            Self::Rollback(args) => rollback::run(&args, app).await,
            Self::History(args) => history::run(&args, app).await,
            Self::Audit(args) => audit::run(&args, app).await,
            Self::Diff(args) => diff::run(&args, app).await,
            Self::Impact(args) => impact::run(&args, app).await,
            Self::Rollout(args) => rollout::run(&args, app).await,
            Self::Status(args) => status::run(&args, app).await,
            Self::Outputs(args) => outputs::run(&args, app).await,
            Self::Export(args) => export::run(&args, app).await,
            Self::State(args) => state::run(&args, app).await,
            Self::Installations(args) => installations::run(&args, app).await,
            Self::Env(args) => env::run(&args, app).await,
            Self::Driver(args) => driver::run(&args, app).await,
            Self::Schema(args) => schema::run(&args, app),
            Self::Doctor(args) => doctor::run(&args, app).await,
            Self::Completions(args) => completions::run(&args, app),
            Self::MarkdownHelp(_) => markdown_help::run(app),
            Self::Manual(args) => manual::run(&args),
            Self::Version => {
                app.ui.data(&Cli::command().render_version());
                Ok(Status::Done)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    /// Whoever writes a program for one of these documents finds its fields in the book.
    #[test]
    fn each_command_with_json_is_on_the_page_of_json() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/reference/json.md");
        let page = std::fs::read_to_string(page).expect("the page");
        let headings: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        let root = super::Cli::command();
        for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            let mut formats = command.get_arguments().filter(|argument| argument.get_id() == "format");
            let has_json = formats
                .any(|format| format.get_possible_values().iter().any(|value| value.matches("json", false)));
            let is_there = headings.iter().any(|heading| heading.contains(&format!("`{name}`")));
            assert!(!has_json || is_there, "json.md has no heading with `{name}`");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }

    /// Help texts are at most 100 columns wide. A longer line wraps, and often leaves one word alone.
    #[test]
    fn the_notes_below_help_texts_do_not_wrap() {
        let mut root = super::Cli::command();
        root.build();
        let mut commands = vec![&root];
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands());
            let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in notes.lines() {
                assert!(line.chars().count() <= 98, "below the help of `{}`: {line}", command.get_name());
            }
        }
    }
}
