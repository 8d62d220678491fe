//! A login from the first byte to the session: hello, the server's report about itself, and SCRAM-SHA-256.
//!
//! The server is not trusted before it has proved that it knows the password, so limits are small until then.

use std::time::Duration;

use super::bson::Document;
use super::message::{PROTOCOL, broken};
use super::{ADMIN, Connection, is_name};
use crate::scram::{Exchange, SCRAM_SHA_256};
use crate::{Login, Stream, WireError};

const SAY_HELLO: &str = "say hello";
const AUTHENTICATE: &str = "log in";

/// Highest number of bytes in an answer before the login is complete. Usual answers have a few hundred.
const LOGIN_LIMIT: usize = 64 << 10;
/// The lowest wire version of a server that supports `OP_MSG`.
const LEAST_WIRE_VERSION: f64 = 6.0;
/// The database if the login does not specify one.
const USUAL_DATABASE: &str = "test";

impl<S: Stream> Connection<S> {
    /// Sends hello, and logs in if there is a user.
    ///
    /// The server looks for the account in the database [`Login::accounts`]. If `accounts` is not set, the server looks
    /// in the login's database; if the login has no database either, in `admin`. Every driver does the same.
    /// `timeout_hint` is the stream's own time limit, for error messages; the stream enforces it.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refuses, with `MongoDB`'s number as its code; [`WireError::Unsupported`] if
    /// the account does not have SCRAM-SHA-256, or the server is older than 3.6; [`WireError::Malformed`] or
    /// [`WireError::TooLong`] if the peer is not `MongoDB` or cannot prove that it knows the password; `Timeout`,
    /// `Closed`, `Io`.
    ///
    /// # Source
    /// The drivers' specifications of handshake and authentication: github.com/mongodb/specifications (read 2026-11).
    pub fn login(stream: S, login: &Login, timeout_hint: Duration) -> Result<Self, WireError> {
        let database = login.database.as_deref();
        let mut connection = Self {
            stream,
            timeout_hint,
            number: 0,
            database: database.unwrap_or(USUAL_DATABASE).to_owned(),
            server_version: String::new(),
            is_ferretdb: false,
            is_replicated: false,
            peer: None,
        };
        let accounts = login.accounts.as_deref().or(database).unwrap_or(ADMIN);
        let names = [connection.database.as_str(), accounts];
        if !names.into_iter().all(is_name) || login.user.contains('\0') {
            return Err(WireError::Request {
                what: "a MongoDB name must not be empty or contain a zero byte".to_owned(),
            });
        }
        connection.hello(accounts, &login.user)?;
        if !login.user.is_empty() {
            connection.authenticate(accounts, login)?;
        }
        connection.read_version()?;
        connection.read_peer()?;
        Ok(connection)
    }

    fn hello(&mut self, accounts: &str, user: &str) -> Result<(), WireError> {
        let driver = Document::new().text("name", "looptax").text("version", env!("CARGO_PKG_VERSION"));
        let system = Document::new().text("type", "Linux");
        let client = Document::new().document("driver", driver).document("os", system);
        let mut hello = Document::new().int("hello", 1).document("client", client);
        if !user.is_empty() {
            hello = hello.text("saslSupportedMechs", &format!("{accounts}.{user}"));
        }
        let told = self.exchange(ADMIN, hello, SAY_HELLO, LOGIN_LIMIT)?;
        match told.number(&["maxWireVersion"]) {
            Some(version) if version >= LEAST_WIRE_VERSION => {}
            Some(_) => {
                return Err(unsupported("a wire version before 6 (MongoDB 3.6)".to_owned()));
            }
            None => return Err(broken(&told.0, SAY_HELLO)),
        }
        self.is_replicated = told.at(&["setName"]).is_some();
        // If the server does not know the account, it lists no mechanisms here and refuses the login later.
        let each = told.each(&["saslSupportedMechs"]).into_iter();
        let named = each.filter_map(|it| {
            let place = str::from_utf8(it.name).ok()?;
            told.text(&["saslSupportedMechs", place])
        });
        let named: Vec<String> = named.collect();
        if named.is_empty() || named.iter().any(|it| it == SCRAM_SHA_256) {
            return Ok(());
        }
        Err(unsupported(named.join(", ")))
    }

    fn authenticate(&mut self, accounts: &str, login: &Login) -> Result<(), WireError> {
        let exchange = Exchange::begin(&login.user, login.password.reveal());
        let exchange = exchange.map_err(|source| WireError::Io { action: AUTHENTICATE, source })?;
        let options = Document::new().bool("skipEmptyExchange", true);
        let start = Document::new()
            .int("saslStart", 1)
            .text("mechanism", SCRAM_SHA_256)
            .binary("payload", exchange.first().as_bytes())
            .document("options", options);
        let told = self.exchange(accounts, start, AUTHENTICATE, LOGIN_LIMIT)?;
        let payload = told.binary(&["payload"]);
        let (Some(reply), Some(id)) =
            (payload.and_then(|it| exchange.answer(it, &login.salted)), told.number(&["conversationId"]))
        else {
            return Err(WireError::malformed(
                PROTOCOL,
                AUTHENTICATE,
                "a SCRAM challenge for looptax's nonce",
                payload.unwrap_or(&told.0),
            ));
        };
        let go_on = |payload: &[u8]| {
            Document::new().int("saslContinue", 1).int("conversationId", id as i32).binary("payload", payload)
        };
        let told = self.exchange(accounts, go_on(reply.message.as_bytes()), AUTHENTICATE, LOGIN_LIMIT)?;
        let last = told.binary(&["payload"]).unwrap_or_default();
        if !reply.is_proved_by(last) {
            return Err(WireError::malformed(
                PROTOCOL,
                AUTHENTICATE,
                "a signature that proves that the server knows the password",
                last,
            ));
        }
        // FerretDB, and MongoDB before 4.4, expect another message, which is empty.
        if told.number(&["done"]) == Some(1.0) {
            return Ok(());
        }
        let told = self.exchange(accounts, go_on(&[]), AUTHENTICATE, LOGIN_LIMIT)?;
        match told.number(&["done"]) {
            Some(1.0) => Ok(()),
            _ => Err(broken(&told.0, AUTHENTICATE)),
        }
    }

    /// Reads the server's version. `FerretDB` reports `MongoDB`'s version in addition to its own.
    fn read_version(&mut self) -> Result<(), WireError> {
        let told = self.ask(ADMIN, Document::new().int("buildInfo", 1))?;
        let own = told.text(&["ferretdb", "version"]).or_else(|| told.text(&["ferretdbVersion"]));
        self.is_ferretdb = own.is_some();
        let version = own.or_else(|| told.text(&["version"]));
        let version = version.ok_or_else(|| broken(&told.0, super::ASK))?;
        version.trim_start_matches('v').clone_into(&mut self.server_version);
        Ok(())
    }

    /// Reads our address as the server sees it. Over a socket the answer does not contain an address: `FerretDB` sends
    /// `invalid AddrPort`.
    fn read_peer(&mut self) -> Result<(), WireError> {
        let told = self.ask(ADMIN, Document::new().int("whatsmyuri", 1))?;
        let you = told.text(&["you"]);
        let you = you.ok_or_else(|| broken(&told.0, super::ASK))?;
        self.peer = you.parse().ok();
        Ok(())
    }
}

fn unsupported(what: String) -> WireError {
    WireError::Unsupported { what }
}
