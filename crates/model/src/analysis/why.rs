//! Computes the CPU time of a request in each layer of `why`, and checks whether the layers add up.
//!
//! This file reads only the record's own epochs, so a later analysis gives the same result.

use crate::record::{self as record, CountedEpoch, Epoch, Figure, Placement, SampledEpoch, SampledPart, Why, WhyRow};
use crate::stats::{
    Difference, Estimate, Side, difference, holm, per_request, per_request_difference_of_occurrences,
    per_request_of_occurrences,
};

use crate::analysis::figures::plain;

/// If more than this share of the samples is lost, the result is invalid.
const MOST_LOST: f64 = 0.01;
/// If more than this share of the CPU time belongs to no known layer, the result is invalid.
const MOST_UNATTRIBUTED: f64 = 0.03;
/// If the CPU time from samples and the CPU time from clocks differ by more than this share, the result is invalid.
const MOST_APART: f64 = 0.1;
/// With fewer epochs no interval is given: an interval from two epochs is useless, as it reaches 13 standard errors to
/// each side.
const LEAST_EPOCHS: usize = 3;
const ALPHA: f64 = 0.05;

/// Fills in the figures of all sampled epochs, which were run in addition to the comparison's own epochs.
pub(crate) fn complete(comparison: &mut record::Comparison) {
    for why in &mut comparison.why {
        let own: Vec<&Epoch> = comparison.raw.epochs.iter().filter(|it| it.pair == why.pair).collect();
        fill(why, &own, comparison.placement.asked == Placement::Same);
    }
}

fn fill(why: &mut Why, own: &[&Epoch], has_one_core: bool) {
    let sampled: Vec<&Epoch> = why.epochs.iter().map(|it| &it.raw).collect();
    let found = share_without_sampler(&sampled, own);
    // The sampler itself uses CPU time, in the kernel. If only code of programs is sampled, the samples do not include
    // this time.
    let share = found.filter(|_| why.sampling.sees_kernel);
    let requests = requests_of(&sampled);
    let unit_us = sample_us(why);
    let layers = 0..why.layers.len();
    let is_seen = |layer: &usize| {
        let mut epochs = why.epochs.iter().flat_map(|it| &it.layer_ns);
        epochs.any(|it| it.get(*layer).is_some_and(|ns| *ns > 0))
    };
    let rows = layers.filter(is_seen).map(|layer| {
        let us = |epoch: &SampledEpoch, side: usize| ns_to_us(epoch.layer_ns[side].get(layer));
        let amounts = amounts(&why.epochs, us);
        let (row, p) = row_of(&why.layers[layer], &amounts, &requests, unit_us);
        (less_the_sampler(row, share), p)
    });
    why.rows = adjusted(rows.collect());
    // The sum uses floating-point numbers: the integers of a record from an untrusted source could overflow.
    let all = |epoch: &SampledEpoch, side: usize| {
        let layers = epoch.layer_ns[side].iter();
        layers.map(|ns| *ns as f64 / 1e3).sum()
    };
    let sum = row("sum", &amounts(&why.epochs, all), &requests).0;
    why.sampled = Some(WhyRow { name: "by samples".to_owned(), ..sum.clone() });
    why.sum = Some(less_the_sampler(sum, share));
    why.by_clocks = by_clocks("by the kernel's clocks", &sampled);
    why.without_sampler = by_clocks("without the sampler", own);
    why.idle = has_one_core.then(|| idle(own)).flatten();
    why.sampler_pct = found.map(|share| plain(added_pct(share)));
    for parts in [&mut why.processes, &mut why.functions] {
        fill_parts(parts, &requests, unit_us, share);
    }
    let counters = 0..why.counters.len();
    let counts = counters.map(|idx| {
        let count = |epoch: &SampledEpoch, side: usize| epoch.counts[side].get(idx).copied().unwrap_or_default() as f64;
        row(&why.counters[idx], &amounts(&why.epochs, count), &requests)
    });
    let counts: Vec<_> = counts.chain(counts_of_warm_up(why)).collect();
    why.counts = adjusted(counts);
    why.invalid = invalid(why, has_one_core);
}

