//! The place where a run's record is saved: a file that the user named, stdout, or a new folder in the folder of all
//! runs.
//!
//! The place is chosen before anything is measured. If the record cannot be saved there at the end, it is saved in the
//! folder for temporary files, so that a full disk or a removed folder does not lose the result.

use std::path::{Path, PathBuf};

use looptax_experiment::RecordWriter;
use looptax_model::failure::Failure;
use looptax_model::record::Record;
use looptax_store::{Existing, RunFolder, Saver, save};

use crate::args::ResultArgs;
use crate::earlier_runs::{remember, runs};
use crate::terminal::Terminal;

pub(crate) struct RecordPlace {
    /// The run's own folder; it is removed at the end if it is empty.
    folder: Option<RunFolder>,
    saved_at: Option<PathBuf>,
    /// Whether looptax tried to make a folder in the folder of all runs and failed.
    is_homeless: bool,
    /// Whether the history contains the run, so that the name of the run is enough to find the record.
    is_remembered: bool,
}

impl RecordPlace {
    /// Chooses the place that the arguments request. Returns this place, and a writer that saves `record` there.
    pub(crate) fn prepare(
        args: &ResultArgs,
        mut record: Record,
        terminal: Terminal,
    ) -> Result<(RecordWriter, Self), Failure> {
        let is_printed = args.is_json_printed();
        record.label.clone_from(&args.label);
        let (mut folder, mut is_homeless) = (None, false);
        let saver = match &args.output {
            Some(path) => Some(Saver::new(path, Existing::Replace)?),
            None if is_printed => None,
            None => {
                folder = run_folder(&record.id, terminal);
                is_homeless = folder.is_none();
                if let Some(folder) = &folder {
                    record.id.clone_from(&folder.id);
                }
                let path = folder.as_ref().map_or_else(|| temporary_path(&record.id), RunFolder::record);
                Some(Saver::new(&path, Existing::Keep)?)
            }
        };
        let place = Self { folder, saved_at: None, is_homeless, is_remembered: false };
        Ok((RecordWriter::new(record, saver), place))
    }

    /// Saves the finished record in its place. If that fails, saves it in the folder for temporary files.
    ///
    /// # Errors
    /// The reason why the record could not be saved in its place.
    pub(crate) fn save(&mut self, writer: &mut RecordWriter) -> Result<(), Failure> {
        let saved = writer.finish();
        let wanted = writer.path().filter(|_| !writer.is_empty()).map(PathBuf::from);
        let Err(failure) = saved else {
            self.saved_at = wanted;
            return Ok(());
        };
        let spare = temporary_path(&writer.record.id);
        if save(&writer.record, &spare, Existing::Keep).is_err() {
            return Err(failure);
        }
        let hint = failure.hint().map_or_else(String::new, |hint| format!("{hint}; "));
        let hint = format!("{hint}the record is at {}", spare.display());
        self.saved_at = Some(spare);
        Err(failure.with_hint(&hint))
    }

    /// Adds the run to the history, unless looptax has already reported that the folder of runs cannot be used.
    pub(crate) fn remember(&mut self, record: &Record, terminal: Terminal) {
        let can_be = !self.is_homeless && !record.is_empty();
        self.is_remembered = can_be && remember(record, self.path(), terminal);
    }

    /// Returns the file of the saved record.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.saved_at.as_deref()
    }

    /// Returns the name under which the user finds the saved record: the name of the run if that is enough, otherwise
    /// the file.
    pub(crate) fn name(&self, record: &Record) -> Option<String> {
        let path = self.saved_at.as_ref()?;
        let is_at_home = self.folder.as_ref().is_some_and(|it| it.record() == *path);
        Some(if is_at_home && self.is_remembered {
            format!("{0}  (looptax show {0} --html FILE makes a page of it)", record.id)
        } else {
            path.display().to_string()
        })
    }
}

/// Makes a new folder in the folder of all runs. If that fails, prints a message and returns `None`.
fn run_folder(id: &str, terminal: Terminal) -> Option<RunFolder> {
    let begun = runs().map(|runs| runs.begin(id).map_err(Failure::from));
    let why = match begun {
        Some(Ok(folder)) => return Some(folder),
        Some(Err(failure)) => format!("{failure:#}"),
        None => "neither XDG_DATA_HOME nor HOME is set".to_owned(),
    };
    let place = temporary_path(id);
    terminal.words(&format!(
        "{why}: looptax writes the record to {}, but does not remember the run. To write the record to another file, \
         use -o; to keep all records and the list of runs in another folder, set XDG_DATA_HOME\n",
        place.display()
    ));
    None
}

fn temporary_path(id: &str) -> PathBuf {
    looptax_host::own::temporary().join(format!("looptax-{id}.json"))
}
