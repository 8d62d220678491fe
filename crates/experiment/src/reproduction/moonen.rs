//! Scott Moonen's comparison: a stream and small messages without a database.
//!
//! Moonen reports 1,133 µs for a message over TCP, which is a hundred times what other people have measured.
//! [`attempts`] looks for a possible cause.

mod attempts;

use std::time::Duration;

use looptax_model::record::ReproductionPart;

use super::publication::Publication;
use super::reading::Reading;
use super::{Amounts, Runner};

/// Describes the work besides the comparisons, and its length.
pub(crate) const EXTRA_WORK: (&str, Duration) =
    ("other patterns of writing, to find one that takes 1133 µs per message", Duration::from_secs(12));

/// Adds the attempts, and the share of the published amounts that was measured.
pub(crate) fn add(
    part: &mut ReproductionPart,
    publication: &Publication,
    readings: &[Option<Reading>],
    amounts: &Amounts,
    runner: &Runner<'_>,
) {
    let split = readings.last().and_then(Option::as_ref);
    attempts::add(part, publication, split, amounts, runner);
    let mut published = publication.steps.iter().filter_map(|it| it.amount.as_ref());
    if let (Some(streamed), Some(sent)) = (published.next(), published.next()) {
        say_smaller(part, streamed.published, sent.published);
    }
}

fn say_smaller(part: &mut ReproductionPart, stream_bytes: u64, messages: u64) {
    let streamed = part.rows.iter().find_map(|row| row.proof.streamed_bytes);
    let sent = part.rows.iter().find(|row| row.proof.streamed_bytes.is_none());
    let share = |all: u64, published: u64| 100.0 * all as f64 / (2 * published) as f64;
    if let Some(bytes) = streamed {
        part.smaller.push(format!(
            "streamed {:.1} GB over the two transports in total, instead of 100 GB over each ({:.0} %)",
            bytes as f64 / 1e9,
            share(bytes, stream_bytes)
        ));
    }
    if let Some(row) = sent {
        part.smaller.push(format!(
            "sent {} messages over the two transports in total, instead of 100 million over each ({:.2} %)",
            row.proof.requests,
            share(row.proof.requests, messages)
        ));
    }
}
