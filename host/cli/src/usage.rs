//! Explains errors of the command line in Purlin's own words, without the parser's messages.
//!
//! It also gives the options that Terraform writes with one dash their second one. Other words of other
//! tools are hidden aliases, next to the options and commands that they stand for.

mod line;

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use self::line::Line;
use crate::commands::Output;
use crate::failure::Failure;
use crate::text;

/// The failure for an invalid command line, and its output format; `None` if the user asked for
/// help or the version.
pub(crate) fn failure(error: &clap::Error, words: &[OsString]) -> Option<(Failure, Output)> {
    let shows_help_or_version = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if shows_help_or_version {
        return None;
    }
    let line = Line::read(words);
    Some((describe(error, &line), line.output()))
}

/// Options that Terraform writes with one dash, and which work here with two.
const ONE_DASH: [&str; 12] = [
    "-auto-approve",
    "-chdir",
    "-detailed-exitcode",
    "-json",
    "-lock-timeout",
    "-no-color",
    "-out",
    "-parallelism",
    "-replace",
    "-target",
    "-var",
    "-var-file",
];

/// The words of the command line, with two dashes before the options that Terraform writes with one. A
/// word that begins with a dash is never the value of an option.
pub(crate) fn words(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut only_arguments = false;
    words
        .map(|word| {
            only_arguments |= word == "--";
            let option = word.to_str().filter(|_| !only_arguments);
            let name = option.and_then(|option| option.split('=').next()).unwrap_or_default();
            match option {
                Some(option) if ONE_DASH.contains(&name) => format!("-{option}").into(),
                _ => word,
            }
        })
        .collect()
}

/// Finds an option that the parser would misinterpret, such as `-format`, which it takes for `-f
/// ormat`, and `-no-input`, which it takes for `-n o-input`.
pub(crate) fn slip(words: &[OsString]) -> Option<(Failure, Output)> {
    // Most command lines have no such word, and are spared the whole tree of commands.
    let is_suspect = |word: &OsString| {
        let word = word.as_encoded_bytes();
        word.len() > 2 && word.starts_with(b"-") && !word.starts_with(b"--")
    };
    if !words.iter().any(is_suspect) {
        return None;
    }
    let line = Line::read(words);
    let word = line.options.iter().find(|word| {
        let name = word.split('=').next().unwrap_or(word);
        name.len() > 2
            && !name.starts_with("--")
            && (line.has(&format!("-{name}")) || name.starts_with("-no"))
    })?;
    Some((unknown_option(word, None, &line), line.output()))
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
                let near = string(error, ContextKind::SuggestedArg);
                return unknown_option(&line.as_written(&word), near.as_deref(), line);
            }
            Failure::input(format!("`{called}` takes no argument `{}`", text::line(&word))).hint(line.usage())
        }
        ErrorKind::InvalidSubcommand => {
            let word = string(error, ContextKind::InvalidSubcommand).unwrap_or_default();
            let failure = Failure::input(format!("there is no command `{called} {}`", text::line(&word)));
            match strings(error, ContextKind::SuggestedSubcommand).last() {
                Some(near) => failure.hint(format!("did you mean `{called} {near}`?")),
                None => failure.hint(format!("`{called} --help` lists the commands")),
            }
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
            match string(error, ContextKind::SuggestedValue) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure,
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

/// The failure for an option that the command does not have. `near` is a similar one that it has.
fn unknown_option(word: &str, near: Option<&str>, line: &Line) -> Failure {
    let name = word.split('=').next().unwrap_or(word);
    if line.has(name) && !line.commands.is_empty() {
        return Failure::input(format!("the option `{}` comes after the command", text::line(name))).hint(
            format!(
                "write `{} {}{}`",
                line.called(),
                text::line(word),
                match word.contains('=') {
                    true => String::new(),
                    false => line.value_of(name),
                }
            ),
        );
    }
    let failure = Failure::input(match line.commands.is_empty() {
        true => format!("there is no option `{}`", text::line(name)),
        false => format!("`{}` has no option `{}`", line.called(), text::line(name)),
    });
    let bare = name.trim_start_matches('-');
    let one_dash = !name.starts_with("--") && bare.chars().count() > 1;
    if one_dash && line.has(&format!("--{bare}")) {
        return failure.hint(format!("options have two dashes: `--{bare}`"));
    }
    failure.hint(match (line.elsewhere(bare), near) {
        (Some(command), _) => format!("`{command}` has it"),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => line.help(),
    })
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
