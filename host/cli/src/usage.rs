//! Explains errors of the command line in Purlin's own words, without the parser's messages.

mod habits;
mod line;

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use purlin_host::internal::graph::nearest;

use self::line::Line;
use crate::commands::Output;
use crate::failure::Failure;
use crate::text;

/// The failure for an invalid command line, and its output format; `None` if the user asked for
/// help or the version.
pub(crate) fn failure(error: &clap::Error, words: &[OsString]) -> Option<(Failure, Output)> {
    let line = Line::read(words);
    let shows_help_or_version = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if shows_help_or_version {
        return None;
    }
    Some((describe(error, &line), line.output()))
}

/// Finds an option that the parser would misinterpret, such as `-format`, which it takes for `-f
/// ormat`.
pub(crate) fn slip(words: &[OsString]) -> Option<(Failure, Output)> {
    let line = Line::read(words);
    let word = line.options.iter().find(|word| {
        let long = !word.starts_with("--") && word.starts_with("-f") && word.len() > 3;
        let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
        long && (line.long(name) || ["force", "filename"].contains(&name))
    })?;
    Some((unknown_option(word, &line), line.output()))
}

fn describe(error: &clap::Error, line: &Line) -> Failure {
    let called = line.called();
    let argument = string(error, ContextKind::InvalidArg);
    let named = argument.as_deref().map(bare).unwrap_or_default();
    let value = string(error, ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let word = argument.unwrap_or_default();
            if word.starts_with('-') {
                return unknown_option(&line.as_written(&word), line);
            }
            if line.commands.is_empty() {
                return unknown_command(&word, line);
            }
            Failure::input(format!("`{called}` takes no argument `{}`", text::line(&word))).hint(line.usage())
        }
        ErrorKind::InvalidSubcommand => {
            unknown_command(&string(error, ContextKind::InvalidSubcommand).unwrap_or_default(), line)
        }
        ErrorKind::MissingSubcommand => {
            Failure::input(format!("`{called}` needs a command: {}", listed(&line.subcommands(), "or")))
                .hint(line.help())
        }
        ErrorKind::MissingRequiredArgument => missing(&strings(error, ContextKind::InvalidArg), line),
        ErrorKind::InvalidValue => {
            let allowed = strings(error, ContextKind::ValidValue);
            let failure = match (value.is_empty(), allowed.is_empty()) {
                (true, true) => {
                    let form = argument.as_deref().map(written).unwrap_or_default();
                    return Failure::input(format!("{named} needs a value"))
                        .hint(format!("use it as {form}"));
                }
                (true, false) => Failure::input(format!("{named} needs a value: {}", listed(&allowed, "or"))),
                (false, true) => Failure::input(format!("{named} cannot be `{}`", text::line(&value))),
                (false, false) => Failure::input(format!(
                    "{named} takes {}, not `{}`",
                    listed(&allowed, "or"),
                    text::line(&value)
                )),
            };
            match nearest(&value, allowed.iter().map(String::as_str)) {
                Some(near) if !value.is_empty() => failure.hint(format!("did you mean `{near}`?")),
                _ => failure,
            }
        }
        ErrorKind::ValueValidation => invalid(error, &named, &text::line(&value), line),
        ErrorKind::ArgumentConflict => {
            let mut others = strings(error, ContextKind::PriorArg);
            others.iter_mut().for_each(|other| *other = bare(other));
            others.retain(|other| *other != named);
            match others.is_empty() {
                true => Failure::input(format!("{named} is given more than once")),
                false => {
                    Failure::input(format!("{named} cannot be used together with {}", join(&others, "or")))
                }
            }
        }
        ErrorKind::TooManyValues | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            Failure::input(format!("{named} has too many or too few values")).hint(line.usage())
        }
        ErrorKind::InvalidUtf8 => Failure::input("an argument is not UTF-8"),
        _ => Failure::input("the command line cannot be understood").hint(line.help()),
    }
}

