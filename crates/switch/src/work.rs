//! A switch in progress: either all its files become new, or all stay as they were.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};

use looptax_host::Folder;
use looptax_model::failure::with_causes;
use looptax_model::record::{FileHolds, SwitchStanding};
use serde::de::DeserializeOwned;

use crate::SwitchError;
use crate::create::{create, remove_folder, uncreate};
use crate::data_folder::Kept;
use crate::digest::Digest;
use crate::file::{Created, Original, State};
use crate::journal::{
    End, Fix, Identity, Journal, PlannedFile, ServerOf, StackOf, Step, VERSION, discard, server_of, stack_of,
};
use crate::replace::{replace, replace_and_keep};
use crate::settle::{folder_of, give_back, let_go, look, not_read, original_of, settle, standing};
use crate::taken_out::take_out;

/// The maximum number of bytes that are read from a kept file, or from the file with a fix's data. Real files are not
/// longer.
const MOST_KEPT_BYTES: u64 = 16 << 20;
/// The name of the file with a fix's data, in the same folder as the journal. The data may contain password hashes.
const FIX_FILE: &str = "fix";

#[derive(Debug)]
pub struct Edited {
    pub original: Original,
    /// The whole new contents.
    pub new: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub struct Named<'a> {
    /// The day, with which the switch's name begins, such as `20261123`.
    pub day: &'a str,
    /// The time, as RFC 3339.
    pub at: &'a str,
    /// The subject of the switch, for a person.
    pub title: &'a str,
}

/// The kind of a fix, and the data that has to be kept for it.
#[derive(Debug)]
pub(crate) struct FixPlan<'a> {
    pub(crate) fix: Fix,
    pub(crate) kept: &'a [u8],
}

/// A switch on which only this process is working.
#[derive(Debug)]
pub struct Work {
    id: String,
    /// The switch's own folder, with journal, old and new files.
    folder: Folder,
    journal: Journal,
    files: Vec<PlannedFile>,
    /// Files that another process had changed after the switch, and in which only the switch's lines were put back.
    shared: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Old,
    New,
}

impl Side {
    fn file_name(self, idx: usize) -> String {
        let ending = match self {
            Self::Old => "old",
            Self::New => "new",
        };
        format!("{idx}.{ending}")
    }
}

impl Work {
    /// Stores old and new files and the plan. Does not touch a file of the application yet.
    ///
    /// # Errors
    /// [`SwitchError::Journal`]; in this case nothing is kept.
    pub fn plan(kept: &Kept, named: Named<'_>, edited: &[Edited]) -> Result<Self, SwitchError> {
        Self::plan_fix(kept, named, edited, None)
    }

    /// Plans like [`Self::plan`], and also stores a fix, which makes later switches possible.
    pub(crate) fn plan_fix(
        kept: &Kept,
        named: Named<'_>,
        edited: &[Edited],
        fix: Option<FixPlan<'_>>,
    ) -> Result<Self, SwitchError> {
        let failed = |source| SwitchError::Journal { path: kept.folder.clone(), source };
        let all = kept.make()?;
        let (id, folder) = make_folder(&all, named.day).map_err(failed)?;
        let planned = Self::lay_down(&id, folder, named, edited, fix);
        if planned.is_err() {
            let _nothing_kept = discard(&all, OsStr::new(&id));
        }
        let planned = planned?;
        all.sync().map_err(failed)?;
        Ok(planned)
    }

    fn lay_down(
        id: &str,
        folder: Folder,
        named: Named<'_>,
        edited: &[Edited],
        fix: Option<FixPlan<'_>>,
    ) -> Result<Self, SwitchError> {
        let path = folder.path().to_owned();
        let failed = |source| SwitchError::Journal { path: path.clone(), source };
        let keep = |name: &str, bytes: &[u8]| write_private(&folder, name, bytes).map_err(failed);
        let mut journal = Journal::create(&folder)?;
        if let Some(fix) = &fix {
            keep(FIX_FILE, fix.kept)?;
        }
        let mark = Identity::from(&folder.stat().map_err(failed)?).mark();
        let mut files = Vec::new();
        for (idx, Edited { original, new }) in edited.iter().enumerate() {
            for (side, bytes) in [(Side::Old, &original.bytes), (Side::New, new)] {
                keep(&side.file_name(idx), bytes)?;
            }
            let read = |source| SwitchError::Read { path: original.path.clone(), source };
            let stat = original.stat().map_err(read)?;
            let (folder, created) = match &original.state {
                State::There { folder, .. } => (Some(folder), None),
                State::Absent { above, created } => (Some(above).filter(|_| !created.with_folder), Some(created)),
            };
            let folder = folder.map(Folder::stat).transpose().map_err(read)?;
            files.push(PlannedFile {
                path: original.path.clone(),
                // The folder's mark is needed because another user's switches have the same names as this user's
                // switches.
                staged: format!(".{}.looptax-{id}-{mark}", short(&original.name)),
                old: Digest::of_bytes(&original.bytes),
                new: Digest::of_bytes(new),
                folder: folder.as_ref().map(Identity::from),
                owner: match (&stat, created) {
                    (Some(stat), _) => [stat.st_uid, stat.st_gid],
                    (None, Some(created)) => [created.owner, created.group],
                    (None, None) => unreachable!("the file exists, or the switch creates it"),
                },
                created: created.cloned(),
            });
        }
        journal.add(Step::Planned {
            version: VERSION,
            at: named.at.to_owned(),
            title: named.title.to_owned(),
            files: files.clone(),
            fix: fix.map(|it| it.fix),
        })?;
        folder.sync().map_err(failed)?;
        Ok(Self { id: id.to_owned(), folder, journal, files, shared: Vec::new() })
    }

