//! Makes the data that the script draws, as JSON in the form of [`super::form`].
//!
//! Each figure with an interval also has its text, so that a chart shows the same digits as the tables.

use std::io::{self, BufWriter, Write};

use base64::engine::general_purpose::{GeneralPurpose, STANDARD};
use base64::write::EncoderStringWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use looptax_model::record::{Comparison, Estimate, Record, WhyRow};

use super::bill::{self, PARTS};
use super::form::{
    AddedDrawn, BillDrawn, BillPart, ChainsDrawn, ComparisonDrawn, Disturbed, Drawn, EpochsDrawn, FigureDrawn,
    LayerDrawn, Overview, PercentileDrawn, PointDrawn, SeriesDrawn, SlicesDrawn, SweepDrawn, TailDrawn, VerdictDrawn,
    WhyDrawn,
};
use super::markup::TEXT;
use super::series::{Series, Sweep};
use super::shown::{ChainsShown, Detail, EpochShown, Shown};
use super::tail;
use super::unit::Unit;
use super::why;
use crate::words::row::{judged, tax_words, versus};
use crate::words::why as words;
use crate::words::{GroupStory, Tone, sentence};

/// Maximum number of slices that are drawn. Drawing more slices would take seconds in a browser, and a reader would not
/// see more.
const MOST_SLICES: usize = 30_000;
/// Maximum size in bytes of a packed record inside its page.
const MOST_PACKED_BYTES: usize = 6 << 20;

/// Returns everything that the page draws for `shown`. `groups` are the groups that have an overview; `sweeps` are the
/// sweeps of groups.
pub(super) fn drawn_for(shown: &Shown, groups: &[&GroupStory], sweeps: Vec<Sweep>) -> Drawn {
    let record = shown.record;
    let every = every_nth_epoch(record);
    let comparisons = record.comparisons.iter().enumerate();
    let none = Detail::default();
    Drawn {
        name: TEXT.clean(shown.name),
        overviews: groups.iter().map(|it| overview(record, it)).collect(),
        sweeps: sweeps.into_iter().map(sweep).collect(),
        comparisons: comparisons
            .map(|(idx, it)| comparison(it, shown.details.get(idx).unwrap_or(&none), every))
            .collect(),
        hdr: shown.hdr_log.clone(),
    }
}

/// Returns n so that every n-th epoch is drawn: 1, or more if there are too many slices.
pub(super) fn every_nth_epoch(record: &Record) -> usize {
    let epochs = record.comparisons.iter().flat_map(|it| &it.raw.epochs);
    let n_slices: usize = epochs.map(|epoch| epoch.slices.len()).sum();
    n_slices.div_ceil(MOST_SLICES).max(1)
}

/// Returns the record without its latencies, as gzip in base64; `None` if the result is too large for the page.
pub(super) fn packed(record: &Record) -> Option<String> {
    let mut record = record.clone();
    for comparison in &mut record.comparisons {
        for epoch in &mut comparison.raw.epochs {
            epoch.samples = [None, None];
        }
    }
    let limit = Limited { out: EncoderStringWriter::new(&STANDARD), n_left: MOST_PACKED_BYTES };
    // JSON is written in thousands of small pieces; without a buffer, the encoder would take long for each piece.
    let gzip = GzEncoder::new(limit, Compression::new(6));
    let mut buffered = BufWriter::with_capacity(1 << 16, gzip);
    serde_json::to_writer(&mut buffered, &record).ok()?;
    let gzip = buffered.into_inner().ok()?;
    Some(gzip.finish().ok()?.out.into_inner())
}

/// A writer that accepts at most `n_left` more bytes.
struct Limited<'e> {
    out: EncoderStringWriter<'e, GeneralPurpose, String>,
    n_left: usize,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.n_left.checked_sub(bytes.len());
        self.n_left = left.ok_or(io::ErrorKind::FileTooLarge)?;
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn overview(record: &Record, group: &GroupStory) -> Overview {
    let comparisons = || group.comparisons.iter().map(|idx| &record.comparisons[*idx]);
    let is_alone = comparisons().all(|it| it.tax.len() < 2);
    let verdicts = comparisons().flat_map(|comparison| {
        comparison.tax.iter().map(move |tax| {
            let words = judged(tax, comparison, TEXT);
            let place = sentence::place(comparison, TEXT);
            let known = tax.throughput_pct.known().filter(|_| tax.has_size());
            VerdictDrawn {
                label: if is_alone { place } else { format!("{place}: {}", versus(&tax.arm, &tax.baseline, TEXT)) },
                tax: known.map(|pct| figure(pct, tax_words(tax, TEXT).unwrap_or_default())),
                micros: words.micros,
                verdict: words.verdict,
                tone: tone_word(words.tone),
            }
        })
    });
    let deltas = comparisons().map(|it| it.schedule.delta_pct);
    Overview { delta_pct: deltas.fold(0.0, f64::max), verdicts: verdicts.collect() }
}

