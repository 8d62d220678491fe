//! The places of the oracle's machine: ports, names, folders and sockets at which something listens.
//!
//! This file does no I/O, except for [`Ground::lay`], which mounts the places in a namespace that was made for them.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use looptax_model::dsn::Protocol;

use crate::workspace::{root, run_to_success};

/// The folder of the server's socket.
pub(crate) const RIGHT: &str = "/srv/db";
/// The folder of another server's socket.
pub(crate) const OLD: &str = "/srv/old";
/// Folders with characters that drivers or files may interpret in another way.
pub(crate) const AWKWARD: [&str; 6] = ["/srv/a:b", "/srv/a b", "/srv/Data", "/srv/a%2Fb", "/srv/eu:db:1", "/srv/it's"];
/// A host name of this machine; only a lookup of the name shows that it is this machine.
pub(crate) const NAME: &str = "db.internal";
const NAMED: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// The folders that only the oracle uses.
const OWN: [&str; 3] = ["/srv", "/run", "/tmp"];
/// The folder for files that programs need.
pub(crate) const SCRATCH: &str = "/srv/scratch";

/// A place at which a driver's connection was accepted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Tcp(IpAddr, u16),
    Socket(PathBuf),
    Abstract(String),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(IpAddr::V6(ip), port) => write!(f, "[{ip}]:{port}"),
            Self::Tcp(ip, port) => write!(f, "{ip}:{port}"),
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Abstract(name) => write!(f, "@{name}"),
        }
    }
}

/// The places at which servers of one kind listen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground {
    pub(crate) protocol: Protocol,
    pub(crate) usual_port: u16,
    pub(crate) other_port: u16,
}

impl Ground {
    pub(crate) const fn of(protocol: Protocol) -> Self {
        let usual_port = protocol.port();
        Self { protocol, usual_port, other_port: usual_port + 20_000 }
    }

    pub(crate) const fn ports(self) -> [u16; 2] {
        [self.usual_port, self.other_port]
    }

    /// Returns the path of the socket in a folder, for the server at the usual port.
    pub(crate) fn file(self, folder: &str) -> PathBuf {
        self.file_for(folder, self.usual_port)
    }

    /// Returns the path of the socket in a folder, for the server at this port: the names of PostgreSQL's sockets
    /// contain the port.
    pub(crate) fn file_for(self, folder: &str, port: u16) -> PathBuf {
        Path::new(folder).join(match self.protocol {
            Protocol::Postgres => format!(".s.PGSQL.{port}"),
            Protocol::Mysql => "mysqld.sock".to_owned(),
            other => format!("{}.sock", other.kind().name()),
        })
    }

    /// Returns the sockets that clients use if no socket is given.
    pub(crate) fn usual_sockets(self) -> Vec<PathBuf> {
        match self.protocol {
            Protocol::Mysql => ["/run/mysqld/mysqld.sock", "/tmp/mysql.sock"].map(PathBuf::from).into(),
            Protocol::Postgres => {
                let folders = ["/run/postgresql", "/tmp"];
                let of_folder = |folder| self.ports().map(|port| self.file_for(folder, port));
                folders.into_iter().flat_map(of_folder).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn sockets(self) -> Vec<PathBuf> {
        let folders = [RIGHT, OLD].into_iter().chain(AWKWARD);
        let mut all: Vec<PathBuf> =
            folders.flat_map(|folder| self.ports().map(|port| self.file_for(folder, port))).collect();
        all.extend(self.usual_sockets());
        all.sort();
        all.dedup();
        all
    }

    /// Returns the abstract socket name for this kind, as clients that support such names write it.
    pub(crate) fn abstract_name(self) -> String {
        format!("@oracle-{}", self.protocol.kind().name())
    }

    /// Returns the abstract names at which something listens: PostgreSQL's clients add the name of the socket file.
    pub(crate) fn names(self) -> Vec<String> {
        let name = self.abstract_name();
        let name = name.trim_start_matches('@');
        let of_port = |port| self.file_for(name, port).display().to_string();
        match self.protocol {
            Protocol::Postgres => self.ports().map(of_port).into(),
            _ => vec![name.to_owned()],
        }
    }

    /// Returns the addresses of a host on this machine; empty if the host is unknown.
    pub(crate) fn addresses(host: Option<&str>) -> Vec<IpAddr> {
        let host = host.unwrap_or("localhost").to_ascii_lowercase();
        match &*host {
            "localhost" => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            NAME => vec![NAMED],
            other => other.trim_matches(['[', ']']).parse().into_iter().collect(),
        }
    }

    /// Returns the kind of a place. Faults that differ only in places of the same kind count as one fault.
    pub(crate) fn class(self, place: &Place) -> &'static str {
        match place {
            Place::Tcp(_, port) if *port == self.usual_port => "usual port",
            Place::Tcp(_, port) if *port == self.other_port => "other port",
            Place::Tcp(..) => "no port",
            Place::Socket(path) if self.usual_sockets().contains(path) => "usual socket",
            Place::Socket(_) if self.listens(place) => "named socket",
            Place::Socket(_) => "no socket",
            Place::Abstract(_) => "abstract name",
        }
    }

    /// Returns whether something listens at this place.
    pub(crate) fn listens(self, place: &Place) -> bool {
        match place {
            Place::Tcp(ip, port) => ip.is_loopback() && self.ports().contains(port),
            Place::Socket(path) => self.sockets().contains(path),
            Place::Abstract(name) => self.names().contains(name),
        }
    }

    /// Makes the folders and files that every kind needs. The caller must have its own network and mount namespaces.
    pub(crate) fn lay() -> Result<()> {
        let checkout = root()?;
        if let Some(own) = OWN.iter().find(|it| checkout.starts_with(it)) {
            bail!("the checkout is in {own}, which the oracle needs for itself");
        }
        run_to_success(Command::new("ip").args(["link", "set", "lo", "up"]))?;
        for folder in OWN {
            run_to_success(Command::new("mount").args(["-t", "tmpfs", "-o", "mode=1777", "none", folder]))?;
        }
        fs::create_dir_all(SCRATCH)?;
        fs::set_permissions(SCRATCH, fs::Permissions::from_mode(0o777))?;
        put("/etc/hosts", &format!("127.0.0.1 localhost\n::1 localhost\n{NAMED} {NAME}\n"))?;
        put("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\nservices: files\n")
    }
}

/// Mounts one of the oracle's files over a file of the machine.
fn put(path: &str, text: &str) -> Result<()> {
    let own = Path::new("/srv").join(path.trim_start_matches('/').replace('/', "-"));
    fs::write(&own, text)?;
    let mut mount = Command::new("mount");
    run_to_success(mount.arg("--bind").arg(&own).arg(path)).with_context(|| format!("cannot replace {path}"))
}
