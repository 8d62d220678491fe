//! A container as a file describes it: its name, network and mounts.

use std::collections::BTreeSet;

#[derive(Debug, Clone)]
pub(super) struct Container {
    /// The container's name in the file.
    pub(super) key: String,
    /// The container's name for a person.
    pub(super) name: String,
    pub(super) image: Option<String>,
    pub(super) network: Network,
    /// The mounts: for each, the path in the container, and the content that is mounted there.
    pub(super) mounts: Vec<(String, Content)>,
    pub(super) may_have_more_mounts: bool,
    /// Files that set the container's environment, as the file names them.
    pub(super) environment_files: Vec<String>,
    pub(super) has_machines_files: bool,
    /// The lines of the container's own settings, counted from 1.
    pub(super) lines: BTreeSet<usize>,
    /// The document or Pod to which the container belongs. Names of containers are unique within a group.
    pub(super) group: usize,
    /// Whether all containers of the group share one network, as in a Pod.
    pub(super) shares_group: bool,
}

/// The containers of a file.
pub(in crate::app) struct File {
    pub(super) containers: Vec<Container>,
    /// The container to which all settings outside the other containers belong.
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
    /// Makes a container that has its own network and no mounts.
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
    /// The container uses the network of another container in the same file.
    Of(String),
    /// The container uses another network, which the text describes: the container `vpn`.
    Other(String),
    /// The network is not known; the text is the reason.
    Unknown(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// A path on the machine.
    Machine(String),
    Volume(String),
    /// Content that no other container sees, such as a tmpfs.
    Own,
    Unknown,
}

/// Splits the short form of a mount in Compose and Podman into the target and its content. The forms are
/// `source:target`, `source:target:ro`, and only a target.
pub(super) fn mount_of(text: &str) -> Option<(String, Content)> {
    // The value of a variable may contain anything, including colons.
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

/// Returns the content that a mount with this source has. The source is a path, or the name of a volume.
pub(super) fn content_of(source: &str) -> Content {
    if source.starts_with('/') || source.starts_with('.') {
        Content::Machine(source.to_owned())
    } else if source.starts_with(['~', '%', '$', '{', '<']) || source.is_empty() {
        Content::Unknown
    } else {
        Content::Volume(source.to_owned())
    }
}
