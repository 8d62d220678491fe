//! Converts the raw counts of a record to the form that the statistics need.
//!
//! A record may come from an untrusted source: if an epoch's counts are inconsistent, the epoch has no effect, and
//! nothing panics. Called by the experiment at its interim analyses, and by the code that judges a record.

use crate::stats::{self as stats, Noise, Response, Side};

use crate::record::{CpuTicks, Epoch, Raw, Samples, Seats, Slice};

impl Raw {
    /// Returns the epochs of `pair` (the indexes of its arms, `[baseline, other]`) in order of time, each with its
    /// index among all epochs.
    pub fn of_pair(&self, pair: [u32; 2]) -> impl Iterator<Item = (usize, &Epoch)> + Clone {
        let epochs = self.epochs.iter().enumerate();
        epochs.filter(move |(_, epoch)| epoch.pair == pair)
    }

    /// Returns the counts and latencies of the epochs of `pair`, in order of time.
    ///
    /// `unpack` turns the packed samples of the record into nanoseconds. An epoch whose latencies were not saved has
    /// no latencies in the result.
    pub fn counts(&self, pair: [u32; 2], mut unpack: impl FnMut(&Samples) -> Vec<u32>) -> Vec<stats::Epoch> {
        self.of_pair(pair)
            .map(|(_, epoch)| stats::Epoch {
                latencies_ns: epoch.samples.each_ref().map(|side| side.as_ref().map_or_else(Vec::new, &mut unpack)),
                ..epoch.counts()
            })
            .collect()
    }
}

impl Epoch {
    /// Returns the counts of this epoch, without latencies.
    pub fn counts(&self) -> stats::Epoch {
        stats::Epoch {
            slices: self.sided().map(|it| self.slice_counts(it)).collect(),
            latencies_ns: [Vec::new(), Vec::new()],
            noise: self.cpu_ticks.map(|ticks| self.noise(ticks)),
        }
    }

    /// Returns the slices, each with its side.
    ///
    /// The side is taken from `order`, not from the arm: in an A/A run both sides have the same arm. A slice without a
    /// valid letter in `order` is left out; the epoch is then unbalanced and has no effect.
    pub fn sided(&self) -> impl Iterator<Item = (Side, &Slice)> {
        let slices = self.order.chars().zip(&self.slices);
        slices.filter_map(|(order, slice)| {
            let side = Side::BOTH.into_iter().find(|side| letter(*side) == order)?;
            Some((side, slice))
        })
    }

    /// Returns the slices of one side, in order of time.
    pub fn slices_of(&self, side: Side) -> impl Iterator<Item = &Slice> {
        let of_side = move |(ran, slice)| (ran == side).then_some(slice);
        self.sided().filter_map(of_side)
    }

    /// Returns whether a slice ran in the placement that the epoch's client kept. The result does not depend on the
    /// slice's arm; it is `false` if the slice's placement is not known.
    pub fn is_in_place(&self, slice: &Slice) -> bool {
        self.follows.is_none_or(|wanted| slice.seats.and_then(Seats::placement) == Some(wanted))
    }

    fn slice_counts(&self, (side, slice): (Side, &Slice)) -> stats::Slice {
        stats::Slice {
            side,
            completions: slice.completions,
            early: slice.early,
            active_ns: slice.active_ns,
            drained: slice.drained,
            drain_ns: slice.drain_ns,
            requests: slice.requests,
            client_cpu_ns: slice.client_cpu_ns,
            server_cpu_ns: slice.server_cpu_ns,
            client_switches: slice.client_voluntary_switches.unwrap_or(0)
                + slice.client_involuntary_switches.unwrap_or(0),
            response: slice.median_ns.map(|median_ns| Response { median_ns, sum_ns: slice.latency_sum_ns }),
            is_in_place: self.is_in_place(slice),
        }
    }

    /// Returns whether an end of a connection could move to another core.
    pub fn can_move(&self) -> bool {
        self.client_cores.iter().chain(&self.server_cores).any(Option::is_none)
    }

    fn noise(&self, ticks: CpuTicks) -> Noise {
        let busy = ticks.user + ticks.nice + ticks.system;
        let total = busy + ticks.idle + ticks.iowait + ticks.irq + ticks.softirq + ticks.steal;
        Noise {
            total_ticks: total as f64,
            steal_ticks: ticks.steal as f64,
            softirq_ticks: ticks.softirq as f64,
            busy_ticks: busy as f64,
            own_ticks: self.own_ticks,
            server_ticks: self.server_ticks,
        }
    }
}

