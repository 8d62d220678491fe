//! The commands at the start of a session: they log in, select the database, and ask for the server's version and the
//! session's number.

use std::time::Duration;

use super::Connection;
use super::fault::malformed;
use super::replies::Replies;
use super::value::Value;
use crate::error::printable;
use crate::{Login, Stream, WireError};

const SELECT: &str = "select the database";
const AUTHENTICATE: &str = "log in";
/// The servers' messages about a password that they do not need: from version 6 on, and before version 6. The texts are
/// necessary because many faults share the code `ERR`.
///
/// # Source
/// Redis, src/acl.c and (5.0) src/server.c, `authCommand`.
const NEEDLESS_PASSWORD: [&str; 2] = ["without any password configured", "Client sent AUTH, but no password is set"];
const ASK_VERSION: &str = "ask for the server's version";
const ASK_CLIENT_ID: &str = "ask for the session's number";

impl<S: Stream> Connection<S> {
    /// Logs in (`AUTH`, if a user or a password is given), selects the database (`SELECT`, if it is not 0) and asks for
    /// version and session id (`INFO server`, `CLIENT ID`; `HELLO` if the access list forbids one of them). If the
    /// account may not ask for a fact in any of these ways, the fact stays unknown, which is not an error.
    ///
    /// `timeout_hint` is the stream's own time limit, for error messages; the stream enforces it. The password is sent
    /// in clear text, as the protocol requires, so callers must use this function only within this machine or over an
    /// encrypted stream.
    ///
    /// # Errors
    /// [`WireError::Server`] if the server refuses, with the first word as its code (`NOAUTH`, `WRONGPASS`),
    /// [`WireError::NeedlessPassword`] if the server does not need a password, [`WireError::Malformed`] or
    /// [`WireError::TooLong`] if the peer is not a Redis server; `Timeout`, `Closed`, `Io`.
    ///
    /// # Source
    /// Redis documentation, "Redis serialization protocol specification".
    pub fn login(stream: S, login: &Login, timeout_hint: Duration) -> Result<Self, WireError> {
        let mut connection = Self::login_briefly(stream, login, timeout_hint)?;
        connection.ask_version()?;
        connection.ask_client_id()?;
        Ok(connection)
    }

    /// Logs in like [`Self::login`] but sends no queries: version and session number stay unknown.
    ///
    /// # Errors
    /// As [`Self::login`].
    pub fn login_briefly(stream: S, login: &Login, timeout_hint: Duration) -> Result<Self, WireError> {
        let mut connection = Self {
            replies: Replies::new(stream, timeout_hint),
            server_version: String::new(),
            is_valkey: false,
            client_id: 0,
        };
        connection.authenticate(login)?;
        // A connection begins in database 0, so clients do not send SELECT for it; an access list may forbid SELECT.
        if let Some(database) = login.database.as_ref().filter(|it| *it != "0") {
            connection.expect_ok(SELECT, &[b"SELECT", database.as_bytes()])?;
        }
        Ok(connection)
    }

    fn authenticate(&mut self, login: &Login) -> Result<(), WireError> {
        let user = login.user.as_bytes();
        let password = login.password.reveal().as_bytes();
        let answer = match (user.is_empty(), password.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => self.expect_ok(AUTHENTICATE, &[b"AUTH", password]),
            (false, _) => self.expect_ok(AUTHENTICATE, &[b"AUTH", user, password]),
        };
        answer.map_err(|error| match error {
            WireError::Server { code, message } if NEEDLESS_PASSWORD.iter().any(|it| message.contains(it)) => {
                WireError::NeedlessPassword { code, message }
            }
            other => other,
        })
    }