    pub(crate) fn resume(id: &str, folder: Folder) -> Result<Self, SwitchError> {
        let journal = Journal::open(&folder)?;
        let Some(Step::Planned { files, .. }) = journal.steps.first() else {
            return Err(SwitchError::Unknown { id: id.to_owned() });
        };
        let files = files.clone();
        for file in &files {
            settle(file).map_err(|source| not_read(file, source))?;
        }
        Ok(Self { id: id.to_owned(), folder, journal, files, shared: Vec::new() })
    }

    /// The switch's name, for `--undo`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the fix, if the switch only makes later switches possible.
    pub fn fix(&self) -> Option<&Fix> {
        match self.journal.steps.first() {
            Some(Step::Planned { fix, .. }) => fix.as_ref(),
            _ => None,
        }
    }

    /// Returns the data that was kept for the fix.
    pub(crate) fn kept_of_fix<T: DeserializeOwned>(&self) -> Result<T, SwitchError> {
        let path = self.folder.path().join(FIX_FILE);
        let why = |error: serde_json::Error| SwitchError::Unreadable { path, why: error.to_string() };
        serde_json::from_slice(&read(&self.folder, FIX_FILE)?).map_err(why)
    }

    /// Returns the programs of a web server's switch.
    pub(crate) fn stack(&self) -> Option<StackOf> {
        stack_of(&self.journal.steps).cloned()
    }

    /// Returns the server whose own file is the first file of the switch.
    pub(crate) fn server(&self) -> Option<ServerOf> {
        server_of(&self.journal.steps).cloned()
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.journal.steps
    }

