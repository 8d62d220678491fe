//! A container according to its own settings, for any form of file.
//!
//! Filled in by `compose`, `pods` and `quadlet`; read by the other modules of `share`. Writes nothing.

use super::taken::Given;

#[derive(Debug, Default)]
pub(super) struct Container {
    /// The name that the file gives to the container.
    pub(super) title: String,
    pub(super) image: Option<String>,
    /// A setting that replaces the image's program, so that the container may start any program.
    pub(super) replaced_by: Option<&'static str>,
    /// The command, or the arguments of the image's command; empty if the container uses the image's own command.
    pub(super) words: Vec<String>,
    /// The variables, each in the form `NAME=value`.
    pub(super) variables: Vec<String>,
    pub(super) mounts: Vec<Mount>,
    /// Whether the container has configuration that is not mounted.
    pub(super) has_configs: bool,
    /// Facts about the container that its own lines do not show, in words.
    pub(super) unclear: Option<String>,
    /// Variables that the container takes from elsewhere and that are not known, in words.
    pub(super) unread: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Mount {
    /// The name of the volume, if the whole volume is mounted and the container may write to it; `None` for any other
    /// mount.
    pub(super) volume: Option<String>,
    /// The path on the machine, as the file writes it; `None` if it is not known.
    pub(super) from: Option<String>,
    /// The path in the container; `None` if it may be any path.
    pub(super) target: Option<String>,
}

/// The kind of mount that a container has at a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mounted<'a> {
    Nothing,
    Volume(&'a str),
    /// Any other mount, or more than one mount, at the folder, above the folder or inside the folder. Also a mount
    /// whose path in the container is not known.
    Other,
}

impl Container {
    pub(super) fn at_folder(&self, folder: &str) -> Mounted<'_> {
        let mut found = Mounted::Nothing;
        for mount in &self.mounts {
            let Some(target) = &mount.target else {
                return Mounted::Other;
            };
            if !touches(target, folder) {
                continue;
            }
            let name = mount.volume.as_deref().filter(|_| plain(target) == plain(folder));
            found = match (name, found) {
                (Some(name), Mounted::Nothing) => Mounted::Volume(name),
                _ => return Mounted::Other,
            };
        }
        found
    }

    /// The mounts at a folder, above it or inside it.
    pub(super) fn mounts_at<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a Mount> {
        self.mounts.iter().filter(move |it| it.target.as_deref().is_none_or(|it| touches(it, folder)))
    }

    /// Whether the container mounts its own configuration at a place where servers read configuration.
    pub(super) fn has_own_configuration(&self) -> bool {
        let places = ["/etc/mysql", "/etc/my.cnf", "/etc/postgres", "/etc/pgbouncer", "/bitnami/pgbouncer"];
        let is_place = |target: &Option<String>| {
            let target = target.as_deref().map(|it| it.trim_end_matches('/'));
            target.is_none_or(|it| it == "/etc" || places.iter().any(|place| it.starts_with(place)))
        };
        self.has_configs || self.mounts.iter().any(|it| is_place(&it.target))
    }

    /// Adds the variables that the container takes from elsewhere. Its own variables take precedence. If several
    /// variables from elsewhere have the same name, the last one takes precedence.
    pub(super) fn take(&mut self, given: Given) {
        self.unread = given.problems.first().cloned();
        let instead = given.instead.into_iter().filter_map(|it| it.1);
        self.variables.extend(instead.chain(given.taken.into_iter().rev()).map(|it| it.pair()));
    }

    /// The value of a variable in the container's environment.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Replaces `/var/run` by `/run`: they are the same folder in these images, and on nearly every machine.
fn plain(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_prefix("/var").filter(|it| *it == "/run" || it.starts_with("/run/")).unwrap_or(path)
}

/// Whether one folder contains the other.
fn touches(one: &str, other: &str) -> bool {
    let (one, other) = (plain(one), plain(other));
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(one, other) || is_in(other, one)
}
