//! Publishes a private server's port on another address through a port proxy, as Docker does on 127.0.0.1.
//!
//! The proxy is the real `docker-proxy` if it is installed, otherwise looptax's own copy loop, [`serve`].

mod copy;

use std::env;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use copy::serve;

use crate::servers::ServerError;
use crate::servers::child::{ChildGuard, Waited};
use crate::servers::process::StopSignal;
use crate::servers::scratch::Scratch;
use crate::servers::spawn::Program;

const DOCKER_PROXY: &str = "docker-proxy";
/// Folders that may contain `docker-proxy` if it is not in PATH.
const USUAL_FOLDERS: [&str; 3] = ["/usr/bin", "/usr/sbin", "/usr/libexec/docker"];

/// `docker-proxy` reports on descriptor 3 that it listens, so a shell opens a file as descriptor 3 before it starts
/// `docker-proxy`.
const WITH_STATUS_FILE: &str = "status=$1; shift; exec 3>\"$status\"; exec \"$@\"";

/// How long a proxy may take until it listens.
const READY_LIMIT: Duration = Duration::from_secs(10);
/// How long a proxy may take to relay one connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The address on which the proxy listens.
    pub on: SocketAddr,
    /// The address to which the proxy connects.
    pub to: SocketAddr,
}

/// Returns the name of the program that copies the bytes: `docker-proxy`, or looptax's own loop.
pub fn program_name() -> &'static str {
    match docker_proxy() {
        Some(_) => DOCKER_PROXY,
        None => "looptax's own copy loop",
    }
}

fn docker_proxy() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .chain(USUAL_FOLDERS.iter().map(PathBuf::from))
        .map(|folder| folder.join(DOCKER_PROXY))
        .find(|file| looptax_host::program::is_executable(file))
}

/// Starts the proxy in the calling thread's network namespace, and waits until it listens.
pub(crate) fn start<'a>(
    published: Published,
    self_exe: &Path,
    scratch: &'a Scratch,
) -> Result<ChildGuard<'a>, ServerError> {
    let program = match docker_proxy() {
        Some(path) => by_docker(published, &path, scratch),
        None => Program {
            path: self_exe.to_owned(),
            args: ["internal", "port-proxy", "--on", &published.on.to_string()]
                .iter()
                .map(ToString::to_string)
                .chain(["--to".to_owned(), published.to.to_string()])
                .collect(),
            input: String::new(),
            secret: None,
        },
    };
    let mut guard = ChildGuard::spawn(&program, StopSignal::Term, scratch)?;
    let failed = |how| ServerError::Proxy { how, log_tail: scratch.log_tail() };
    let listens = |_| TcpStream::connect_timeout(&published.on, ANSWER_LIMIT).is_ok();
    match guard.wait(READY_LIMIT, listens)? {
        Waited::Ready => Ok(guard),
        Waited::Ended(status) => Err(failed(format!("ended ({status})"))),
        Waited::TooLong => Err(failed(format!("does not listen after {READY_LIMIT:?}"))),
    }
}

/// Source: docker-proxy 20.10 to 28, `-h`.
fn by_docker(Published { on, to }: Published, path: &Path, scratch: &Scratch) -> Program {
    let status = scratch.path(&format!("proxy-{}", on.port()));
    let words = [
        "-c",
        WITH_STATUS_FILE,
        "docker-proxy",
        &status.display().to_string(),
        &path.display().to_string(),
        "-proto",
        "tcp",
        "-host-ip",
        &on.ip().to_string(),
        "-host-port",
        &on.port().to_string(),
        "-container-ip",
        &to.ip().to_string(),
        "-container-port",
        &to.port().to_string(),
    ];
    Program {
        path: PathBuf::from("/bin/sh"),
        args: words.map(str::to_owned).to_vec(),
        input: String::new(),
        secret: None,
    }
}

/// Listens on an address, for [`serve`].
///
/// # Errors
/// The address cannot be bound.
pub fn listen(on: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(on)
}
