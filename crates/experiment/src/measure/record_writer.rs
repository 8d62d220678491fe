//! Holds the record of a run while the run measures, and saves it after each comparison.

use looptax_bench::{ContrastRun, MeasuredEpoch};
use looptax_model::analysis::proved_arm::ProvedArm;
use looptax_model::analysis::{Ending, judge};
use looptax_model::failure::Failure;
use looptax_model::record::{Comparison, Epoch, MOST_SAMPLES, Record, Samples};
use looptax_store::{SAMPLES_CAP_BYTES, Saver, pack, unpack};

pub struct RecordWriter {
    pub record: Record,
    saver: Option<Saver>,
    n_packed_bytes: usize,
    n_samples: u64,
}

impl RecordWriter {
    /// Makes a writer that saves with `saver`; with `None` the record is only kept in memory.
    pub fn new(record: Record, saver: Option<Saver>) -> Self {
        Self { record, saver, n_packed_bytes: 0, n_samples: 0 }
    }

    /// Adds the epochs of a contrast to a comparison, in the form in which the record stores them.
    pub fn take(&mut self, comparison: &mut Comparison, run: ContrastRun) {
        let epochs = run.epochs.into_iter().map(|epoch| self.pack_epoch(epoch));
        comparison.raw.epochs.extend(epochs);
    }

    /// Converts an epoch to the form of the record. Its latencies are packed, because they take most of a run's memory.
    fn pack_epoch(&mut self, epoch: MeasuredEpoch) -> Epoch {
        Epoch { samples: epoch.samples.map(|latencies_ns| self.pack(latencies_ns)), ..epoch.raw }
    }

    /// Packs the latencies of one side of an epoch. `None` if there are none, or if the limit is reached.
    fn pack(&mut self, latencies_ns: Vec<u32>) -> Option<Samples> {
        if latencies_ns.is_empty() {
            return None;
        }
        let packed = pack(latencies_ns);
        let n_bytes = self.n_packed_bytes + packed.packed.len();
        let n_samples = self.n_samples + packed.count;
        if n_bytes > SAMPLES_CAP_BYTES || n_samples > MOST_SAMPLES {
            return None;
        }
        (self.n_packed_bytes, self.n_samples) = (n_bytes, n_samples);
        Some(packed)
    }

    /// Judges a comparison from its own numbers, in the same way as `show`, and adds it to the record.
    pub fn add(&mut self, mut comparison: Comparison, arms: &[ProvedArm], endings: &[Ending]) {
        judge(&mut comparison, arms, endings, &mut |samples| unpack(samples).unwrap_or_default());
        self.record.comparisons.push(comparison);
    }

    /// Saves the record after a comparison, so that the record survives if the run is killed. An error is ignored here:
    /// the save at the end of the run fails too, and reports the error.
    pub fn save_early(&mut self) {
        let _ = self.save();
    }

    fn save(&mut self) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        if let Some(saver) = &mut self.saver {
            saver.save(&mut self.record)?;
        }
        Ok(())
    }

    /// Sets the end time of the run and saves the record, unless nothing was measured.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.record.finished_at = Some(jiff::Timestamp::now().to_string());
        self.save()
    }

    /// Returns an error if latencies could not be written; in this case the record has been saved without them.
    pub fn check_samples(&mut self) -> Result<(), Failure> {
        match self.saver.as_mut().and_then(Saver::lost) {
            Some(lost) => Err(Failure::from(lost).context("the record is saved, but some latencies are missing")),
            None => Ok(()),
        }
    }

    /// Whether nothing was measured; if so, nothing is saved either.
    pub fn is_empty(&self) -> bool {
        self.record.is_empty()
    }

    /// Returns the path of the record; `None` if the record is only kept in memory.
    pub fn path(&self) -> Option<String> {
        self.saver.as_ref().map(|saver| saver.path().display().to_string())
    }
}
