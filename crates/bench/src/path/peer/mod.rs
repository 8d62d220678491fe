//! Decides whether the server is at the other end of a connection, before any part of a login is sent. No other module
//! decides this.
//!
//! Every login in the module `path` calls [`admit`], and so does other code that logs in over a [`Link`]. `rule`
//! contains the rule; `far_end`, `sock_diag` and `process` query the kernel.

mod accounts;
mod far_end;
mod process;
mod rule;
mod sock_diag;

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use looptax_model::dsn::Protocol;
use looptax_wire::postgres::Clear;
use looptax_wire::{Channel, Login, keep_out_of_words};

use crate::path::{Endpoint, Link, PathError};
use rule::{Ruling, Why, ruling};

/// The setting of `--trust-peer`.
static TRUSTS_ANYBODY: AtomicBool = AtomicBool::new(false);

/// The environment variable that enables MySQL's plugin for clear-text passwords.
///
/// # Source
/// dev.mysql.com, "Client-Side Cleartext Pluggable Authentication": the value begins with 1, Y or y.
const ENABLES_CLEAR: &str = "LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN";

/// Lets this process log in to any server that answers, because the user insists on it.
pub fn trust_peers() {
    TRUSTS_ANYBODY.store(true, Ordering::Relaxed);
}

/// Permission to log in over a connection: proof that its peer was checked.
#[derive(Debug, Clone, Copy)]
pub struct Admitted {
    /// The channel between us and the server.
    pub(crate) channel: Channel,
    /// Whether the password may be sent in the clear over a channel on which no process can listen.
    pub(crate) enables_clear: bool,
}

impl Admitted {
    /// Returns the login; clear-text passwords are also enabled if the environment enables them.
    pub(crate) fn with(self, login: &Login) -> Cow<'_, Login> {
        if self.enables_clear == login.enables_clear {
            return Cow::Borrowed(login);
        }
        Cow::Owned(Login { enables_clear: self.enables_clear, ..login.clone() })
    }

    /// Returns whether a password may be sent unencrypted, or as an md5 hash.
    pub fn clear(self) -> Clear {
        match self.channel {
            Channel::Foreign => Clear::NeverGoes,
            Channel::Local | Channel::PlainTcp | Channel::Tls => Clear::MayGo,
        }
    }
}

/// Decides whether `login` may be sent over the connection, which is not encrypted yet.
///
/// # Errors
/// [`PathError::Stranger`] if nothing proves that the server is at the other end.
///
/// # Cost
/// A few system calls. The first login to a server under one of the system's accounts also checks all processes.
pub fn admit(protocol: Protocol, link: &Link, login: &Login) -> Result<Admitted, PathError> {
    let trusts_anybody = TRUSTS_ANYBODY.load(Ordering::Relaxed);
    decide(trusts_anybody, false, protocol, link, login)
}

/// Like [`admit`], for a link that is encrypted before anything else is sent, so that no process on the way sees the
/// password.
pub(crate) fn admit_sealed(protocol: Protocol, link: &Link, login: &Login) -> Result<Admitted, PathError> {
    let trusts_anybody = TRUSTS_ANYBODY.load(Ordering::Relaxed);
    decide(trusts_anybody, true, protocol, link, login)
}

fn decide(
    trusts_anybody: bool,
    is_sealed: bool,
    protocol: Protocol,
    link: &Link,
    login: &Login,
) -> Result<Admitted, PathError> {
    if !login.is_for_own_server {
        keep_out_of_words(&login.password);
    }
    let near = match link.endpoint() {
        _ if is_sealed => Channel::Tls,
        Endpoint::Unix(_) | Endpoint::Abstract(_) => Channel::Local,
        Endpoint::Tcp(_) => Channel::PlainTcp,
    };
    let admitted = |channel| Admitted {
        channel,
        enables_clear: login.enables_clear || enables_clear(std::env::var(ENABLES_CLEAR).ok()),
    };
    if trusts_anybody || login.is_for_own_server || says_nothing(protocol, login) {
        return Ok(admitted(near));
    }
    let far_end = far_end::of(link);
    let process = || far_end.process(protocol);
    let refused = |why| PathError::Stranger { endpoint: link.endpoint().to_string(), why };
    match ruling(far_end.who, &accounts::read_all(), process) {
        Ruling::Proved => Ok(admitted(near)),
        Ruling::NotInClear if is_sealed => Ok(admitted(near)),
        Ruling::NotInClear if is_clear(protocol, login) => Err(refused(
            "the server is on another machine, and the password would be sent there unencrypted".to_owned(),
        )),
        Ruling::NotInClear => Ok(admitted(Channel::Foreign)),
        Ruling::Stranger(why) => Err(refused(words(why, protocol))),
    }
}

