//! Marks: reports of the attacker's program about the rights with which it ran.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Mark {
    who: String,
    uids: Vec<String>,
    gids: Vec<String>,
    groups: Vec<String>,
    /// The permitted and effective capabilities, in the kernel's hexadecimal form.
    capabilities: Vec<String>,
    no_new_rights: String,
    namespace: String,
    descriptors: Vec<PathBuf>,
    variables: Vec<String>,
}

/// The attacker's rights, and the user namespace in which they count.
#[derive(Debug, Clone)]
pub(super) struct Rights {
    pub(super) uid: u32,
    pub(super) namespace: String,
}

/// Parses marks; for an incomplete mark, returns the fields that it has.
pub(super) fn parse(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let value = value.trim();
        if name == "Mark" {
            marks.push(Mark { who: value.to_owned(), ..Mark::default() });
        }
        let Some(mark) = marks.last_mut() else {
            continue;
        };
        let words = || value.split_whitespace().map(str::to_owned);
        match name {
            "Uid" => mark.uids = words().collect(),
            "Gid" => mark.gids = words().collect(),
            "Groups" => mark.groups = words().collect(),
            "CapPrm" | "CapEff" => mark.capabilities.push(value.to_owned()),
            "NoNewPrivs" => value.clone_into(&mut mark.no_new_rights),
            "Namespace" => value.clone_into(&mut mark.namespace),
            "Descriptor" => mark.descriptors.push(PathBuf::from(value)),
            "Variable" => mark.variables.push(value.to_owned()),
            _ => {}
        }
    }
    marks
}

impl Rights {
    /// Returns the rights in the mark that the attacker does not have. Rights in the attacker's own namespace do not
    /// count outside it.
    pub(super) fn exceeded(&self, mark: &Mark) -> Option<String> {
        if mark.namespace != self.namespace && !mark.namespace.is_empty() {
            return None;
        }
        let own = self.uid.to_string();
        let is_own = |all: &[String]| !all.is_empty() && all.iter().all(|it| *it == own);
        let has_no_capability = mark.capabilities.iter().all(|it| it.bytes().all(|byte| byte == b'0'));
        let is_fine =
            is_own(&mark.uids) && is_own(&mark.gids) && mark.groups.iter().all(|it| *it == own) && has_no_capability;
        (!is_fine).then(|| {
            format!(
                "`{}` ran as uid {}, gid {}, groups {}, capabilities {}, no-new-privs {}",
                mark.who,
                mark.uids.join("/"),
                mark.gids.join("/"),
                mark.groups.join(","),
                mark.capabilities.join("/"),
                mark.no_new_rights
            )
        })
    }
}

impl Mark {
    /// Describes the leak if the mark shows something that only root may have: the secret in a variable, or an open
    /// file below the folders `private`.
    pub(super) fn leak(&self, secret: &str, private: &[PathBuf]) -> Option<String> {
        if let Some(variable) = self.variables.iter().find(|it| it.contains(secret)) {
            let name = variable.split('=').next().unwrap_or_default();
            return Some(format!("`{}` got root's variable {name}", self.who));
        }
        let is_private = |path: &&PathBuf| private.iter().any(|it| path.starts_with::<&Path>(it));
        let open = self.descriptors.iter().find(is_private)?;
        Some(format!("`{}` got {} open", self.who, open.display()))
    }
}
