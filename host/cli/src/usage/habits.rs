//! Options and commands of other tools, with their equivalents in Purlin. No other module knows the
//! words of other tools.

use purlin_host::LIST_OF_DRIVERS;

use super::line::Line;
use crate::naming::LIST_OF_RESOURCES;
use crate::text;

/// An option of another tool.
struct Habit {
    /// Its names there, without dashes.
    words: &'static [&'static str],
    /// The equivalent option of Purlin, without dashes; empty if there is none.
    option: &'static str,
    /// The hint if the command has that option, or if there is no equivalent option.
    hint: &'static str,
    /// The hint if the command does not have the option.
    otherwise: &'static str,
}

const OPTIONS: &[Habit] = &[
    Habit {
        words: &[
            "y",
            "yes",
            "auto-approve",
            "autoapprove",
            "approve",
            "assume-yes",
            "yes-to-all",
            "non-interactive",
            "no-interactive",
            "no-input",
            "input",
            "skip-preview",
            "confirm",
            "no-confirm",
            "force-yes",
        ],
        option: "yes",
        hint: "`--yes` does not ask",
        otherwise: "this command never asks for confirmation",
    },
    Habit {
        words: &["json", "o", "output", "output-format", "as-json", "j"],
        option: "format",
        hint: "`--format json` writes JSON",
        otherwise: "this command writes no JSON",
    },
    Habit {
        words: &["out", "save-plan", "plan-file"],
        option: "out",
        hint: "`--out FILE` writes the plan to a file",
        otherwise: "`purlin plan --out FILE` writes a plan to a file, and `purlin apply FILE` applies it",
    },
    Habit {
        words: &["var", "set", "set-string", "c", "config", "param", "parameter", "p"],
        option: "set",
        hint: "`--set K=V` sets what `${values.K}` reads",
        otherwise: "`${values.K}` reads `values` of a Deployment, which the documents hold",
    },
    Habit {
        words: &["var-file", "values", "values-file", "config-file", "params"],
        option: "values",
        hint: "`--values FILE` names a file with the values that `${values.K}` reads",
        otherwise: "`${values.K}` reads `values` of a Deployment, which the documents hold",
    },
    Habit {
        words: &["stack", "s", "workspace", "w", "environment", "e", "env-id", "context"],
        option: "env",
        hint: "`--env ID` names the environment",
        otherwise: "this command does not use an environment",
    },
    Habit {
        words: &["n", "ns"],
        option: "namespace",
        hint: "`--namespace NAME` names the namespace",
        otherwise: "this command does not use a namespace",
    },
    Habit {
        words: &[
            "dry-run",
            "dryrun",
            "plan",
            "preview",
            "diff",
            "noop",
            "what-if",
            "check",
            "no-apply",
            "preview-only",
        ],
        option: "",
        hint: "`purlin plan` shows what would change, and changes nothing",
        otherwise: "",
    },
    Habit {
        words: &["destroy", "delete"],
        option: "",
        hint: "`purlin destroy` deletes everything that is recorded in an environment",
        otherwise: "",
    },
    Habit {
        words: &["force", "overwrite"],
        option: "",
        hint: "nothing is forced here: `--yes` answers questions, `--replace KEY` of `purlin up` recreates \
               a resource, and `purlin state forget KEY` removes a record",
        otherwise: "",
    },
    Habit {
        words: &["refresh-only"],
        option: "",
        hint: "`purlin refresh` reads every resource and records its current values",
        otherwise: "",
    },
    Habit {
        words: &["no-refresh", "skip-refresh"],
        option: "",
        hint: "resources are not read unless `--refresh` is given",
        otherwise: "",
    },
    Habit {
        words: &["refresh"],
        option: "refresh",
        hint: "`--refresh` takes no value; without it nothing is read",
        otherwise: "`purlin refresh` reads every resource and records its current values",
    },
    Habit {
        words: &["t", "only", "select", "resource"],
        option: "target",
        hint: "`--target KEY` names the resources that the run includes",
        otherwise: "this command always includes the whole environment",
    },
    Habit {
        words: &["target-replace", "recreate", "force-recreate", "taint"],
        option: "replace",
        hint: "`--replace KEY` recreates a resource",
        otherwise: "`purlin up --replace KEY` recreates a resource",
    },
    Habit {
        words: &["lock", "no-lock"],
        option: "",
        hint: "an environment is always locked while it is deployed; `--lock-timeout 5m` waits for another deployment",
        otherwise: "",
    },
    Habit {
        words: &["state-out", "backup", "backend", "backend-config", "statefile", "state-file", "cloud-url"],
        option: "",
        hint: "`--state DIR` names the folder of the state",
        otherwise: "",
    },
    Habit {
        words: &["no-color", "no-colour", "nocolor", "no-colors", "colour"],
        option: "",
        hint: "`--color never` writes without colours",
        otherwise: "",
    },
    Habit {
        words: &["cwd", "directory", "working-dir", "working-directory"],
        option: "",
        hint: "`--chdir DIR` runs the command in another folder",
        otherwise: "",
    },
    Habit {
        words: &["d", "dir", "path", "filename", "k", "R", "r", "recursive", "i"],
        option: "file",
        hint: "`--file FILE|DIR` names the documents; folders are read with all below them",
        otherwise: "this command reads no documents",
    },
    Habit {
        words: &["debug", "log-level", "loglevel", "logtostderr", "trace", "d"],
        option: "",
        hint: "`--verbose` shows more, and twice even more",
        otherwise: "",
    },
    Habit { words: &["silent", "s"], option: "", hint: "`--quiet` shows only errors", otherwise: "" },
    Habit {
        words: &["parallel", "concurrency", "jobs", "max-parallel", "threads"],
        option: "",
        hint: "`--parallelism N` limits the number of concurrent driver calls",
        otherwise: "",
    },
    Habit {
        words: &["wait", "timeout", "atomic", "wait-timeout"],
        option: "",
        hint: "a run waits for every resource; `limits` of a driver in purlin.yaml bound its calls",
        otherwise: "",
    },
    Habit {
        words: &["A", "all-namespaces", "all-environments"],
        option: "",
        hint: "`purlin state list --all` lists the resources of every environment",
        otherwise: "",
    },
    Habit {
        words: &["prune", "cascade", "no-prune", "remove-orphans", "keep"],
        option: "keep-removed",
        hint: "resources that are no longer in the documents are deleted; `--keep-removed` keeps them",
        otherwise: "`purlin up` deletes resources that are no longer in the documents; its `--keep-removed` keeps them",
    },
    Habit {
        words: &["continue-on-error", "keep-going"],
        option: "",
        hint: "resources that do not depend on a failed one always continue",
        otherwise: "",
    },
    Habit {
        words: &["expect-no-changes", "exit-code", "detailed-exit-code"],
        option: "detailed-exitcode",
        hint: "`--detailed-exitcode` exits with status 3 where there are changes",
        otherwise: "`purlin plan --detailed-exitcode` exits with status 3 where there are changes",
    },
    Habit {
        words: &["show-sensitive", "reveal", "secrets"],
        option: "show-secrets",
        hint: "`--show-secrets` shows them",
        otherwise: "`purlin outputs --show-secrets` shows them",
    },
    Habit {
        words: &["version", "V"],
        option: "",
        hint: "`purlin --version` prints the version",
        otherwise: "",
    },
];

