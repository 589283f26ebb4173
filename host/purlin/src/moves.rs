//! Moves resources between environments of one state.
//!
//! Each environment has a journal of its own, so a move takes at least four commits. The first two close
//! both environments to deployments, with the command as the reason, before and together with the records
//! in the target. Then each environment that uses a moved installation follows, in one commit each: both
//! copies of the installation exist meanwhile, so its deployments find the one that they name. The last
//! two commits open the environments again, the first of them together with the removal. So at any
//! instant, either no deployment can begin, or exactly one of the environments has the resources; and
//! the notes say which commits are done, so that the same command continues.

use std::collections::{BTreeMap, BTreeSet};

use purlin_expression::is_slip;
use purlin_model::{Diagnostic, Key, Urn};
use purlin_state::{AuditAction, Change, Environment, Error as StateError, Holder, Snapshot};

use crate::audited::Act;
use crate::resolve_context::{NAME_RULE, is_context_name, undeclared};
use crate::{Error, Purlin, Session};

/// The beginning of every command that moves resources.
const COMMAND: &str = "purlin state move ";

/// A move of resources to another environment of the same state.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// Where the resources are.
    pub from: &'a Environment,
    /// Where they go.
    pub to: &'a Environment,
    /// The resources.
    pub keys: &'a [Key],
    /// Whether resources that stay lose their dependencies on those that move.
    pub force: bool,
    /// Whether the target may be an environment that is neither declared nor recorded, though others
    /// are declared, or one has nearly its name.
    pub new_environment: bool,
}

/// The result of a move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Whether anything changed. An earlier move may have done everything.
    pub changed: bool,
    /// The resources that stay and lost a dependency, sorted.
    pub loosened: Vec<Urn>,
    /// The resources of other environments that use what moved, sorted.
    pub users: Vec<Urn>,
}

impl Move<'_> {
    /// The command line that makes or finishes this move.
    pub fn command(&self) -> String {
        let mut keys: Vec<&str> = self.keys.iter().map(Key::as_str).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut command = COMMAND.to_owned();
        keys.iter().for_each(|key| command.push_str(&format!("'{key}' ")));
        let Environment { org, app, env } = self.from;
        command.push_str(&format!("--org {org} --app {app} --env {env}"));
        let Environment { org, app, env } = self.to;
        command.push_str(&format!(" --to-org {org} --to-app {app} --to-env {env}"));
        for (option, is_set) in [(" --force", self.force), (" --new-environment", self.new_environment)] {
            command.push_str(if is_set { option } else { "" });
        }
        command
    }

    fn names(&self) -> BTreeMap<Urn, Urn> {
        let urn = |place: &Environment, key| {
            Urn::of(place.env.as_ref(), place.org.as_ref(), place.app.as_ref(), key)
        };
        self.keys.iter().map(|key| (urn(self.from, key), urn(self.to, key))).collect()
    }
}

/// The command that finishes an interrupted move, if the environment is closed for that reason.
pub fn interrupted_move(closed_by: &Holder) -> Option<&str> {
    closed_by.command.starts_with(COMMAND).then_some(&*closed_by.command)
}

impl Purlin {
    /// Moves resources, with their old copies, their secrets and their uses of installations, to
    /// another environment. Those of other environments that use them follow. No driver is called. If a move is interrupted, neither environment can be
    /// deployed until the same move is made again, which continues where it was interrupted.
    ///
    /// # Errors
    /// [`Error::Documents`] with each reason why a resource cannot move; [`Error::Closed`] if either
    /// environment is closed; [`Error::Moving`] if another move was interrupted; [`Error::State`] if
    /// either, or the environment of a user, is locked, or cannot be read or written. Nothing was
    /// changed in these cases.
    pub async fn move_resources(&self, wanted: Move<'_>) -> Result<Moved, Error> {
        let Environment { org, app, env } = wanted.to;
        if let Some(wrong) = [org, app, env].into_iter().find(|name| !is_context_name(name)) {
            let message = format!("`{}` cannot be the name of a part of the target", wrong.escape_debug());
            return Err(Error::Documents(vec![Diagnostic::error("context-name", message).help(NAME_RULE)]));
        }
        // Always in the same order, so that two moves cannot wait for each other.
        let (first, second) = match wanted.from.urn_prefix() <= wanted.to.urn_prefix() {
            true => (wanted.from, wanted.to),
            false => (wanted.to, wanted.from),
        };
        let (first, second) = (self.begin_held(first).await?, self.begin_held(second).await?);
        let (from, to) = match first.environment() == wanted.from {
            true => (&first, &second),
            false => (&second, &first),
        };
        let moved = self.move_between(wanted, from, to).await;
        let released = (first.release().await, second.release().await);
        let moved = moved?;
        released.0?;
        released.1?;
        Ok(moved)
    }

