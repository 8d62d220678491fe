//! The errors of a private server: one variant for each action that can fail, with the object of the action.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use looptax_host::program::Distrust;
use looptax_model::dsn::Kind;
use looptax_model::failure::Explain;
use looptax_wire::WireError;

/// An error of a private server: it could not be started, filled or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The port proxy did not begin to listen.
    #[error("the port proxy {how}; the end of the log:\n{log_tail}")]
    Proxy {
        how: String,
        /// The last lines of the log of the server and its companions.
        log_tail: String,
    },
    #[error("{what} is not installed; looked for {looked_for}")]
    SiteMissing {
        /// The missing part: `WordPress`, `PHP's FastCGI server`.
        what: &'static str,
        /// The paths or names that were looked for, joined by `or`.
        looked_for: String,
    },
    #[error("php-fpm {how}; the end of the log:\n{log_tail}")]
    Pool {
        how: String,
        /// The last lines of the log of the server and its companions.
        log_tail: String,
    },
    #[error("cannot get `{script}` from PHP")]
    PageRequest { script: &'static str, source: WireError },
    #[error("WordPress's answer to `{script}` {how}; the end of the log:\n{log_tail}")]
    Page {
        script: &'static str,
        how: String,
        /// The last lines of the log of the server and its companions.
        log_tail: String,
    },
    #[error("cannot get the verifier of the password from postgres for pgbouncer")]
    Verifier { source: WireError },
    #[error("cannot make a certificate for the server")]
    Certificate { source: rcgen::Error },
    #[error("`{given}` is not a kind of server that looptax starts; expected one of {kinds}")]
    UnknownKind { given: String, kinds: String },
    #[error("no {kind} server is installed; looked for {looked_for} in {looked_in}")]
    BinaryMissing {
        kind: Kind,
        /// The file names that were looked for, joined by `or`.
        looked_for: String,
        looked_in: String,
        hint: Option<String>,
    },
    #[error("looptax does not start `{}` as root, because users other than root can change {why}", path.display())]
    PassedOver { path: PathBuf, why: Distrust },
    /// A program has the server's name, but its output for `--version` is not that of a server that looptax can start.
    #[error("`{}` is not a {kind} server that looptax can start: `--version` {what}", path.display())]
    BinaryUnfit { kind: Kind, path: PathBuf, what: String, hint: Option<String> },
    /// A program with the server's name could not be run, so its version is unknown.
    #[error("cannot run `{} --version`", path.display())]
    BinaryNotAsked { path: PathBuf, source: io::Error },
    /// A file or folder inside the scratch folder could not be created, read, written or removed.
    #[error("cannot {action} `{}`", path.display())]
    Scratch {
        /// The action that failed, as an infinitive: `create`.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The socket's path does not fit into a socket address.
    #[error("the socket path `{}` has {bytes} bytes; at most {limit} fit", path.display())]
    PathTooLong {
        path: PathBuf,
        /// The path's length in bytes.
        bytes: usize,
        /// The longest path that fits, in bytes.
        limit: usize,
    },
    /// The scratch root contains a character that some server's configuration cannot represent.
    #[error("the scratch root `{}` contains {character:?}; expected an absolute path of letters, digits and `/._-+`", path.display())]
    PathCharacter { path: PathBuf, character: char },
    #[error("cannot get a free port of 127.0.0.1")]
    Port { source: io::Error },
    /// The machine has no unprivileged account as which the server could run.
    #[error("found no account under which {kind} can run; looked for {looked_for} in `/etc/passwd`")]
    AccountMissing {
        kind: Kind,
        /// The account names that were looked for, joined by `or`.
        looked_for: String,
    },
    /// The kernel gave no random bytes for a password or a folder name.
    #[error("cannot get random bytes from the kernel")]
    Random { source: io::Error },
    #[error("cannot start `{}`", program.display())]
    Spawn { program: PathBuf, source: io::Error },
    #[error("preparing {kind}'s data folder failed ({status}); the end of its log:\n{log_tail}")]
    Initialise {
        kind: Kind,
        /// How the program ended, or that it took too long.
        status: String,
        log_tail: String,
    },
    #[error("{kind} did not answer on all of its addresses within {after:?}; the end of its log:\n{log_tail}")]
    NotReady { kind: Kind, after: Duration, log_tail: String },
    #[error("{kind} ended before it was ready ({status}); the end of its log:\n{log_tail}")]
    Exited { kind: Kind, status: String, log_tail: String },
    #[error("stopped by a signal while a private server started")]
    Stopped,
    #[error("{kind} (pid {pid}) still exists after SIGKILL")]
    Immortal { kind: Kind, pid: u32 },
    #[error("cannot start the reaper, `{} internal reaper`", program.display())]
    ReaperStart { program: PathBuf, source: io::Error },
    /// The reaper has ended, so no process would stop the server if looptax was killed.
    #[error("cannot send a message to the reaper, the process that cleans up after looptax")]
    ReaperLost { source: io::Error },
    #[error("the echo server cannot {action} `{object}`")]
    Echo {
        /// The action that failed, as an infinitive.
        action: &'static str,
        object: String,
        source: io::Error,
    },
    /// A statement that fills the server with its data set failed.
    #[error("cannot fill the data set (tried to {action})")]
    Fill {
        /// The action that failed, as an infinitive: `insert rows 1 to 900`.
        action: String,
        source: WireError,
    },
}

impl Explain for ServerError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::PassedOver { .. } => Some(
                "make root the owner of the program and of each folder above it, or run looptax as the user that owns \
                 the program"
                    .to_owned(),
            ),
            Self::Fill { source: WireError::Server { message, .. }, .. } if message.starts_with("out of memory") => {
                Some(
                    "use fewer --rows, or a smaller --value-size: a private memcached evicts no keys to make room"
                        .to_owned(),
                )
            }
            Self::BinaryMissing { hint, .. } | Self::BinaryUnfit { hint, .. } => hint.clone(),
            Self::PathTooLong { .. } | Self::PathCharacter { .. } => {
                Some("set a shorter, plain scratch root, for example `TMPDIR=/tmp`".to_owned())
            }
            Self::Spawn { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => Some(
                "the server runs as an unprivileged account: allow this account to enter the scratch root, and \
                 choose a scratch root that is not mounted with noexec"
                    .to_owned(),
            ),
            Self::Initialise { log_tail, .. } | Self::NotReady { log_tail, .. } | Self::Exited { log_tail, .. } => {
                log_hint(log_tail)
            }
            Self::SiteMissing { .. } => Some(
                "`make reproduce` in the folder of looptax's source code installs WordPress, its theme and PHP from \
                 Debian's packages"
                    .to_owned(),
            ),
            Self::AccountMissing { .. } => Some("run looptax as an ordinary user".to_owned()),
            Self::Verifier { .. } => Some(
                "put PostgreSQL 10 or newer first in PATH: PgBouncer needs the SCRAM passwords of these versions"
                    .to_owned(),
            ),
            Self::ReaperLost { .. } => Some("start looptax again".to_owned()),
            _ => None,
        }
    }
}

/// Returns a hint if the log's last lines show one of the usual causes.
fn log_hint(log_tail: &str) -> Option<String> {
    let hint = if log_tail.contains("Permission denied") || log_tail.contains("errno: 13") {
        "run `aa-status` or `ausearch -m avc`: an AppArmor or SELinux profile may restrict the server to its own \
        folders"
    } else if log_tail.contains("No space left") || log_tail.contains("errno: 28") {
        "set another scratch root with TMPDIR: the file system of the present scratch root is full"
    } else if log_tail.contains("ddress already in use") {
        "run the command again: other programs took the free ports"
    } else {
        return None;
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_file_in_the_log_points_at_the_profile() {
        let error = ServerError::Exited {
            kind: Kind::Mysql,
            status: "exit status: 1".to_owned(),
            log_tail: "[ERROR] Could not open file (errno: 13 - Permission denied)".to_owned(),
        };
        assert!(error.hint().unwrap().contains("AppArmor"));
    }
}
