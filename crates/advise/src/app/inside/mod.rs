//! For a file that describes containers: finds the machine or container to which 127.0.0.1 and the folders in the file
//! belong.
//!
//! A Compose service, a Pod, a Podman unit and an OCI bundle have their own loopback and their own file system, unless
//! they share the machine's loopback or file system. Takes a text, and returns facts. Settings in other files (an
//! override, a `.pod`) are not read. Called by `placed`; `looptax_switch` decides what the facts mean for a check.

mod bundle;
mod compose;
mod container;
mod image;
mod pod;
mod unit;
mod whose;

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

pub(super) use container::File;
use container::{Container, Content, FileText, Network};
pub(super) use pod::documents as pod_documents;
pub use unit::has_volume;
pub use whose::{Brought, Inside, Loopback, Neighbour, is_loopback};
use whose::{Mount, Mounts};

/// The services of a Compose file that use a file as their environment, or that mount a folder with the file; `None` if
/// there is no such service. `path` is the path of the file, and `compose` the path of the Compose file.
pub fn handed_to(path: &Path, compose: &Path, text: &str) -> Option<Inside> {
    let folder = compose.parent()?;
    let name = compose.file_name()?.to_string_lossy().into_owned();
    let file = compose::read(&FileText { path: &name, name: &name, text, beside: &[] })?;
    let own = takers(&file, folder, path);
    let mut inside = file.common(&own)?;
    for mount in inside.mounts.iter_mut().flat_map(|it| &mut it.all) {
        if let Content::Machine(from) = &mut mount.content {
            *from = plain_path(&folder.join(&*from)).to_string_lossy().into_owned();
        }
    }
    inside.name = format!("{} (which uses this file, according to {name})", inside.name);
    Some(inside)
}

/// A service of a Compose file, and the folders of the machine that it uses.
pub(super) struct Service {
    pub(super) name: String,
    pub(super) image: Option<String>,
    /// Mounts of paths of the machine. Each pair has the target first and the path second, as the Compose file writes
    /// them.
    pub(super) mounted: Vec<(String, String)>,
}

pub(super) fn services(name: &str, text: &str) -> Vec<Service> {
    let file = compose::read(&FileText { path: name, name, text, beside: &[] });
    let service = |it: Container| {
        let paths = it.mounts.into_iter().filter_map(|(target, content)| match content {
            Content::Machine(from) => Some((target, from)),
            _ => None,
        });
        Service { name: it.key, image: it.image, mounted: paths.collect() }
    };
    file.map_or_else(Vec::new, |it| it.containers.into_iter().map(service).collect())
}

/// Counts the services of a Compose file that use a file as their environment, or that mount a folder with the file.
/// `file` is the file's name in the Compose file. Returns `usize::MAX` if the text is not a Compose file.
pub(super) fn n_takers(compose: &Path, text: &str, file: &str) -> usize {
    let name = compose.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let read = compose::read(&FileText { path: &name, name: &name, text, beside: &[] });
    let folder = compose.parent().unwrap_or(Path::new(""));
    read.map_or(usize::MAX, |it| takers(&it, folder, &folder.join(file)).len())
}

fn takers<'a>(file: &'a File, folder: &Path, path: &Path) -> Vec<&'a Container> {
    let is_it = |from: &str| plain_path(&folder.join(from)) == plain_path(path);
    let is_in = |it: &Content| match it {
        Content::Machine(from) => plain_path(path).starts_with(plain_path(&folder.join(from))),
        _ => false,
    };
    let takes = |it: &&Container| {
        it.environment_files.iter().any(|from| is_it(from)) || it.mounts.iter().any(|(_, content)| is_in(content))
    };
    file.containers.iter().filter(takes).collect()
}

/// Removes `.` and `..` from a path, without reading the file system.
fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