    /// Returns the folder with the switch's journal and its old and new files.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn standing(&self) -> SwitchStanding {
        standing(&self.journal.steps)
    }

    /// Writes all files. If one file cannot be written, puts back the files that were written before it, and returns
    /// the error.
    ///
    /// # Errors
    /// [`SwitchError::Changed`] if another process wrote a file after looptax read it; `Stage`, `Exchange`, `Journal`.
    pub fn write(&mut self, edited: &[Edited]) -> Result<(), SwitchError> {
        self.write_or_end(edited, ..)?;
        self.all_is_written()
    }

    /// Writes only the first file, in the same way as [`Self::write`]; the other files follow later.
    pub(crate) fn write_first(&mut self, edited: &[Edited]) -> Result<(), SwitchError> {
        self.write_or_end(edited, ..1)
    }

    fn write_or_end(&mut self, edited: &[Edited], which: impl RangeBounds<usize>) -> Result<(), SwitchError> {
        self.journal.add(Step::Writing)?;
        if let Err((idx, error)) = self.write_these(edited, which) {
            // Putting the files back is more important than recording this in the journal.
            let noted = self.journal.add(Step::PuttingBack { why: error.to_string() });
            // The file may be in place already, but not on disk yet. Text that another process wrote stays.
            let may_be_new = match &error {
                SwitchError::Exchange { .. } => true,
                SwitchError::Stage { .. } => self.files[idx].created.is_some(),
                _ => false,
            };
            let back = self.bring_old(..idx + usize::from(may_be_new));
            back.map_err(|source| self.not_back(&error, source))?;
            noted.and_then(|()| self.journal.add(Step::PutBack))?;
            self.end(End::PutBack)?;
            return Err(error);
        }
        Ok(())
    }

    /// Writes some of the files. The error contains the index of the file that was not written.
    pub(crate) fn write_these(
        &mut self,
        edited: &[Edited],
        which: impl RangeBounds<usize>,
    ) -> Result<(), (usize, SwitchError)> {
        for (idx, Edited { original, new }) in edited.iter().enumerate().filter(|(idx, _)| which.contains(idx)) {
            let staged = OsStr::new(&self.files[idx].staged);
            replace_and_keep(original, new, staged).map_err(|error| (idx, error))?;
        }
        Ok(())
    }

    pub(crate) fn all_is_written(&mut self) -> Result<(), SwitchError> {
        let Err(error) = self.journal.add(Step::Written) else {
            return Ok(());
        };
        self.bring_old(..).map_err(|source| self.not_back(&error, source))?;
        Err(error)
    }

    /// Returns the error for a switch whose files could not be put back either.
    fn not_back(&self, why: &SwitchError, source: SwitchError) -> SwitchError {
        SwitchError::NotBack {
            id: self.id.clone(),
            kept: self.folder.path().to_owned(),
            why: with_causes(why),
            source: Box::new(source),
        }
    }

    /// Writes the files that a killed looptax did not write.
    ///
    /// # Errors
    /// As [`Work::write`].
    pub fn finish(&mut self) -> Result<(), SwitchError> {
        self.refuse_fix()?;
        for file in &self.files {
            match look(file) {
                FileHolds::Other => {
                    let path = file.path.clone();
                    return Err(SwitchError::Changed { path });
                }
                FileHolds::Foreign => return Err(foreign(file)),
                FileHolds::Old | FileHolds::New | FileHolds::Nothing => {}
            }
        }
        self.journal.add(Step::Writing)?;
        for (idx, file) in self.files.iter().enumerate() {
            if look(file) == FileHolds::New {
                on_disk(file)?;
            } else {
                put(file, &kept(&self.folder, idx, Side::New)?)?;
            }
        }
        self.journal.add(Step::Written)
    }

    /// Puts back every old file that is not in place yet, and ends the switch. If another process has changed a file
    /// since, that process's text stays, and only the switch's own lines are put back ([`Work::shared`]).
    ///
    /// # Errors
    /// [`SwitchError::Rewritten`] if another process changed the lines that the switch wrote; in this case nothing is
    /// done. [`SwitchError::Unnoted`] if everything is done but the journal cannot record it. Otherwise as
    /// [`Work::write`].
    pub fn put_back(&mut self, why: &str, how: End) -> Result<(), SwitchError> {
        self.refuse_fix()?;
        self.bring_back(why)?;
        self.end(how).map_err(SwitchError::after_it)
    }

    /// Returns the files that another process had changed and in which only the switch's lines were put back.
    pub fn shared(&self) -> &[PathBuf] {
        &self.shared
    }

    /// Refuses a switch that changed a server: putting files back is not enough to undo it.
    fn refuse_fix(&self) -> Result<(), SwitchError> {
        let Some(fix) = self.fix() else {
            return Ok(());
        };
        Err(SwitchError::OnServer {
            id: self.id.clone(),
            server: match fix {
                Fix::Account { server } => server.clone(),
                Fix::Hba { data } => format!("PostgreSQL in {}", data.display()),
            },
        })
    }

    /// Puts back every old file that is not in place yet, but does not end the switch.
    pub(crate) fn bring_back(&mut self, why: &str) -> Result<(), SwitchError> {
        // Either all files can be put back, or none is touched.
        for idx in 0..self.files.len() {
            text_back(&self.folder, &self.files[idx], idx)?;
        }
        // Putting the files back is more important than recording this in the journal.
        let noted = self.journal.add(Step::PuttingBack { why: why.to_owned() });
        self.bring_old(..)?;
        let noted = noted.and_then(|()| self.journal.add(Step::PutBack));
        noted.map_err(SwitchError::after_it)
    }

    /// Puts these files back, if they are not in place yet.
    fn bring_old(&mut self, which: impl RangeBounds<usize>) -> Result<(), SwitchError> {
        for idx in (0..self.files.len()).filter(|idx| which.contains(idx)) {
            let file = &self.files[idx];
            if let Some(created) = &file.created {
                take_away(file, created)?;
                continue;
            }
            // If the exchange fails, the old text is written again instead.
            if give_back(file).unwrap_or(false) {
                continue;
            }
            let is_shared = look(file) == FileHolds::Other;
            match text_back(&self.folder, &self.files[idx], idx)? {
                Some(text) => put(file, &text)?,
                None => on_disk(file)?,
            }
            if is_shared {
                self.shared.push(file.path.clone());
            }
        }
        Ok(())
    }

    /// Notes an action on something other than files, before or after it is done.
    ///
    /// # Errors
    /// [`SwitchError::Journal`]; in this case the action must not be done.
    pub fn note(&mut self, step: Step) -> Result<(), SwitchError> {
        self.journal.add(step)
    }

    /// Notes that the switch is complete.
    ///
    /// # Errors
    /// [`SwitchError::Journal`].
    pub fn end(&mut self, how: End) -> Result<(), SwitchError> {
        self.journal.add(Step::Ended { how })?;
        for file in &self.files {
            // A file that cannot be removed at this point is removed when the switch is undone.
            let _stays = let_go(file);
        }
        Ok(())
    }
}

