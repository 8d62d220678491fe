//! Records of earlier runs, found by their file or by their name in the history.

use std::path::{Path, PathBuf};

use looptax_host::{own, read};
use looptax_model::failure::Failure;
use looptax_model::record::{PastRun, Record, Samples};
use looptax_store::{History, Runs, StoreError, load, unpack};

use crate::terminal::Terminal;

/// Largest size of `/etc/passwd` to read; the accounts of any machine need less.
const MOST_PASSWD_BYTES: u64 = 16 << 20;
/// To find the latest run with a saved record, search at most this many runs.
const MOST_LOOKED_THROUGH: u32 = 100;
/// The name of the record file in the folder of a run.
const RECORD: &str = "record.json";

/// Returns the folder for everything that looptax keeps of earlier runs; `None` without a home folder.
///
/// looptax trusts the contents of this folder. If looptax has more rights than its user, it therefore does not use a
/// folder that another user could have made. For example, under `sudo -E` looptax uses root's own folder.
pub(crate) fn data_folder() -> Option<PathBuf> {
    let named = named_data_folder()?;
    if is_ours_to_believe(&named) {
        return Some(named);
    }
    Some(own_data_folder().unwrap_or(named))
}

fn named_data_folder() -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
        Some(Path::new(&home).join(".local/share"))
    };
    Some(data.or_else(home)?.join("looptax"))
}

fn is_ours_to_believe(folder: &Path) -> bool {
    !looptax_host::is_privileged() || own::is_fit(folder)
}

/// Returns the data folder in the home folder that `/etc/passwd` lists for this user.
fn own_data_folder() -> Option<PathBuf> {
    let passwd = read::text(Path::new("/etc/passwd"), MOST_PASSWD_BYTES).ok()?;
    let uid = rustix::process::geteuid().as_raw().to_string();
    let mut lines = passwd.lines().map(|line| line.split(':'));
    let home = lines.find_map(|fields| {
        let fields: Vec<&str> = fields.collect();
        let is_own = fields.get(2) == Some(&&*uid);
        fields.get(5).filter(|_| is_own).map(PathBuf::from)
    })?;
    Some(home.join(".local/share/looptax"))
}

/// Prints a message if looptax does not use the folder that the environment names.
pub(crate) fn tell_of_another_folder(terminal: Terminal) {
    let (named, taken) = (named_data_folder(), data_folder());
    if let (Some(named), Some(taken)) = (named, taken)
        && named != taken
    {
        terminal.words(&format!(
            "another user can write to {}, so looptax uses the records and journals in {} instead\n",
            named.display(),
            taken.display()
        ));
    }
}

/// Returns the path of the history; `None` without a home folder.
fn history_path() -> Option<PathBuf> {
    Some(data_folder()?.join("history.sqlite"))
}

/// Returns the folder for records if the user named no other place; `None` without a home folder.
pub(crate) fn runs() -> Option<Runs> {
    Some(Runs::new(data_folder()?.join("runs")))
}

/// Returns the file in which `watch --save` keeps a count with this name; `None` without a home folder.
pub(crate) fn saved_watch(name: &str) -> Option<PathBuf> {
    Some(data_folder()?.join("watched").join(format!("{name}.json")))
}

pub(crate) fn open_history() -> Result<History, Failure> {
    let Some(path) = history_path() else {
        return Err(Failure::usage(
            "looptax has no place for a history: neither XDG_DATA_HOME nor HOME is set",
            "set one of them",
        ));
    };
    Ok(History::open(&path)?)
}

/// Adds a run to the history. Returns whether the run is now in the history. The record itself is saved already, so a
/// failure only prints a message.
pub(crate) fn remember(record: &Record, path: Option<&Path>, terminal: Terminal) -> bool {
    let Some(place) = history_path() else {
        terminal.words(
            "neither XDG_DATA_HOME nor HOME is set: looptax does not remember this run, and `looptax show` does not \
             list it\n",
        );
        return false;
    };
    let absolute = path.and_then(|path| std::path::absolute(path).ok());
    let absolute = absolute.map(|path| path.to_string_lossy().into_owned());
    let run = PastRun::from_record(record, absolute);
    let added = History::open(&place).and_then(|history| history.add(&run));
    if let Err(error) = added {
        let failure = Failure::from(error);
        terminal.words(&format!("this run is not in the history: {failure:#}\n"));
        if let Some(hint) = failure.hint() {
            terminal.words(&format!("{hint}\n"));
        }
        return false;
    }
    true
}

