//! A login from the first byte to `ReadyForQuery`: start-up, the password exchange, and the server's parameters.
//!
//! The server is not trusted before the login is complete: limits are small, and with SCRAM it must prove that it knows
//! the password before we continue.

use std::time::Duration;

use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;

use super::Connection;
use super::frames::{Allowance, Frames, malformed, out_of_place, server_error};
use crate::error::{READABLE, printable};
use crate::io;
use crate::scram::{Exchange, SCRAM_SHA_256};
use crate::{Login, Stream, WireError};

const SAY_HELLO: &str = "send the start-up message";
const AUTHENTICATE: &str = "log in";
const FINISH: &str = "finish the login";

/// `SSLRequest`. Source: PostgreSQL documentation, "Message Formats".
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
const ASK_FOR_TLS: &str = "ask for TLS";

/// Whether a password may be sent in clear text, or as an md5 hash, if the server asks for it in this form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clear {
    /// The password may be sent: the connection stays within this machine, or is encrypted.
    MayGo,
    /// The password must not be sent in this way.
    NeverGoes,
}

/// Asks the server whether TLS may start, on a connection on which nothing has been sent yet. After success, the next
/// bytes belong to TLS.
///
/// # Errors
/// [`WireError::NoTls`] if the server does not offer TLS, [`WireError::Malformed`] if the peer is not a PostgreSQL
/// server; `Timeout`, `Closed`, `Io`.
pub fn ask_for_tls(stream: &mut impl Stream, timeout_hint: Duration) -> Result<(), WireError> {
    io::write_all(stream, &TLS_REQUEST, ASK_FOR_TLS, timeout_hint)?;
    let mut answer = [0];
    io::read_exact(stream, &mut answer, ASK_FOR_TLS, timeout_hint)?;
    match &answer {
        b"S" => Ok(()),
        b"N" => Err(WireError::NoTls),
        other => Err(malformed(ASK_FOR_TLS, "yes or no in one byte", other)),
    }
}

impl<S: Stream> Connection<S> {
    /// Logs in by the method that the server asks for: trust, peer, password in clear text, md5 or SCRAM-SHA-256. With
    /// SCRAM, the server's signature is verified.
    ///
    /// The password is sent in clear text if the server asks for that, even without TLS, so callers must use this
    /// function only if [`Clear::MayGo`] applies. `timeout_hint` is the stream's own time limit, for error messages;
    /// the stream enforces it. If the user is empty, the empty name is sent, and the server refuses it. Without a
    /// database, the server uses the database with the user's name.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refuses, [`WireError::Unsupported`] if it asks for GSSAPI, SSPI or another
    /// method, [`WireError::Malformed`] or [`WireError::TooLong`] if the peer is not a PostgreSQL server or cannot
    /// prove that it knows the password; `Timeout`, `Closed`, `Io`.
    ///
    /// # Source
    /// PostgreSQL documentation, "Frontend/Backend Protocol", section "Start-up".
    pub fn login(stream: S, login: &Login, timeout_hint: Duration) -> Result<Self, WireError> {
        Self::login_over(stream, login, Clear::MayGo, timeout_hint)
    }

    /// Like [`Self::login`], for a server that may be on another machine. With [`Clear::NeverGoes`] the password is
    /// used only if the server asks for SCRAM, because a listener does not learn the password from a SCRAM exchange.
    ///
    /// # Errors
    /// As [`Self::login`]; [`WireError::Unsupported`] if the server asks for the password itself or for md5, and
    /// `clear` forbids that.
    pub fn login_over(stream: S, login: &Login, clear: Clear, timeout_hint: Duration) -> Result<Self, WireError> {
        let mut frames = Frames::new(stream, timeout_hint);
        frames.send(SAY_HELLO, |out| {
            let fixed = [("user", login.user.as_str()), ("client_encoding", "UTF8"), ("application_name", "looptax")];
            let database = login.database.as_deref().map(|name| ("database", name));
            frontend::startup_message(fixed.into_iter().chain(database), out)
        })?;
        let mut allowance = Allowance::LOGIN;
        let method = authenticate(&mut frames, login, clear, &mut allowance)?;
        let mut connection = Self { frames, server_version: String::new(), backend_pid: 0, method, n_named: 0 };
        connection.read_session_facts(&mut allowance)?;
        Ok(connection)
    }

    /// Reads up to `ReadyForQuery`, and keeps the facts that the server reports about itself and the session.
    fn read_session_facts(&mut self, allowance: &mut Allowance) -> Result<(), WireError> {
        loop {
            match self.frames.receive(FINISH, allowance)? {
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(body) => return Err(server_error(body.fields())),
                Message::BackendKeyData(body) => {
                    // Process ids are positive; the library returns the signed type of the protocol.
                    self.backend_pid = body.process_id().cast_unsigned();
                }
                Message::ParameterStatus(body) => {
                    if body.name().is_ok_and(|name| name == "server_version") {
                        let version = body.value().unwrap_or_default();
                        self.server_version = printable(version.as_bytes());
                    }
                }
                _ => {
                    return Err(out_of_place(FINISH, "parameters, key data or a ready server"));
                }
            }
        }
    }
}

