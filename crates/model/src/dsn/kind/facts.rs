//! The form of the facts about one kind of server.
//!
//! Each family of servers has a file in this folder with the facts about its kinds. The rooms use these facts instead
//! of naming kinds.

use super::variants::{Kind, Protocol};
use crate::dsn::Arm;

/// The facts about a kind of server.
#[derive(Debug)]
pub struct Facts {
    /// The word for it in commands, tables and records: `mariadb`.
    pub name: &'static str,
    /// Its name as people write it: `MariaDB`.
    pub title: &'static str,
    /// The protocol of its clients; `None` if looptax does not speak it.
    pub protocol: Option<Protocol>,
    /// The file names of its program. Another kind may have a program of the same name; the version then decides.
    pub programs: &'static [&'static str],
    /// For a pooler: the kind of server behind it. Clients' connections end at the pooler.
    pub pools: Option<Kind>,
    /// For a pooler whose rules for logins may depend on the transport: the setting that decides.
    pub logins: Option<LoginSetting>,
    /// Where it listens if nothing is configured.
    pub usual: Usual,
    /// How its program and similar programs spell their versions, in order of precedence. A kind without any is
    /// recognised by its package.
    pub spellings: &'static [Spelling],
    /// How many connections may wait in its queue with its package's settings, as seen on Debian 12; `None` if it was
    /// not seen.
    pub usual_backlog: Option<u32>,
    /// How to lengthen its queue of connections.
    pub how_to_raise_the_backlog: &'static str,
    /// The setting that gives it a socket, and the steps that this takes.
    pub how_to_add_a_socket: &'static str,
    /// How looptax starts a private server of this kind; `None` if it cannot.
    pub private: Option<Private>,
}

/// The setting of a pooler that decides whether logins have the same result over a socket and over TCP.
#[derive(Debug)]
pub struct LoginSetting {
    /// The file that the pooler reads if its command line does not name one; empty if the command line must name it.
    pub file: &'static str,
    /// The option before the file on the command line; empty if the file is the last word.
    pub option: &'static str,
    pub name: &'static str,
    /// The default if the file does not set it.
    pub usual: &'static str,
    /// The values with which logins have the same result.
    pub same: &'static [&'static str],
    /// The start of a line that reads another file.
    pub include: &'static str,
}

/// How looptax starts a private server of a kind, on a Debian-like system.
#[derive(Debug)]
pub struct Private {
    /// The file names of its program, the most likely first; empty if looptax itself is the server.
    pub programs: &'static [&'static str],
    /// Whether a program that prints this text for `--version` is of this kind: a `mysqld` may be a link to MariaDB's
    /// server, and a `redis-server` a link to Valkey's.
    pub prints: fn(&str) -> bool,
    /// The Debian package with the program.
    pub package: Option<&'static str>,
    /// System accounts under which it runs if looptax runs as root, the best first.
    pub accounts: &'static [&'static str],
    /// Whether it is measured without being named: databases, and echo to measure only the transport.
    pub is_usual: bool,
    /// The arms that it does not have, each with the reason.
    pub lacks: &'static [(Arm, &'static str)],
}

/// Ports and sockets that servers use unless they are configured otherwise. Several kinds may share them.
#[derive(Debug)]
pub struct Usual {
    /// The first is the port for clients; the others are for other protocols of the server.
    pub ports: &'static [u16],
    /// The beginnings of the sockets' names.
    pub names: &'static [&'static str],
    /// The likely servers, for a person who sees only the endpoint.
    pub words: &'static str,
}

impl Usual {
    pub(super) const NOWHERE: Self = Self { ports: &[], names: &[], words: "" };
}

/// How a version is written among the constants of a program.
#[derive(Debug)]
pub struct Spelling {
    /// The kind that a program with this spelling is.
    pub kind: Kind,
    /// Words that the program also contains and that distinguish similar programs; empty if there are none.
    pub mark: &'static str,
    pub form: Form,
}

#[derive(Debug)]
pub enum Form {
    /// The version directly follows these words.
    After(&'static str),
    /// The version is in a constant in which these words follow its digits.
    With(&'static str),
    /// The version is a constant of only three numbers, of which the first is between the two limits. The highest such
    /// constant is used; if the flag is set, the highest one that also occurs with a build number after it.
    Alone((u32, u32), bool),
}

impl Spelling {
    pub(super) const fn new(kind: Kind, mark: &'static str, form: Form) -> Self {
        Self { kind, mark, form }
    }
}

/// Why a private server without TLS on its socket does not have the arm `tls-unix`.
pub(super) const TLS_UNIX: (Arm, &str) =
    (Arm::TlsUnix, "the server does not support TLS on its socket; MySQL and MariaDB do");
/// Why a private server without TLS does not have the arm `tls`.
pub(super) const TLS: (Arm, &str) = (Arm::Tls, "the private server has no TLS");
/// Why a private server that supports only paths does not have the arm `abstract`.
pub(super) const ABSTRACT: (Arm, &str) =
    (Arm::Abstract, "the server makes a file of that name instead; PostgreSQL and echo have abstract sockets");