/// Returns the latest runs, the newest first; empty if there is no readable history.
pub(crate) fn latest_runs(most: u32) -> Vec<PastRun> {
    let history = history_path().filter(|path| read::exists(path));
    let runs = history.and_then(|path| History::open(&path).and_then(|it| it.latest(most)).ok());
    runs.map_or_else(Vec::new, |(runs, _)| runs)
}

pub(crate) fn latest_records(most: u32) -> Vec<PathBuf> {
    latest_runs(most).into_iter().filter_map(|run| run.path.map(PathBuf::from)).collect()
}

/// Whether a word is the path of a file, or of a folder with a record in it.
pub(crate) fn is_record_file(word: &str) -> bool {
    let path = Path::new(word);
    read::is_file(path) || read::is_file(&path.join(RECORD))
}

/// Whether a word is the name or the label of a run in the history.
pub(crate) fn is_run(word: &str) -> bool {
    let history = history_path().filter(|path| read::exists(path));
    let history = history.and_then(|path| History::open(&path).ok());
    history.is_some_and(|it| it.find(word).is_ok())
}

/// A record whose verdicts were computed again from its raw counts after it was read.
pub(crate) struct Judged {
    pub(crate) record: Record,
    pub(crate) path: PathBuf,
    /// The differences between the record's own summary and its counts, one sentence each.
    pub(crate) untrue: Vec<String>,
    /// Why some or all latencies could not be read; figures that need them are missing.
    pub(crate) no_samples: Option<StoreError>,
}

impl Judged {
    /// Reads the record at `path`.
    pub(crate) fn load(path: PathBuf) -> Result<Self, StoreError> {
        let mut record = load(&path)?;
        let mut no_samples = None;
        let mut read = |samples: &Samples| {
            unpack(samples).unwrap_or_else(|error| {
                no_samples.get_or_insert(error);
                Vec::new()
            })
        };
        let untrue = looptax_model::analysis::judge_record(&mut record, &mut read);
        Ok(Self { record, path, untrue, no_samples })
    }

    /// Returns the record and its path; prints a message if the record's summary does not match its counts.
    pub(crate) fn told(self, terminal: Terminal) -> (Record, PathBuf) {
        for sentence in &self.untrue {
            terminal.words(&format!("{sentence}: looptax uses the counts\n"));
        }
        (self.record, self.path)
    }
}

/// Returns the record in the file or folder that the word names. If the word names neither, returns the record of the
/// run whose name begins with the word, or whose label is the word. The verdicts are computed again, because the
/// verdicts in a file may not match its counts.
pub(crate) fn record_of(word: &str) -> Result<Judged, Failure> {
    let mut path = PathBuf::from(word);
    if read::is_folder(&path) {
        path.push(RECORD);
        if !read::is_file(&path) {
            return Err(Failure::usage(
                format!("the folder `{word}` contains no `{RECORD}`"),
                "pass a record's file, or the name of a run: `looptax show` lists the runs",
            ));
        }
    }
    if word.contains('/') || read::is_file(&path) {
        return Ok(Judged::load(path)?);
    }
    let run = match open_history().and_then(|it| Ok(it.find(word)?)) {
        // A word with a file extension was meant as a file, unless it is a label.
        Err(_) if path.extension().is_some() => return Ok(Judged::load(path)?),
        run => run?,
    };
    let Some(path) = run.path.map(PathBuf::from) else {
        let kept = latest_runs(MOST_LOOKED_THROUGH).into_iter().find(|it| it.path.is_some());
        let hint = kept.map_or_else(
            || "pass a record's file".to_owned(),
            |it| format!("pass a record's file, or `{}`, the latest run whose record was saved", it.id),
        );
        return Err(Failure::usage(format!("the record of run `{}` was only printed, not saved", run.id), hint));
    };
    if !read::exists(&path) {
        return Err(Failure::usage(
            format!("the record of run `{}` is no longer at `{}`", run.id, path.display()),
            format!("pass the file's present path; looptax show --forget {} forgets the run", run.id),
        ));
    }
    let judged = Judged::load(path)?;
    if judged.record.id != run.id {
        return Err(Failure::usage(
            format!("`{}` now contains run `{}`, not `{}`", judged.path.display(), judged.record.id, run.id),
            format!("looptax show --forget {} forgets the run", run.id),
        ));
    }
    Ok(judged)
}