    async fn move_between(
        &self,
        wanted: Move<'_>,
        from: &Session<'_>,
        to: &Session<'_>,
    ) -> Result<Moved, Error> {
        let (command, names) = (wanted.command(), wanted.names());
        let (here, there) = (from.snapshot().await?, to.snapshot().await?);
        let has_left = is_closed(from.environment(), &here, &command)?;
        let has_arrived = is_closed(to.environment(), &there, &command)?;
        let act = || Act::new(AuditAction::Move, names.keys().map(Urn::as_str));
        let (from_writer, to_writer) = (from.lock.writer(act()), to.lock.writer(act()));
        let close = || Change::SetClosed(Some(Holder { command: command.clone(), ..self.holder() }));
        let open = || Change::SetClosed(None);
        if has_arrived && !has_left {
            to_writer.commit(vec![open()]).await?;
            return Ok(Moved { changed: true, ..Moved::default() });
        }
        let is_done = |(old, new): (&Urn, &Urn)| !has(&here, old) && has(&there, new);
        if !has_left && names.iter().all(is_done) {
            return Ok(Moved::default());
        }
        if !has_left {
            self.check_target(wanted).await?;
        }
        let users = self.begin_users(wanted, &names).await?;
        let moves = match purlin_engine::move_away(here, there, &names, wanted.force) {
            Ok(moves) => moves,
            Err(error) => {
                if has_left && !has_arrived {
                    // Nothing was moved yet, and something is in the way now.
                    from_writer.commit(vec![open()]).await?;
                }
                return Err(error.into());
            }
        };
        let (mut arriving, mut leaving) = (moves.there, moves.here);
        self.bring_cookies(from.environment(), &mut arriving).await?;
        arriving.push(close());
        leaving.push(open());
        if !has_left {
            from_writer.commit(vec![close()]).await?;
        }
        to_writer.commit(arriving).await?;
        for (session, changes) in users.sessions {
            session.lock.record(act(), changes).await?;
            session.release().await?;
        }
        from_writer.commit(leaving).await?;
        to_writer.commit(vec![open()]).await?;
        Ok(Moved { changed: true, loosened: moves.loosened, users: users.urns })
    }

    /// Reads what drivers keep apart from the records that arrive: each environment has its own.
    ///
    /// # Errors
    /// [`Error::State`] if it cannot be read, or is missing.
    async fn bring_cookies(&self, from: &Environment, arriving: &mut [Change]) -> Result<(), Error> {
        for change in arriving {
            let Change::Put(record) = change else { continue };
            let Some(stored) = record.state.cookie.stored() else { continue };
            let cookie = self.store().await?.cookie(from, stored).await?;
            record.state.cookie = cookie.ok_or_else(|| StateError::Damaged {
                name: record.urn.to_string(),
                detail: "what its driver keeps privately is missing; see `purlin state repair`".to_owned(),
            })?;
        }
        Ok(())
    }