/// Returns the name of a tone in the style sheet and in the script.
pub(super) fn tone_word(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Loss => "loss",
        Tone::Unsure => "unsure",
    }
}

fn figure(estimate: &Estimate, text: String) -> FigureDrawn {
    FigureDrawn { v: estimate.value, lo: estimate.lo, hi: estimate.hi, text }
}

fn sweep(sweep: Sweep) -> SweepDrawn {
    let series = |it: Series| SeriesDrawn {
        name: it.name,
        unit: it.unit,
        log: it.is_log,
        points: it
            .points
            .into_iter()
            .map(|point| PointDrawn { x: point.at, arm: point.arm, figure: figure(&point.figure, point.text) })
            .collect(),
    };
    SweepDrawn { axis: sweep.axis, arms: sweep.arms, series: sweep.series.into_iter().map(series).collect() }
}

fn comparison(comparison: &Comparison, detail: &Detail, every: usize) -> ComparisonDrawn {
    let tails = tail::arms(comparison, detail);
    let arms: Vec<String> = comparison.arms.iter().map(|arm| TEXT.clean(&arm.name)).collect();
    ComparisonDrawn {
        place: sentence::place(comparison, TEXT),
        differences: tail::added(comparison, &tails).into_iter().map(added).collect(),
        percentiles: tails.into_iter().map(tail_drawn).collect(),
        bill: bill_parts(comparison, &arms),
        epochs: pairs(comparison, detail),
        slices: slices(comparison, detail, every),
        whys: whys(comparison, detail),
        arms,
    }
}

fn tail_drawn(tail: tail::ArmTail) -> TailDrawn {
    let points = tail.points.iter().map(|point| {
        let estimate = Estimate { value: point.us, lo: point.lo_us, hi: point.hi_us, n: 0 };
        percentile(point.pct, &estimate, TEXT.micros_interval(&estimate))
    });
    TailDrawn { points: points.collect(), arm: tail.arm }
}

fn added(added: tail::Added) -> AddedDrawn {
    let exact = |(pct, us): &(f64, f64)| {
        let estimate = Estimate { value: *us, lo: None, hi: None, n: 0 };
        percentile(*pct, &estimate, TEXT.signed_micros(*us))
    };
    let judged = |(pct, us): &(f64, Estimate)| percentile(*pct, us, TEXT.signed_micros_interval(us));
    AddedDrawn {
        pooled: added.pooled.iter().map(exact).collect(),
        judged: added.judged.iter().map(judged).collect(),
        arm: added.arm,
        baseline: added.baseline,
    }
}

fn percentile(pct: f64, us: &Estimate, text: String) -> PercentileDrawn {
    PercentileDrawn { pct, figure: figure(us, text) }
}

fn bill_parts(comparison: &Comparison, arms: &[String]) -> Option<BillDrawn> {
    let bills = bill::bills_for(comparison, TEXT).ok()?;
    let parts = bills.arms.iter().flat_map(|bill| {
        let parts = PARTS.iter().zip(bill.parts);
        parts.map(|(part, value)| BillPart { arm: arms[bill.arm_idx].clone(), part, value, text: bills.shown(value) })
    });
    Some(BillDrawn { unit: bills.unit, parts: parts.collect() })
}

