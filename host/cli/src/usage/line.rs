//! A command line that the parser rejected, interpreted as far as possible: its command, and the
//! options of that command.

use std::any::TypeId;
use std::ffi::OsString;
use std::num::NonZeroUsize;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::commands::{self, Cli, Output};

/// A command line.
pub(super) struct Line {
    /// The commands on it, from the outermost.
    pub(super) commands: Vec<String>,
    /// The words that begin with a dash, as written.
    pub(super) options: Vec<String>,
    json: bool,
    root: Command,
    /// The innermost command, with the global options.
    command: Command,
}

impl Line {
    /// Reads the words after the program's name.
    pub(super) fn read(words: &[OsString]) -> Self {
        let mut root = Cli::command();
        root.build();
        let mut command = root.clone();
        let (mut commands, mut options, mut json) = (Vec::new(), Vec::new(), false);
        let mut arguments = false;
        let mut words = words.iter().map(|word| word.to_string_lossy().into_owned()).peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                break;
            }
            if word.len() > 1 && word.starts_with('-') {
                let (name, value) = word.split_once('=').unwrap_or((word.as_str(), ""));
                let own = argument(&command, name);
                let takes = own.is_some_and(|own| own.get_action().takes_values());
                // Before the command, an unknown option may have a value too.
                let is_value = |next: &str| {
                    takes || (own.is_none() && commands.is_empty() && command.find_subcommand(next).is_none())
                };
                let separate = !word.contains('=');
                let is_format = match own {
                    Some(own) => own.get_id() == "format",
                    None => ["--format", "--output", "-o"].contains(&name),
                };
                let next =
                    words.next_if(|next| separate && !next.starts_with('-') && (is_format || is_value(next)));
                json |= is_format && next.as_deref().unwrap_or(value) == "json";
                json |= ["--json", "-ojson"].contains(&name);
                options.push(word);
            } else if !arguments
                && let Some(sub) = command.find_subcommand(&word).filter(|sub| sub.get_name() != "help")
            {
                commands.push(sub.get_name().to_owned());
                command = sub.clone();
            } else {
                arguments = true;
            }
        }
        Self { commands, options, json, root, command }
    }

    /// The command as called, such as `purlin state list`.
    pub(super) fn called(&self) -> String {
        let words = ["purlin"].into_iter().chain(self.commands.iter().map(String::as_str));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The format of standard output: JSON if the user asked for it.
    pub(super) fn output(&self) -> Output {
        match (self.json, self.commands.first()) {
            (false, _) | (_, None) => Output::Text,
            (true, Some(command)) => commands::json_output(command),
        }
    }

    /// Whether the command has an option, as written with its dashes.
    pub(super) fn has(&self, option: &str) -> bool {
        argument(&self.command, option).is_some()
    }

    /// What follows an option behind its name: a space and the name of its value, or nothing.
    pub(super) fn value_of(&self, option: &str) -> String {
        let own = argument(&self.command, option).filter(|own| own.get_action().takes_values());
        own.map(|own| format!(" {}", value_name(own).unwrap_or("VALUE"))).unwrap_or_default()
    }

    /// The possible values of an option such as `--format`, or of an argument such as `KIND`; empty if
    /// they are not limited.
    pub(super) fn possible(&self, name: &str) -> Vec<String> {
        let own = match name.starts_with('-') {
            true => argument(&self.command, name),
            false => self.command.get_positionals().find(|own| value_name(own) == Some(name)),
        };
        let values = own.map(Arg::get_possible_values).unwrap_or_default();
        let shown = values.iter().filter(|value| !value.is_hide_set());
        shown.map(|value| value.get_name().to_owned()).collect()
    }

    /// Whether an option that takes a whole number can be 0.
    pub(super) fn takes_zero(&self, option: &str) -> bool {
        let is_positive = |own: &Arg| own.get_value_parser().type_id() == TypeId::of::<NonZeroUsize>();
        !argument(&self.command, option).is_some_and(is_positive)
    }

    /// The subcommands that are possible here.
    pub(super) fn subcommands(&self) -> Vec<String> {
        self.command
            .get_subcommands()
            .filter(|sub| !sub.is_hide_set())
            .map(|sub| sub.get_name().into())
            .collect()
    }

    /// The command that has this long option, if exactly one does.
    pub(super) fn elsewhere(&self, name: &str) -> Option<String> {
        let has = |sub: &&Command| sub.get_arguments().any(|own| own.get_long() == Some(name));
        let mut having = self.root.get_subcommands().filter(has);
        match (having.next(), having.next()) {
            (Some(only), None) => Some(format!("purlin {}", only.get_name())),
            _ => None,
        }
    }

    /// The option on the command line that contains the part that the parser complained about, such
    /// as `-auto-approve` for `-a`.
    pub(super) fn as_written(&self, stumbled: &str) -> String {
        let letter = stumbled.strip_prefix('-').filter(|rest| rest.chars().count() == 1);
        let Some(letter) = letter else { return stumbled.to_owned() };
        let single = || self.options.iter().filter(|word| !word.starts_with("--"));
        let begins = single().find(|word| word.starts_with(stumbled));
        begins
            .or_else(|| single().find(|word| word.contains(letter)))
            .cloned()
            .unwrap_or_else(|| stumbled.into())
    }

    /// The usage of the command.
    pub(super) fn usage(&self) -> String {
        let usage = self.command.clone().disable_colored_help(true).render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").split_whitespace().collect::<Vec<_>>().join(" ");
        format!("use it as `{usage}`")
    }

    /// The hint at the command's help.
    pub(super) fn help(&self) -> String {
        match self.command.has_subcommands() {
            true => format!("`{} --help` lists commands and options", self.called()),
            false => format!("`{} --help` lists the options", self.called()),
        }
    }
}

/// The name that stands for an argument's value in the usage, such as `KEY`.
fn value_name(own: &Arg) -> Option<&str> {
    own.get_value_names()?.first().map(|name| name.as_str())
}

/// The argument of a command that an option stands for, by its name or an alias.
fn argument<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let flag = |own: &&Arg| !matches!(own.get_action(), ArgAction::Help | ArgAction::Version);
    match name.strip_prefix("--") {
        Some(long) => command.get_arguments().filter(flag).find(|own| {
            own.get_long() == Some(long) || own.get_all_aliases().unwrap_or_default().contains(&long)
        }),
        None => {
            let short = name.strip_prefix('-').filter(|rest| rest.chars().count() == 1)?.chars().next()?;
            command.get_arguments().filter(flag).find(|own| {
                own.get_short() == Some(short)
                    || own.get_all_short_aliases().unwrap_or_default().contains(&short)
            })
        }
    }
}
