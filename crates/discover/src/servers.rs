//! Processes that are servers, and what each listens on.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use looptax_dsn::Kind;

use crate::kind::{of_program, refined};
use crate::namespace_id::NamespaceId;
use crate::namespaces::Networks;
use crate::owners::Owners;
use crate::process::Process;
use crate::sock_diag::{FileId, Queue, UnixName};
use crate::version::{version_in, version_text};

/// A server that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// What it is.
    pub kind: Kind,
    /// Its version, where its program tells.
    pub version: Option<String>,
    /// The process that listens.
    pub process: Process,
    /// What it listens on.
    pub endpoints: Vec<Endpoint>,
}

/// An address that a server listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Where.
    pub place: Place,
    /// How full its queue of connections is.
    pub queue: Queue,
    /// The network namespace that it listens in.
    pub network: NamespaceId,
    pub(crate) file: Option<FileId>,
}

/// Where an endpoint is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// An IP address and port.
    Tcp(SocketAddr),
    /// A socket with a path, as the server sees it.
    Path {
        /// The path.
        path: PathBuf,
        /// The file there now.
        file: SocketFile,
    },
    /// An abstract name, with `@` before it.
    Abstract(PathBuf),
}

/// What lies at a socket's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketFile {
    /// The socket that the server listens on.
    Present {
        /// Its owner.
        uid: u32,
        /// Its group.
        gid: u32,
        /// Its permission bits.
        mode: u32,
    },
    /// Another file: somebody has replaced it, and nobody reaches the server that way any more.
    Replaced,
    /// Nothing: it was deleted while the server runs.
    Missing,
    /// Not known: we may not look there.
    Unknown,
}

impl Server {
    /// What people call it. A file may have several names: Debian's redis-server is a link to
    /// redis-check-rdb, so what the process calls itself counts where that is a known server.
    pub fn name(&self) -> String {
        let own = &self.process.name;
        if of_program(own).is_some() {
            own.clone()
        } else {
            self.process.program_name()
        }
    }

    /// Whether it has a socket that somebody can connect to.
    pub fn has_socket(&self) -> bool {
        self.endpoints.iter().any(|endpoint| match &endpoint.place {
            Place::Tcp(_) => false,
            Place::Abstract(_) => true,
            Place::Path { file, .. } => {
                matches!(file, SocketFile::Present { .. } | SocketFile::Unknown)
            }
        })
    }

    /// The sockets with a path, as the server sees them.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.endpoints
            .iter()
            .filter_map(|endpoint| match &endpoint.place {
                Place::Path { path, .. } => Some(&**path),
                Place::Tcp(_) | Place::Abstract(_) => None,
            })
    }
}

/// The servers among `processes`. What an earlier look `known` says of a process that is still the same
/// is not asked again.
pub(crate) fn servers(
    processes: &[Process],
    networks: &Networks,
    owners: &Owners,
    known: &[Server],
) -> Vec<Server> {
    let named: Vec<(Kind, &Process)> = processes
        .iter()
        .filter_map(|it| Some((of_program(&it.program_name())?, it)))
        .collect();
    named
        .iter()
        // A worker of PostgreSQL or a saving Redis is no server of its own.
        .filter(|(kind, process)| {
            !named
                .iter()
                .any(|(other, parent)| other == kind && parent.pid == process.parent)
        })
        .map(|(kind, process)| {
            let same = known.iter().find(|it| it.process == **process);
            let (kind, version) = match same {
                Some(same) => (same.kind, same.version.clone()),
                None => kind_and_version(*kind, process),
            };
            Server {
                kind,
                version,
                endpoints: endpoints(process, networks, owners),
                process: (*process).clone(),
            }
        })
        .collect()
}

/// Kind and version by what the program says of itself.
fn kind_and_version(kind: Kind, process: &Process) -> (Kind, Option<String>) {
    let text = version_text(kind, process);
    let refined = text.as_deref().map_or(kind, |text| refined(kind, text));
    (refined, text.as_deref().and_then(version_in))
}

/// What a process listens on, TCP first.
pub(crate) fn endpoints(process: &Process, networks: &Networks, owners: &Owners) -> Vec<Endpoint> {
    let is_own = |inode| owners.of_socket(inode).contains(&process.pid);
    let mut found = Vec::new();
    for (network, sockets) in &networks.sockets {
        for socket in &sockets.tcp {
            if socket.remote.is_none() && is_own(socket.inode) {
                found.push(Endpoint {
                    place: Place::Tcp(socket.local),
                    queue: socket.queue,
                    network: *network,
                    file: None,
                });
            }
        }
    }
    for (network, sockets) in &networks.sockets {
        for socket in &sockets.unix {
            let Some(name) = &socket.name else { continue };
            if socket.is_listening && is_own(socket.inode) {
                found.push(Endpoint {
                    place: unix_place(process, name, socket.file),
                    queue: socket.queue.unwrap_or(Queue {
                        waiting: 0,
                        backlog: 0,
                    }),
                    network: *network,
                    file: socket.file,
                });
            }
        }
    }
    found.sort_by_key(|endpoint| matches!(endpoint.place, Place::Tcp(_)).cmp(&true).reverse());
    found
}

fn unix_place(process: &Process, name: &UnixName, bound: Option<FileId>) -> Place {
    match name {
        UnixName::Abstract(_) => Place::Abstract(name.shown()),
        UnixName::Path(path) => Place::Path {
            file: file_at(process, path, bound),
            path: path.clone(),
        },
    }
}

/// What lies at `path` for `process`, held against the file that its socket was bound to. A relative
/// path counts from the folder that the process is in now.
fn file_at(process: &Process, path: &Path, bound: Option<FileId>) -> SocketFile {
    let outside = if path.is_absolute() {
        process.outside(path)
    } else {
        process.file("cwd").join(path)
    };
    match fs::symlink_metadata(outside) {
        Ok(found) if found.file_type().is_socket() && is_file(&found, bound) => {
            SocketFile::Present {
                uid: found.uid(),
                gid: found.gid(),
                mode: found.mode() & 0o7777,
            }
        }
        Ok(_) => SocketFile::Replaced,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => SocketFile::Missing,
        Err(_) => SocketFile::Unknown,
    }
}

/// Whether the file is the one that a socket was bound to, as far as the kernel told which that is.
/// It tells the lower half of the inode's number.
pub(crate) fn is_file(found: &fs::Metadata, bound: Option<FileId>) -> bool {
    bound.is_none_or(|(inode, _)| found.ino() as u32 == inode)
}
