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
        state::Error::Unreachable { outage, .. } => on_outage(*outage),
        state::Error::Login { fault, .. } => on_login(*fault),
        state::Error::Credentials { help: Some(help), .. } => return Some(help.clone()),
        state::Error::Credentials { help: None, .. } => "correct `state.postgres` in purlin.yaml",
        state::Error::Denied { .. } => {
            "grant the user USAGE on the schema of the state, and SELECT, INSERT, UPDATE and DELETE on its tables; \
             to create them, it needs CREATE on the database, or must own the schema"
        }
        state::Error::Database { .. } => "the log of the database server has the details",
        _ => return on_key(error),
    };
    Some(hint.to_owned())
}

/// What helps against a database that does not respond.
fn on_outage(outage: state::Outage) -> &'static str {
    use state::Outage;
    match outage {
        Outage::NoAddress => "correct the host in `state.postgres.url`, or the name service of this machine",
        Outage::Refused => {
            "start the database, or correct the host and the port in `state.postgres.url`; nothing that was \
             recorded is lost"
        }
        Outage::ReadOnly => {
            "name the primary server in `state.postgres.url`, or promote the standby; of several hosts, \
             `?target_session_attrs=read-write` finds it"
        }
        Outage::Credentials => {
            "store the current password in the secret store of `state.postgres.password`, and run the same \
             command again"
        }
        _ => {
            "start the database, or correct its address; nothing that was recorded is lost, \
             so run the same command again when the database responds"
        }
    }
}

/// What helps against a login that never succeeds.
fn on_login(fault: state::LoginFault) -> &'static str {
    use state::LoginFault;
    match fault {
        LoginFault::NoPassword => {
            "name the secret with the password: `password: {store: STORE, ref: NAME}` in `state.postgres`"
        }
        LoginFault::NotAdmitted => {
            "admit this user, database and machine in `pg_hba.conf` of the server, or correct the user and the \
             database in `state.postgres.url`"
        }
        LoginFault::NeedsTls => {
            "add `?sslmode=verify-full` to `state.postgres.url`, which encrypts the connection"
        }
        LoginFault::NeedsCertificate => {
            "name a certificate that the server accepts: `client: {certificate: FILE, key: {store: STORE, ref: \
             NAME}}` in `state.postgres`"
        }
        LoginFault::NoTls => {
            "turn on `ssl` in the configuration of the server, or correct the host and the port in \
             `state.postgres.url`; `?sslmode=disable` there connects without encryption"
        }
        LoginFault::Untrusted => {
            "name the certificate of its authority, or the server's own, as `ca: FILE` in `state.postgres`"
        }
        LoginFault::OtherName => {
            "write the name of the certificate as the host in `state.postgres.url`; `?sslmode=verify-ca` accepts \
             any name"
        }
        LoginFault::Expired => "renew the certificate of the server, and check the clock of this machine",
        LoginFault::OtherProtocol => "correct the host and the port in `state.postgres.url`",
        LoginFault::NoDatabase => "create the database, or correct its name in `state.postgres.url`",
        _ => "correct the user in `state.postgres.url`, or the password in its secret store",
    }
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
