//! Holds the facts that are known before the logins over TCP and over the socket, and the results of the logins.
//!
//! Plain data for `logins` and for the code of each protocol.

use std::fmt;
use std::net::SocketAddr;

use looptax_advise::check::Refusal;
use looptax_bench::path::{Conversation, PathError};
use looptax_host::discover::Server;
use looptax_model::dsn::Address;
use looptax_model::failure::with_causes;
use looptax_wire::WireError;

use crate::diagnose::check::client::Client;
use crate::diagnose::socket_of::SocketOf;

/// A login that is compared over both transports: who logs in, and where each transport leads.
pub(in crate::diagnose::check) struct Sides<'a> {
    pub address: &'a Address,
    pub tcp: SocketAddr,
    pub socket: &'a SocketOf,
    pub server: Option<&'a Server>,
    pub client: &'a Client,
    /// Whether the client reaches the socket. If the client does not reach it, looptax logs in as looptax's own user,
    /// to be able to report the other facts.
    pub is_reachable: bool,
}

impl Sides<'_> {
    /// Whether the listener passes logins on to another server and does not use PostgreSQL's rules.
    pub(in crate::diagnose::check) fn is_pooler(&self) -> bool {
        self.server.is_some_and(|it| it.kind.is_pooler())
    }
}

/// A connection with a successful login, or the reason why the login failed.
pub(in crate::diagnose::check) struct Opened {
    pub conversation: Result<Conversation, Refused>,
    /// The server's refusal of the database, if the account can log in only without that database.
    pub database_refusal: Option<String>,
    /// The user that logged in, in words for a person.
    pub whom: String,
    /// Whether a server answered; it may still have refused the login.
    pub is_met: bool,
    /// Descriptions of answers that do not fit their requests.
    pub unfit: Vec<String>,
}

impl Opened {
    /// If the listener is not a server of this kind, adds the reason for the failed login to `unfit`.
    pub(in crate::diagnose::check) fn keep_unfit_login(&mut self) {
        let why = self.conversation.as_ref().err();
        let unfit = why.filter(|it| it.is_unfit).map(|it| it.words.clone());
        self.unfit.extend(unfit);
    }

    /// Returns the server's answer; `None` if the server refused, or after any other error. Any other error is also
    /// added to `unfit`.
    pub(in crate::diagnose::check) fn told<T>(&mut self, answer: Result<T, WireError>) -> Option<T> {
        match answer {
            Ok(told) => Some(told),
            Err(WireError::Server { .. }) => None,
            Err(error) => {
                self.unfit.push(with_causes(&error));
                None
            }
        }
    }

    /// Does the same as [`Self::told`] for facts that every server reports to every account: also adds a refusal to
    /// `unfit`.
    pub(in crate::diagnose::check) fn must_tell<T>(&mut self, answer: Result<T, WireError>) -> Option<T> {
        if let Err(refusal @ WireError::Server { .. }) = &answer {
            self.unfit.push(with_causes(refusal));
        }
        self.told(answer)
    }

    /// Sends a request if the login worked; returns the answer like [`Self::told`].
    pub(in crate::diagnose::check) fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut Conversation) -> Result<T, WireError>,
    ) -> Option<T> {
        let answer = question(self.conversation.as_mut().ok()?);
        self.told(answer)
    }

    /// Sends a request for facts that every server reports to every account; returns the answer like
    /// [`Self::must_tell`].
    pub(in crate::diagnose::check) fn ask_surely<T>(
        &mut self,
        question: impl FnOnce(&mut Conversation) -> Result<T, WireError>,
    ) -> Option<T> {
        let answer = question(self.conversation.as_mut().ok()?);
        self.must_tell(answer)
    }
}

impl Opened {
    pub(in crate::diagnose::check) fn is_sealed(&self) -> bool {
        let opened = self.conversation.as_ref();
        opened.is_ok_and(|it| it.facts().tls.is_some())
    }
}

impl Drop for Opened {
    /// Ends the session with the protocol's closing message.
    fn drop(&mut self) {
        let left = Refused::before_the_server(String::new());
        if let Ok(conversation) = std::mem::replace(&mut self.conversation, Err(left)) {
            conversation.leave();
        }
    }
}

#[derive(Debug, Clone)]
pub(in crate::diagnose::check) struct Refused {
    pub words: String,
    /// The server's own error code; `None` if the server sent no error.
    pub code: Option<String>,
    /// Whether the login failed because of a password that the server does not need.
    pub is_needless_password: bool,
    /// Whether looptax did not try the login, because nothing proves that the expected server listens there.
    pub is_of_stranger: bool,
    /// Whether the answer cannot come from a server of this kind.
    pub is_unfit: bool,
}

impl Refused {
    /// Returns a failure that happened before the server was reached.
    pub(in crate::diagnose::check) fn before_the_server(words: String) -> Self {
        Self { words, code: None, is_needless_password: false, is_of_stranger: false, is_unfit: false }
    }
}

impl From<&PathError> for Refused {
    fn from(error: &PathError) -> Self {
        let code = match error {
            PathError::Protocol { source, .. } => code(source),
            _ => None,
        };
        Self {
            words: with_causes(error),
            code,
            is_needless_password: error.is_needless_password(),
            is_of_stranger: error.is_of_stranger(),
            is_unfit: matches!(
                error,
                PathError::Protocol { source: WireError::Malformed { .. } | WireError::TooLong { .. }, .. }
            ),
        }
    }
}

impl From<&WireError> for Refused {
    fn from(error: &WireError) -> Self {
        Self {
            words: with_causes(error),
            code: code(error),
            is_needless_password: matches!(error, WireError::NeedlessPassword { .. }),
            is_of_stranger: false,
            is_unfit: false,
        }
    }
}

impl From<&Refused> for Refusal {
    fn from(refused: &Refused) -> Self {
        Self { words: refused.words.clone(), code: refused.code.clone().unwrap_or_default() }
    }
}

fn code(error: &WireError) -> Option<String> {
    match error {
        WireError::Server { code, .. } => Some(code.clone()),
        _ => None,
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}
