//! A container as a file describes it: its name, network and mounts, before it is known which settings are its own.

use std::collections::BTreeSet;

#[derive(Debug, Clone)]
pub(super) struct Container {
    /// The file's own name for it.
    pub(super) key: String,
    /// For a person.
    pub(super) name: String,
    pub(super) image: Option<String>,
    pub(super) network: Network,
    /// Targets with what is mounted there.
    pub(super) mounts: Vec<(String, Content)>,
    pub(super) may_have_more_mounts: bool,
    /// Files that set its environment, as the file names them.
    pub(super) environment_files: Vec<String>,
    pub(super) has_machines_files: bool,
    /// The lines of its own settings, counted from one.
    pub(super) lines: BTreeSet<usize>,
    /// Which document or Pod it belongs to: names count within one.
    pub(super) group: usize,
    /// Whether all of its group have one network: a Pod.
    pub(super) shares_group: bool,
}

/// The containers of a file.
pub(in crate::app) struct File {
    pub(super) containers: Vec<Container>,
    /// What every setting is in that belongs to none of them.
    pub(super) rest: Option<Container>,
    pub(super) volume: &'static str,
}

/// A file that may describe containers.
pub(super) struct FileText<'a> {
    pub(super) path: &'a str,
    /// The last part of its path.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// Names of files that are beside it.
    pub(super) beside: &'a [String],
}

impl FileText<'_> {
    pub(super) fn ends_with(&self, ending: &str) -> bool {
        self.name.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(ending))
    }
}

impl Container {
    /// One with its own network and without mounts.
    pub(super) fn new(key: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            name: name.into(),
            image: None,
            network: Network::Own,
            mounts: Vec::new(),
            may_have_more_mounts: false,
            environment_files: Vec::new(),
            has_machines_files: false,
            lines: BTreeSet::new(),
            group: 0,
            shares_group: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Network {
    Machine,
    Own,
    /// That of another container of the same file.
    Of(String),
    /// That of something else, in words: the container `vpn`.
    Other(String),
    /// Why it is not known.
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A path of the machine.
    Machine(String),
    Volume(String),
    /// Nothing that anybody else has: a tmpfs.
    Own,
    Unknown,
}

/// Source and target of `source:target`, `source:target:ro` or a target alone, as Compose and Podman have it.
pub(super) fn mount_of(text: &str) -> Option<(String, Content)> {
    // A variable may hold anything, colons too.
    if text.contains('$') {
        let rest = text.rsplit('}').next().unwrap_or(text);
        let target = rest.split(':').rfind(|it| it.starts_with('/') && it.len() > 1)?;
        return Some((target.to_owned(), Content::Unknown));
    }
    let mut parts = text.split(':');
    let first = parts.next()?.trim();
    let Some(target) = parts.next().map(str::trim).filter(|it| it.starts_with('/')) else {
        return first.starts_with('/').then(|| (first.to_owned(), Content::Own));
    };
    Some((target.to_owned(), content_of(first)))
}

/// What a source of a mount is: a path, or the name of a volume.
pub(super) fn content_of(source: &str) -> Content {
    if source.starts_with('/') || source.starts_with('.') {
        Content::Machine(source.to_owned())
    } else if source.starts_with(['~', '%', '$', '{', '<']) || source.is_empty() {
        Content::Unknown
    } else {
        Content::Volume(source.to_owned())
    }
}
