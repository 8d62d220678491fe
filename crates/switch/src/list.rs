//! Lists the switches of this user. Each switch has a folder with its journal and its old and new files.

use std::net::SocketAddr;

use looptax_host::Folder;
use looptax_model::record::{FileHolds, ListedFile, ListedSwitch, SwitchStanding};

use crate::SwitchError;
use crate::data_folder::Kept;
use crate::journal::{self, Fix, PlannedFile, ServerOf, StackOf, Step, server_of, stack_of};
use crate::settle::{self, look, original_of, standing};
use crate::work::{Work, text_back};

/// A switch, from this run of looptax or an earlier one.
#[derive(Debug)]
pub struct Switch {
    /// The switch's name: the day and a number.
    pub id: String,
    /// The time when the switch was started, as RFC 3339.
    pub at: String,
    /// The subject of the switch, for a person, such as `WordPress, mysql at 127.0.0.1:3306`.
    pub title: String,
    /// The state of the switch, according to its journal.
    pub standing: SwitchStanding,
    /// The switch's files, with what each file holds at present.
    pub files: Vec<ListedFile>,
    /// The fix, if this switch only made later switches possible.
    pub fix: Option<Fix>,
    pub steps: Vec<Step>,
}

impl Switch {
    pub fn listed(&self) -> ListedSwitch {
        ListedSwitch {
            id: self.id.clone(),
            at: self.at.clone(),
            title: self.title.clone(),
            standing: self.standing,
            files: self.files.clone(),
        }
    }

    /// Returns the programs of a web server's switch.
    pub fn stack(&self) -> Option<&StackOf> {
        stack_of(&self.steps)
    }

    /// Whether the switch moved an application away from this address.
    pub fn moved_from(&self, tcp: SocketAddr) -> bool {
        self.steps.iter().any(|it| match it {
            Step::Moving { connections, .. } => connections.iter().any(|it| it.tcp == tcp),
            _ => false,
        })
    }

    /// Returns the server whose own file is the first file of the switch.
    pub fn server(&self) -> Option<&ServerOf> {
        server_of(&self.steps)
    }
}

/// Lists all switches, oldest first, and in a second list the errors of the switches whose journal cannot be read.
///
/// # Errors
/// [`SwitchError::Read`] if the folder of all switches cannot be read.
pub fn list(kept: &Kept) -> Result<(Vec<Switch>, Vec<SwitchError>), SwitchError> {
    let failed = |source| SwitchError::Read { path: kept.folder.clone(), source };
    let folder = match kept.open() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Default::default()),
        found => found.map_err(failed)?,
    };
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for name in folder.names().map_err(failed)? {
        // Only folders are switches; the lock file is next to them.
        let Ok(own) = folder.folder(&name) else {
            continue;
        };
        match read(&own, &name.to_string_lossy()) {
            // looptax was killed before it had a plan, and had not touched a file.
            Ok(None) => {}
            Ok(Some(switch)) => found.push(switch),
            Err(error) => unread.push(error),
        }
    }
    found.sort_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
    Ok((found, unread))
}

/// Removes leftovers: folders of a looptax process that ended before it had a plan, and files that an undone switch
/// left next to an application's files. A leftover that cannot be removed stays until the next call.
pub(crate) fn sweep(kept: &Kept) {
    let Ok(all) = kept.open() else {
        return;
    };
    for name in all.names().unwrap_or_default() {
        let Ok(own) = all.folder(&name) else {
            continue;
        };
        if journal::is_without_plan(&own) {
            let _left_for_the_next = journal::discard(&all, &name);
            continue;
        }
        match journal::read(&own) {
            // The folder was left without a plan, or is about to be filled; it is removed only if it is empty.
            Ok(steps) if steps.is_empty() => {
                let _not_empty = all.remove_folder(&name);
            }
            Ok(steps) if matches!(standing(&steps), SwitchStanding::Undone | SwitchStanding::PutBack) => {
                if let Some(Step::Planned { files, .. }) = steps.first() {
                    for file in files {
                        let _left_for_the_next = settle::sweep(file);
                    }
                }
            }
            Ok(_) | Err(_) => {}
        }
    }
}

fn read(folder: &Folder, id: &str) -> Result<Option<Switch>, SwitchError> {
    let steps = journal::read(folder)?;
    let Some(Step::Planned { at, title, files, fix, .. }) = steps.first() else {
        return Ok(None);
    };
    let listed = |file: &PlannedFile| ListedFile { path: file.path.display().to_string(), holds: look(file) };
    let files: Vec<ListedFile> = files.iter().map(listed).collect();
    let holds = |what: FileHolds| files.iter().any(|it| it.holds == what);
    Ok(Some(Switch {
        id: id.to_owned(),
        at: at.clone(),
        title: title.clone(),
        standing: match standing(&steps) {
            SwitchStanding::Interrupted | SwitchStanding::Planned if journal::is_busy(folder) => {
                SwitchStanding::UnderWay
            }
            // The undo stopped half way, and its start could not be written to the journal.
            SwitchStanding::Moved | SwitchStanding::Unproved if holds(FileHolds::Old) && holds(FileHolds::New) => {
                SwitchStanding::Interrupted
            }
            standing => standing,
        },
        files,
        fix: fix.clone(),
        steps,
    }))
}

/// A file as an undo of the switch would write it.
#[derive(Debug)]
pub struct ComingBack {
    pub path: String,
    pub now: Vec<u8>,
    /// The contents after the undo; empty if the undo would remove the file.
    pub then: Vec<u8>,
}

/// Lists the files that an undo of a switch would write, without the files that already have their old contents.
/// Changes nothing.
///
/// # Errors
/// The errors that [`Work::put_back`] returns before it writes.
pub fn coming_back(kept: &Kept, id: &str) -> Result<Vec<ComingBack>, SwitchError> {
    let failed = |source| SwitchError::Read { path: kept.folder.clone(), source };
    let folder = kept.open().and_then(|it| it.folder(id)).map_err(failed)?;
    let steps = journal::read(&folder)?;
    let Some(Step::Planned { files, .. }) = steps.first() else {
        return Err(SwitchError::Unknown { id: id.to_owned() });
    };
    let back = files.iter().enumerate().map(|(idx, file)| {
        let path = file.path.display().to_string();
        if file.created.is_some() {
            let now = if look(file) == FileHolds::Old { Vec::new() } else { original_of(file)?.bytes };
            return Ok(ComingBack { path, now, then: Vec::new() });
        }
        let then = text_back(&folder, file, idx)?;
        let now = if look(file) == FileHolds::Nothing { Vec::new() } else { original_of(file)?.bytes };
        Ok(ComingBack { path, then: then.unwrap_or_else(|| now.clone()), now })
    });
    let back = back.collect::<Result<Vec<_>, SwitchError>>()?;
    Ok(back.into_iter().filter(|it| it.now != it.then).collect())
}

/// Opens a switch that was started earlier, to finish or undo it. First removes, or puts back, the files that a killed
/// looptax left next to the switch's files.
///
/// # Errors
/// [`SwitchError::Unknown`], [`SwitchError::Busy`], `Unreadable` or `Journal`.
pub fn open(kept: &Kept, id: &str) -> Result<Work, SwitchError> {
    let is_name = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let unknown = || SwitchError::Unknown { id: id.to_owned() };
    if !is_name {
        return Err(unknown());
    }
    let folder = match kept.open().and_then(|all| all.folder(id)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(unknown()),
        found => found.map_err(|source| SwitchError::Read { path: kept.folder.join(id), source })?,
    };
    Work::resume(id, folder)
}