impl File {
    /// Reads a file; `None` if it does not describe containers.
    pub(super) fn read(path: &str, text: &str, beside: &[String]) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        // CI jobs have a key `services:` too, so `bundle`, which recognises CI jobs, comes before `compose`.
        let readers = [bundle::read, compose::read, pod::read, unit::read, image::read];
        readers.iter().find_map(|read| read(&FileText { path, name, text, beside }))
    }

    /// If `service` is the name of a container, finds this container; otherwise finds the containers that contain these
    /// lines. Returns the facts that the found containers have in common.
    pub(super) fn inside(&self, lines: &BTreeSet<usize>, service: Option<&str>) -> Option<Inside> {
        let is_named = |it: &&Container| service.is_some_and(|name| it.key == name);
        let has_line = |it: &&Container| !it.lines.is_disjoint(lines);
        let mut own: Vec<&Container> = self.containers.iter().filter(is_named).collect();
        if own.is_empty() {
            own = self.containers.iter().filter(has_line).collect();
        }
        if own.is_empty() {
            own = match &self.rest {
                Some(rest) if rest.has_machines_files => return None,
                Some(rest) => vec![rest],
                // A setting outside all containers may belong to any of them.
                None => self.containers.iter().collect(),
            };
        }
        self.common(&own)
    }

    /// Returns the facts that several containers have in common.
    fn common(&self, own: &[&Container]) -> Option<Inside> {
        let first = own.first()?;
        let mut loopbacks = own.iter().map(|it| self.loopback(it));
        let loopback = loopbacks.next()?;
        let is_one = loopbacks.all(|it| it == loopback);
        let several =
            || Loopback::Unknown("the containers that read these settings are in different networks".to_owned());
        let names: BTreeSet<&str> = own.iter().map(|it| &*it.name).collect();
        let is_shared = |it: &Loopback| matches!(it, Loopback::Own(_));
        // If several containers each have their own loopback, none of them has the machine's loopback.
        let all_own = own.iter().all(|it| is_shared(&self.loopback(it)));
        Some(Inside {
            name: names.into_iter().collect::<Vec<_>>().join(" and "),
            loopback: match (is_one, all_own) {
                (true, _) => loopback,
                (false, true) => Loopback::Own(Vec::new()),
                (false, false) => several(),
            },
            volume: self.volume,
            has_machines_files: first.has_machines_files,
            mounts: own.iter().map(|it| self.mounts(it)).collect(),
        })
    }

    fn mounts(&self, container: &Container) -> Mounts {
        let others = |content: &Content| {
            let has_it = |it: &&Container| {
                let is_other = it.key != container.key || it.group != container.group;
                is_other && it.mounts.iter().any(|(_, other)| other == content)
            };
            self.containers.iter().filter(has_it).map(|it| it.key.clone()).collect()
        };
        let all = container.mounts.iter().map(|(target, content)| Mount {
            target: target.clone(),
            content: content.clone(),
            others: if matches!(content, Content::Volume(_)) { others(content) } else { Vec::new() },
        });
        Mounts { all: all.collect(), is_open: container.may_have_more_mounts }
    }

    fn loopback(&self, container: &Container) -> Loopback {
        let (root, network) = self.root(container);
        let Network::Own = network else {
            return match network {
                Network::Machine => Loopback::Machine,
                Network::Other(whose) => Loopback::Other(whose),
                Network::Unknown(why) => Loopback::Unknown(why),
                Network::Own | Network::Of(_) => Loopback::Unknown("the containers refer to each other".to_owned()),
            };
        };
        let is_near = |it: &&Container| {
            let is_other = !std::ptr::eq(*it, container);
            is_other && it.group == container.group && self.root(it).0 == root
        };
        let near = self.containers.iter().filter(is_near);
        let neighbours = near.map(|it| Neighbour { name: it.key.clone(), image: it.image.clone() });
        Loopback::Own(neighbours.collect())
    }

    /// Follows references to the network of another container, and returns the last container and the kind of its
    /// network.
    fn root(&self, container: &Container) -> (String, Network) {
        let mut at = container;
        for _ in 0..=self.containers.len() {
            let Network::Of(name) = &at.network else {
                // All containers of a Pod share one network.
                let key = if at.shares_group { String::new() } else { at.key.clone() };
                return (key, at.network.clone());
            };
            let other = self.containers.iter().find(|it| it.group == at.group && it.key == *name);
            let Some(other) = other else {
                return (name.clone(), Network::Other(format!("the container `{name}`")));
            };
            at = other;
        }
        (at.key.clone(), Network::Unknown("the containers refer to each other in a circle".to_owned()))
    }
}

#[cfg(test)]
mod tests;
