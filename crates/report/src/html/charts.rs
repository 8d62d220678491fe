//! The figures of the page: for each, an empty box in which the script draws, and the table below it.
//!
//! Overviews and sweeps are numbered in the order in which the script finds them in the data.

use looptax_model::record::{Comparison, Record, Tax};

use super::behind;
use super::bill;
use super::data::{epochs_of, every_nth_epoch};
use super::figure::{Figure, absent, figure};
use super::markup::{Markup, TEXT};
use super::series::{self, Sweep};
use super::shown::{Detail, Shown};
use super::tail;
use super::why;
use crate::words::row::versus;
use crate::words::{GroupStory, sentence};

/// Writes figures, and numbers them for the script.
#[derive(Debug)]
pub(super) struct Charts<'a> {
    shown: &'a Shown<'a>,
    n_overviews: usize,
    n_sweeps: usize,
    n_opened: usize,
    every: usize,
    record_idx: usize,
}

/// Maximum number of comparisons of a record that are unfolded when the page opens.
const MOST_OPEN: usize = 3;

/// Returns the sweep of a group, if the group is a sweep.
pub(super) fn sweep(record: &Record, group: &GroupStory) -> Option<Sweep> {
    let comparisons = group.comparisons.iter().map(|idx| &record.comparisons[*idx]);
    series::sweep_for(&comparisons.collect::<Vec<_>>())
}

impl<'a> Charts<'a> {
    pub(super) fn new(shown: &'a Shown<'a>, record_idx: usize) -> Self {
        Self { shown, n_overviews: 0, n_sweeps: 0, n_opened: 0, every: every_nth_epoch(shown.record), record_idx }
    }

    /// Writes the charts about a group as a whole: a sweep, or all verdicts in one picture.
    pub(super) fn group(&mut self, group: &GroupStory, out: &mut Markup) {
        let overview_idx = self.n_overviews;
        self.n_overviews += 1;
        if let Some(sweep) = sweep(self.shown.record, group) {
            return self.sweep(&sweep, out);
        }
        let comparisons = group.comparisons.iter();
        let n: usize = comparisons.map(|idx| self.shown.record.comparisons[*idx].tax.len()).sum();
        if n > 1 {
            let about = Figure {
                kind: "overview",
                idx: overview_idx,
                part: 0,
                title: "Every verdict",
                says: "The tax of every comparison with its interval; a tax within the grey band is too small to \
                    matter. The table of verdicts has the figures.",
            };
            figure(&about, out, |_| {});
        }
    }

    fn sweep(&mut self, sweep: &Sweep, out: &mut Markup) {
        let idx = self.n_sweeps;
        self.n_sweeps += 1;
        out.open("div", &[("class", "grid sweeps")]);
        for (part, series) in sweep.series.iter().enumerate() {
            let title = format!("{} by {}", series.name, sweep.axis);
            let about = Figure {
                kind: "sweep",
                idx,
                part,
                title: &title,
                says: "A line for each arm, with the band of its intervals. The table below has the figures.",
            };
            figure(&about, out, |out| {
                behind::series(&title, sweep.axis, series, out);
            });
        }
        out.close("div");
    }

    /// Writes all figures of one comparison; they are unfolded if there are few comparisons.
    pub(super) fn comparison(&mut self, idx: usize, is_first: bool, out: &mut Markup) {
        let comparison = &self.shown.record.comparisons[idx];
        let none = Detail::default();
        let detail = self.shown.details.get(idx).unwrap_or(&none);
        let is_open = self.shown.record.comparisons.len() <= MOST_OPEN || (is_first && self.n_opened < MOST_OPEN);
        self.n_opened += usize::from(is_open);
        let id = format!("record-{}-comparison-{idx}", self.record_idx);
        let mut attributes = vec![("class", "comparison"), ("id", id.as_str())];
        if is_open {
            attributes.push(("open", ""));
        }
        out.open("details", &attributes).open("summary", &[]);
        out.element("h4", &[], &sentence::place(comparison, TEXT));
        let holds = if comparison.why.is_empty() {
            "latency, bill, every epoch, every slice"
        } else {
            "layers and flame graph, latency, bill, every epoch, every slice"
        };
        out.element("span", &[("class", "hint")], holds);
        out.close("summary");
        why::write(idx, comparison, detail, out);
        out.open("div", &[("class", "grid")]);
        self.latency(idx, comparison, detail, out);
        bill_figure(idx, comparison, out);
        for (part, tax) in comparison.tax.iter().enumerate() {
            epochs_figure([idx, part], tax, comparison, detail, out);
        }
        self.slices(idx, comparison, detail, out);
        out.close("div").close("details");
    }

