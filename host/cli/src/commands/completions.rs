//! `purlin completions`

use clap::CommandFactory as _;

use crate::app::App;
use crate::args::Cli;
use crate::failure::{Failure, Status};

/// Print a script that completes the command line in a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  purlin completions bash > ~/.local/share/bash-completion/completions/purlin
  purlin completions zsh > \"${fpath[1]}/_purlin\"
  purlin completions fish > ~/.config/fish/completions/purlin.fish")]
pub(crate) struct Args {
    /// Which shell.
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

pub(super) fn run(args: &Args, app: &App) -> Result<Status, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "purlin", &mut script);
    app.ui.data(&String::from_utf8_lossy(&script));
    Ok(Status::Done)
}
