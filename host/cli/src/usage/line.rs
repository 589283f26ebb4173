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
    /// All words, as written.
    words: Vec<String>,
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
        let all: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut words = all.clone().into_iter().peekable();
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
                let next = words.next_if(|next| {
                    separate && !next.starts_with('-') && (name == "--format" || is_value(next))
                });
                json |= name == "--format" && next.as_deref().unwrap_or(value) == "json";
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
        Self { commands, options, words: all, json, root, command }
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

    /// Whether the command has a long option.
    pub(super) fn long(&self, name: &str) -> bool {
        self.longs().iter().any(|long| long == name)
    }

    /// Whether the command has an option, as written with its dashes.
    pub(super) fn has(&self, option: &str) -> bool {
        argument(&self.command, option).is_some()
    }

    /// The long options of the command.
    pub(super) fn longs(&self) -> Vec<String> {
        longs(&self.command)
    }

    /// Whether there is a top-level command of this name.
    pub(super) fn has_command(&self, name: &str) -> bool {
        self.root.find_subcommand(name).is_some_and(|sub| !sub.is_hide_set())
    }

    /// The value of an option, in the same word or the next one.
    pub(super) fn value(&self, option: &str) -> Option<&str> {
        let name = |word: &str| word.split('=').next().map(str::to_owned);
        let at = self.words.iter().position(|word| name(word) == name(option))?;
        match self.words.get(at)?.split_once('=') {
            Some((_, value)) => Some(value),
            None => self.words.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-')),
        }
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

    /// Whether the command writes files to a path that is an argument.
    pub(super) fn writes_files(&self) -> bool {
        let is_target = |own: &Arg| matches!(value_name(own), Some("DIR" | "FILE"));
        self.command.get_positionals().any(is_target)
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
        let mut having = self.root.get_subcommands().filter(|sub| longs(sub).iter().any(|long| long == name));
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

fn longs(command: &Command) -> Vec<String> {
    command.get_arguments().filter_map(|own| own.get_long().map(str::to_owned)).collect()
}

/// The name that stands for an argument's value in the usage, such as `KEY`.
fn value_name(own: &Arg) -> Option<&str> {
    own.get_value_names()?.first().map(|name| name.as_str())
}

/// The argument of a command that an option stands for.
fn argument<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let flag = |own: &&Arg| !matches!(own.get_action(), ArgAction::Help | ArgAction::Version);
    match name.strip_prefix("--") {
        Some(long) => command.get_arguments().filter(flag).find(|own| own.get_long() == Some(long)),
        None => {
            let short = name.strip_prefix('-').filter(|rest| rest.chars().count() == 1)?.chars().next();
            command
                .get_arguments()
                .filter(flag)
                .find(|own| own.get_short().is_some() && own.get_short() == short)
        }
    }
}
