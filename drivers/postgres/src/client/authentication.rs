//! Authentication: SCRAM, bound to the connection if TLS allows it; MD5 for old servers; a
//! clear-text password only to a server that proved its identity.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use purlin_sdk_net::Tls;

use super::{Client, sql_error};
use crate::inputs::Connection;
use crate::statement_error::StatementError;

impl Client {
    pub(super) fn start(&mut self, connection: &Connection, database: &str) -> Result<(), StatementError> {
        let parameters = [
            ("user", connection.user.as_str()),
            ("database", database),
            ("client_encoding", "UTF8"),
            ("application_name", "purlin"),
        ];
        self.say(|message| frontend::startup_message(parameters, message))?;
        let password = connection.password.as_deref();
        loop {
            match self.receive()? {
                Message::AuthenticationOk | Message::BackendKeyData(_) => {}
                Message::AuthenticationSasl(body) => self.scram(&body, self.password(password)?)?,
                Message::AuthenticationMd5Password(body) => {
                    let password = self.password(password)?;
                    let hash = md5_hash(connection.user.as_bytes(), password.as_bytes(), body.salt());
                    self.say(|message| frontend::password_message(hash.as_bytes(), message))?;
                }
                Message::AuthenticationCleartextPassword
                    if matches!(connection.tls, Tls::VerifyCa | Tls::VerifyFull) =>
                {
                    let password = self.password(password)?.to_owned();
                    self.say(|message| frontend::password_message(password.as_bytes(), message))?;
                }
                Message::AuthenticationCleartextPassword => {
                    return Err(self.nonsense(
                        "it asks for the password in plain text, which is sent only with `tls: verify-full` or `verify-ca`",
                    ));
                }
                Message::ErrorResponse(body) => return Err(StatementError::Sql(Box::new(sql_error(&body)))),
                Message::ReadyForQuery(_) => return Ok(()),
                Message::AuthenticationGss
                | Message::AuthenticationKerberosV5
                | Message::AuthenticationScmCredential
                | Message::AuthenticationSspi => {
                    return Err(self.nonsense(
                        "it requires an authentication method other than a password, such as Kerberos",
                    ));
                }
                _ => return Err(self.nonsense("it does not answer like a PostgreSQL server")),
            }
        }
    }

    fn password<'a>(&self, password: Option<&'a str>) -> Result<&'a str, StatementError> {
        password.ok_or_else(|| self.nonsense("it asks for a password, but `connection.password` is not set"))
    }

    fn say(
        &mut self,
        words: impl FnOnce(&mut BytesMut) -> std::io::Result<()>,
    ) -> Result<(), StatementError> {
        let mut message = BytesMut::new();
        words(&mut message).map_err(|error| self.nonsense(error.to_string()))?;
        self.send(&message)
    }

    fn scram(&mut self, offer: &AuthenticationSaslBody, password: &str) -> Result<(), StatementError> {
        let offered: Vec<&str> =
            offer.mechanisms().collect().map_err(|error| self.nonsense(error.to_string()))?;
        let plus = offered.contains(&SCRAM_SHA_256_PLUS);
        let (mechanism, binding) = match self.stream.end_point() {
            Some(end_point) if plus => (SCRAM_SHA_256_PLUS, ChannelBinding::tls_server_end_point(end_point)),
            // This shows the server whether a third party hid the server's offer of channel
            // binding.
            Some(_) => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None => (SCRAM_SHA_256, ChannelBinding::unsupported()),
        };
        if !offered.contains(&mechanism) {
            return Err(self.nonsense(format!("it offers {}, but not {mechanism}", offered.join(", "))));
        }
        let mut scram = ScramSha256::new(password.as_bytes(), binding);
        self.say(|message| frontend::sasl_initial_response(mechanism, scram.message(), message))?;
        let Message::AuthenticationSaslContinue(body) = self.scram_answer()? else {
            return Err(self.nonsense("it does not continue SCRAM"));
        };
        scram.update(body.data()).map_err(|error| self.nonsense(format!("SCRAM: {error}")))?;
        self.say(|message| frontend::sasl_response(scram.message(), message))?;
        let Message::AuthenticationSaslFinal(body) = self.scram_answer()? else {
            return Err(self.nonsense("it does not complete SCRAM"));
        };
        scram
            .finish(body.data())
            .map_err(|error| self.nonsense(format!("it does not prove that it knows the password: {error}")))
    }

    fn scram_answer(&mut self) -> Result<Message, StatementError> {
        match self.receive()? {
            Message::ErrorResponse(body) => Err(StatementError::Sql(Box::new(sql_error(&body)))),
            message => Ok(message),
        }
    }
}
