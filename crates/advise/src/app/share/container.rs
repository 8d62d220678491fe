//! A container as its own settings describe it, whatever form of file they are in.
//!
//! Filled in by `compose`, `pods` and `quadlet`; `image` and `mount` ask it. Nothing is written here.

use super::taken::Given;

#[derive(Debug, Default)]
pub(super) struct Container {
    /// The file's own name for it.
    pub(super) title: String,
    pub(super) image: Option<String>,
    /// A setting in the place of what the image starts: it may start anything.
    pub(super) replaced_by: Option<&'static str>,
    /// What is started or handed to it; empty for the image's own command.
    pub(super) words: Vec<String>,
    /// `NAME=value` each.
    pub(super) variables: Vec<String>,
    pub(super) mounts: Vec<Mount>,
    /// Whether it has configuration that is not a mount.
    pub(super) has_configs: bool,
    /// What cannot be told of it from its own lines, as a sentence.
    pub(super) unclear: Option<String>,
    /// The same of the variables that it takes from elsewhere.
    pub(super) unread: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Mount {
    /// The name of a volume that is mounted whole and to be written; `None` for anything else.
    pub(super) volume: Option<String>,
    /// The path of the machine, as the file has it; `None` where that is not known.
    pub(super) from: Option<String>,
    /// `None` if it may be any place.
    pub(super) target: Option<String>,
}

/// What a container has at a folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mounted<'a> {
    Nothing,
    Volume(&'a str),
    /// Something else there, above it, or in it; or something that the file does not tell.
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

    /// What is mounted at a folder, above it, or in it.
    pub(super) fn mounts_at<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a Mount> {
        self.mounts.iter().filter(move |it| it.target.as_deref().is_none_or(|it| touches(it, folder)))
    }

    /// Whether it has configuration of its own at one of the places where servers look.
    pub(super) fn has_own_configuration(&self) -> bool {
        let places = ["/etc/mysql", "/etc/my.cnf", "/etc/postgres", "/etc/pgbouncer", "/bitnami/pgbouncer"];
        let is_place = |target: &Option<String>| {
            let target = target.as_deref().map(|it| it.trim_end_matches('/'));
            target.is_none_or(|it| it == "/etc" || places.iter().any(|place| it.starts_with(place)))
        };
        self.has_configs || self.mounts.iter().any(|it| is_place(&it.target))
    }

    /// Adds the variables that it takes from elsewhere: its own win, and the last of the others.
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

/// `/var/run` is `/run`, in these images and nearly everywhere.
fn plain(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_prefix("/var").filter(|it| *it == "/run" || it.starts_with("/run/")).unwrap_or(path)
}

/// Whether one is in the other.
fn touches(one: &str, other: &str) -> bool {
    let (one, other) = (plain(one), plain(other));
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_in(one, other) || is_in(other, one)
}