/// Returns whether the login sends nothing: the protocol has no login, or user and password are empty.
fn says_nothing(protocol: Protocol, login: &Login) -> bool {
    match protocol {
        Protocol::Mysql | Protocol::Postgres => false,
        Protocol::Redis | Protocol::Mongodb => login.user.is_empty() && login.password.is_empty(),
        Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => true,
    }
}

/// Returns whether this login can only send its password in the clear.
fn is_clear(protocol: Protocol, login: &Login) -> bool {
    protocol == Protocol::Redis && !login.password.is_empty()
}

fn enables_clear(value: Option<String>) -> bool {
    value.is_some_and(|it| it.starts_with(['1', 'Y', 'y']))
}

fn words(why: Why, protocol: Protocol) -> String {
    match why {
        Why::Person(uid) => {
            format!("the listening process belongs to {}, which is neither root nor you", accounts::named(uid))
        }
        Why::Program(uid) => format!(
            "the listening process belongs to {}; its program is not a known {} server, or the program's file belongs \
             to the same account",
            accounts::named(uid),
            protocol.title()
        ),
        Why::Untold => "the kernel does not show which user the listening process belongs to".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use looptax_model::dsn::Secret;
    use looptax_testkit::fake::{Answer, Fake, Script, Speaks};
    use looptax_testkit::scratch::Scratch;
    use looptax_testkit::skips::skip;

    use super::*;
    use crate::path::{Conversation, Limits};

    fn login() -> Login {
        Login { user: "app".to_owned(), password: Secret::new("s3cr3t-w0rd"), ..Login::default() }
    }

    /// Starts a fake server as the account `nobody`, whose program has no server's name; `None` without root.
    fn of_nobody(scratch: &Scratch, speaks: Speaks) -> Option<Fake> {
        if !rustix::process::geteuid().is_root() {
            skip("needs root");
            return None;
        }
        let folder = scratch.work();
        set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        set_permissions(folder.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
        let script = Script { wants_password: true, uid: Some(65_534), ..Script::new(speaks, Answer::Done) };
        Some(Fake::start(&folder, script))
    }

    #[test]
    fn r44_nothing_is_said_to_another_users_socket_or_port() {
        for (speaks, protocol) in [
            (Speaks::Mysql, Protocol::Mysql),
            (Speaks::Postgres, Protocol::Postgres),
            (Speaks::Redis, Protocol::Redis),
            (Speaks::Mongodb, Protocol::Mongodb),
        ] {
            let scratch = Scratch::new();
            let Some(fake) = of_nobody(&scratch, speaks) else {
                return;
            };
            for endpoint in [Endpoint::Unix(fake.socket.clone()), Endpoint::Tcp(fake.tcp)] {
                let opened = Conversation::open(protocol, &endpoint, &login(), Limits::default());
                let Err(PathError::Stranger { why, .. }) = opened else {
                    panic!("{protocol} {endpoint}: logged in");
                };
                assert!(why.contains("(uid 65534)"), "{why}");
                let link = Link::open(&endpoint, Limits::default()).unwrap();
                assert!(decide(true, false, protocol, &link, &login()).is_ok());
                let own = Login { is_for_own_server: true, ..login() };
                assert!(decide(false, false, protocol, &link, &own).is_ok());
            }
            assert_eq!(fake.heard(), b"", "{protocol}");
        }
    }

    #[test]
    fn r44_our_own_server_hears_a_login_over_either() {
        let scratch = Scratch::new();
        let script = Script::new(Speaks::Redis, Answer::Done);
        let fake = Fake::start(&scratch.work(), script);
        for endpoint in [Endpoint::Unix(fake.socket.clone()), Endpoint::Tcp(fake.tcp)] {
            let opened = Conversation::open(Protocol::Redis, &endpoint, &login(), Limits::default());
            assert!(opened.is_ok(), "{endpoint}");
        }
    }

    #[test]
    fn mysqls_word_in_the_environment_counts_by_its_first_sign() {
        let enables = |value: &str| enables_clear(Some(value.to_owned()));
        assert!(enables("1") && enables("y") && enables("Yes"));
        assert!(!enables("0") && !enables("") && !enables("true") && !enables_clear(None));
    }
}
