//! Where results go while a run lasts: the record, saved after each comparison, and its samples.

use std::collections::BTreeMap;

use looptax_failure::Failure;
use looptax_record::{Hex64, Record, SamplesAt};
use looptax_store::Saver;

/// The record being made.
pub struct RecordWriter {
    /// All that is known so far.
    pub record: Record,
    saver: Option<Saver>,
    /// Latencies of the comparison in work, by offset: judged from here, as `analyze` judges them
    /// from the file.
    pending: BTreeMap<u64, Vec<u32>>,
    n_unsaved: u64,
}

impl RecordWriter {
    /// A writer that saves with `saver`, or only keeps.
    pub fn new(record: Record, saver: Option<Saver>) -> Self {
        Self {
            record,
            saver,
            pending: BTreeMap::new(),
            n_unsaved: 0,
        }
    }

    /// Takes the latencies of one side of an epoch. `None` beyond the cap or a full disk, and when
    /// there are none: an empty block would share its place with the next one.
    pub fn append(&mut self, latencies_ns: Vec<u32>) -> Option<SamplesAt> {
        if latencies_ns.is_empty() {
            return None;
        }
        let at = if let Some(saver) = &mut self.saver {
            saver.append(&latencies_ns)
        } else {
            // Nothing is written: the place is a number of ours, forgotten after judging.
            self.n_unsaved += 1;
            let count = latencies_ns.len() as u64;
            Some(SamplesAt {
                offset_bytes: self.n_unsaved,
                count,
                checksum: Hex64(0),
            })
        };
        if let Some(at) = &at {
            self.pending.insert(at.offset_bytes, latencies_ns);
        }
        at
    }

    /// The latencies at a place of the comparison in work.
    pub fn take_samples(&mut self) -> BTreeMap<u64, Vec<u32>> {
        std::mem::take(&mut self.pending)
    }

    /// Whether places of samples mean anything to a reader of the record.
    pub fn keeps_samples(&self) -> bool {
        self.saver.is_some()
    }

    /// Saves what is there: after each comparison, so that an interrupted run keeps it.
    pub fn save(&mut self) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        if let Some(saver) = &mut self.saver {
            saver.save(&mut self.record)?;
        }
        Ok(())
    }

    /// Notes the end of the run and saves, unless nothing was measured.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.record.finished_at = Some(jiff::Timestamp::now().to_string());
        self.save()
    }

    /// Fails where latencies could not be written; the record has been saved without them.
    pub fn check_samples(&mut self) -> Result<(), Failure> {
        match self.saver.as_mut().and_then(Saver::lost) {
            Some(lost) => Err(Failure::from(lost)
                .context("the record is saved, but not the latencies of all requests")),
            None => Ok(()),
        }
    }

    /// Whether nothing was measured: then nothing is saved either.
    pub fn is_empty(&self) -> bool {
        self.record.comparisons.is_empty() && self.record.looks.is_empty()
    }

    /// Where the record is.
    pub fn path(&self) -> Option<String> {
        self.saver
            .as_ref()
            .map(|saver| saver.path().display().to_string())
    }
}
