//! A user, and the server's description of it. One command creates or changes the whole user.

use std::time::Duration;

use data_encoding::HEXLOWER;
use purlin_sdk::{Failure, Json, Object, State, log, operation};
use purlin_sdk_net::{Deadline, Tls, percent_encoded};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::client::{Client, CommandError, Reply};
use crate::identity::{Identity, is_mark};
use crate::inputs::{RedisInputs, User, UserOutputs};

/// A user as the server describes it. The server uses its own words for the same rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Rules {
    commands: String,
    keys: String,
    channels: String,
}

/// An existing user.
#[derive(Debug, Default)]
struct There {
    flags: Vec<String>,
    passwords: Vec<String>,
    rules: Rules,
    selectors: usize,
}

impl There {
    fn is(&self, flag: &str) -> bool {
        self.flags.iter().any(|has| has == flag)
    }

    fn marks(&self) -> impl Iterator<Item = &String> {
        self.passwords.iter().filter(|digest| is_mark(digest))
    }
}

/// One call about one user.
pub(crate) struct UserOperation<'a> {
    pub(crate) inputs: &'a RedisInputs,
    pub(crate) identity: Identity,
    pub(crate) until: Deadline,
}

impl UserOperation<'_> {
    fn wanted(&self) -> &User {
        &self.inputs.values.user
    }

    /// The name that it has or gets.
    fn name(&self) -> &str {
        self.identity.name.as_deref().unwrap_or(self.wanted().name())
    }

    fn what(&self, doing: &str) -> String {
        format!("{doing} the user `{}`", self.name())
    }

    fn connect(&self) -> Result<Client, CommandError> {
        Client::connect(&self.inputs.connection, self.until)
    }

    fn look(&self, client: &mut Client) -> Result<Option<There>, CommandError> {
        let Reply::List(pairs) = client.run(&["ACL", "GETUSER", self.name()])? else { return Ok(None) };
        let mut there = There::default();
        let texts = |reply: &Reply| reply.items().iter().filter_map(Reply::text).map(str::to_owned).collect();
        for pair in pairs.chunks(2) {
            let [Reply::Text(name), value] = pair else { continue };
            let text = || value.text().unwrap_or_default().to_owned();
            match name.as_str() {
                "flags" => there.flags = texts(value),
                "passwords" => there.passwords = texts(value),
                "commands" => there.rules.commands = text(),
                "keys" => there.rules.keys = text(),
                "channels" => there.rules.channels = text(),
                "selectors" => there.selectors = value.items().len(),
                _ => {}
            }
        }
        Ok(Some(there))
    }

    /// Rejects a user that is not this resource's. A user that is recorded, or that a person named,
    /// may have lost its mark, but may not have another owner's.
    fn ours(&self, there: &There, recorded: bool) -> Result<(), Failure> {
        let mark = self.identity.mark();
        if there.marks().any(|digest| *digest == mark) {
            return Ok(());
        }
        let lost = there.marks().next().is_none();
        if lost && (recorded || self.identity.is_named) {
            return Ok(());
        }
        Err(Failure::conflict(match lost {
            true => format!(
                "the user `{}` already exists, without a mark of this resource; import it to adopt it",
                self.name()
            ),
            false => format!("the user `{}` already exists, and belongs to another resource", self.name()),
        }))
    }

    /// Creates it. `old` is the user that it replaces.
    pub(crate) fn create(&self, old: Option<&Identity>) -> Result<State, Failure> {
        let doing = self.what("making");
        let mut client = self.connect().map_err(|fault| fault.failure(&doing))?;
        if let Some(there) = self.look(&mut client).map_err(|fault| fault.failure(&doing))? {
            let is_old = |old: &Identity| there.marks().any(|digest| *digest == old.mark());
            if old.is_some_and(is_old) {
                return Err(Failure::needs_delete_before(format!(
                    "the user `{}` is the one that is being replaced",
                    self.name()
                )));
            }
            self.ours(&there, false)?;
            return Err(Failure::conflict(format!(
                "the user `{}` was created by this resource earlier; import it, or delete it",
                self.name()
            )));
        }
        let id = self.identity.id(self.wanted().name());
        operation::checkpoint(&id);
        match self.set(&mut client) {
            Ok(()) => self.made(&mut client, id, &doing),
            Err(fault) if fault.is_uncertain() => self.find_out(id, &fault, &doing),
            Err(fault) => Err(refused(&fault, &doing)),
        }
    }

    /// One command creates it completely or not at all, together with the command that makes the
    /// server save its users.
    fn set(&self, client: &mut Client) -> Result<(), CommandError> {
        let wanted = self.wanted();
        let password = format!("#{}", self.digest());
        let mark = format!("#{}", self.identity.mark());
        let state = if wanted.enabled { "on" } else { "off" };
        let rules = wanted.rules();
        let mut words =
            vec!["ACL", "SETUSER", wanted.name(), "reset", "resetchannels", state, &password, &mark];
        words.extend(rules.iter().map(String::as_str));
        saved(client, &words, self.name())
    }

    /// The server's form of the password.
    fn digest(&self) -> String {
        HEXLOWER.encode(&Sha256::digest(&self.inputs.secrets.user_password))
    }

    /// The state of the existing user.
    fn made(&self, client: &mut Client, id: String, doing: &str) -> Result<State, Failure> {
        let look = self.look(client).and_then(|there| Ok((there, persistent(client)?)));
        let (there, persistent) = look.map_err(|fault| {
            let message = format!("{doing}: it exists, but reading it failed: {fault}");
            Failure::partial(State::new(&id), message)
        })?;
        let there =
            there.ok_or_else(|| Failure::failed(format!("{doing}: others deleted it immediately")))?;
        self.state(id, &there, Some(there.rules.clone()), persistent)
    }

    /// The outcome of a command whose answer was lost.
    fn find_out(&self, id: String, fault: &CommandError, doing: &str) -> Result<State, Failure> {
        let again = self.connect().and_then(|mut client| self.look(&mut client));
        match again {
            // An update finds out the server's words for it, and whether the server saves it.
            Ok(Some(there)) => {
                self.ours(&there, false)?;
                let message = format!("{doing}: it was created, but the response was lost: {fault}");
                Err(Failure::partial(State::new(id), message))
            }
            Ok(None) => {
                let message = format!("{doing}: {fault}; nothing was created");
                Err(Failure::retry_after(Duration::from_secs(2), message))
            }
            Err(_) => {
                let message = format!("{doing}: {fault}; it is unknown whether it was created");
                Err(Failure::partial(State::new(id), message))
            }
        }
    }

    /// The existing user, with its actual values if they can be determined.
    pub(crate) fn read(&self, before: Option<&State>) -> Result<Option<(State, Option<Json>)>, Failure> {
        let doing = self.what("reading");
        let failure = |fault: CommandError| fault.failure(&doing);
        let mut client = self.connect().map_err(failure)?;
        let Some(there) = self.look(&mut client).map_err(failure)? else { return Ok(None) };
        self.ours(&there, before.is_some())?;
        let kept = before.map(State::read_cookie::<Rules>).transpose()?.flatten();
        let persistent = persistent(&mut client).map_err(failure)?;
        let values = match (&kept, self.identity.is_named) {
            // A new user is as it was created; the server's words for it are not known yet.
            (None, false) => None,
            _ => Some(self.values(&there, kept.as_ref())),
        };
        let id = match self.identity.is_named {
            true => self.name().to_owned(),
            false => self.identity.id(self.name()),
        };
        Ok(Some((self.state(id, &there, kept, persistent)?, values)))
    }

    /// In the words of the inputs if they are what was created; else in the server's words.
    fn values(&self, there: &There, kept: Option<&Rules>) -> Json {
        let wanted = self.wanted();
        let words = |rules: &str, sign: &str| -> Json {
            let words = rules.split_whitespace();
            words.map(|word| word.strip_prefix(sign).unwrap_or(word)).collect::<Vec<_>>().into()
        };
        let same = |part: fn(&Rules) -> &String| kept.is_some_and(|kept| part(kept) == part(&there.rules));
        let mut user = Object::new();
        user.insert("name".to_owned(), self.name().into());
        user.insert("enabled".to_owned(), there.is("on").into());
        let mut insert = |name: &str, wanted: &[String], part: fn(&Rules) -> &String, sign: &str| {
            let value = if same(part) { wanted.into() } else { words(part(&there.rules), sign) };
            user.insert(name.to_owned(), value);
        };
        insert("keys", &wanted.keys, |rules| &rules.keys, "~");
        insert("channels", &wanted.channels, |rules| &rules.channels, "&");
        insert("commands", &wanted.commands, |rules| &rules.commands, "\0");
        // Rights that this driver never gives are shown if somebody else gave them.
        if there.selectors > 0 {
            user.insert("selectors".to_owned(), there.selectors.into());
        }
        if there.is("nopass") {
            user.insert("nopass".to_owned(), true.into());
        }
        user.into()
    }

    /// Brings it to the wanted state. Creates a missing user again: it holds no data.
    pub(crate) fn update(&self, id: &str) -> Result<State, Failure> {
        let doing = self.what("changing");
        let failure = |fault: CommandError| fault.failure(&doing);
        if self.wanted().name() != self.name() {
            return Err(Failure::input("/values/user/name", "a user cannot be renamed, only replaced"));
        }
        let mut client = self.connect().map_err(failure)?;
        if let Some(there) = self.look(&mut client).map_err(failure)? {
            self.ours(&there, true)?;
        }
        match self.set(&mut client) {
            Ok(()) => self.made(&mut client, id.to_owned(), &doing),
            Err(fault) if fault.is_uncertain() => {
                let message = format!("{doing}: {fault}; it is unknown whether it was changed");
                Err(Failure::partial(State::new(id), message))
            }
            Err(fault) => Err(refused(&fault, &doing)),
        }
    }

    /// Deletes it; the server disconnects its clients.
    pub(crate) fn delete(&self) -> Result<(), Failure> {
        let doing = self.what("deleting");
        let failure = |fault: CommandError| fault.failure(&doing);
        let mut client = self.connect().map_err(failure)?;
        let Some(there) = self.look(&mut client).map_err(failure)? else {
            // An earlier attempt may have come this far without saving.
            return save(&mut client, self.name()).map_err(failure);
        };
        self.ours(&there, true)?;
        saved(&mut client, &["ACL", "DELUSER", self.name()], self.name()).map_err(failure)
    }

    fn state(
        &self,
        id: String,
        there: &There,
        kept: Option<Rules>,
        persistent: Option<bool>,
    ) -> Result<State, Failure> {
        let server = self.inputs.connection.place();
        let mut expected = vec![self.digest(), self.identity.mark()];
        let mut passwords = there.passwords.clone();
        expected.sort_unstable();
        passwords.sort_unstable();
        let password = &self.inputs.secrets.user_password;
        let scheme = if server.tls == Tls::Disable { "redis" } else { "rediss" };
        let url =
            format!("{scheme}://{}:{}@{server}", percent_encoded(self.name()), percent_encoded(password));
        let state = State::new(id).described_outputs(&UserOutputs {
            host: server.host,
            port: server.port,
            username: self.name().to_owned(),
            password: password.clone(),
            url,
            persistent: persistent.into(),
            password_is: if passwords == expected { "as given" } else { "changed" }.to_owned(),
        })?;
        match kept {
            Some(kept) => state.cookie(kept),
            None => Ok(state),
        }
    }
}