/// Returns the epochs of each verdict, in the order of the verdicts.
fn pairs(comparison: &Comparison, detail: &Detail) -> Vec<EpochsDrawn> {
    let pairs = comparison.tax.iter().enumerate().map(|(idx, tax)| {
        let epochs = epochs_of(detail, idx);
        let known = tax.throughput_pct.known().filter(|_| tax.has_size());
        EpochsDrawn {
            arm: TEXT.clean(&tax.arm),
            tax: known.map(|pct| figure(pct, tax_words(tax, TEXT).unwrap_or_default())),
            number: epochs.iter().map(|it| it.epoch_idx + 1).collect(),
            effect_pct: epochs.iter().map(|it| it.effect_pct.map(short)).collect(),
            steal_pct: epochs.iter().map(|it| it.steal_pct.map(short)).collect(),
            foreign_pct: epochs.iter().map(|it| it.foreign_pct.map(short)).collect(),
            noisy: epochs.iter().map(|it| it.is_noisy).collect(),
        }
    });
    pairs.collect()
}

/// Returns the epochs of the verdict `tax_idx`, which compare the baseline with the arm `tax_idx + 1`.
pub(super) fn epochs_of(detail: &Detail, tax_idx: usize) -> Vec<&EpochShown> {
    let other = tax_idx as u32 + 1;
    detail.epochs.iter().filter(|it| it.pair[1] == other).collect()
}

fn whys(comparison: &Comparison, detail: &Detail) -> Vec<WhyDrawn> {
    let drawn = comparison.why.iter().enumerate().map(|(idx, of_pair)| {
        let layer = |row: &WhyRow| LayerDrawn {
            name: TEXT.clean(&row.name),
            us: { row.arms.each_ref() }.map(|us| us.known().map(|known| figure(known, why::micros_of(us)))),
            difference: why::signed_micros(&row.difference),
        };
        let chains = detail.chains.get(idx).and_then(|it| it.as_ref().ok());
        WhyDrawn {
            arms: why::arms(comparison, of_pair),
            layers: words::shown_layers(of_pair).map(layer).collect(),
            chains: chains.map(|it| chains_drawn(it, of_pair.stacks.requests)),
        }
    });
    drawn.collect()
}

fn chains_drawn(chains: &ChainsShown, requests: [u64; 2]) -> ChainsDrawn {
    let frames = &chains.frames;
    ChainsDrawn {
        requests,
        names: chains.names.iter().map(|it| TEXT.clean(it)).collect(),
        depth: frames.iter().map(|it| it.depth).collect(),
        name: frames.iter().map(|it| it.name).collect(),
        ns: [0, 1].map(|side| frames.iter().map(|it| it.ns[side]).collect()),
    }
}

fn slices(comparison: &Comparison, detail: &Detail, every: usize) -> Option<SlicesDrawn> {
    let unit = Unit::for_comparison(comparison);
    let mut drawn = SlicesDrawn {
        unit: unit.word(),
        epoch: Vec::new(),
        arm: Vec::new(),
        start_s: Vec::new(),
        rate: Vec::new(),
        disturbed: Vec::new(),
    };
    for (idx, epoch) in comparison.raw.epochs.iter().enumerate().step_by(every) {
        for slice in &epoch.slices {
            drawn.epoch.push(idx + 1);
            drawn.arm.push(slice.arm_idx);
            drawn.start_s.push(short(slice.start_ns as f64 / 1e9));
            drawn.rate.push(unit.of_slice(slice).map(short));
        }
    }
    let noisy = detail.epochs.iter().filter(|it| it.is_noisy);
    drawn.disturbed = noisy.filter_map(|it| disturbed(comparison, it)).collect();
    (!drawn.rate.is_empty()).then_some(drawn)
}

fn disturbed(comparison: &Comparison, shown: &EpochShown) -> Option<Disturbed> {
    let epoch = comparison.raw.epochs.get(shown.epoch_idx)?;
    let (first, last) = (epoch.slices.first()?, epoch.slices.last()?);
    let end_ns = last.start_ns + last.guard_ns + last.active_ns + last.drain_ns;
    let steal = shown.steal_pct.unwrap_or(0.0);
    let foreign = shown.foreign_pct.map(|it| format!(", {it:.1}\u{a0}% foreign"));
    Some(Disturbed {
        epoch: shown.epoch_idx + 1,
        from_s: short(first.start_ns as f64 / 1e9),
        to_s: short(end_ns as f64 / 1e9),
        text: format!("{steal:.1}\u{a0}% stolen{}", foreign.unwrap_or_default()),
        // One percent of CPU time taken by the hypervisor disturbs as much as five percent used by other programs.
        steal: Some(steal * 5.0) >= shown.foreign_pct,
    })
}

/// Rounds to five digits, which is more than a chart shows.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
