//! The errors on the way to a server, and their hints.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use looptax_model::failure::{Explain, Severity};
use looptax_wire::WireError;

use crate::path::LocalPorts;

/// The longest path that fits into `sockaddr_un.sun_path` with its final zero byte.
///
/// # Source
/// unix(7): `sun_path` has 108 bytes.
pub const MAX_SOCKET_PATH_BYTES: usize = 107;

/// Opening or proving an arm failed.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("the socket path has {bytes} bytes, but the kernel accepts at most {MAX_SOCKET_PATH_BYTES}: `{path}`")]
    TooLong { path: PathBuf, bytes: usize },
    #[error("cannot connect to the socket `{path}`")]
    ConnectUnix { path: PathBuf, source: io::Error },
    #[error("cannot connect to {address} over TCP")]
    ConnectTcp { address: SocketAddr, source: io::Error },
    /// A property of an open connection could not be read or set.
    #[error("cannot {action} on a new connection")]
    Option { action: &'static str, source: io::Error },
    /// The server did not follow its protocol, or refused looptax.
    #[error("cannot {action} over {endpoint}")]
    Protocol {
        /// The step that failed: `log in`, `prepare the query`.
        action: &'static str,
        endpoint: String,
        source: WireError,
    },
    /// The server refuses a statement that a user wrote.
    #[error("the server refuses the statement at {place}")]
    Refused { place: String, source: WireError },
    /// looptax does not log in, because nothing proves that the server is at the other end.
    #[error("looptax did not log in over {endpoint}: {why}")]
    Stranger {
        endpoint: String,
        /// The process or user at the other end, as far as looptax can see.
        why: String,
    },
    /// A connection does not belong to its arm.
    #[error("cannot prove connection {connection_id} of arm `{arm}`: {found}")]
    Unproved {
        arm: &'static str,
        /// The server's number for the connection.
        connection_id: u64,
        found: String,
    },
    /// Neither the server nor the kernel reports which processes hold the server's ends of our connections.
    #[error(
        "neither the server nor the kernel shows which process has the other end of the connections over {endpoint}"
    )]
    Unseen { endpoint: String },
    /// No thread of the server is known to serve connections.
    #[error("looptax cannot tell which threads of process {pid} serve connections, so it pins none")]
    NoWorker { pid: u32 },
    #[error("the arms lead to different servers: {detail}")]
    DifferentServers { detail: String },
    #[error("workload `{workload}` does not exist for {protocol}")]
    NoSuchWorkload { workload: String, protocol: &'static str },
}

impl PathError {
    /// Returns the code and the message with which a server refused.
    pub fn refusal(&self) -> Option<(&str, &str)> {
        match self {
            Self::Protocol {
                source: WireError::Server { code, message } | WireError::NeedlessPassword { code, message },
                ..
            } => Some((code, message)),
            _ => None,
        }
    }

    /// Returns whether the login was refused because nothing proves which process is at the other end.
    pub fn is_of_stranger(&self) -> bool {
        matches!(self, Self::Stranger { .. })
    }

    /// Returns whether the server refused a login that it may accept over TLS. MariaDB sends the same code for a wrong
    /// password.
    pub(crate) fn may_want_tls(&self) -> bool {
        self.refusal().is_some_and(|(code, _)| matches!(code, "1045" | "3159" | "28000"))
    }

    /// Renames the action `log in` for protocols without a login, in which this step is the request for the first page.
    #[must_use]
    pub(crate) fn named_for(self, protocol: looptax_model::dsn::Protocol) -> Self {
        use looptax_model::dsn::Protocol::{Fastcgi, Http};
        match self {
            Self::Protocol { action: LOG_IN, endpoint, source } if matches!(protocol, Fastcgi | Http) => {
                Self::Protocol { action: "request a page", endpoint, source }
            }
            other => other,
        }
    }

    /// Returns whether the server asked for an authentication method that looptax does not have. MySQL also does this
    /// for users that do not exist.
    pub fn is_of_plugin(&self) -> bool {
        matches!(self, Self::Protocol { action: LOG_IN, source: WireError::Unsupported { .. }, .. })
    }

