//! What the layers of `why` come to per request, and whether they add up.
//!
//! Reads the record's own epochs alone, so that an analysis of it says the same again.

use looptax_record::{
    self as record, CountedEpoch, Epoch, Figure, Placement, SampledEpoch, SampledPart, Why, WhyRow,
};
use looptax_stats::{
    Difference, Estimate, Side, difference, holm, per_request, per_request_difference,
};

use crate::figures::plain;

/// More lost samples than this share make it invalid.
const MOST_LOST: f64 = 0.01;
/// More CPU time in no layer than this share is said.
const MOST_UNATTRIBUTED: f64 = 0.03;
/// Samples and clocks that differ by more than this share are not of the same time.
const MOST_APART: f64 = 0.1;
/// Fewer epochs give no interval: that of two reaches 13 standard errors to each side, and says nothing.
const LEAST_EPOCHS: usize = 3;
/// Two-sided level of every interval.
const ALPHA: f64 = 0.05;

/// Fills in the figures of everything that was sampled beside the comparison's own epochs.
pub(crate) fn complete(comparison: &mut record::Comparison) {
    for why in &mut comparison.why {
        let own: Vec<&Epoch> = comparison
            .raw
            .epochs
            .iter()
            .filter(|it| it.pair == why.pair)
            .collect();
        fill(why, &own, comparison.placement.asked == Placement::Same);
    }
}

fn fill(why: &mut Why, own: &[&Epoch], has_one_core: bool) {
    let sampled: Vec<&Epoch> = why.epochs.iter().map(|it| &it.raw).collect();
    let found = share_without_sampler(&sampled, own);
    // Where programs alone are seen, the sampler's own part is in none of the samples: it is the kernel's.
    let share = found.filter(|_| why.sampling.sees_kernel);
    let requests = requests_of(&sampled);
    let layers = 0..why.layers.len();
    let is_seen = |layer: &usize| {
        let mut epochs = why.epochs.iter().flat_map(|it| &it.layer_ns);
        epochs.any(|it| it.get(*layer).is_some_and(|ns| *ns > 0))
    };
    let rows = layers.filter(is_seen).map(|layer| {
        let us = |epoch: &SampledEpoch, side: usize| ns_to_us(epoch.layer_ns[side].get(layer));
        let (row, p) = row(&why.layers[layer], &amounts(&why.epochs, us), &requests);
        (less_the_sampler(row, share), p)
    });
    why.rows = adjusted(rows.collect());
    // As fractions: a record is not trusted with sums that fit.
    let all = |epoch: &SampledEpoch, side: usize| {
        let layers = epoch.layer_ns[side].iter();
        layers.map(|ns| *ns as f64 / 1e3).sum()
    };
    let sum = row("sum", &amounts(&why.epochs, all), &requests).0;
    why.sampled = Some(WhyRow {
        name: "by samples".to_owned(),
        ..sum.clone()
    });
    why.sum = Some(less_the_sampler(sum, share));
    why.by_clocks = by_clocks("by the kernel's clocks", &sampled);
    why.without_sampler = by_clocks("without the sampler", own);
    why.idle = has_one_core.then(|| idle(own)).flatten();
    why.sampler_pct = found.map(|share| plain(added_pct(share)));
    for parts in [&mut why.processes, &mut why.functions] {
        fill_parts(parts, &requests, share);
    }
    let counters = 0..why.counters.len();
    let counts = counters.map(|idx| {
        let count = |epoch: &SampledEpoch, side: usize| {
            epoch.counts[side].get(idx).copied().unwrap_or_default() as f64
        };
        row(&why.counters[idx], &amounts(&why.epochs, count), &requests)
    });
    let counts: Vec<_> = counts.chain(counts_of_warm_up(why)).collect();
    why.counts = adjusted(counts);
    why.invalid = invalid(why, has_one_core);
}

