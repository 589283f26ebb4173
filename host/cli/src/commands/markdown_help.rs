//! `purlin markdown-help`: the command-line reference for the book. It is hidden, since only the
//! authors of the book need it.

use clap::{ArgAction, Command, CommandFactory as _};

use super::Cli;
use crate::app::App;
use crate::failure::{Failure, Status};

/// Print the reference of the command line in Markdown.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(super) fn run(app: &App) -> Result<Status, Failure> {
    app.ui.data(&markdown());
    Ok(Status::Done)
}

/// The complete reference.
fn markdown() -> String {
    let mut root = Cli::command();
    root.build();
    let mut out = String::from(
        "# The command line\n\n<!-- Made by `purlin markdown-help` from the program itself; a test fails where it is stale. -->\n\n",
    );
    if let Some(about) = root.get_long_about().or(root.get_about()) {
        out.push_str(&format!("{about}\n\n"));
    }
    for command in shown(&root) {
        out.push_str(&format!(
            "- [`purlin {}`](#{})",
            command.get_name(),
            anchor(&["purlin", command.get_name()])
        ));
        if let Some(about) = command.get_about() {
            out.push_str(&format!(": {}", about.to_string().trim_end_matches('.')));
        }
        out.push('\n');
    }
    if let Some(after) = root.get_after_help() {
        out.push_str(&format!("\n{}\n", fenced_examples(&after.to_string())));
    }
    out.push_str("\n## Global options\n\nOptions of every command.\n\n");
    for argument in root.get_arguments().filter(|own| own.is_global_set() && !own.is_hide_set()) {
        out.push_str(&option(argument));
    }
    for command in shown(&root) {
        write(&mut out, command, &["purlin"]);
    }
    while out.contains("\n\n\n") {
        out = out.replace("\n\n\n", "\n\n");
    }
    out
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn anchor(path: &[&str]) -> String {
    path.join("-")
}

fn write(out: &mut String, command: &Command, above: &[&str]) {
    let path: Vec<&str> = above.iter().copied().chain([command.get_name()]).collect();
    out.push_str(&format!("\n{} {}\n\n", "#".repeat(path.len().min(4)), path.join(" ")));
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        out.push_str(&format!("{about}\n\n"));
    }
    let mut usage = command.clone().disable_colored_help(true);
    let usage = usage.render_usage().to_string();
    out.push_str(&format!("```text\n{}\n```\n", usage.trim_start_matches("Usage:").trim()));
    let arguments: Vec<_> = command
        .get_arguments()
        .filter(|argument| {
            !argument.is_hide_set()
                && !argument.is_global_set()
                && !matches!(
                    argument.get_action(),
                    ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
                )
        })
        .collect();
    if !arguments.is_empty() {
        out.push('\n');
    }
    for argument in arguments {
        out.push_str(&option(argument));
    }
    if let Some(after) = command.get_after_help() {
        out.push_str(&format!("\n{}\n", fenced_examples(&after.to_string())));
    }
    for sub in shown(command) {
        write(out, sub, &path);
    }
}

fn option(argument: &clap::Arg) -> String {
    let value = argument
        .get_value_names()
        .map(|names| names.join(" "))
        .filter(|_| argument.get_action().takes_values());
    let mut names: Vec<String> = Vec::new();
    names.extend(argument.get_short().map(|short| format!("`-{short}`")));
    match (argument.get_long(), &value) {
        (Some(long), Some(value)) => names.push(format!("`--{long} <{value}>`")),
        (Some(long), None) => names.push(format!("`--{long}`")),
        (None, Some(value)) => names.push(format!("`<{value}>`")),
        (None, None) => {}
    }
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut line = format!("- {}: {}.", names.join(", "), help.replace('\n', " ").trim_end_matches('.'));
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() && argument.get_action().takes_values() {
        line.push_str(&format!(" One of {}.", values.join(", ")));
    }
    let defaults: Vec<_> = argument.get_default_values().iter().filter_map(|value| value.to_str()).collect();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        line.push_str(&format!(" Default: `{}`.", defaults.join(" ")));
    }
    line.push('\n');
    line
}

/// Turns the indented examples of help texts into fenced blocks of Markdown.
fn fenced_examples(text: &str) -> String {
    let mut out = String::new();
    let mut fenced = false;
    for line in text.lines() {
        let indented = line.starts_with("  ");
        if indented != fenced {
            out.push_str(if indented { "\n```text\n" } else { "```\n\n" });
            fenced = indented;
        }
        if line.is_empty() && out.ends_with("\n\n") {
            continue;
        }
        out.push_str(if indented { line.get(2..).unwrap_or(line) } else { line });
        out.push('\n');
    }
    if fenced {
        out.push_str("```\n");
    }
    out
}