    /// Returns whether the server did not list the connections, because Redis's access list forbids it or because the
    /// protocol has no such command.
    pub fn is_untold(&self) -> bool {
        let has_no_words =
            matches!(self, Self::Protocol { action: ASK_CONNECTIONS, source: WireError::Unsupported { .. }, .. });
        has_no_words || self.refusal().is_some_and(|(code, _)| code == "NOPERM")
    }

    /// If the protocol cannot list connections, returns [`Self::Unseen`] instead of this error: neither the server nor
    /// the kernel reports the connections.
    #[must_use]
    pub fn also_unseen(self) -> Self {
        match self {
            Self::Protocol { endpoint, source: WireError::Unsupported { .. }, .. } => Self::Unseen { endpoint },
            other => other,
        }
    }

    /// Returns whether Redis refused a password because the server does not need a password.
    pub fn is_needless_password(&self) -> bool {
        matches!(self, Self::Protocol { source: WireError::NeedlessPassword { .. }, .. })
    }
}

impl Explain for PathError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::TooLong { .. } => {
                Some("use a folder with a shorter path, or a short symbolic link to the folder".to_owned())
            }
            Self::ConnectUnix { source, path } => Some(unix_hint(source, path)),
            Self::ConnectTcp { source, address } => Some(tcp_hint(source, *address)),
            Self::Protocol { action, source, .. } if *action == ASK_CONNECTIONS => question_hint(source),
            error if error.is_of_plugin() => Some(
                "check the user name and the account's plugin: for an account that does not exist, MySQL asks for \
                 an arbitrary plugin"
                    .to_owned(),
            ),
            Self::Protocol { source, .. } => wire_hint(source),
            Self::Refused { .. } => {
                Some("correct the statement; the server's own client reports the same error".to_owned())
            }
            Self::DifferentServers { .. } => {
                Some("pass the socket of the URL's server with --socket; nothing was measured".to_owned())
            }
            Self::Stranger { .. } => Some(TRUST_PEER.to_owned()),
            Self::Unproved { .. } => {
                Some("check whether a proxy, a port forward or a second server answers at that address".to_owned())
            }
            Self::Unseen { .. } => Some("run looptax as root, or as the user that runs the server".to_owned()),
            Self::NoWorker { .. } => Some("use memcached 1.6.18 or newer, which names its threads".to_owned()),
            Self::Option { .. } | Self::NoSuchWorkload { .. } => None,
        }
    }

    fn severity(&self) -> Severity {
        match self {
            Self::Unproved { .. } | Self::DifferentServers { .. } => Severity::Invalid,
            _ => Severity::Environment,
        }
    }
}

/// The hint if nothing proves which process is at the other end.
pub const TRUST_PEER: &str = "`ss -xlp` and `ss -tlnp` show the listening process; with --trust-peer looptax logs \
    in anyway, and that process gets the password";

pub(crate) const LOG_IN: &str = "log in";

/// The action in the error of a failed query, except for [`ASK_CONNECTIONS`].
pub(crate) const ASK: &str = "ask the server";

/// The action in the error of the query that proves that both arms lead to one server.
pub(crate) const ASK_CONNECTIONS: &str = "ask the server about our connections";

/// Returns the hint for a query that failed. For example, the hint names the rights that an account needs to prove the
/// arms.
fn question_hint(source: &WireError) -> Option<String> {
    match source {
        WireError::Server { code, .. } if code == "NOPERM" => Some(
            "looptax uses INFO and CLIENT LIST to prove that both transports lead to one server: allow this user these \
             commands (ACL SETUSER NAME +info +client|list), or run looptax as root (looptax then asks the kernel \
             instead); `looptax check` needs neither these commands nor root"
                .to_owned(),
        ),
        _ => wire_hint(source),
    }
}