/// Processes, or functions: per request, as layers are.
fn fill_parts(parts: &mut [SampledPart], requests: &Amounts, share: Option<Estimate>) {
    let rows = parts.iter().map(|part| {
        // A record is not trusted with as many of them as there are epochs.
        let us = |side: usize| {
            let epochs = 0..requests[side].len();
            epochs.map(move |epoch_idx| ns_to_us(part.ns.get(epoch_idx).map(|ns| &ns[side])))
        };
        let name = part.function.as_ref().unwrap_or(&part.process);
        let amounts = [0, 1].map(|side| us(side).collect());
        let (row, p) = row(name, &amounts, requests);
        (less_the_sampler(row, share), p)
    });
    let rows = adjusted(rows.collect());
    for (part, row) in parts.iter_mut().zip(rows) {
        part.row = Some(row);
    }
}

/// What was counted in epochs of the warm-up, each with the requests of those.
fn counts_of_warm_up(why: &Why) -> Vec<(WhyRow, Option<f64>)> {
    let of_sides = |amount: &dyn Fn(&CountedEpoch, usize) -> u64| -> Amounts {
        let epochs = |side| why.counted.iter().map(move |it| amount(it, side) as f64);
        [0, 1].map(|side| epochs(side).collect())
    };
    let requests = of_sides(&|epoch, side| epoch.requests[side]);
    let counters = why.counters_of_warm_up.iter().enumerate();
    counters
        .map(|(idx, name)| {
            let count = |epoch: &CountedEpoch, side: usize| {
                epoch.counts[side].get(idx).copied().unwrap_or_default()
            };
            row(name, &of_sides(&count), &requests)
        })
        .collect()
}

fn ns_to_us(ns: Option<&u64>) -> f64 {
    ns.copied().unwrap_or_default() as f64 / 1e3
}

/// By side, epoch by epoch.
type Amounts = [Vec<f64>; 2];

fn amounts(epochs: &[SampledEpoch], amount: impl Fn(&SampledEpoch, usize) -> f64) -> Amounts {
    [0, 1].map(|side| epochs.iter().map(|epoch| amount(epoch, side)).collect())
}

/// All requests of the slices, guard and drain included: what CPU times belong to.
fn requests_of(epochs: &[&Epoch]) -> Amounts {
    Side::BOTH.map(|side| {
        let total = |epoch: &&Epoch| epoch.slices_of(side).map(|it| it.requests as f64).sum();
        epochs.iter().map(total).collect()
    })
}

fn row(name: &str, amounts: &Amounts, requests: &Amounts) -> (WhyRow, Option<f64>) {
    let enough = |it: Estimate| {
        if it.n < LEAST_EPOCHS {
            Estimate::without_interval(it.value, it.n)
        } else {
            it
        }
    };
    let side = |side: usize| plain(per_request(&amounts[side], &requests[side], ALPHA).map(enough));
    let [base, other] = [0, 1].map(|side: usize| (&amounts[side][..], &requests[side][..]));
    let found: Option<Difference> = per_request_difference(base, other, ALPHA);
    let estimate = found.map(|it| enough(it.estimate));
    let row = WhyRow {
        name: name.to_owned(),
        arms: [side(0), side(1)],
        difference: plain(estimate),
        p: None,
    };
    let is_known = estimate.is_some_and(|it| it.has_interval());
    (row, found.and_then(|it| it.p).filter(|_| is_known))
}

/// Rows with their probabilities, corrected for how many they are.
fn adjusted(rows: Vec<(WhyRow, Option<f64>)>) -> Vec<WhyRow> {
    let (rows, ps): (Vec<WhyRow>, Vec<Option<f64>>) = rows.into_iter().unzip();
    let ps: Vec<f64> = ps.into_iter().map(|it| it.unwrap_or(f64::NAN)).collect();
    let with = rows.into_iter().zip(holm(&ps));
    with.map(|(row, p)| WhyRow {
        p: p.is_finite().then_some(p),
        ..row
    })
    .collect()
}

