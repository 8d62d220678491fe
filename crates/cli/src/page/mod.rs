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

use crate::failure::Failure;
use latency::Latencies;

/// A record on its way to a page.
pub(crate) struct Source<'a> {
    /// The record.
    pub(crate) record: &'a Record,
    /// Where it lies; `None` for a run that was not saved.
    pub(crate) path: Option<&'a Path>,
}

/// The page of these records, each with what lies beside it.
pub(crate) fn page(sources: &[Source]) -> Result<String, Failure> {
    let names: Vec<String> = sources.iter().map(name).collect();
    let mut shown = Vec::new();
    for (source, name) in sources.iter().zip(&names) {
        shown.push(of(source, name)?);
    }
    Ok(html::page(&shown))
}

fn name(source: &Source) -> String {
    let file_name = source.path.and_then(Path::file_name);
    file_name.map_or_else(
        || format!("looptax-{}.json", source.record.id),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn of<'a>(source: &Source<'a>, name: &'a str) -> Result<Shown<'a>, StoreError> {
    let record = source.record;
    let (reader, no_samples) = samples(source)?;
    let mut latencies = Latencies::new(record);
    let mut details = Vec::new();
    for comparison in &record.comparisons {
        let distributions = match &reader {
            Some(reader) => latencies.of(comparison, |at| reader.read(at))?,
            None => Vec::new(),
        };
        details.push(Detail {
            epochs: epochs::of(comparison),
            distributions,
        });
    }
    Ok(Shown {
        record,
        name,
        details,
        no_samples,
        hdr_log: if reader.is_some() {
            latencies.finish()
        } else {
            String::new()
        },
    })
}

/// The file of samples, or why there is none. One that is not this record's own is an error.
fn samples(source: &Source) -> Result<(Option<SamplesReader>, Option<String>), StoreError> {
    let none = |why: String| Ok((None, Some(why)));
    let Some(file) = &source.record.samples else {
        return none("no single latencies were kept".to_owned());
    };
    let Some(path) = source.path else {
        return none("this run was not saved".to_owned());
    };
    match SamplesReader::open(&path.with_file_name(&file.name)) {
        Ok(reader) => Ok((Some(reader), None)),
        Err(StoreError::ReadFile { source, .. }) if source.kind() == ErrorKind::NotFound => {
            none(format!("`{}` does not lie beside the record", file.name))
        }
        Err(error) => Err(error),
    }
}