/// Runs a command and makes the server save its users, if it does that.
fn saved(client: &mut Client, words: &[&str], user: &str) -> Result<(), CommandError> {
    let replies = client.together(&[words, &["ACL", "SAVE"]])?;
    match replies.as_slice() {
        [Reply::Refused(words), _] => Err(CommandError::Refused(words.clone())),
        [_, saved] => is_kept(saved, user),
        _ => Ok(()),
    }
}

/// Makes the server save its users, if it does that.
fn save(client: &mut Client, user: &str) -> Result<(), CommandError> {
    match client.run(&["ACL", "SAVE"]) {
        Err(CommandError::Refused(words)) => is_kept(&Reply::Refused(words), user),
        reply => is_kept(&reply?, user),
    }
}

fn is_kept(saved: &Reply, user: &str) -> Result<(), CommandError> {
    match saved {
        Reply::Refused(words) if words.contains("not configured to use an ACL file") => {
            log::warn(format!(
                "the server has no `aclfile`: changes to the user `{user}` are lost when it restarts"
            ));
            Ok(())
        }
        // It is in effect now, and would be lost by a restart, so it is not done.
        Reply::Refused(words) => Err(CommandError::Unsaved(words.clone())),
        _ => Ok(()),
    }
}

/// Whether the server keeps its users across a restart; `None` if it does not say.
fn persistent(client: &mut Client) -> Result<Option<bool>, CommandError> {
    match client.run(&["CONFIG", "GET", "aclfile"]) {
        Ok(reply) => Ok(reply.items().get(1).and_then(Reply::text).map(|file| !file.is_empty())),
        // Hosted servers hide their configuration, and not every user may read it.
        Err(CommandError::Refused(_)) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Rules that the server does not know are wrong inputs.
fn refused(fault: &CommandError, doing: &str) -> Failure {
    match fault {
        CommandError::Refused(words) if words.contains("ACL SETUSER modifier") => {
            let place = if words.contains("modifier '+") || words.contains("modifier '-") {
                "/values/user/commands"
            } else if words.contains("modifier '&") {
                "/values/user/channels"
            } else {
                "/values/user/keys"
            };
            Failure::input(place, words.clone())
        }
        fault => fault.failure(doing),
    }
}