/// The formats of files, by extension.
const EXTENSIONS: &[(&str, &str)] = &[
    ("dot", "dot"),
    ("gv", "dot"),
    ("htm", "html"),
    ("html", "html"),
    ("json", "json"),
    ("mermaid", "mermaid"),
    ("mmd", "mermaid"),
    ("svg", "svg"),
];

/// The hint for an option that names an output file or a format in other tools, such as `-o x.svg`.
fn output(bare: &str, word: &str, line: &Line) -> Option<String> {
    if !["o", "out", "output", "output-format"].contains(&bare) {
        return None;
    }
    let value = line.value(word)?;
    let formats = line.possible("--format");
    if formats.iter().any(|format| format == value) {
        let what = if value == "json" { "JSON" } else { "this format" };
        return Some(format!("`--format {value}` writes {what}"));
    }
    let (stem, extension) = value.rsplit_once('.')?;
    if stem.is_empty() || extension.is_empty() {
        return None;
    }
    if line.writes_files() {
        return Some(line.usage());
    }
    let shown = text::line(value);
    if line.long("out") {
        return Some(format!("`--out {shown}` writes the plan to a file"));
    }
    let called = line.called();
    let fits = |format: &&str| formats.iter().any(|known| known == format);
    let known = EXTENSIONS.iter().find(|(known, _)| *known == extension).map(|(_, format)| *format);
    Some(match known.filter(fits) {
        Some(format) => format!("`{called} --format {format} > {shown}` writes the file"),
        None => format!("`{called} > {shown}` writes the file"),
    })
}

