//! The contents of a report page that are not fields of the record. They are computed from the record's raw counts and
//! samples.
//!
//! The samples are unpacked one epoch after the other and only percentiles are kept, so that the page of a large record
//! needs little memory. Called by `show` and `compare`.

mod chains;
mod epochs;
mod latency;

use std::path::Path;

use looptax_model::record::Record;
use looptax_report::html::{self, Detail, Shown};

use latency::Latencies;

/// A record to be shown on a page.
pub(crate) struct Source<'a> {
    pub(crate) record: &'a Record,
    /// The record's path; `None` for a run that was not saved.
    pub(crate) path: Option<&'a Path>,
    /// Why some latencies of the record could not be read.
    pub(crate) no_samples: Option<String>,
}

/// Returns the page of these records. If a part cannot be read, the reason is on the page and in `notes`.
pub(crate) fn page(sources: &[Source], notes: &mut Vec<String>) -> String {
    let names: Vec<String> = sources.iter().map(name).collect();
    let mut shown = Vec::new();
    for (source, name) in sources.iter().zip(&names) {
        let mut one = shown_page(source, name);
        if let Some(why) = &one.no_samples {
            notes.push(format!("{name}: the page has no log of latencies: {why}"));
        } else if one.hdr_log.is_empty() {
            one.no_samples = Some("the latencies of single requests were not recorded".to_owned());
        }
        shown.push(one);
    }
    html::page(&shown)
}

fn name(source: &Source) -> String {
    let file_name = source.path.and_then(Path::file_name);
    file_name.map_or_else(|| format!("looptax-{}.json", source.record.id), |name| name.to_string_lossy().into_owned())
}

fn shown_page<'a>(source: &Source<'a>, name: &'a str) -> Shown<'a> {
    let record = source.record;
    let mut no_samples = source.no_samples.clone();
    let mut latencies = Latencies::new(record);
    let mut details = Vec::new();
    for comparison in &record.comparisons {
        let found = latencies.distributions(comparison);
        details.push(Detail {
            epochs: epochs::epochs_shown(comparison),
            distributions: found.unwrap_or_else(|error| {
                no_samples.get_or_insert(error.to_string());
                Vec::new()
            }),
            chains: chains::chains_shown(comparison),
        });
    }
    Shown {
        record,
        name,
        details,
        hdr_log: if no_samples.is_none() { latencies.finish() } else { String::new() },
        no_samples,
    }
}