    fn ask_version(&mut self) -> Result<(), WireError> {
        let Some(info) = self.unless_forbidden(&[b"INFO", b"server"])? else {
            return self.ask_hello();
        };
        let Value::Bulk(Some(info)) = info else {
            return Err(surprise(ASK_VERSION, "a text", &info));
        };
        let valkey = field(&info, b"valkey_version:");
        let version = valkey.or_else(|| field(&info, b"redis_version:"));
        let version = version.ok_or_else(|| malformed(ASK_VERSION, "a text with `redis_version`", &info))?;
        self.is_valkey = valkey.is_some();
        self.server_version = printable(version);
        Ok(())
    }

    /// Reads the version and the session's number from the answer to HELLO, which every user may send in Redis 6 and
    /// later.
    fn ask_hello(&mut self) -> Result<(), WireError> {
        let Some(Value::Array(Some(hello))) = self.unless_forbidden(&[b"HELLO", b"2"])? else {
            return Ok(());
        };
        let told = |name: &[u8]| {
            let mut pairs = hello.chunks_exact(2);
            pairs.find_map(|pair| match pair {
                [Value::Bulk(Some(key)), value] if key == name => Some(value),
                _ => None,
            })
        };
        let text = |name: &[u8]| match told(name) {
            Some(Value::Bulk(Some(value))) => Some(value),
            _ => None,
        };
        if let Some(Value::Integer(id)) = told(b"id") {
            self.client_id = u64::try_from(*id).unwrap_or_default();
        }
        self.is_valkey = text(b"server").is_some_and(|it| it == b"valkey");
        self.server_version = text(b"version").map_or_else(String::new, |it| printable(it));
        Ok(())
    }

    fn ask_client_id(&mut self) -> Result<(), WireError> {
        match self.unless_forbidden(&[b"CLIENT", b"ID"])? {
            None if self.client_id == 0 => self.ask_hello(),
            None => Ok(()),
            Some(Value::Integer(id)) if id >= 0 => {
                self.client_id = id.cast_unsigned();
                Ok(())
            }
            Some(other) => Err(surprise(ASK_CLIENT_ID, "a number of 0 or more", &other)),
        }
    }

    /// Returns the answer to a command; `None` if the user's access list forbids the command.
    fn unless_forbidden(&mut self, parts: &[&[u8]]) -> Result<Option<Value>, WireError> {
        match self.command(parts) {
            Err(WireError::Server { code, .. }) if code == "NOPERM" => Ok(None),
            other => other.map(Some),
        }
    }

    fn expect_ok(&mut self, action: &'static str, parts: &[&[u8]]) -> Result<(), WireError> {
        match self.command(parts)? {
            Value::Simple(text) if text == "OK" => Ok(()),
            other => Err(surprise(action, "`OK`", &other)),
        }
    }
}

/// Returns the rest of the line of `info` that starts with `name`.
fn field<'a>(info: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    info.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(name)).map(<[u8]>::trim_ascii_end)
}

fn surprise(action: &'static str, expected: &'static str, found: &Value) -> WireError {
    let found = match found {
        Value::Simple(text) => text.clone().into_bytes(),
        Value::Error { code, .. } => code.clone().into_bytes(),
        Value::Integer(number) => number.to_string().into_bytes(),
        Value::Bulk(Some(bytes)) => bytes.clone(),
        Value::Bulk(None) | Value::Array(None) => b"nil".to_vec(),
        Value::Array(Some(_)) => b"an array".to_vec(),
    };
    malformed(action, expected, &found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(info: &str, name: &str, wanted: Option<&str>) {
        let found = field(info.as_bytes(), name.as_bytes());
        assert_eq!(found, wanted.map(str::as_bytes), "{info:?}");
    }

    #[test]
    fn finds_a_field_by_its_whole_name_at_the_start_of_a_line() {
        let info = "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n";
        check(info, "redis_version:", Some("7.2.4"));
        check(info, "valkey_version:", Some("8.0.1"));
        check(info, "version:", None);
        check("redis_version:6.0", "redis_version:", Some("6.0"));
        check("", "redis_version:", None);
    }
}