/// Returns the letter of a side in [`Epoch::order`].
pub fn letter(side: Side) -> char {
    match side {
        Side::Baseline => 'b',
        Side::Other => 'o',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes an epoch in the order `obboboob` with these requests per slice of 50 ms, `[baseline, other]`.
    fn epoch(pair: [u32; 2], counts: [u64; 2]) -> Epoch {
        let order = "obboboob";
        let slice = |letter| {
            let completions = counts[usize::from(letter == 'o')];
            Slice {
                completions,
                active_ns: 50_000_000,
                client_cpu_ns: Some(4_000 * completions),
                client_voluntary_switches: Some(completions),
                client_involuntary_switches: Some(2),
                ..Slice::default()
            }
        };
        Epoch {
            pair,
            order: order.to_owned(),
            slices: order.chars().map(slice).collect(),
            cpu_ticks: Some(CpuTicks {
                user: 40,
                nice: 1,
                system: 20,
                idle: 33,
                iowait: 1,
                irq: 2,
                softirq: 9,
                steal: 3,
            }),
            own_ticks: Some(40.5),
            ..Epoch::default()
        }
    }

    fn samples(name: u64) -> Samples {
        Samples { count: 1, packed: name.to_string() }
    }

    fn unpacked(samples: &Samples) -> Vec<u32> {
        vec![samples.packed.parse().unwrap()]
    }

    fn without_latencies(raw: &Raw, pair: [u32; 2]) -> Vec<stats::Epoch> {
        raw.counts(pair, |_| Vec::new())
    }

    #[test]
    fn the_way_over_the_file_keeps_every_number() {
        let epochs = (0..5).map(|idx| Epoch {
            samples: [2 * idx, 2 * idx + 1].map(|name| Some(samples(name))),
            ..epoch([0, 1], [110_000 + idx, 100_003])
        });
        let raw = Raw { epochs: epochs.collect() };
        let text = serde_json::to_string(&raw).unwrap();
        let saved: Raw = serde_json::from_str(&text).unwrap();
        assert_eq!(saved, raw);
        let found = saved.counts([0, 1], unpacked);
        for (idx, (found, epoch)) in found.into_iter().zip(&raw.epochs).enumerate() {
            let idx = idx as u32;
            let expected = stats::Epoch { latencies_ns: [vec![2 * idx], vec![2 * idx + 1]], ..epoch.counts() };
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn each_slice_has_its_side_and_its_counts() {
        let counts = epoch([3, 5], [110, 100]).counts();
        let sides: Vec<usize> = counts.slices.iter().map(|it| it.side.idx()).collect();
        assert_eq!(sides, [1, 0, 0, 1, 0, 1, 1, 0]);
        assert_eq!(counts.slices[1].completions, 110);
        assert_eq!(counts.slices[1].client_switches, 112);
        let noise = counts.noise.unwrap();
        assert_eq!((noise.total_ticks, noise.busy_ticks), (109.0, 61.0));
        assert_eq!((noise.own_ticks, noise.server_ticks), (Some(40.5), None));
    }

    #[test]
    fn absent_evidence_stays_absent() {
        let mut epoch = epoch([0, 1], [5, 7]);
        epoch.slices[3].client_cpu_ns = None;
        epoch.cpu_ticks = None;
        let counts = epoch.counts();
        assert_eq!((counts.slices[3].client_cpu_ns, counts.noise), (None, None));
        let raw = Raw { epochs: vec![epoch] };
        let nothing: [Vec<u32>; 2] = [Vec::new(), Vec::new()];
        assert_eq!(raw.counts([0, 1], |_| vec![1])[0].latencies_ns, nothing);
    }

    #[test]
    fn only_the_epochs_of_the_pair_are_taken() {
        let raw = Raw { epochs: [[0, 1], [0, 2], [0, 1]].map(|pair| epoch(pair, [5, 7])).to_vec() };
        assert_eq!(without_latencies(&raw, [0, 1]).len(), 2);
        assert_eq!(without_latencies(&raw, [0, 2]).len(), 1);
        assert_eq!(without_latencies(&raw, [1, 0]), []);
        let positions: Vec<usize> = raw.of_pair([0, 1]).map(|(idx, _)| idx).collect();
        assert_eq!(positions, [0, 2]);
    }

    #[test]
    fn an_arm_held_against_itself_has_two_sides() {
        let found = epoch([1, 1], [50_000, 40_000]).counts();
        let theta = found.theta().unwrap();
        assert!((theta - 1.25_f64.ln()).abs() < 1e-12, "{theta}");
    }

    #[test]
    fn an_order_that_does_not_fit_gives_no_effect() {
        let mut epoch = epoch([0, 1], [5, 7]);
        epoch.order = "obbobo?b".to_owned();
        assert_eq!(epoch.counts().theta(), None);
    }
}