/// CPU time of client and server as the kernel counts it, µs; `None` where it does not tell.
fn cpu_us(epochs: &[&Epoch]) -> Option<Amounts> {
    let of_side = |side: Side| -> Option<Vec<f64>> {
        let total = |epoch: &&Epoch| {
            let slices = epoch.slices_of(side);
            let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
            slices
                .map(|it| Some(us(it.client_cpu_ns)? + us(it.server_cpu_ns)?))
                .sum()
        };
        epochs.iter().map(total).collect()
    };
    Some([of_side(Side::Baseline)?, of_side(Side::Other)?])
}

fn by_clocks(name: &str, epochs: &[&Epoch]) -> Option<WhyRow> {
    Some(row(name, &cpu_us(epochs)?, &requests_of(epochs)).0)
}

/// The core's time less the CPU time of client and server: a request that waits for a timer costs it and no CPU time.
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
    Some(row("on no CPU", &idle_us, &requests_of(epochs)).0)
}

/// Which share of a request's CPU time is its own and not the sampler's, both arms together: the two kinds of epochs took
/// turns. An interruption costs the same whatever it interrupts, and each is a sample: it lies on the layers by their size.
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
    // 1 - added/with: monotone in what was added.
    let share = added.map_monotone(|us| 1.0 - us / with.value);
    let n = sampled.len().min(own.len());
    Some(if n < LEAST_EPOCHS {
        Estimate::without_interval(share.value, n)
    } else {
        share
    })
}

/// What the sampler adds to a request, per cent, where its own share is known; none where nothing of it is left.
fn added_pct(share: Estimate) -> Option<Estimate> {
    let added = |share: f64| 100.0 * (1.0 / share - 1.0);
    let value = (share.value > 0.0).then(|| added(share.value))?;
    Some(if share.has_interval() {
        Estimate {
            value,
            lo: added(share.hi),
            hi: if share.lo > 0.0 {
                added(share.lo)
            } else {
                f64::INFINITY
            },
            n: share.n,
        }
    } else {
        Estimate::without_interval(value, share.n)
    })
}

/// A row less the sampler's part of it; its intervals take in how well that part is known.
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
    WhyRow {
        arms: row.arms.each_ref().map(scaled),
        difference: scaled(&row.difference),
        ..row
    }
}

fn invalid(why: &Why, has_one_core: bool) -> Vec<String> {
    let sampling = &why.sampling;
    let n_all = sampling.n_samples + sampling.n_of_others + sampling.n_lost;
    let share = sampling.n_lost as f64 / (n_all as f64).max(1.0);
    let lost = (share > MOST_LOST).then(|| {
        format!(
            "{:.1} % of the samples found no room in the kernel's buffers",
            100.0 * share
        )
    });
    let unattributed = |side: usize| {
        let sum = why.sum.as_ref()?.arms[side].known()?.value;
        let name = why.layers.last()?;
        let row = why.rows.iter().find(|it| it.name == *name)?;
        let share = row.arms[side].known()?.value / sum;
        (share > MOST_UNATTRIBUTED).then(|| {
            format!(
                "{:.1} % of the CPU time belongs to no known layer",
                100.0 * share
            )
        })
    };
    let apart = [0, 1]
        .into_iter()
        .find_map(|side| apart(why, side, has_one_core));
    lost.into_iter()
        .chain(apart)
        .chain(unattributed(0).or_else(|| unattributed(1)))
        .collect()
}

/// What is said where the samples of an arm are not the CPU time that the kernel's clocks count, by more than few samples
/// leave open.
fn apart(why: &Why, side: usize, has_one_core: bool) -> Option<String> {
    if !why.sampling.sees_kernel {
        return None;
    }
    let [sampled, counted] =
        [&why.sampled, &why.by_clocks].map(|row| row.as_ref()?.arms[side].known().copied());
    let (sampled, counted) = (sampled?, counted?.value);
    let is_less = sampled.hi? < counted * (1.0 - MOST_APART);
    let is_more = sampled.lo? > counted * (1.0 + MOST_APART);
    let advice = if has_one_core {
        ""
    } else {
        "; on cores that idle the timer loses ticks: --placement same"
    };
    (is_less || is_more).then(|| {
        format!(
            "samples account for {:.0} % of the CPU time that the kernel's clocks count{advice}",
            100.0 * sampled.value / counted
        )
    })
}

