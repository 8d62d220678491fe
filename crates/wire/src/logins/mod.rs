//! Finds the secrets of logins in the traffic of two other programs, so that a capture can leave them out.
//!
//! A [`Logins`] receives all bytes that pass one end of a connection, in order and in pieces of any size, and
//! overwrites each secret byte of a login with `*`. The other bytes stay, so a dissector can still read the login. If
//! the meaning of bytes is not known, because the connection began earlier or bytes are missing, [`Logins`] reports
//! that the bytes are to be left out. [`Logins`] reports this until it has seen a request and an answer whose form
//! proves where a request begins. If a connection does not follow the protocol, the rest of the connection is left out.
//! A statement is not a login: a password in a statement stays. Called by `looptax watch -w`.

mod follow;
mod memcached;
mod mysql;
mod postgres;
mod redis;
mod tls;

use looptax_model::dsn::Protocol;

pub use follow::Sender;
use follow::{Course, Follow};
use tls::Records;

/// The caller's action for the bytes that it passed to [`Logins::feed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The bytes no longer contain a secret of a login.
    Write,
    /// The meaning of the bytes is not known.
    LeaveOut,
}

/// Follows one connection.
pub struct Logins {
    protocol: Protocol,
    stage: Stage,
    n_hidden: u64,
}

enum Stage {
    Known(Box<dyn Follow>),
    /// Waits until a request follows an answer.
    Waiting {
        is_answered: bool,
    },
    /// Follows bytes that may be a request, and the bytes that may be their answer.
    Trying {
        follow: Box<dyn Follow>,
        is_answered: bool,
    },
    Encrypted(Records),
    Opaque,
}

impl Logins {
    /// Makes a follower; `None` for a protocol whose logins are not followed.
    pub fn new(protocol: Protocol, is_from_its_start: bool) -> Option<Self> {
        let follow = follow(protocol, true)?;
        let stage = if is_from_its_start { Stage::Known(follow) } else { Stage::Waiting { is_answered: false } };
        Some(Self { protocol, stage, n_hidden: 0 })
    }

    /// Hides the secrets in the bytes that `sender` sent.
    pub fn feed(&mut self, sender: Sender, bytes: &mut [u8]) -> Fate {
        match &mut self.stage {
            Stage::Encrypted(records) => {
                // After encryption was announced, the meaning of unencrypted bytes is not known.
                if records.take(sender, bytes) {
                    return Fate::Write;
                }
                self.stage = Stage::Opaque;
                return Fate::LeaveOut;
            }
            Stage::Opaque => return Fate::LeaveOut,
            Stage::Known(follow) => {
                // The connection uses another protocol, whose later messages may look like messages of this protocol.
                if follow.feed(sender, bytes, &mut self.n_hidden).is_err() {
                    self.stage = Stage::Opaque;
                    return Fate::LeaveOut;
                }
                match follow.course() {
                    Course::Plain => {}
                    Course::Encrypted => {
                        let mut records = Records::default();
                        if !records.take_first(sender, bytes) {
                            self.stage = Stage::Opaque;
                            return Fate::LeaveOut;
                        }
                        self.stage = Stage::Encrypted(records);
                    }
                    Course::Opaque => self.stage = Stage::Opaque,
                }
                return Fate::Write;
            }
            Stage::Waiting { .. } | Stage::Trying { .. } => {}
        }
        self.find_a_request(sender, bytes)
    }

    /// Looks for a request whose bounds are certain: it begins after an answer, it ends where its own answer begins,
    /// and its answer ends where the next request begins. After such a request the meaning of each byte is known.
    fn find_a_request(&mut self, sender: Sender, bytes: &mut [u8]) -> Fate {
        let stage = std::mem::replace(&mut self.stage, Stage::Waiting { is_answered: sender == Sender::Server });
        let is_client = sender == Sender::Client;
        let (mut follow, is_answered) = match stage {
            Stage::Trying { follow, is_answered: true } if is_client => {
                if follow.is_between(Sender::Server) && follow.course() == Course::Plain {
                    self.stage = Stage::Known(follow);
                    return self.feed(sender, bytes);
                }
                match self::follow(self.protocol, false) {
                    Some(follow) => (follow, false),
                    None => return Fate::LeaveOut,
                }
            }
            Stage::Trying { follow, is_answered } => {
                if !is_client && !follow.is_between(Sender::Client) {
                    return Fate::LeaveOut;
                }
                (follow, is_answered || !is_client)
            }
            Stage::Waiting { is_answered: true } if is_client => match self::follow(self.protocol, false) {
                Some(follow) => (follow, false),
                None => return Fate::LeaveOut,
            },
            _ => return Fate::LeaveOut,
        };
        let mut n_not_written = 0;
        if follow.feed(sender, bytes, &mut n_not_written).is_ok() {
            self.stage = Stage::Trying { follow, is_answered };
        }
        Fate::LeaveOut
    }

    /// Reports that bytes of this sender are missing at this point.
    pub fn skip(&mut self, sender: Sender, n: u64) {
        let is_lost = match &mut self.stage {
            Stage::Known(follow) => !follow.skip(sender, n),
            Stage::Waiting { .. } | Stage::Trying { .. } => true,
            Stage::Encrypted(records) => {
                if !records.skip(sender, n) {
                    self.stage = Stage::Opaque;
                }
                return;
            }
            Stage::Opaque => false,
        };
        if is_lost {
            self.stage = Stage::Waiting { is_answered: false };
        }
    }

    /// Returns the number of secret bytes that have been overwritten so far.
    pub fn n_hidden(&self) -> u64 {
        self.n_hidden
    }

    pub fn is_encrypted(&self) -> bool {
        matches!(self.stage, Stage::Encrypted(_))
    }
}

pub fn are_followed(protocol: Protocol) -> bool {
    follow(protocol, true).is_some()
}

fn follow(protocol: Protocol, is_from_its_start: bool) -> Option<Box<dyn Follow>> {
    match protocol {
        Protocol::Mysql => Some(Box::new(mysql::Mysql::new(is_from_its_start))),
        Protocol::Postgres => Some(Box::new(postgres::Postgres::new(is_from_its_start))),
        Protocol::Redis => Some(Box::new(redis::Redis::new(is_from_its_start))),
        Protocol::Memcached => Some(Box::new(memcached::Memcached::new())),
        Protocol::Mongodb | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => None,
    }
}