/// The hint for an option of another tool. `word` is the option as written, with its value.
pub(super) fn option(name: &str, word: &str, line: &Line) -> Option<String> {
    let bare = name.trim_start_matches('-');
    if let Some(hint) = output(bare, word, line) {
        return Some(hint);
    }
    // A short option may be joined with its value: `-ojson` is `-o json`.
    let glued = (!name.starts_with("--") && bare.len() > 1).then(|| bare.get(..1)).flatten();
    let known = |bare: &str| {
        let fits = |habit: &&Habit| habit.words.contains(&bare);
        let has = |habit: &&Habit| !habit.option.is_empty() && line.long(habit.option);
        // If several entries match, prefer one whose option this command has.
        let mut fitting = OPTIONS.iter().filter(fits);
        let first = fitting.clone().next();
        fitting.find(has).or(first)
    };
    let habit = known(bare).or_else(|| known(glued.filter(|_| word.contains("json"))?))?;
    // Without a command, there is none that lacks the option.
    let own = habit.option.is_empty() || line.commands.is_empty() || line.long(habit.option);
    Some(if own { habit.hint } else { habit.otherwise }.to_owned())
}

/// Commands of other tools, each with a hint. A subcommand is written with its parent.
const COMMANDS: &[(&[&str], &str)] = &[
    (&["output", "outs"], "`purlin outputs` shows the outputs of a deployment"),
    (&["preview", "dry-run", "changes"], "`purlin plan` shows what `purlin up` would change"),
    (
        &["deploy", "install", "upgrade", "create", "update", "sync", "run", "start", "provision", "score"],
        "`purlin up` creates and updates the resources of the documents",
    ),
    (
        &["uninstall", "delete", "down", "teardown", "clean"],
        "`purlin destroy` deletes everything that is recorded in an environment; `purlin up` deletes resources \
         that are no longer in the documents",
    ),
    (
        &["remove", "rm"],
        "`purlin destroy --target KEY` deletes a resource; `purlin state forget KEY` removes only its record",
    ),
    (
        &["show", "describe", "inspect"],
        "`purlin state show KEY` shows a resource, `purlin plan` what would change",
    ),
    (&["get", "ls", "list", "ps", "resources"], "`purlin state list` lists the deployed resources"),
    (&["fmt", "format"], "documents are not reformatted; `purlin validate` checks them"),
    (&["login", "logout", "auth"], "there is no server to log in to"),
    (&["stack", "workspace", "environment", "environments", "namespace"], ENVIRONMENTS),
    (&["version"], "`purlin --version` prints the version"),
    (&["completion", "complete"], "`purlin completions SHELL` prints a script for a shell"),
    (&["console", "repl"], "`purlin explain KEY` says why a resource is as it is"),
    (
        &["taint", "untaint"],
        "`purlin state taint KEY` marks a resource to be replaced; `--off` removes the mark",
    ),
    (&["mv", "move", "rename"], "`purlin state rename OLD NEW` renames a resource"),
    (
        &["force-unlock", "unlock", "lock"],
        "`purlin state lock` closes an environment, `purlin state unlock` opens it; a run releases its own lock",
    ),
    (&["cancel"], "Ctrl-C ends a run; a lock is released when its holder exits"),
    (&["providers", "provider", "plugin", "plugins", "drivers"], LIST_OF_DRIVERS),
    (
        &["test", "lint", "check", "verify"],
        "`purlin validate` checks the documents, `purlin driver check` a driver",
    ),
    (&["logs", "log", "events", "deployments"], "`purlin history` lists the deployments"),
    (&["undo", "rollout"], "`purlin rollback NUMBER` deploys the documents of an earlier deployment again"),
    (&["new", "generate"], "`purlin init` writes a project, `purlin driver new` a driver"),
    (
        &["watch"],
        "`purlin up --refresh` detects and repairs drift once, `purlin reconcile --watch` continuously",
    ),
    (&["template", "build", "render"], "`purlin export DIR` writes the resolved documents and manifests"),
    (&["doc", "docs", "man"], "`purlin help COMMAND` explains a command"),
    (
        &["config", "configure"],
        "purlin.yaml contains the configuration; `purlin schema Workspace` describes it",
    ),
    (
        &["state mv"],
        "`purlin state rename OLD NEW` renames a resource; `purlin state move KEY` moves it to another environment",
    ),
    (
        &["state rm", "state remove", "state delete"],
        "`purlin state forget KEY` removes a resource from the state",
    ),
    (&["state ls"], LIST_OF_RESOURCES),
    (&["state get", "state describe"], "`purlin state show KEY` shows a resource"),
    (&["state untaint"], "`purlin state taint KEY --off` removes the mark"),
    (&["state unprotect"], "`purlin state protect KEY --off` removes the protection"),
    (
        &["state pull", "state push", "state backup", "state restore", "state edit"],
        "`purlin state export FILE` writes the state of an environment to a file, and `purlin state import FILE` reads it",
    ),
    (&["driver ls"], LIST_OF_DRIVERS),
    (&["driver install", "driver get"], "`purlin driver add FILE` adds a driver to purlin.yaml"),
    (&["driver test"], "`purlin driver check FILE` tests a driver"),
    (&["driver show"], "`purlin driver inspect NAME` shows a driver"),
];

