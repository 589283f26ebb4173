//! `purlin manual`: the manual pages, for packages. Hidden, since only those who make packages need it.

use std::io;
use std::path::PathBuf;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::Cli;
use crate::failure::{Failure, Status};
use crate::files;

/// Write a manual page for each command to a folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to write to; created if it does not exist.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Status, Failure> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    for (name, page) in pages(&root).map_err(|error| Failure::caused("cannot make the manual", &error))? {
        let path = args.folder.join(name);
        files::write(&path, page)
            .map_err(|error| Failure::caused(format!("cannot write `{}`", path.display()), &error))?;
    }
    Ok(Status::Done)
}

/// The page of a command and those of the commands below it, each with the name of its file.
fn pages(command: &Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    let version = concat!("purlin ", env!("CARGO_PKG_VERSION"));
    // Without a date, those that read pages would take the version for it.
    let page = Man::new(command.clone()).date(" ").source(version).manual("Purlin");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if shown(command).next().is_some() {
        page.render_subcommands_section(&mut text)?;
    }
    if let Some(after) = command.get_after_help() {
        notes(&after.to_string()).to_writer(&mut text)?;
    }
    let mut pages = vec![(page.get_filename(), text)];
    for sub in shown(command) {
        pages.extend(self::pages(sub)?);
    }
    Ok(pages)
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

/// What help texts end with. Their lines stay as they are, because they are examples.
fn notes(text: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["NOTES"]);
    roff.control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_page_with_its_examples() {
        let mut root = Cli::command().disable_help_subcommand(true);
        root.build();
        let pages = pages(&root).expect("pages");
        let page = |name: &str| {
            let page = pages.iter().find(|(file, _)| file == name).expect("a page");
            String::from_utf8(page.1.clone()).expect("text")
        };
        let whole = page("purlin.1");
        assert!(whole.contains(r"purlin\-plan(1)"), "{whole}");
        assert!(!whole.contains("markdown"), "hidden commands have no page: {whole}");
        let title = concat!(
            ".TH purlin-state-key-rotate 1 \" \" \"purlin ",
            env!("CARGO_PKG_VERSION"),
            "\" Purlin\n"
        );
        let rotate = page("purlin-state-key-rotate.1");
        assert!(rotate.contains(title), "{rotate}");
        let completions = page("purlin-completions.1");
        assert!(completions.contains("\n  purlin completions bash"), "{completions}");
    }
}
