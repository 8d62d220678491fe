//! Whose loopback and whose folders a container sees: its own, the machine's or those of another container.
//!
//! Plain data, with methods for paths. `inside` fills it in. Used by code that has to know what a path or 127.0.0.1
//! means inside the container.

use std::net::IpAddr;
use std::path::PathBuf;

use looptax_model::dsn::{Kind, Protocol};

use super::container::Content;
use crate::app::keys;

/// The container to whose settings a connection belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// The container's name in words: the service `app`, the Pod `shop`.
    pub name: String,
    pub loopback: Loopback,
    /// The setting that mounts the folder of a socket; the word `FOLDER` in it stands for the folder.
    pub volume: &'static str,
    /// Whether the container has the machine's folders, and only the network is separate.
    pub(super) has_machines_files: bool,
    pub(super) mounts: Vec<Mounts>,
}

/// The owner of the 127.0.0.1 that a container sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loopback {
    /// The machine: `network_mode: host`, `hostNetwork: true`, `Network=host`.
    Machine,
    /// The container itself; the list has the other containers of the file that share the container's loopback.
    Own(Vec<Neighbour>),
    /// The loopback of something that the file only names, in words: the container `vpn`.
    Other(String),
    /// The file does not show the owner; the text is the reason.
    Unknown(String),
}

/// A container that shares the loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    pub name: String,
    pub image: Option<String>,
}

/// The content at a path inside a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Brought {
    /// A path of the machine. A relative path starts in the folder of the file.
    FromMachine(PathBuf),
    /// A volume, and the other containers of the file that mount it.
    Volume { name: String, others: Vec<String> },
    /// The content that the image has at this path.
    Nothing,
    /// The file does not show the content.
    Unknown,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mounts {
    pub(super) all: Vec<Mount>,
    /// Whether there may be more mounts than the file shows.
    pub(super) is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) target: String,
    pub(super) content: Content,
    /// The other containers of the file that mount the same volume.
    pub(super) others: Vec<String>,
}

impl Neighbour {
    /// The kind of server that the container's image runs.
    pub fn kind(&self) -> Option<Kind> {
        let image = self.image.as_deref()?;
        // The proxy of a cloud provider in a sidecar is not the server.
        let name = image.rsplit('/').next().unwrap_or(image);
        let name = name.split([':', '@']).next().unwrap_or(name);
        keys::kind_in(name).filter(|_| !name.contains("proxy") && !name.contains("exporter"))
    }

    /// The name and the image in words: `` `db` (image mysql:8) ``.
    pub fn words(&self) -> String {
        match &self.image {
            Some(image) => format!("`{}` (image {image})", self.name),
            None => format!("`{}`", self.name),
        }
    }
}

impl Inside {
    pub fn is_in_pod(&self) -> bool {
        self.volume == super::pod::VOLUME
    }

    /// The only other container on the same network that, according to its image, runs a server of this protocol.
    /// `None` if there is no such container, or more than one.
    pub fn server_beside(&self, protocol: Protocol) -> Option<&str> {
        let Loopback::Own(others) = &self.loopback else {
            return None;
        };
        let mut servers = others.iter().filter(|it| it.kind().and_then(Kind::protocol) == Some(protocol));
        let first = servers.next()?;
        servers.next().is_none().then_some(&*first.name)
    }

    /// The content at a path, if it is the same in all containers to which the settings may belong.
    pub fn at(&self, path: &str) -> Brought {
        if self.has_machines_files {
            return Brought::FromMachine(PathBuf::from(path));
        }
        let mut all = self.mounts.iter().map(|it| it.at(path));
        let first = all.next().unwrap_or(Brought::Unknown);
        if all.all(|it| it == first) { first } else { Brought::Unknown }
    }

    /// The path inside the container at which a path of the machine is mounted; `None` if no mount contains this path,
    /// or if the file does not show the mount.
    pub fn path_within(&self, path: &str) -> Option<String> {
        if self.has_machines_files {
            return Some(path.to_owned());
        }
        let mut all = self.mounts.iter().map(|it| it.path_within(path));
        let first = all.next()??;
        all.all(|it| it.as_ref() == Some(&first)).then_some(first)
    }

    /// Describes the owner of the loopback that `host` means; `None` if it is the machine's loopback.
    pub fn whose(&self, host: &str) -> Option<String> {
        let name = &self.name;
        Some(match &self.loopback {
            Loopback::Machine => return None,
            Loopback::Own(others) if others.is_empty() => {
                format!("`{host}` in {name} is the container itself, not this machine")
            }
            Loopback::Own(others) => {
                let others: Vec<String> = others.iter().map(Neighbour::words).collect();
                format!(
                    "`{host}` in {name} is the container itself, not this machine; the container shares its network \
                     with {}",
                    others.join(", ")
                )
            }
            Loopback::Other(whose) => format!("`{host}` in {name} is {whose}, not this machine"),
            Loopback::Unknown(why) => format!("looptax cannot tell what `{host}` in {name} is: {why}"),
        })
    }
}

impl Mounts {
    fn at(&self, path: &str) -> Brought {
        let own = self.all.iter().filter_map(|it| Some((it, rest_below(path, &it.target)?)));
        let Some((mount, rest)) = own.max_by_key(|(it, _)| plain(&it.target).len()) else {
            return if self.is_open { Brought::Unknown } else { Brought::Nothing };
        };
        match &mount.content {
            Content::Machine(from) => {
                let joined = format!("{}{rest}", from.trim_end_matches('/'));
                Brought::FromMachine(PathBuf::from(joined))
            }
            Content::Volume(name) => Brought::Volume { name: name.clone(), others: mount.others.clone() },
            Content::Own => Brought::Nothing,
            Content::Unknown => Brought::Unknown,
        }
    }

    fn path_within(&self, path: &str) -> Option<String> {
        let own = self.all.iter().filter_map(|it| match &it.content {
            Content::Machine(from) => Some((it, rest_below(path, from)?)),
            _ => None,
        });
        let (mount, rest) = own.max_by_key(|(it, _)| it.target.len())?;
        let within = format!("{}{rest}", mount.target.trim_end_matches('/'));
        // Another mount may hide this one.
        let leads_there = self.at(&within) == Brought::FromMachine(PathBuf::from(path));
        (leads_there || plain(path) != path).then_some(within)
    }
}

/// Whether a host always means the loopback of the program that connects to it.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let bare = bare.strip_prefix("::ffff:").unwrap_or(bare);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => matches!(bare, "localhost" | "localhost.localdomain" | "ip6-localhost"),
    }
}

/// Replaces `/var/run` by `/run`: they are the same folder on nearly every machine.
fn plain(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_prefix("/var").filter(|it| *it == "/run" || it.starts_with("/run/")).unwrap_or(path)
}

/// The rest of a path below a folder: `/a.sock` for `/run/a.sock` below `/run`; empty if the path is the folder itself.
fn rest_below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = plain(path).strip_prefix(plain(folder))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}