    fn latency(&self, idx: usize, comparison: &Comparison, detail: &Detail, out: &mut Markup) {
        let tails = tail::arms(comparison, detail);
        if tails.is_empty() {
            return absent("Latency by percentile", "the record holds no percentiles of single requests", out);
        }
        let title = "Latency by percentile";
        let says = "A line for each arm, from the fastest request to the 99.99th percentile, on logarithmic \
            axes. The table below contains the figures.";
        figure(&Figure { kind: "percentiles", idx, part: 0, title, says }, out, |out| {
            behind::tails(&tails, detail, out);
            let mut kept = comparison.raw.epochs.iter().flat_map(|epoch| &epoch.samples);
            if self.shown.no_samples.is_none() && kept.any(Option::is_none) {
                let words = "The record does not hold the latencies of some epochs: they are missing in this chart.";
                out.element("p", &[("class", "note")], words);
            }
            if let Some(reason) = &self.shown.no_samples {
                let words = format!("Only the percentiles of the record: {}", TEXT.clean(reason));
                out.element("p", &[("class", "note")], &words);
            }
        });
        let added = tail::added(comparison, &tails);
        if added.is_empty() {
            return;
        }
        let title = "Added latency by percentile";
        let says = "Time that the other arm adds: the line is for all requests together; the diamonds with bars are \
             the estimates from the epochs. The table below contains the figures.";
        figure(&Figure { kind: "difference", idx, part: 0, title, says }, out, |out| behind::added(&added, out));
    }

    fn slices(&self, idx: usize, comparison: &Comparison, detail: &Detail, out: &mut Markup) {
        if comparison.raw.epochs.is_empty() {
            return absent("Every slice", "the record holds no slices", out);
        }
        let title = if comparison.commands.is_some() { "Every run" } else { "Every slice" };
        let says = "The pace of each slice over time, arm by arm; times in which the hypervisor or other programs \
                    took CPU time are shaded. The table of epochs contains the figures.";
        figure(&Figure { kind: "slices", idx, part: 0, title, says }, out, |out| {
            let n_noisy = detail.epochs.iter().filter(|it| it.is_noisy).count();
            let is_read = detail.epochs.iter().all(|it| it.steal_pct.is_some() && it.foreign_pct.is_some());
            let noise = match n_noisy {
                0 if !is_read || detail.epochs.len() < 4 => "It is not known whether other programs disturbed the \
                    epochs: stolen or foreign CPU time was not read, or there are fewer than four epochs."
                    .to_owned(),
                0 => "No window of at least four epochs had more than 1 % of stolen or 5 % of foreign CPU time."
                    .to_owned(),
                n => format!(
                    "{n} of {} epochs are in windows with more than 1 % of stolen or 5 % of foreign CPU \
                    time.",
                    detail.epochs.len()
                ),
            };
            out.element("p", &[("class", "note")], &noise);
            if self.every > 1 {
                let words = format!(
                    "There are too many slices to draw all of them: the chart and the CSV have the slices of one out \
                        of every {} epochs.",
                    self.every
                );
                out.element("p", &[("class", "note")], &words);
            }
        });
    }
}

fn bill_figure(idx: usize, comparison: &Comparison, out: &mut Markup) {
    let title = "The bill of a request";
    let bills = match bill::bills_for(comparison, TEXT) {
        Ok(bills) if !bills.arms.is_empty() => bills,
        Ok(_) => return absent(title, "no arm has figures", out),
        Err(why) => return absent(title, &why, out),
    };
    let about = Figure {
        kind: "bill",
        idx,
        part: 0,
        title,
        says: "A bar for each arm: CPU time of the client, CPU time of the server, and the rest. These parts add up \
            to the mean latency; the table below contains the figures.",
    };
    figure(&about, out, |out| {
        behind::bill(title, &bills, comparison, out);
    });
}

fn epochs_figure([idx, part]: [usize; 2], tax: &Tax, comparison: &Comparison, detail: &Detail, out: &mut Markup) {
    let epochs = epochs_of(detail, part);
    let title = format!("The tax of every epoch, {}", versus(&tax.arm, &tax.baseline, TEXT));
    if epochs.iter().all(|it| it.effect_pct.is_none()) {
        return absent(&title, "the record holds no whole epochs", out);
    }
    let about = Figure {
        kind: "epochs",
        idx,
        part,
        title: &title,
        says: "A dot for each epoch, a cross for a disturbed epoch; the line with its band is the estimate. The \
            table below contains the figures.",
    };
    figure(&about, out, |out| {
        out.folded("Table", |out| {
            out.table(&title, |out| behind::epochs(&epochs, comparison, tax, out));
        });
    });
}
