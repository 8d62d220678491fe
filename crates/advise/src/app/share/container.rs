//! A container according to its own settings, in any form of file.
//!
//! Filled in by `compose`, `pods` and `quadlet`; read by `image` and `mount`. Nothing is written here.

use super::taken::Given;

#[derive(Debug, Default)]
pub(super) struct Container {
    /// The name that the file gives it.
    pub(super) title: String,
    pub(super) image: Option<String>,
    /// A setting that replaces the image's program, so that the container may start anything.
    pub(super) replaced_by: Option<&'static str>,
    /// The command, or the arguments of the image's command; empty if the image's own command is used.
    pub(super) words: Vec<String>,
    /// Each in the form `NAME=value`.
    pub(super) variables: Vec<String>,
    pub(super) mounts: Vec<Mount>,
    /// Whether it has configuration that is not mounted.
    pub(super) has_configs: bool,
    /// The facts about it that its own lines do not show, as a sentence.
    pub(super) unclear: Option<String>,
    /// The facts about variables that it takes from elsewhere, as a sentence, if they are not known.
    pub(super) unread: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Mount {
    /// The name of a volume that is mounted whole and writable; `None` for every other mount.
    pub(super) volume: Option<String>,
    /// The path on the machine, as the file writes it; `None` if it is unknown.
    pub(super) from: Option<String>,
    /// The path in the container; `None` if it may be any path.
    pub(super) target: Option<String>,
}

/// The mount of a container at a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mounted<'a> {
    Nothing,
    Volume(&'a str),
    /// Another mount at the folder, above it, or in it; or a mount that the file does not describe.
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

    /// The mounts at a folder, above it, or in it.
    pub(super) fn mounts_at<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a Mount> {
        self.mounts.iter().filter(move |it| it.target.as_deref().is_none_or(|it| touches(it, folder)))
    }

    /// Whether it mounts its own configuration at one of the places where servers read it.
    pub(super) fn has_own_configuration(&self) -> bool {
        let places = ["/etc/mysql", "/etc/my.cnf", "/etc/postgres", "/etc/pgbouncer", "/bitnami/pgbouncer"];
        let is_place = |target: &Option<String>| {
            let target = target.as_deref().map(|it| it.trim_end_matches('/'));
            target.is_none_or(|it| it == "/etc" || places.iter().any(|place| it.starts_with(place)))
        };
        self.has_configs || self.mounts.iter().any(|it| is_place(&it.target))
    }

    /// Adds the variables that it takes from elsewhere. Its own variables take precedence; of the others, the last one
    /// with a name does.
    pub(super) fn take(&mut self, given: Given) {
        self.unread = given.problems.first().cloned();
        let instead = given.instead.into_iter().filter_map(|it| it.1);
        self.variables.extend(instead.chain(given.taken.into_iter().rev()).map(|it| it.pair()));
    }

    /// The value of a variable of its environment.
    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.iter().find_map(|it| it.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Treats `/var/run` as `/run`, which it is in these images and nearly everywhere.
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
