//! The destination of records if the user gives no path: a folder for each run, with the name of the run.
//!
//! The folder is made before anything is measured. Therefore two runs never use the same folder, and looptax reports at
//! the start if it cannot write there.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use looptax_host::{Folder, own};

use crate::StoreError;

/// The file name of the record in the folder of a run.
const RECORD: &str = "record.json";
/// Maximum number of runs for which the same name may be requested.
const MOST_OF_A_NAME: u32 = 1_000;

#[derive(Debug, Clone)]
pub struct Runs {
    folder: PathBuf,
}

/// The folder of a run. Dropping this value removes the folder if it is still empty.
#[derive(Debug)]
pub struct RunFolder {
    /// The name of the run: the requested name or, if another run has this name, the name with a number.
    pub id: String,
    all: Folder,
}

impl Runs {
    /// Refers to the runs in `folder`. The folder does not have to exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Makes the folder of a new run. The folder's name is `id`, unless a run has this name already.
    ///
    /// # Errors
    /// [`StoreError::CreateFolder`].
    pub fn begin(&self, id: &str) -> Result<RunFolder, StoreError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| StoreError::CreateFolder { path, source }
        };
        let all = own::make_folder(&self.folder).map_err(failed(&self.folder))?;
        let names = (2..MOST_OF_A_NAME).map(|n| format!("{id}-{n}"));
        for id in std::iter::once(id.to_owned()).chain(names) {
            match all.make_folder(&id, 0o777) {
                Ok(()) => return Ok(RunFolder { id, all }),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&self.folder.join(&id))(error)),
            }
        }
        Err(failed(&self.folder.join(id))(ErrorKind::AlreadyExists.into()))
    }

    /// Whether `record` is the path of the record of a run in this folder.
    pub fn holds(&self, record: &Path) -> bool {
        record.ends_with(RECORD) && record.parent().and_then(Path::parent) == Some(&self.folder)
    }

    /// Removes the folder of a record for which [`Runs::holds`] is true.
    ///
    /// # Errors
    /// [`StoreError::RemoveRun`]. If the folder is already gone, this is not an error. A folder with other files stays.
    pub fn remove(&self, record: &Path) -> Result<(), StoreError> {
        let removed = match self.remove_from(record) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        removed.map_err(|source| StoreError::RemoveRun { path: record.to_owned(), source })
    }

    fn remove_from(&self, record: &Path) -> io::Result<()> {
        let id = record.parent().and_then(Path::file_name).unwrap_or_default();
        let all = own::folder(&self.folder)?;
        let removed = match all.folder(id)?.remove(RECORD) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        // If the folder contains other files, it stays, because looptax did not make these files.
        let _kept = all.remove_folder(id);
        removed
    }
}

impl RunFolder {
    /// The path for the record of the run.
    pub fn record(&self) -> PathBuf {
        self.all.path().join(&self.id).join(RECORD)
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // The folder is removed only if it is empty.
        let _kept = self.all.remove_folder(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_hundred_runs_of_one_name_get_a_hundred_folders() {
        let home = tempfile::tempdir().unwrap();
        let runs = Runs::new(home.path().join("looptax/runs"));
        let begun: Vec<RunFolder> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..100).map(|_| scope.spawn(|| runs.begin("20260101-000000-1").unwrap())).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let mut ids: Vec<&str> = begun.iter().map(|it| &*it.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 100);
    }

    #[test]
    fn a_folder_stays_with_its_record_alone() {
        let home = tempfile::tempdir().unwrap();
        let runs = Runs::new(home.path().join("runs"));
        let (empty, kept) = (runs.begin("a").unwrap(), runs.begin("b").unwrap());
        let record = kept.record();
        fs::File::create(&record).unwrap();
        drop((empty, kept));
        assert!(record.exists() && !home.path().join("runs/a").exists());
        assert!(runs.holds(&record));
        assert!(!runs.holds(&home.path().join("b/record.json")));
        assert!(!runs.holds(&home.path().join("runs/b/other.json")));
        runs.remove(&record).unwrap();
        runs.remove(&record).unwrap();
        assert!(!home.path().join("runs/b").exists());
    }

    #[test]
    fn what_somebody_put_beside_a_record_stays() {
        let home = tempfile::tempdir().unwrap();
        let runs = Runs::new(home.path().join("runs"));
        let record = runs.begin("a").unwrap().record();
        fs::create_dir_all(record.parent().unwrap()).unwrap();
        for name in [record.clone(), record.with_file_name("notes")] {
            fs::File::create(name).unwrap();
        }
        runs.remove(&record).unwrap();
        assert!(record.with_file_name("notes").exists() && !record.exists());
    }
}