const ENVIRONMENTS: &str = "`--env ID` of every command names the environment";
const ENVIRONMENTS_LISTED: &str =
    "`--env ID` of every command names the environment; `purlin env list` lists them";

/// The hint for a command of another tool.
pub(super) fn command(above: &[String], word: &str, line: &Line) -> Option<String> {
    let written = above.iter().map(String::as_str).chain([word]).collect::<Vec<_>>().join(" ");
    let (_, hint) = COMMANDS.iter().find(|(words, _)| words.contains(&written.as_str()))?;
    let listed = *hint == ENVIRONMENTS && line.has_command("env");
    Some(if listed { ENVIRONMENTS_LISTED } else { *hint }.to_owned())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    #[test]
    fn each_habit_occurs_once_and_is_not_a_command_of_purlin() {
        let line = Line::read(&[] as &[OsString]);
        let mut seen = std::collections::HashSet::new();
        for word in COMMANDS.iter().flat_map(|(words, _)| *words) {
            assert!(seen.insert(word), "{word} twice");
            let path: Vec<OsString> = word.split(' ').map(OsString::from).collect();
            let read = Line::read(&path);
            assert!(read.commands.len() < path.len(), "{word} is a command");
        }
        for option in OPTIONS.iter().map(|habit| habit.option).filter(|option| !option.is_empty()) {
            let known = ["set", "values"].contains(&option)
                || line.subcommands().iter().any(|name| Line::read(&[OsString::from(name)]).long(option));
            assert!(known, "no command has --{option}");
        }
    }

    #[test]
    fn suggested_commands_can_be_run() {
        let texts = COMMANDS.iter().map(|(_, hint)| *hint);
        let texts = texts.chain(OPTIONS.iter().flat_map(|habit| [habit.hint, habit.otherwise]));
        for text in texts {
            for code in text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("purlin ")) {
                let words: Vec<OsString> = code.split(' ').skip(1).map(OsString::from).collect();
                let line = Line::read(&words);
                let capital = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase());
                let commands =
                    code.split(' ').skip(1).take_while(|word| !word.starts_with('-') && !capital(word));
                let commands: Vec<&str> = commands.collect();
                assert!(
                    commands == line.commands || commands == ["help"] || (commands == ["env", "list"]),
                    "{code}"
                );
            }
        }
    }
}
