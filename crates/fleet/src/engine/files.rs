//! Collectors that store reports unchanged: a folder, and standard output. From there, log shippers can read the
//! reports.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use looptax_host::output::{self, Existing, Output};
use looptax_model::record::CollectorTables;

use super::question::{Question, Rows};
use super::scheme::InitOptions;
use super::work::Engine;
use crate::FleetError;
use crate::batch::Batch;
use crate::lines::to_lines;

/// The mode of a report's file: the owner may read it; other users may read it only if the folder's access rules allow
/// it.
const PRIVATE: u32 = 0o600;

/// A folder with a file for each report; each file is either complete or missing.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

#[derive(Debug)]
pub(super) struct Printed;

impl Folder {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    fn write(&self, batch: &Batch) -> io::Result<()> {
        let name = format!("{}.jsonl", batch.report_id);
        let output = Output::find_or_make(&self.path.join(name))?;
        // Removes the temporary files of a run that was killed; nothing else would replace or remove them.
        let _removed = output::sweep(output.folder());
        let begun = output.begin(Some(PRIVATE))?;
        begun.file().write_all(to_lines(batch).as_bytes())?;
        begun.file().sync_all()?;
        begun.finish(Existing::Replace)
    }
}

impl Engine for Folder {
    fn init(&mut self, _: &InitOptions) -> Result<CollectorTables, FleetError> {
        Err(FleetError::NoEngine)
    }

    fn send(&mut self, batches: &[Batch]) -> Result<(), FleetError> {
        batches.iter().try_for_each(|batch| {
            self.write(batch).map_err(|source| FleetError::Folder { path: self.path.clone(), source })
        })
    }

    fn ask(&mut self, _: &Question<'_>) -> Result<Rows, FleetError> {
        Err(FleetError::NoEngine)
    }
}

impl Engine for Printed {
    fn init(&mut self, _: &InitOptions) -> Result<CollectorTables, FleetError> {
        Err(FleetError::NoEngine)
    }

    fn send(&mut self, batches: &[Batch]) -> Result<(), FleetError> {
        let mut output = io::stdout().lock();
        let written = batches.iter().try_for_each(|it| output.write_all(to_lines(it).as_bytes()));
        written.and_then(|()| output.flush()).map_err(|source| FleetError::Output { source })
    }

    fn ask(&mut self, _: &Question<'_>) -> Result<Rows, FleetError> {
        Err(FleetError::NoEngine)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use looptax_model::failure::Explain;
    use looptax_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn a_destination_that_cannot_be_written_is_not_taken_for_the_spool() {
        let scratch = Scratch::new();
        fs::write(scratch.file("file"), "").unwrap();
        let mut folder = Folder::new(&scratch.file("file").join("reports"));
        let batch = Batch { report_id: "r".to_owned(), rows: [Vec::new(), Vec::new(), Vec::new()] };
        let error = folder.send(&[batch]).unwrap_err();
        assert!(matches!(error, FleetError::Folder { .. }), "{error:?}");
        let hint = error.hint().unwrap();
        assert!(hint.contains("another folder as the destination") && !hint.contains("--spool"), "{hint}");
    }
}