/// The failure for a value that the option's type rejects.
fn invalid(error: &clap::Error, named: &str, value: &str, line: &Line) -> Failure {
    let cause = error.source();
    let number = cause.and_then(|cause| cause.downcast_ref::<ParseIntError>());
    Failure::input(match number.map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
            format!("{named} takes a smaller number than `{value}`")
        }
        Some(IntErrorKind::Zero) => format!("{named} takes a whole number of 1 or more, not `{value}`"),
        Some(_) if value.starts_with('-') => {
            let least = if line.takes_zero(named.trim_matches('`')) { 0 } else { 1 };
            format!("{named} takes a whole number of {least} or more, not `{value}`")
        }
        Some(_) => format!("{named} takes a whole number, not `{value}`"),
        None => {
            let cause = cause.map(ToString::to_string).unwrap_or_default();
            format!("{named} cannot be `{value}`: {cause}")
        }
    })
}

fn unknown_option(word: &str, line: &Line) -> Failure {
    let name = word.split('=').next().unwrap_or(word);
    if line.has(name) && !line.commands.is_empty() {
        return Failure::input(format!("the option `{}` comes after the command", text::line(name)))
            .hint(format!("write `{} {}`", line.called(), text::line(word)));
    }
    let failure = Failure::input(match line.commands.is_empty() {
        true => format!("there is no option `{}`", text::line(name)),
        false => format!("`{}` has no option `{}`", line.called(), text::line(name)),
    });
    let bare = name.trim_start_matches('-');
    let one_dash = !name.starts_with("--") && bare.chars().count() > 1;
    if one_dash && line.long(bare) {
        return failure.hint(format!("options have two dashes: `--{bare}`"));
    }
    if let Some(hint) = habits::option(name, word, line) {
        return failure.hint(hint);
    }
    let longs = line.longs();
    match nearest(bare, longs.iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean `--{near}`?")),
        None => match line.elsewhere(bare) {
            Some(command) => failure.hint(format!("`{command}` has it")),
            None => failure.hint(line.help()),
        },
    }
}

fn unknown_command(word: &str, line: &Line) -> Failure {
    let failure = Failure::input(format!("there is no command `{} {}`", line.called(), text::line(word)));
    if let Some(hint) = habits::command(&line.commands, word, line) {
        return failure.hint(hint);
    }
    let commands = line.subcommands();
    match nearest(word, commands.iter().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean `{} {near}`?", line.called())),
        None => failure.hint(format!("`{} --help` lists the commands", line.called())),
    }
}

fn missing(arguments: &[String], line: &Line) -> Failure {
    if line.commands == ["apply"] {
        return Failure::input("`purlin apply` needs a plan that `purlin plan --out FILE` wrote")
            .hint("`purlin up` plans and applies in one step");
    }
    let names: Vec<String> = arguments.iter().map(|argument| written(argument)).collect();
    let allowed = match arguments {
        [only] => line.possible(bare(only).trim_matches('`')),
        _ => Vec::new(),
    };
    let message = format!("`{}` needs {}", line.called(), join(&names, "and"));
    let failure = Failure::input(match allowed.is_empty() {
        true => message,
        false => format!("{message}: {}", listed(&allowed, "or")),
    });
    // The usage shows no options.
    match arguments.iter().all(|argument| argument.starts_with('-')) {
        true => failure.hint(line.help()),
        false => failure.hint(line.usage()),
    }
}

/// `--format <FORMAT>` as `` `--format FORMAT` ``, and `<KEY>` as `KEY`.
fn written(argument: &str) -> String {
    match argument.starts_with('-') {
        true => format!("`{}`", argument.replace(['<', '>'], "").trim_end_matches('.')),
        false => bare(argument),
    }
}

/// `--format <FORMAT>` as `` `--format` ``, and `<KEY>` as `KEY`.
fn bare(argument: &str) -> String {
    let name = argument.split([' ', '=']).next().unwrap_or(argument);
    match name.starts_with('-') {
        true => format!("`{}`", name.trim_end_matches('.')),
        false => {
            name.trim_start_matches('[').trim_start_matches('<').trim_end_matches(['.', ']', '>']).into()
        }
    }
}

fn listed(names: &[String], word: &str) -> String {
    join(&names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>(), word)
}

/// `a, b or c`.
fn join(names: &[String], word: &str) -> String {
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} {word} {last}", others.join(", ")),
    }
}

fn string(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

fn strings(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}
