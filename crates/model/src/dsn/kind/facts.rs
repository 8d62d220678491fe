//! The form of the facts about one kind of server.
//!
//! Each family of servers has a file in this folder with the facts about its kinds. Other code reads these facts
//! instead of checking for single kinds.

use super::variants::{Kind, Protocol};
use crate::dsn::Arm;

#[derive(Debug)]
pub struct Facts {
    /// The kind's name in commands, tables and records: `mariadb`.
    pub name: &'static str,
    /// The kind's proper name: `MariaDB`.
    pub title: &'static str,
    /// The protocol of the server's clients; `None` if looptax does not speak this protocol.
    pub protocol: Option<Protocol>,
    /// The file names of the server's program. If a program of another kind has the same file name, the version decides
    /// the kind.
    pub programs: &'static [&'static str],
    /// For a pooler: the kind of server behind it. Clients' connections end at the pooler.
    pub pools: Option<Kind>,
    /// The pooler's setting that decides whether its rules for logins depend on the transport; `None` if there is no
    /// such setting.
    pub logins: Option<LoginSetting>,
    /// The ports and sockets on which the server listens if nothing is configured.
    pub usual: Usual,
    /// The forms in which the program, and similar programs, contain their version. looptax tries the forms in this
    /// order. A kind with an empty list is recognised by its package.
    pub spellings: &'static [Spelling],
    /// How many connections may wait in the server's queue with the settings of its package, as seen on Debian 12;
    /// `None` if this was not seen.
    pub usual_backlog: Option<u32>,
    /// How to lengthen the server's queue of connections.
    pub how_to_raise_the_backlog: &'static str,
    /// The setting that makes the server listen on a socket, and the necessary steps.
    pub how_to_add_a_socket: &'static str,
    /// How looptax starts a private server of this kind; `None` if looptax cannot start one.
    pub private: Option<Private>,
}

/// The setting of a pooler that decides whether logins have the same result over a socket and over TCP.
#[derive(Debug)]
pub struct LoginSetting {
    /// The configuration file that the pooler reads if the command line names no file; empty if the command line has
    /// to name the file.
    pub file: &'static str,
    /// The command-line option that precedes the file; empty if the file is the last argument.
    pub option: &'static str,
    pub name: &'static str,
    /// The value that applies if the file does not contain the setting.
    pub usual: &'static str,
    /// The values with which logins have the same result over both transports.
    pub same: &'static [&'static str],
    /// The start of a line that reads another file.
    pub include: &'static str,
}

/// How looptax starts a private server of a kind, on a Debian-like system.
#[derive(Debug)]
pub struct Private {
    /// The file names of the program, the most likely name first; empty if looptax itself is the server.
    pub programs: &'static [&'static str],
    /// Checks the text that a program prints for `--version`, and returns whether the program is of this kind. The
    /// file name is not enough: a `mysqld` may be a link to MariaDB's server, and a `redis-server` a link to Valkey's.
    pub prints: fn(&str) -> bool,
    /// The Debian package with the program.
    pub package: Option<&'static str>,
    /// System accounts under which the server runs if looptax runs as root, the best account first.
    pub accounts: &'static [&'static str],
    /// Whether the server is measured if the user names no server: true for databases, and for echo, which measures
    /// only the transport.
    pub is_usual: bool,
    /// The arms that the private server does not have, each with the reason.
    pub lacks: &'static [(Arm, &'static str)],
}

/// Ports and sockets that servers use unless they are configured otherwise. Several kinds may share these ports and
/// sockets.
#[derive(Debug)]
pub struct Usual {
    /// The ports: the first port is for clients, the others are for other protocols of the server.
    pub ports: &'static [u16],
    /// The beginnings of the names of the server's sockets.
    pub names: &'static [&'static str],
    /// Text for a person who sees only the endpoint: the servers that probably listen there.
    pub words: &'static str,
}

impl Usual {
    pub(super) const NOWHERE: Self = Self { ports: &[], names: &[], words: "" };
}

/// How a version is written among the constants of a program.
#[derive(Debug)]
pub struct Spelling {
    /// The kind of a program whose version is written in this way.
    pub kind: Kind,
    /// Text that the program also contains and that distinguishes it from similar programs; empty if none is needed.
    pub mark: &'static str,
    pub form: Form,
}

#[derive(Debug)]
pub enum Form {
    /// The version directly follows this text.
    After(&'static str),
    /// The version is a constant in the program: digits, followed by this text.
    With(&'static str),
    /// The version is a constant that consists only of three numbers; the first number is between the two limits. Of
    /// several such constants, looptax uses the highest. If the flag is set, looptax uses only constants that also
    /// occur with a build number after them.
    Alone((u32, u32), bool),
}

impl Spelling {
    pub(super) const fn new(kind: Kind, mark: &'static str, form: Form) -> Self {
        Self { kind, mark, form }
    }
}

/// The reason why a private server that does not support TLS on its socket lacks the arm `tls-unix`.
pub(super) const TLS_UNIX: (Arm, &str) =
    (Arm::TlsUnix, "the server does not support TLS on its socket; MySQL and MariaDB do");
/// The reason why a private server that does not support TLS lacks the arm `tls`.
pub(super) const TLS: (Arm, &str) = (Arm::Tls, "the private server has no TLS");
/// The reason why a private server that supports only sockets with a path lacks the arm `abstract`.
pub(super) const ABSTRACT: (Arm, &str) =
    (Arm::Abstract, "the server makes a file of that name instead; PostgreSQL and echo have abstract sockets");
