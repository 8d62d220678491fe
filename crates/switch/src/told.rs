//! A plan, and switches of earlier, in the form that is shown and saved.

use std::path::Path;

use looptax_advise::app::SET_ELSEWHERE;
use looptax_model::record::{
    Edit, FileHolds, FileRemark, FileRemarkCode, ListedFile, ListedSwitch, SwitchConnection,
    SwitchFate, SwitchFile, SwitchStanding,
};

use crate::journal::End;
use crate::list::Switch;
use crate::plan::{Fate, Plan, Planned};
use crate::remark::Remark;
use crate::settle::{Lies, Standing};

impl Plan {
    /// The connections, numbered, without passwords.
    pub fn connections(&self) -> Vec<SwitchConnection> {
        let numbered = self.connections.iter().zip(1..);
        let mut told: Vec<SwitchConnection> = numbered
            .map(|(it, number)| connection(it, number))
            .collect();
        if !self.elsewhere.is_empty() {
            for change in told.iter_mut().flat_map(|it| &mut it.check.changes) {
                let advice = change.advice.replace(SET_ELSEWHERE, "");
                advice
                    .trim_start_matches("; ")
                    .clone_into(&mut change.advice);
            }
        }
        told
    }

    /// The files that are written, with the lines that change.
    pub fn files(&self) -> Vec<SwitchFile> {
        let files = self.edited.iter().map(|edited| {
            let path = edited.original.path();
            let other = self.elsewhere.iter().find(|it| it.path == path);
            let remarks = other.map_or(&self.remarks, |it| &it.remarks);
            SwitchFile {
                path: shown(path),
                lines: other.map_or_else(|| self.lines_here(), |it| it.lines.clone()),
                remarks: remarks.iter().map(remark).collect(),
            }
        });
        files.collect()
    }

    /// Without what is set elsewhere, where that is known and written.
    fn lines_here(&self) -> Vec<Edit> {
        let mut lines = self.lines();
        lines.retain(|it| it.line.is_some() || self.elsewhere.is_empty());
        lines
    }

    pub(crate) fn lines(&self) -> Vec<Edit> {
        let moved = self.connections.iter().filter_map(|it| match it.fate {
            Fate::Moves(idx) => it.found.checked.changes.get(idx),
            _ => None,
        });
        let mut lines: Vec<Edit> = Vec::new();
        for edit in moved.flat_map(|it| &it.edits) {
            if !lines.contains(edit) {
                lines.push(edit.clone());
            }
        }
        lines.sort_by_key(|it| it.line);
        lines
    }
}

fn connection(planned: &Planned, number: usize) -> SwitchConnection {
    let (fate, change_idx) = match &planned.fate {
        Fate::Moves(idx) => (SwitchFate::Moves, Some(*idx)),
        Fate::IsThere => (SwitchFate::IsThere, None),
        Fate::Unwanted => (SwitchFate::Unwanted, None),
        Fate::Blocked => (SwitchFate::Blocked, None),
        Fate::Open => (SwitchFate::Open, None),
        Fate::WhichApplication(_) => (SwitchFate::WhichApplication, None),
        Fate::ByHand => (SwitchFate::ByHand, None),
    };
    SwitchConnection {
        number,
        user: { planned.found.address.as_ref() }.and_then(|it| it.user.clone()),
        socket: planned.found.socket.clone(),
        fate,
        may_be: match &planned.fate {
            Fate::WhichApplication(titles) => titles.clone(),
            _ => Vec::new(),
        },
        change_idx,
        check: planned.found.checked.clone(),
    }
}

fn remark(remark: &Remark) -> FileRemark {
    let (code, words) = match remark {
        Remark::Link(to) => (
            FileRemarkCode::Link,
            format!("the name is a link; what is written is {}", shown(to)),
        ),
        Remark::OtherNames(n) => (
            FileRemarkCode::OtherNames,
            format!("{n} other names (hard links) lead to the same file, and keep the old one"),
        ),
        Remark::Immutable => (
            FileRemarkCode::Immutable,
            "it may not be changed, not even by root: chattr -i -a allows it".to_owned(),
        ),
        Remark::ReadOnly => (
            FileRemarkCode::ReadOnly,
            "its file system is mounted for reading alone".to_owned(),
        ),
        Remark::FolderClosed => (
            FileRemarkCode::FolderClosed,
            "its folder takes no new file of this user: run it as root, or as the folder's owner"
                .to_owned(),
        ),
        Remark::ManagedBy(program) => (
            FileRemarkCode::Managed,
            format!(
                "{program} writes it, and will write it anew: change it there; --patch prints the lines"
            ),
        ),
        Remark::Conffile(package) => (
            FileRemarkCode::Conffile,
            format!(
                "it belongs to the package {package}, whose upgrade will ask which file to keep"
            ),
        ),
        Remark::GitTree(root) => (
            FileRemarkCode::GitTree,
            format!(
                "it lies in the git work tree {}: whoever deploys from there brings the old lines back",
                shown(root)
            ),
        ),
        Remark::PortInUse { program, at } => (
            FileRemarkCode::PortInUse,
            format!("{program}, is connected to {at} as well, and will find nobody there any more"),
        ),
    };
    FileRemark {
        code,
        words,
        forbids: remark.forbids(),
        wants_a_word: remark.wants_a_word(),
    }
}

impl Switch {
    /// As `--list` tells of it.
    pub fn listed(&self) -> ListedSwitch {
        let files = self.files.iter().map(|(path, lies)| ListedFile {
            path: shown(path),
            holds: holds(*lies),
        });
        ListedSwitch {
            id: self.id.clone(),
            at: self.at.clone(),
            title: self.title.clone(),
            standing: standing(self.standing),
            files: files.collect(),
        }
    }
}

fn holds(lies: Lies) -> FileHolds {
    match lies {
        Lies::Old => FileHolds::Old,
        Lies::New => FileHolds::New,
        Lies::Other => FileHolds::Other,
        Lies::Nothing => FileHolds::Nothing,
        Lies::Foreign => FileHolds::Foreign,
    }
}

fn standing(standing: Standing) -> SwitchStanding {
    match standing {
        Standing::Planned => SwitchStanding::Planned,
        Standing::UnderWay => SwitchStanding::UnderWay,
        Standing::Interrupted => SwitchStanding::Interrupted,
        Standing::Ended(End::Moved) => SwitchStanding::Moved,
        Standing::Ended(End::Prepared) => SwitchStanding::Prepared,
        Standing::Ended(End::Unproved) => SwitchStanding::Unproved,
        Standing::Ended(End::PutBack) => SwitchStanding::PutBack,
        Standing::Ended(End::Undone) => SwitchStanding::Undone,
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
