//! What a report page shows beside the record's own fields, made from its raw counts and samples.
//!
//! Reads the file of samples block by block and keeps percentiles alone, so that a page of a large record needs
//! little memory. Called by `report` and `compare`.

mod epochs;
mod latency;

use std::io::ErrorKind;
use std::path::Path;

use looptax_record::Record;
use looptax_report::html::{self, Detail, Shown};
use looptax_store::{SamplesReader, StoreError};

use latency::Latencies;

/// A record on its way to a page.
pub(crate) struct Source<'a> {
    /// The record.
    pub(crate) record: &'a Record,
    /// Where it lies; `None` for a run that was not saved.
    pub(crate) path: Option<&'a Path>,
}

/// The page of these records, each with what lies beside it; what could not be read there is said on it,
/// and in `notes`.
pub(crate) fn page(sources: &[Source], notes: &mut Vec<String>) -> String {
    let names: Vec<String> = sources.iter().map(name).collect();
    let mut shown = Vec::new();
    for (source, name) in sources.iter().zip(&names) {
        let one = shown_page(source, name);
        if let Some(why) = one
            .no_samples
            .as_ref()
            .filter(|_| source.record.samples.is_some())
        {
            notes.push(format!("{name}: the page has no log of latencies: {why}"));
        }
        shown.push(one);
    }
    html::page(&shown)
}

fn name(source: &Source) -> String {
    let file_name = source.path.and_then(Path::file_name);
    file_name.map_or_else(
        || format!("looptax-{}.json", source.record.id),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn shown_page<'a>(source: &Source<'a>, name: &'a str) -> Shown<'a> {
    let record = source.record;
    let (mut reader, mut no_samples) = match samples(source) {
        Ok(reader) => (Some(reader), None),
        Err(why) => (None, Some(why)),
    };
    let mut latencies = Latencies::new(record);
    let mut details = Vec::new();
    for comparison in &record.comparisons {
        let found = reader
            .as_ref()
            .map(|reader| latencies.distributions(comparison, |at| reader.read(at)));
        let distributions = found.transpose().unwrap_or_else(|error| {
            no_samples = Some(error.to_string());
            reader = None;
            None
        });
        details.push(Detail {
            epochs: epochs::epochs_shown(comparison),
            distributions: distributions.unwrap_or_default(),
        });
    }
    Shown {
        record,
        name,
        details,
        no_samples,
        hdr_log: if reader.is_some() {
            latencies.finish()
        } else {
            String::new()
        },
    }
}

/// The file of samples, or why there is none.
fn samples(source: &Source) -> Result<SamplesReader, String> {
    let Some(file) = &source.record.samples else {
        return Err("no single latencies were kept".to_owned());
    };
    let Some(path) = source.path else {
        return Err("this run was not saved".to_owned());
    };
    SamplesReader::open(&path.with_file_name(&file.name)).map_err(|error| match error {
        StoreError::ReadFile { source, .. } if source.kind() == ErrorKind::NotFound => {
            format!("`{}` does not lie beside the record", file.name)
        }
        error => error.to_string(),
    })
}