    /// Checks that the target is meant, and that it protects what the environment protects.
    ///
    /// # Errors
    /// [`Error::Documents`] if not.
    async fn check_target(&self, wanted: Move<'_>) -> Result<(), Error> {
        let Move { from, to, .. } = wanted;
        if let (Some(place), None) = (self.protection(from), self.protection(to)) {
            let message = format!("{from} is protected, and {to} is not");
            let help = "move to a protected environment, or set `protect` to false here while they move";
            let fault = Diagnostic::error("protected", message).at(&place).spanning("protect".len());
            return Err(Error::Documents(vec![fault.help(help)]));
        }
        if wanted.new_environment || self.is_recorded(to).await? {
            return Ok(());
        }
        let declared = &self.workspace().environments;
        let fault = if !declared.is_empty() && !declared.contains_key(&to.env) {
            Some(undeclared(&to.env, None, self.workspace()))
        } else {
            let known = self.environments().await?;
            let is_slip_of = |other: &&Environment| {
                other.org == to.org
                    && (other.app == to.app
                        && !declared.contains_key(&to.env)
                        && is_slip(&to.env, &other.env)
                        || other.env == to.env && is_slip(&to.app, &other.app))
            };
            known.iter().find(is_slip_of).map(|meant| {
                Diagnostic::error("unknown-environment", format!("nothing is recorded in {to}"))
                    .help(format!("did you mean {meant}? For another environment, add `--new-environment`"))
            })
        };
        fault.map_or(Ok(()), |fault| Err(Error::Documents(vec![fault])))
    }

    /// Locks the environments whose resources use an installation that moves. Both ends of the move are
    /// locked already, so no other use can begin.
    ///
    /// # Errors
    /// [`Error::Documents`] if a user is in the target, which cannot use its own installation;
    /// [`Error::Closed`] if an environment is closed; [`Error::State`] if it is locked.
    async fn begin_users(&self, wanted: Move<'_>, names: &BTreeMap<Urn, Urn>) -> Result<Users<'_>, Error> {
        let moving = self.installations().await?.into_iter();
        let moving =
            moving.filter(|one| one.environment == *wanted.from && names.contains_key(&one.listed.urn));
        let urns: BTreeSet<(Urn, Urn)> = moving
            .flat_map(|one| one.users.into_iter().map(move |user| (user.urn, one.listed.urn.clone())))
            .collect();
        let mut environments = BTreeSet::new();
        let mut faults = Vec::new();
        for (user, used) in &urns {
            let Some(environment) = Environment::of_urn(user) else { continue };
            if environment == *wanted.to {
                let (used, user) = (used.shown(), user.shown());
                let message = format!("`{used}` cannot move: `{user}` of the target represents it there");
                let help = format!(
                    "move to another environment, or let `{user}` use another installation first, with `--with`"
                );
                faults.push(Diagnostic::error("not-movable", message).help(help));
            }
            environments.insert(environment);
        }
        if !faults.is_empty() {
            return Err(Error::Documents(faults));
        }
        let mut sessions = Vec::new();
        for environment in environments {
            let session = self.begin_held(&environment).await?;
            let snapshot = session.snapshot().await?;
            if let Some(closed_by) = &snapshot.closed_by {
                return Err(Error::closed(&environment, closed_by));
            }
            sessions.push((session, purlin_engine::repoint(snapshot, names)?));
        }
        let mut urns: Vec<Urn> = urns.into_iter().map(|(user, _)| user).collect();
        urns.dedup();
        Ok(Users { urns, sessions })
    }
}

/// Those who use what moves.
struct Users<'a> {
    /// Their URNs, sorted.
    urns: Vec<Urn>,
    /// Their environments, each with the changes that let them follow.
    sessions: Vec<(Session<'a>, Vec<Change>)>,
}

/// Whether an environment is closed for this move.
///
/// # Errors
/// If it is closed for another reason.
fn is_closed(environment: &Environment, snapshot: &Snapshot, command: &str) -> Result<bool, Error> {
    match &snapshot.closed_by {
        None => Ok(false),
        Some(closed_by) if closed_by.command == command => Ok(true),
        Some(closed_by) => Err(Error::closed(environment, closed_by)),
    }
}

fn has(snapshot: &Snapshot, urn: &Urn) -> bool {
    snapshot.records.iter().any(|record| record.urn == *urn)
}