/// Fills in the cost per request of each process or function, by the same formula as for layers.
fn fill_parts(parts: &mut [SampledPart], requests: &Amounts, unit_us: f64, share: Option<Estimate>) {
    let rows = parts.iter().map(|part| {
        // In a record from an untrusted source, the number of entries in `part.ns` may differ from the number of
        // epochs.
        let us = |side: usize| {
            let epochs = 0..requests[side].len();
            epochs.map(move |epoch_idx| ns_to_us(part.ns.get(epoch_idx).map(|ns| &ns[side])))
        };
        let name = part.function.as_ref().unwrap_or(&part.process);
        let amounts = [0, 1].map(|side| us(side).collect());
        let (row, p) = row_of(name, &amounts, requests, unit_us);
        (less_the_sampler(row, share), p)
    });
    let rows = adjusted(rows.collect());
    for (part, row) in parts.iter_mut().zip(rows) {
        part.row = Some(row);
    }
}

/// Divides the counts from the epochs of the warm-up by the requests of these epochs.
fn counts_of_warm_up(why: &Why) -> Vec<(WhyRow, Option<f64>)> {
    let of_sides = |amount: &dyn Fn(&CountedEpoch, usize) -> u64| -> Amounts {
        let epochs = |side| why.counted.iter().map(move |it| amount(it, side) as f64);
        [0, 1].map(|side| epochs(side).collect())
    };
    let requests = of_sides(&|epoch, side| epoch.requests[side]);
    let counters = why.counters_of_warm_up.iter().enumerate();
    counters
        .map(|(idx, name)| {
            let count = |epoch: &CountedEpoch, side: usize| epoch.counts[side].get(idx).copied().unwrap_or_default();
            row(name, &of_sides(&count), &requests)
        })
        .collect()
}

fn ns_to_us(ns: Option<&u64>) -> f64 {
    ns.copied().unwrap_or_default() as f64 / 1e3
}

type Amounts = [Vec<f64>; 2];

fn amounts(epochs: &[SampledEpoch], amount: impl Fn(&SampledEpoch, usize) -> f64) -> Amounts {
    [0, 1].map(|side| epochs.iter().map(|epoch| amount(epoch, side)).collect())
}

/// Counts all requests of the slices, including the requests of guard and drain, because the CPU times include these
/// requests.
fn requests_of(epochs: &[&Epoch]) -> Amounts {
    Side::BOTH.map(|side| {
        let total = |epoch: &&Epoch| epoch.slices_of(side).map(|it| it.requests as f64).sum();
        epochs.iter().map(total).collect()
    })
}

/// Makes the row of a layer without samples in a run: zero, with the interval that the run's epochs allow.
pub(crate) fn unseen(why: &Why, name: &str) -> WhyRow {
    let epochs: Vec<&Epoch> = why.epochs.iter().map(|it| &it.raw).collect();
    let none = amounts(&why.epochs, |_, _| 0.0);
    row_of(name, &none, &requests_of(&epochs), sample_us(why)).0
}

/// Returns the number of samples that a run has in a layer, over one arm; `None` if the record does not contain the
/// CPU time that a sample represents.
pub(crate) fn n_samples(why: &Why, name: &str, side: usize) -> Option<f64> {
    let us = Some(sample_us(why)).filter(|us| *us > 0.0)?;
    let Some(layer) = why.layers.iter().position(|it| it == name) else {
        return Some(0.0);
    };
    let epochs = why.epochs.iter();
    Some(epochs.map(|it| ns_to_us(it.layer_ns[side].get(layer)) / us).sum())
}

/// Returns the CPU time that a sample represents, µs.
fn sample_us(why: &Why) -> f64 {
    why.sampling.period_ns as f64 / 1e3
}

/// Makes a row for figures that do not come from samples: clocks, and complete counts.
fn row(name: &str, amounts: &Amounts, requests: &Amounts) -> (WhyRow, Option<f64>) {
    row_of(name, amounts, requests, 0.0)
}

