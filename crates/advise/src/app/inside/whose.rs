//! Whose loopback and folders a container has, as its file shows them.
//!
//! Plain data with questions about paths. Filled in by `inside`, read by the callers that ask what a path or 127.0.0.1
//! means in the container.

use std::net::IpAddr;
use std::path::PathBuf;

use looptax_model::dsn::{Kind, Protocol};

use super::container::Content;
use crate::app::keys;

/// The container whose settings a connection comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// In words: the service `app`, the Pod `shop`.
    pub name: String,
    pub loopback: Loopback,
    /// The setting that mounts the folder of a socket, with `FOLDER` in its place.
    pub volume: &'static str,
    /// Whether its folders are the machine's, and only its network is separate.
    pub(super) has_machines_files: bool,
    pub(super) mounts: Vec<Mounts>,
}

/// The owner of the 127.0.0.1 that the container sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loopback {
    /// The machine's: `network_mode: host`, `hostNetwork: true`, `Network=host`.
    Machine,
    /// Its own, which these other containers of the file share.
    Own(Vec<Neighbour>),
    /// The loopback of something that the file only names, in words: the container `vpn`.
    Other(String),
    /// The file does not decide it; the reason.
    Unknown(String),
}

/// A container that has the same loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    pub name: String,
    pub image: Option<String>,
}

/// The content at a path within a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Brought {
    /// This path of the machine. A relative path starts at the folder of the file.
    FromMachine(PathBuf),
    /// A volume, which these other containers of the file have too.
    Volume { name: String, others: Vec<String> },
    /// The content of the image.
    Nothing,
    /// The file does not decide it.
    Unknown,
}

/// The mounts of one container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mounts {
    pub(super) all: Vec<Mount>,
    /// Whether more may be mounted than the file shows.
    pub(super) is_open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) target: String,
    pub(super) content: Content,
    /// Other containers of the file that mount the same volume.
    pub(super) others: Vec<String>,
}

impl Neighbour {
    /// The kind of server in its image.
    pub fn kind(&self) -> Option<Kind> {
        let image = self.image.as_deref()?;
        // A provider's proxy in a sidecar is not the server.
        let name = image.rsplit('/').next().unwrap_or(image);
        let name = name.split([':', '@']).next().unwrap_or(name);
        keys::kind_in(name).filter(|_| !name.contains("proxy") && !name.contains("exporter"))
    }

    /// `` `db` (image mysql:8) ``.
    pub fn words(&self) -> String {
        match &self.image {
            Some(image) => format!("`{}` (image {image})", self.name),
            None => format!("`{}`", self.name),
        }
    }
}

impl Inside {
    /// Whether the container is in a Pod.
    pub fn is_in_pod(&self) -> bool {
        self.volume == super::pod::VOLUME
    }

    /// The only other container of the same network that runs a server of that protocol, judged by its image.
    pub fn server_beside(&self, protocol: Protocol) -> Option<&str> {
        let Loopback::Own(others) = &self.loopback else {
            return None;
        };
        let mut servers = others.iter().filter(|it| it.kind().and_then(Kind::protocol) == Some(protocol));
        let first = servers.next()?;
        servers.next().is_none().then_some(&*first.name)
    }

    /// The content at a path, if it is the same in all containers that may be meant.
    pub fn at(&self, path: &str) -> Brought {
        if self.has_machines_files {
            return Brought::FromMachine(PathBuf::from(path));
        }
        let mut all = self.mounts.iter().map(|it| it.at(path));
        let first = all.next().unwrap_or(Brought::Unknown);
        if all.all(|it| it == first) { first } else { Brought::Unknown }
    }

    /// The place of a path of the machine within the container; `None` if no mount brings it in, or the file does not
    /// decide it.
    pub fn path_within(&self, path: &str) -> Option<String> {
        if self.has_machines_files {
            return Some(path.to_owned());
        }
        let mut all = self.mounts.iter().map(|it| it.path_within(path));
        let first = all.next()??;
        all.all(|it| it.as_ref() == Some(&first)).then_some(first)
    }

    /// The sentence about a host that is the loopback. `None` if it is the machine's loopback.
    pub fn whose(&self, host: &str) -> Option<String> {
        let name = &self.name;
        Some(match &self.loopback {
            Loopback::Machine => return None,
            Loopback::Own(others) if others.is_empty() => {
                format!("`{host}` in {name} is that container itself, not this machine")
            }
            Loopback::Own(others) => {
                let others: Vec<String> = others.iter().map(Neighbour::words).collect();
                format!(
                    "`{host}` in {name} is that container, not this machine; these containers share its network: {}",
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
        // Another mount may cover it.
        let leads_there = self.at(&within) == Brought::FromMachine(PathBuf::from(path));
        (leads_there || plain(path) != path).then_some(within)
    }
}

/// Whether a host is the loopback of every program that connects to it.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let bare = bare.strip_prefix("::ffff:").unwrap_or(bare);
    match bare.parse::<IpAddr>() {
        Ok(address) => address.is_loopback() || address.is_unspecified(),
        Err(_) => matches!(bare, "localhost" | "localhost.localdomain" | "ip6-localhost"),
    }
}

/// `/var/run` is `/run` nearly everywhere.
fn plain(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_prefix("/var").filter(|it| *it == "/run" || it.starts_with("/run/")).unwrap_or(path)
}

/// The rest of a path below a folder: `/a.sock` of `/run/a.sock` below `/run`; empty for the folder itself.
fn rest_below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = plain(path).strip_prefix(plain(folder))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}
