//! `purlin completions`

use crate::app::App;
use crate::complete;
use crate::failure::{Failure, Status};

/// Print a shell completion script.
///
/// Besides commands and options, it completes the keys of resources, environments, deployments, drivers
/// and files. The script calls `purlin`, which reads the documents and the state.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin completions bash > ~/.local/share/bash-completion/completions/purlin
  purlin completions zsh > \"${fpath[1]}/_purlin\"
  purlin completions fish > ~/.config/fish/completions/purlin.fish")]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

pub(super) fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let script = complete::script(&args.shell.to_string())
        .ok_or_else(|| Failure::run(format!("there is no script for {}", args.shell)))?;
    app.ui.data(&script);
    Ok(Status::Done)
}