/// Makes a row. Each amount is a sum of samples, and one sample counts as `unit`.
fn row_of(name: &str, amounts: &Amounts, requests: &Amounts, unit: f64) -> (WhyRow, Option<f64>) {
    let enough = |it: Estimate| {
        if it.n < LEAST_EPOCHS { Estimate::without_interval(it.value, it.n) } else { it }
    };
    let side = |side: usize| {
        let found = per_request_of_occurrences(&amounts[side], &requests[side], unit, ALPHA);
        plain(found.map(enough))
    };
    let [base, other] = [0, 1].map(|side: usize| (&amounts[side][..], &requests[side][..]));
    let found: Option<Difference> = per_request_difference_of_occurrences(base, other, unit, ALPHA);
    let estimate = found.map(|it| enough(it.estimate));
    let row = WhyRow { name: name.to_owned(), arms: [side(0), side(1)], difference: plain(estimate), p: None };
    let is_known = estimate.is_some_and(|it| it.has_interval());
    (row, found.and_then(|it| it.p).filter(|_| is_known))
}

/// Returns the rows with their probabilities, corrected for the number of rows.
fn adjusted(rows: Vec<(WhyRow, Option<f64>)>) -> Vec<WhyRow> {
    let (rows, ps): (Vec<WhyRow>, Vec<Option<f64>>) = rows.into_iter().unzip();
    let ps: Vec<f64> = ps.into_iter().map(|it| it.unwrap_or(f64::NAN)).collect();
    let with = rows.into_iter().zip(holm(&ps));
    with.map(|(row, p)| WhyRow { p: p.is_finite().then_some(p), ..row }).collect()
}

/// Returns the CPU time of client and server as the kernel counts it, µs; `None` if the kernel does not report it.
fn cpu_us(epochs: &[&Epoch]) -> Option<Amounts> {
    let of_side = |side: Side| -> Option<Vec<f64>> {
        let total = |epoch: &&Epoch| {
            let slices = epoch.slices_of(side);
            let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
            slices.map(|it| Some(us(it.client_cpu_ns)? + us(it.server_cpu_ns)?)).sum()
        };
        epochs.iter().map(total).collect()
    };
    Some([of_side(Side::Baseline)?, of_side(Side::Other)?])
}

fn by_clocks(name: &str, epochs: &[&Epoch]) -> Option<WhyRow> {
    Some(row(name, &cpu_us(epochs)?, &requests_of(epochs)).0)
}

/// Returns the time in which neither client nor server used the core. While a request waits for a timer, time passes on
/// the core, but no CPU time is used.
fn idle(epochs: &[&Epoch]) -> Option<WhyRow> {
    let used_us = cpu_us(epochs)?;
    let idle_us = Side::BOTH.map(|side| {
        let used = &used_us[side as usize];
        let with = epochs.iter().zip(used);
        with.map(|(epoch, used)| {
            let spans = epoch.slices_of(side);
            let spans = spans.map(|it| (it.guard_ns + it.active_ns + it.drain_ns) as f64 / 1e3);
            (spans.sum::<f64>() - used).max(0.0)
        })
        .collect()
    });
    Some(row("neither end on a core", &idle_us, &requests_of(epochs)).0)
}

/// Returns the share of a request's CPU time that does not belong to the sampler, for both arms together. The share is
/// computed from epochs with the sampler and epochs without it, in turns. Each interruption by the sampler costs the
/// same, whatever the sampler interrupts, and each interruption is a sample. Therefore the sampler's cost is spread
/// over the layers in proportion to their size.
fn share_without_sampler(sampled: &[&Epoch], own: &[&Epoch]) -> Option<Estimate> {
    let [with, without] = [sampled, own].map(|epochs| -> Option<Estimate> {
        let both = |[base, other]: Amounts| -> Vec<f64> {
            let pairs = base.iter().zip(other);
            pairs.map(|(base, other)| base + other).collect()
        };
        per_request(&both(cpu_us(epochs)?), &both(requests_of(epochs)), ALPHA)
    });
    let (with, without) = with.zip(without)?;
    let added = difference(without, with);
    // 1 - added/with is monotone in `added`.
    let share = added.map_monotone(|us| 1.0 - us / with.value);
    let n = sampled.len().min(own.len());
    Some(if n < LEAST_EPOCHS { Estimate::without_interval(share.value, n) } else { share })
}

