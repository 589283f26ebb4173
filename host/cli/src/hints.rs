//! What helps against an error of the host, with the commands and options of the command line.
//! `purlin doctor` and the failures of all other commands take their hints from here.

use purlin_engine as engine;
use purlin_state as state;

use crate::text;

/// The hint for a saved plan that cannot be applied.
pub(crate) const NEW_PLAN: &str = "`purlin plan --out FILE` makes a new one; nothing was changed";

/// What helps against an error that ended a command.
pub(crate) fn of(error: &purlin_host::Error) -> Vec<String> {
    let hints: &[&str] = match error {
        purlin_host::Error::DeploymentExists { .. } => &["every deployment needs an id of its own"],
        purlin_host::Error::Stale | purlin_host::Error::Deviates(_) => &[NEW_PLAN],
        purlin_host::Error::NoCases(error) => {
            let example = &error.example;
            return vec![format!("add valid inputs to check.yaml, next to the component:\n{example}")];
        }
        purlin_host::Error::StateGone { .. } => &[
            "restore its folder, and start again; if it is lost, `purlin import` adopts the existing resources",
        ],
        purlin_host::Error::Engine(error) => on_engine(error),
        purlin_host::Error::State(error) => {
            let hint = on_key(error).map(|hint| format!("{hint}; nothing was changed"));
            match hint.or_else(|| on_state(error)) {
                Some(hint) => return vec![hint],
                None => on_run(error),
            }
        }
        purlin_host::Error::Sandbox(_) | purlin_host::Error::Clock(_) | purlin_host::Error::Random(_) => {
            &["`purlin doctor` checks what Purlin needs from this machine"]
        }
        _ => &[],
    };
    hints.iter().map(|&hint| hint.to_owned()).collect()
}

/// What opens a state that cannot be read or reached, in any command; `None` for other errors.
pub(crate) fn on_state(error: &state::Error) -> Option<String> {
    let hint = match error {
        state::Error::Io { .. } => "`--state DIR` names another folder for the state",
        state::Error::Address { .. } => "correct the address in `state` of purlin.yaml or in `--state`",
        state::Error::Unreachable { .. } => {
            "start the database, or correct its address; nothing that was recorded is lost, \
             so run the same command again when the database responds"
        }
        state::Error::Login { .. } => {
            "correct the user in `state.postgres.url`, or the password in its secret store"
        }
        _ => return on_key(error),
    };
    Some(hint.to_owned())
}

/// What helps against an error with the key of the state; `None` for other errors.
fn on_key(error: &state::Error) -> Option<String> {
    let hint = match error {
        state::Error::KeyMissing { .. } => {
            "restore the key from its backup, or set `key` in purlin.yaml to the right one"
        }
        state::Error::NoKey { .. } => "`purlin state key new FILE` creates a key",
        state::Error::KeyExposed { path, .. } => {
            let file = text::shell_word(&path.display().to_string());
            return Some(format!("run `chmod 600 {file}`"));
        }
        state::Error::KeyUnreadable { .. } => {
            "allow this user to read it, or set `key` in purlin.yaml to another file"
        }
        state::Error::KeyUnavailable { .. } => "provide it, or set `key` in purlin.yaml to another source",
        state::Error::KeyInvalid { .. } => {
            "restore the key from its backup; a key is one line that begins with `AGE-SECRET-KEY-1`"
        }
        state::Error::WrongKey { .. } => "put the right key there, or set `key` in purlin.yaml to it",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What helps against an error of the state that concerns a single run.
fn on_run(error: &state::Error) -> &'static [&'static str] {
    match error {
        state::Error::Locked { .. } => {
            &["only one deployment at a time may change an environment; nothing was changed by this one, \
             and `--lock-timeout 5m` waits for the other one"]
        }
        state::Error::Busy { .. } => {
            &["only one process at a time may change the whole state; nothing was changed by this one"]
        }
        state::Error::Reserved { .. } => {
            &["this deployment can use the installation afterwards; nothing was changed by this one"]
        }
        state::Error::Newer { .. } => &["nothing was changed"],
        _ => &[],
    }
}

fn on_engine(error: &engine::Error) -> &'static [&'static str] {
    match error {
        engine::Error::DataLoss(_) => &[
            "nothing was changed; `--yes --allow-data-loss` also deletes the data",
            "`lifecycle: {KEY: {allow_data_loss: true}}` in a Deployment allows it for one resource",
        ],
        engine::Error::Integrity(_) => &[
            "the state was changed by something other than purlin, or its disk is failing; restore it from a backup",
        ],
        engine::Error::Taken(_) => {
            &["`purlin state forget` removes that record without deleting the resource"]
        }
        engine::Error::NotPending(_) => &["`purlin status` shows which resources were interrupted"],
        engine::Error::IdTaken { .. } => &[
            "write the id of the object that the interrupted call created, or `--not-made` if it created none",
        ],
        engine::Error::InUse { .. } => &["forget what depends on it first, or add `--force`"],
        _ => &[],
    }
}