#[cfg(test)]
mod tests {
    use looptax_record::{Raw, Sampling, Slice};

    use super::*;

    /// An epoch whose requests take `us` of CPU time over each arm; every epoch has another number of requests.
    fn epoch(idx: u64, us: [u64; 2]) -> Epoch {
        let slice = |side: usize| {
            let requests = 1_000 + 10 * idx;
            Slice {
                requests,
                client_cpu_ns: Some(requests * us[side] * 250),
                server_cpu_ns: Some(requests * us[side] * 750),
                ..Slice::default()
            }
        };
        Epoch {
            pair: [0, 1],
            order: "bo".to_owned(),
            slices: vec![slice(0), slice(1)],
            ..Epoch::default()
        }
    }

    /// 10 and 15 µs without the sampler, a tenth more with it; a third in the first layer over both arms.
    fn comparison(seen_pct: u64) -> record::Comparison {
        let sampled = |idx: u64| {
            let raw = epoch(idx, [11, 16]);
            let ns = |side: usize| {
                let total = raw.slices[side].requests * [11_000, 16_500][side] * seen_pct / 100;
                vec![total / 3, total - total / 3, 0]
            };
            SampledEpoch {
                layer_ns: [ns(0), ns(1)],
                counts: [vec![2_000], vec![2_000]],
                raw,
            }
        };
        let sampling = Sampling {
            sees_kernel: true,
            n_samples: 10_000,
            ..Sampling::default()
        };
        let layers = ["programs", "TCP, IP", "not attributed"].map(str::to_owned);
        let epochs: Vec<SampledEpoch> = (0..12).map(sampled).collect();
        let part = |function: Option<&str>, layer: usize| SampledPart {
            process: "server".to_owned(),
            function: function.map(str::to_owned),
            is_kernel: false,
            ns: { epochs.iter() }
                .map(|it| it.layer_ns.each_ref().map(|ns| ns[layer]))
                .collect(),
            row: None,
        };
        let why = Why {
            processes: vec![part(None, 0)],
            functions: vec![part(Some("tcp_sendmsg"), 1)],
            epochs,
            counters: vec!["client sends".to_owned()],
            ..Why::unmeasured([0, 1], sampling, layers.to_vec())
        };
        record::Comparison {
            why: vec![why],
            raw: Raw {
                epochs: (0..12).map(|idx| epoch(idx, [10, 15])).collect(),
            },
            ..crate::made_up::comparison()
        }
    }

    #[test]
    fn layers_add_up_to_what_is_measured_without_the_sampler() {
        let mut comparison = comparison(100);
        complete(&mut comparison);
        let why = &comparison.why[0];
        let value = |figure: &Figure| figure.known().unwrap().value;
        let sum = why.sum.as_ref().unwrap();
        for side in 0..2 {
            let rows: f64 = why.rows.iter().map(|it| value(&it.arms[side])).sum();
            assert!((rows - value(&sum.arms[side])).abs() < 1e-9);
        }
        let without = why.without_sampler.as_ref().unwrap();
        assert!((value(&without.difference) - 5.0).abs() < 1e-9);
        assert!((value(&sum.difference) - 5.0).abs() < 0.2, "{sum:?}");
        let added = value(why.sampler_pct.as_ref().unwrap());
        assert!((added - 8.0).abs() < 0.1, "{added}");
        assert_eq!(
            why.rows.len(),
            2,
            "a layer that nobody was seen in is left out"
        );
        assert_eq!(why.invalid, Vec::<String>::new());
    }