/// Returns how much the sampler adds to a request, percent; `None` if `share` is not positive. `share` is the result of
/// [`share_without_sampler`].
fn added_pct(share: Estimate) -> Option<Estimate> {
    let added = |share: f64| 100.0 * (1.0 / share - 1.0);
    let value = (share.value > 0.0).then(|| added(share.value))?;
    Some(if share.has_interval() {
        Estimate {
            value,
            lo: added(share.hi),
            hi: if share.lo > 0.0 { added(share.lo) } else { f64::INFINITY },
            n: share.n,
        }
    } else {
        Estimate::without_interval(value, share.n)
    })
}

/// Subtracts the sampler's cost from a row; the intervals then include the uncertainty of this cost.
fn less_the_sampler(row: WhyRow, share: Option<Estimate>) -> WhyRow {
    let Some(share) = share.filter(|it| it.value > 0.0) else {
        return row;
    };
    let scaled = |figure: &Figure| match figure.known() {
        Some(it) => {
            let value = it.value * share.value;
            let beside = it.value.abs() * share.half_width();
            let end = |end: Option<f64>, sign: f64| {
                let away = end.map_or(f64::INFINITY, |end| (end - it.value).abs() * share.value);
                value + sign * away.hypot(beside)
            };
            Figure::new(value, end(it.lo, -1.0), end(it.hi, 1.0), it.n)
        }
        None => figure.clone(),
    };
    WhyRow { arms: row.arms.each_ref().map(scaled), difference: scaled(&row.difference), ..row }
}

fn invalid(why: &Why, has_one_core: bool) -> Vec<String> {
    let sampling = &why.sampling;
    let n_all = sampling.n_samples + sampling.n_of_others + sampling.n_lost;
    let share = sampling.n_lost as f64 / (n_all as f64).max(1.0);
    let lost = (share > MOST_LOST)
        .then(|| format!("{:.1} % of the samples did not fit into the kernel's buffers", 100.0 * share));
    let unattributed = |side: usize| {
        let sum = why.sum.as_ref()?.arms[side].known()?.value;
        let name = why.layers.last()?;
        let row = why.rows.iter().find(|it| it.name == *name)?;
        let share = row.arms[side].known()?.value / sum;
        (share > MOST_UNATTRIBUTED)
            .then(|| format!("{:.1} % of the CPU time does not belong to a known layer", 100.0 * share))
    };
    let apart = [0, 1].into_iter().find_map(|side| apart(why, side, has_one_core));
    lost.into_iter().chain(apart).chain(unattributed(0).or_else(|| unattributed(1))).collect()
}

/// Returns a sentence if the CPU time from an arm's samples differs from the CPU time of the kernel's clocks, and the
/// small number of samples does not explain the difference.
fn apart(why: &Why, side: usize, has_one_core: bool) -> Option<String> {
    if !why.sampling.sees_kernel {
        return None;
    }
    let [sampled, counted] = [&why.sampled, &why.by_clocks].map(|row| row.as_ref()?.arms[side].known().copied());
    let (sampled, counted) = (sampled?, counted?.value);
    let is_less = sampled.hi? < counted * (1.0 - MOST_APART);
    let is_more = sampled.lo? > counted * (1.0 + MOST_APART);
    let advice =
        if has_one_core || is_more { "" } else { "; a timer may lose ticks on idle cores: try --placement same" };
    (is_less || is_more).then(|| {
        format!(
            "samples account for {:.0} % of the CPU time that the kernel's clocks count{advice}",
            100.0 * sampled.value / counted
        )
    })
}

#[cfg(test)]
mod tests;