fn unix_hint(source: &io::Error, path: &std::path::Path) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => {
            "check that the server is running and listens on this socket: `ss -xl` lists sockets; a container sees \
             only folders that are mounted into it (`-v FOLDER:FOLDER`)"
                .to_owned()
        }
        io::ErrorKind::PermissionDenied => format!(
            "give the user write permission on the socket and search permission on every folder above it; to see \
             the permissions: `namei -l {}`",
            path.display()
        ),
        io::ErrorKind::ConnectionRefused => {
            "start the server: the socket's file exists, but no process listens on it, because the server that made \
             it has ended; `ss -xl` lists sockets"
                .to_owned()
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "check whether the server hangs: its backlog is full, or it does not accept connections".to_owned()
        }
        _ => "`ss -xl` lists listening sockets".to_owned(),
    }
}

fn tcp_hint(source: &io::Error, address: SocketAddr) -> String {
    match source.raw_os_error() {
        Some(number) if number == rustix::io::Errno::ADDRNOTAVAIL.raw_os_error() => no_port_hint(LocalPorts::read()),
        Some(number) if number == rustix::io::Errno::NOSYS.raw_os_error() => {
            "run the command again: looptax's process looptax-beside, which serves the arm redirect, is no longer \
            running"
                .to_owned()
        }
        _ => format!("check that a server listens on port {}: `ss -tln` lists ports", address.port()),
    }
}

fn no_port_hint(ports: Option<LocalPorts>) -> String {
    let figures = ports.map_or_else(String::new, |ports| {
        format!(
            " ({} of them for {} local ports, net.ipv4.tcp_tw_reuse {})",
            ports.n_time_wait, ports.n_ports, ports.reuse
        )
    });
    format!(
        "no free local port: closed connections wait a minute in TIME_WAIT{figures}; use fewer \
         connections, a wider net.ipv4.ip_local_port_range, or net.ipv4.tcp_tw_reuse 2"
    )
}

fn wire_hint(source: &WireError) -> Option<String> {
    match source {
        WireError::Server { message, .. } if message.contains("max number of clients") => server_hint("1040"),
        WireError::Server { code, .. } => server_hint(code),
        WireError::EndsConnection { .. } => Some(
            "looptax proves a transport on a connection that stays open: enable keep-alive (gunicorn: \
             `--worker-class gthread`; gunicorn's sync workers do not support keep-alive)"
                .to_owned(),
        ),
        WireError::ClearNotEnabled => Some(
            "set LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN=1 to enable this plugin; MySQL's own clients need the same \
                 variable"
                .to_owned(),
        ),
        WireError::NoTls => Some("leave TLS out of --arms and the URL, or give the server a certificate".to_owned()),
        WireError::Malformed { .. } => Some(
            "check whether a server of another kind listens at this address: compare the URL's scheme with `ss -tlnp`"
                .to_owned(),
        ),
        WireError::Timeout { .. } => Some(
            "check whether the server hangs or is of another kind: it accepted the connection but does not answer"
                .to_owned(),
        ),
        WireError::Closed { .. } => {
            Some("read the server's log, which shows why the server closed the connection".to_owned())
        }
        _ => None,
    }
}

/// Hints for frequent error codes: MySQL's numbers, PostgreSQL's SQLSTATE, Redis's words.
fn server_hint(code: &str) -> Option<String> {
    let hint = match code {
        "NOAUTH" => "the server needs a password: pass the password in the URL, in LOOPTAX_PASSWORD, or at the prompt",
        "1045" | "1698" | "28P01" | "28000" | "WRONGPASS" => {
            "check user and password (in the URL, LOOPTAX_PASSWORD, or the prompt); the accounts for socket and TCP \
             may differ, and an account may need a client certificate, which looptax does not have: `looptax check` \
             shows more"
        }
        "1040" | "1203" | "53300" => "the server allows no more connections: lower -c, or raise the server's limit",
        "1049" | "3D000" => "correct the URL: its database does not exist",
        "1146" | "42P01" => "use --workload ping, which needs no table: the table does not exist",
        "1142" | "1044" | "42501" | "NOPERM" => "grant the account the privilege for this request",
        _ => return None,
    };
    Some(hint.to_owned())
}
