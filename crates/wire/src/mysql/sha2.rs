//! The exchanges of `caching_sha2_password` and `sha256_password`.
//!
//! `mysql_common` computes the scramble and the encryption. Its own procedure for these plugins is not used, because
//! that procedure trusts the key that a peer sends. Called by `auth`.
//!
//! # Source
//! MySQL's internal documentation of both plugins.

use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;

use crate::error::READABLE;
use crate::mysql::{fault, rsa};
use crate::{Channel, WireError};

const SALT_BYTES: usize = 20;

/// The server's message that it found the account in its cache.
const FOUND_IN_CACHE: &[u8] = &[3];
const WANTS_PASSWORD: &[u8] = &[4];

/// One of the two plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `caching_sha2_password`: the server remembers accounts that logged in before.
    Caching,
    Plain,
}

impl Kind {
    /// Returns the request for the server's key.
    fn asks_for_key(self) -> Vec<u8> {
        match self {
            Self::Caching => vec![2],
            Self::Plain => vec![1],
        }
    }

    /// Returns whether a password may be sent in clear text. Over a Unix socket, MySQL accepts a password in clear text
    /// only for `Caching`.
    fn may_be_clear(self, channel: Channel) -> bool {
        channel == Channel::Tls || (self == Self::Caching && channel == Channel::Local)
    }
}

/// The message that the server sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    Salt,
    Cache,
    Key,
    Nothing,
}

#[derive(Debug)]
pub(super) struct Exchange {
    kind: Kind,
    awaits: Awaits,
    salt: [u8; SALT_BYTES],
}

impl Exchange {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, awaits: Awaits::Salt, salt: [0; SALT_BYTES] }
    }

    /// Returns the answer to a challenge; `None` if no answer is sent.
    ///
    /// # Errors
    /// If the challenge is not part of this exchange, or the bytes that the server sent as its key are not a key.
    pub(super) fn answer(
        &mut self,
        action: &'static str,
        challenge: &[u8],
        password: &[u8],
        channel: Channel,
    ) -> Result<Option<Vec<u8>>, WireError> {
        let malformed = || fault::malformed(action, "a challenge of the plugin", challenge);
        let awaited = std::mem::replace(&mut self.awaits, Awaits::Nothing);
        match (awaited, challenge) {
            (Awaits::Salt, salt) => {
                self.salt = salt.try_into().map_err(|_| malformed())?;
                if password.is_empty() {
                    return Ok(Some(Vec::new()));
                }
                if self.kind == Kind::Caching {
                    self.awaits = Awaits::Cache;
                    let scramble = scramble_sha256(&self.salt, password);
                    return Ok(scramble.map(Vec::from));
                }
                self.password_or_key(password, channel).map(Some)
            }
            (Awaits::Cache, FOUND_IN_CACHE) => Ok(None),
            (Awaits::Cache, WANTS_PASSWORD) => self.password_or_key(password, channel).map(Some),
            (Awaits::Key, pem) => {
                let salted = terminated(password).into_iter().zip(self.salt.iter().cycle());
                let salted: Vec<u8> = salted.map(|(byte, salt)| byte ^ salt).collect();
                rsa::encrypt(action, pem, &salted).map(Some)
            }
            _ => Err(malformed()),
        }
    }

    /// Returns the password in clear text if no other program can read it. If other programs could read it, returns the
    /// request for the server's key. Any process that answers can send a key, so looptax requests a key only from a
    /// server on this machine.
    fn password_or_key(&mut self, password: &[u8], channel: Channel) -> Result<Vec<u8>, WireError> {
        if self.kind.may_be_clear(channel) {
            return Ok(terminated(password));
        }
        if channel == Channel::Foreign {
            return Err(WireError::Unsupported { what: READABLE.to_owned() });
        }
        self.awaits = Awaits::Key;
        Ok(self.kind.asks_for_key())
    }
}

/// Returns the password with its final zero byte, as it is sent.
fn terminated(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}
