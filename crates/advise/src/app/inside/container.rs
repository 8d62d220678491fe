//! A container as a file describes it (name, network and mounts), before its own settings are known.

use std::collections::BTreeSet;

#[derive(Debug, Clone)]
pub(super) struct Container {
    /// The name in the file.
    pub(super) key: String,
    /// The name for a person.
    pub(super) name: String,
    pub(super) image: Option<String>,
    pub(super) network: Network,
    /// The targets of its mounts, each with the content.
    pub(super) mounts: Vec<(String, Content)>,
    pub(super) may_have_more_mounts: bool,
    /// Files that set its environment, as the file names them.
    pub(super) environment_files: Vec<String>,
    pub(super) has_machines_files: bool,
    /// The lines of its own settings, counted from 1.
    pub(super) lines: BTreeSet<usize>,
    /// The document or Pod to which it belongs: container names are unique within one group.
    pub(super) group: usize,
    /// Whether all containers of its group share one network, as in a Pod.
    pub(super) shares_group: bool,
}

/// The containers of a file.
pub(in crate::app) struct File {
    pub(super) containers: Vec<Container>,
    /// The container to which all settings belong that are in none of the others.
    pub(super) rest: Option<Container>,
    pub(super) volume: &'static str,
}

/// A file that may describe containers.
pub(super) struct FileText<'a> {
    pub(super) path: &'a str,
    /// The last component of the file's path.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// Names of the other files in the same folder.
    pub(super) beside: &'a [String],
}

impl FileText<'_> {
    pub(super) fn ends_with(&self, ending: &str) -> bool {
        self.name.rsplit_once('.').is_some_and(|(_, own)| own.eq_ignore_ascii_case(ending))
    }
}

impl Container {
    /// A container with its own network and without mounts.
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
    /// It uses the network of another container of the same file.
    Of(String),
    /// It uses the network of something else, in words: the container `vpn`.
    Other(String),
    /// The network is not known; the reason.
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A path on the machine.
    Machine(String),
    Volume(String),
    /// Content that no other container sees: a tmpfs.
    Own,
    Unknown,
}

/// Source and target of `source:target` or `source:target:ro`, or only a target, as Compose and Podman write it.
pub(super) fn mount_of(text: &str) -> Option<(String, Content)> {
    // A variable may contain anything, including colons.
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

/// The content for the source of a mount: a path, or the name of a volume.
pub(super) fn content_of(source: &str) -> Content {
    if source.starts_with('/') || source.starts_with('.') {
        Content::Machine(source.to_owned())
    } else if source.starts_with(['~', '%', '$', '{', '<']) || source.is_empty() {
        Content::Unknown
    } else {
        Content::Volume(source.to_owned())
    }
}