/// Answers the server's authentication request, up to its `AuthenticationOk`; returns the method under libpq's name.
fn authenticate<S: Stream>(
    frames: &mut Frames<S>,
    login: &Login,
    clear: Clear,
    allowance: &mut Allowance,
) -> Result<&'static str, WireError> {
    let password = login.password.reveal();
    let method = match frames.receive(AUTHENTICATE, allowance)? {
        Message::AuthenticationOk => return Ok("none"),
        Message::AuthenticationCleartextPassword | Message::AuthenticationMd5Password(_)
            if clear == Clear::NeverGoes =>
        {
            return Err(WireError::Unsupported { what: READABLE.to_owned() });
        }
        // This also happens over plain TCP: with [`Clear::MayGo`], the caller has allowed it.
        Message::AuthenticationCleartextPassword => {
            frames.send(AUTHENTICATE, |out| frontend::password_message(password.as_bytes(), out))?;
            "password"
        }
        Message::AuthenticationMd5Password(body) => {
            let hash = md5_hash(login.user.as_bytes(), password.as_bytes(), body.salt());
            frames.send(AUTHENTICATE, |out| frontend::password_message(hash.as_bytes(), out))?;
            "md5"
        }
        Message::AuthenticationSasl(body) => {
            check_mechanism(&body)?;
            scram(frames, login, allowance)?;
            "scram-sha-256"
        }
        other => return Err(refused_request(&other)),
    };
    match frames.receive(AUTHENTICATE, allowance)? {
        Message::AuthenticationOk => Ok(method),
        Message::ErrorResponse(body) => Err(server_error(body.fields())),
        _ => Err(out_of_place(AUTHENTICATE, "the end of authentication")),
    }
}

/// Makes the error for an authentication request that looptax does not answer.
fn refused_request(request: &Message) -> WireError {
    let what = match request {
        Message::ErrorResponse(body) => return server_error(body.fields()),
        Message::AuthenticationGss => "GSSAPI authentication",
        Message::AuthenticationSspi => "SSPI authentication",
        Message::AuthenticationKerberosV5 => "Kerberos V5 authentication",
        Message::AuthenticationScmCredential => "SCM credentials",
        _ => return out_of_place(AUTHENTICATE, "an authentication request"),
    };
    WireError::Unsupported { what: what.to_owned() }
}

/// Checks that SCRAM-SHA-256 is among the server's mechanisms.
fn check_mechanism(body: &AuthenticationSaslBody) -> Result<(), WireError> {
    let mut names: Vec<&str> = Vec::new();
    let mut mechanisms = body.mechanisms();
    while let Some(name) = mechanisms.next().map_err(|_| out_of_place(AUTHENTICATE, "a list of SASL mechanisms"))? {
        names.push(name);
    }
    if names.contains(&SCRAM_SHA_256) {
        return Ok(());
    }
    let what = printable(names.join(", ").as_bytes());
    Err(WireError::Unsupported { what })
}

/// Runs the SCRAM exchange, including the check of the server's signature.
///
/// # Source
/// PostgreSQL documentation, "SASL Authentication".
fn scram<S: Stream>(frames: &mut Frames<S>, login: &Login, allowance: &mut Allowance) -> Result<(), WireError> {
    let exchange = Exchange::begin("", login.password.reveal())
        .map_err(|source| WireError::Io { action: AUTHENTICATE, source })?;
    frames
        .send(AUTHENTICATE, |out| frontend::sasl_initial_response(SCRAM_SHA_256, exchange.first().as_bytes(), out))?;
    let answer = match frames.receive(AUTHENTICATE, allowance)? {
        Message::AuthenticationSaslContinue(body) => exchange
            .answer(body.data(), &login.salted)
            .ok_or_else(|| malformed(AUTHENTICATE, "a SCRAM challenge for looptax's nonce", body.data()))?,
        Message::ErrorResponse(body) => return Err(server_error(body.fields())),
        _ => return Err(out_of_place(AUTHENTICATE, "a SCRAM challenge")),
    };
    frames.send(AUTHENTICATE, |out| frontend::sasl_response(answer.message.as_bytes(), out))?;
    match frames.receive(AUTHENTICATE, allowance)? {
        Message::AuthenticationSaslFinal(body) if answer.is_proved_by(body.data()) => Ok(()),
        Message::AuthenticationSaslFinal(body) => {
            Err(malformed(AUTHENTICATE, "a signature that proves that the server knows the password", body.data()))
        }
        Message::ErrorResponse(body) => Err(server_error(body.fields())),
        _ => Err(out_of_place(AUTHENTICATE, "the server's SCRAM signature")),
    }
}