    #[test]
    fn too_few_epochs_have_figures_without_an_interval() {
        let mut comparison = comparison(100);
        comparison.why[0].epochs.truncate(2);
        comparison.raw.epochs.truncate(1);
        complete(&mut comparison);
        let why = &comparison.why[0];
        let figures =
            |row: &WhyRow| [&row.arms[0], &row.arms[1], &row.difference].map(Clone::clone);
        let rows = why
            .rows
            .iter()
            .chain(&why.sum)
            .chain(&why.without_sampler)
            .chain(&why.counts);
        let all = rows.flat_map(figures).chain(why.sampler_pct.clone());
        for figure in all {
            let known = figure.known().unwrap();
            assert_eq!((known.lo, known.hi), (None, None), "{known:?}");
        }
        let added = why.sampler_pct.as_ref().unwrap().known().unwrap().value;
        assert!((added - 8.0).abs() < 0.1, "{added}");
        let sum = why.sum.as_ref().unwrap().difference.known().unwrap().value;
        assert!((sum - 5.0).abs() < 0.2, "less the sampler's part: {sum}");
        assert!(why.rows.iter().all(|it| it.p.is_none()));
    }

    #[test]
    fn a_share_that_may_be_nothing_has_no_most_that_the_sampler_adds() {
        let share = |value, lo, hi| Estimate {
            value,
            lo,
            hi,
            n: 4,
        };
        let added = added_pct(share(0.8, -0.2, 1.6)).unwrap();
        assert!((added.value - 25.0).abs() < 1e-9);
        assert!((added.lo + 37.5).abs() < 1e-9 && added.hi.is_infinite());
        let open = added_pct(Estimate::without_interval(0.8, 1)).unwrap();
        assert!(open.lo.is_infinite() && open.hi.is_infinite(), "{open:?}");
        assert_eq!(added_pct(share(-0.1, -0.5, 0.3)), None);
    }

    #[test]
    fn functions_and_processes_have_the_figures_that_a_layer_of_their_time_has() {
        let mut comparison = comparison(100);
        complete(&mut comparison);
        let why = &comparison.why[0];
        let figures = |row: &WhyRow| (row.arms.clone(), row.difference.clone());
        let [server, function] = [&why.processes, &why.functions].map(|it| it[0].row.as_ref());
        assert_eq!(figures(server.unwrap()), figures(&why.rows[0]));
        assert_eq!(figures(function.unwrap()), figures(&why.rows[1]));
        assert_eq!(function.unwrap().name, "tcp_sendmsg");
    }

    #[test]
    fn what_a_request_waits_for_is_nobodys_cpu_time() {
        let mut comparison = comparison(100);
        // Over the other arm each request waits 40 µs for a timer.
        for epoch in &mut comparison.raw.epochs {
            for (side, slice) in epoch.slices.iter_mut().enumerate() {
                slice.active_ns = slice.requests * [10_000, 55_000][side];
            }
        }
        comparison.placement.asked = Placement::Same;
        complete(&mut comparison);
        let idle = comparison.why[0].idle.clone().unwrap();
        let [unix, tcp] = idle.arms.map(|it| it.known().unwrap().value);
        assert!(
            unix.abs() < 1e-9 && (tcp - 40.0).abs() < 1e-9,
            "{unix} {tcp}"
        );
        comparison.placement.asked = Placement::Free;
        complete(&mut comparison);
        assert_eq!(comparison.why[0].idle, None, "cores that others may use");
    }

    #[test]
    fn samples_of_another_time_than_the_clocks_make_it_invalid() {
        for (seen_pct, is_valid) in [(40, false), (97, true), (130, false)] {
            let mut comparison = comparison(seen_pct);
            complete(&mut comparison);
            let invalid = &comparison.why[0].invalid;
            assert_eq!(invalid.is_empty(), is_valid, "{seen_pct}: {invalid:?}");
        }
    }
}