/// Returns the text that has to be written to put a file back; `None` if the file already has that text, or if the file
/// has to be removed.
pub(crate) fn text_back(own: &Folder, file: &PlannedFile, idx: usize) -> Result<Option<Vec<u8>>, SwitchError> {
    match look(file) {
        FileHolds::Other if file.created.is_some() => {
            let path = file.path.clone();
            return Err(SwitchError::Changed { path });
        }
        FileHolds::Foreign => return Err(foreign(file)),
        // The switch made this file, so it is removed.
        _ if file.created.is_some() => return Ok(None),
        FileHolds::Old => return Ok(None),
        FileHolds::New | FileHolds::Nothing => return kept(own, idx, Side::Old).map(Some),
        FileHolds::Other => {}
    }
    let now = original_of(file)?;
    let [old, new] = [Side::Old, Side::New].map(|side| kept(own, idx, side));
    let text = take_out(&old?, &new?, now.bytes());
    let text = text.ok_or_else(|| SwitchError::Rewritten {
        path: file.path.clone(),
        kept: own.path().join(Side::Old.file_name(idx)),
    })?;
    Ok(Some(text).filter(|text| text != now.bytes()))
}

/// Reads the stored old or new text of a file.
fn kept(own: &Folder, idx: usize, side: Side) -> Result<Vec<u8>, SwitchError> {
    read(own, &side.file_name(idx))
}

fn read(own: &Folder, name: &str) -> Result<Vec<u8>, SwitchError> {
    let bytes = own.read_own(name, MOST_KEPT_BYTES);
    bytes.map_err(|source| SwitchError::Read { path: own.path().join(name), source })
}

/// Returns the error for contents that the switch cannot have written.
fn foreign(file: &PlannedFile) -> SwitchError {
    match original_of(file) {
        Err(error) => error,
        // The file was exchanged once more between the two inspections.
        Ok(original) => SwitchError::Changed { path: original.path().to_owned() },
    }
}

/// Writes a text to a file, with the file's planned attributes.
fn put(file: &PlannedFile, text: &[u8]) -> Result<(), SwitchError> {
    let staged = OsStr::new(&file.staged);
    let Some(created) = &file.created else {
        return replace(&original_of(file)?, text, staged);
    };
    let read = |source| SwitchError::Read { path: file.path.clone(), source };
    let above = if created.with_folder {
        let folder = file.path.parent().and_then(Path::parent);
        Folder::open(folder.unwrap_or(&file.path))
    } else {
        folder_of(file)
    };
    create((&above.map_err(read)?, &file.path), created, text, staged)
}

/// Syncs the name of a file to the disk: the process that gave the file this name may have been killed before its own
/// sync, or the sync may have failed.
fn on_disk(file: &PlannedFile) -> Result<(), SwitchError> {
    let synced = folder_of(file).and_then(|it| it.sync());
    synced.map_err(|source| SwitchError::Exchange { path: file.path.clone(), source })
}

/// Removes a file that a switch made, and the file's folder if the switch made the folder.
fn take_away(file: &PlannedFile, created: &Created) -> Result<(), SwitchError> {
    let failed = |source| SwitchError::Exchange { path: file.path.clone(), source };
    // A leftover file would prevent the removal of the folder.
    settle(file).map_err(failed)?;
    if look(file) != FileHolds::Old {
        let folder = folder_of(file).map_err(failed)?;
        let staged = OsStr::new(&file.staged);
        uncreate((&folder, &file.path), created, &file.new, staged).map_err(failed)?;
    }
    remove_folder(&file.path, created).map_err(failed)
}

/// Creates a private folder with the first free name for the day.
fn make_folder(all: &Folder, day: &str) -> io::Result<(String, Folder)> {
    let mut number = 1_u32;
    loop {
        let id = format!("{day}-{number}");
        match all.make_folder(&id, 0o700) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            made => {
                made?;
                let folder = all.folder(&id)?;
                return Ok((id, folder));
            }
        }
    }
}

fn write_private(folder: &Folder, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = folder.create(name, 0o600)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Shortens the file's name, so that the staged file's name does not become too long.
fn short(name: &OsStr) -> String {
    name.to_string_lossy().chars().filter(|c| *c != '\u{fffd}').take(40).collect()
}
