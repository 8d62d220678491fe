//! A simulated machine that other programs also use, made from recorded noise, with a known effect.
//!
//! The result depends only on the seed. The coin of every epoch is drawn as in the load engine. This file does not
//! decide verdicts.

use looptax_model::stats::{Epoch, Noise, Side, Slice};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::noise::{SLICES, Seen};

/// Thue-Morse order: which slices of an epoch belong to the other arm and which to the baseline, depending on the coin.
pub(crate) const ORDER: [usize; SLICES] = [1, 0, 0, 1, 0, 1, 1, 0];
const SLICE_MS: f64 = 50.0;
/// Number of requests in a slice at the trace's own speed: so many that counting them adds no noise.
const REQUESTS: f64 = 1e6;
/// CPU time of a request at both ends, in µs.
const CPU_US: f64 = 12.0;
/// Number of ticks of 10 ms in an epoch on two cores.
const TICKS: f64 = 100.0;
/// Range of the time for which the core is taken at once, in milliseconds.
const AWAY_MS: [f64; 2] = [1.0, 8.0];

/// The times at which other programs take the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum When {
    Never,
    Always,
    /// In bursts of `on` epochs on average, with `off` epochs on average between them.
    Bursts {
        on: f64,
        off: f64,
    },
    /// From the middle of the longest run to its end.
    SecondHalf,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Who {
    Hypervisor,
    Others,
}

/// The disturbances of the machine, and the true effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) when: When,
    pub(crate) who: Who,
    /// Range of the share of the machine that is taken during a disturbance, in percent; drawn evenly for each epoch.
    pub(crate) share_pct: [f64; 2],
    /// θ without a disturbance.
    pub(crate) theta: f64,
    /// The amount that a disturbance adds to θ, because it affects one arm more.
    pub(crate) one_sided: f64,
    /// If given, each arm's server changes its core now and then.
    pub(crate) places: Option<Places>,
}

/// Two cores on which a server may run; one of them is the client's core.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// The server's speed on the client's core, divided by its speed on the other core.
    pub(crate) ratio: f64,
    /// Number of an arm's slices for which the server stays on a core, on average.
    pub(crate) stay: f64,
}

pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// Draws a number evenly from [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    pub(crate) fn flip(&mut self) -> bool {
        self.uniform() < 0.5
    }

    fn between(&mut self, [lo, hi]: [f64; 2]) -> f64 {
        lo + (hi - lo) * self.uniform()
    }

    /// Draws the number of events in a time in which there are `expected` events on average.
    fn n_events(&mut self, expected: f64) -> u32 {
        let (mut left, mut n) = ((-expected).exp(), 0);
        let mut drawn = self.uniform();
        let mut term = left;
        while drawn > left && n < 1000 {
            n += 1;
            term *= expected / f64::from(n);
            left += term;
            drawn = drawn.min(1.0 - 1e-12);
        }
        n
    }
}

impl Scene {
    /// Returns a run of `n_epochs` over a part of `trace` that begins at a random position.
    pub(crate) fn epochs(&self, trace: &[Seen], n_epochs: usize, dice: &mut Dice) -> Vec<Epoch> {
        let start = dice.below(trace.len());
        let mut is_on = match self.when {
            When::Bursts { on, off } => dice.uniform() < on / (on + off),
            _ => false,
        };
        let epoch = |idx: usize| {
            is_on = match self.when {
                When::Never => false,
                When::Always => true,
                When::SecondHalf => 2 * idx >= n_epochs,
                When::Bursts { on, off } => {
                    let mean = if is_on { on } else { off };
                    is_on != (dice.uniform() < 1.0 / mean)
                }
            };
            // The noise of the CPU time comes from another part of the trace. With the noise of the rates, CPU time
            // would show the same as the rates.
            let [seen, cpu] = [idx, idx + trace.len() / 2].map(|idx| &trace[(start + idx) % trace.len()]);
            self.epoch(seen, cpu, is_on, dice)
        };
        (0..n_epochs).map(epoch).collect()
    }

    fn epoch(&self, seen: &Seen, cpu: &Seen, is_on: bool, dice: &mut Dice) -> Epoch {
        let share = if is_on { dice.between(self.share_pct) / 100.0 } else { 0.0 };
        let theta = self.theta + if is_on { self.one_sided } else { 0.0 };
        let coin = usize::from(dice.flip());
        // Each epoch has its own connections, and therefore its own server threads.
        let mut is_near = if self.places.is_some() { [dice.flip(), dice.flip()] } else { [false; 2] };
        let slices = ORDER.iter().zip(seen.ln_rates.into_iter().zip(cpu.ln_rates)).map(|(turn, (noise, cpu_noise))| {
            let side = Side::BOTH[turn ^ coin];
            let effect = if side == Side::Other { -theta } else { 0.0 };
            let left = (1.0 - away_share(share, dice)).ln();
            let place = self.places.map_or(0.0, |places| places.ln_ratio(&mut is_near[side.idx()], dice));
            // Waking a program on another core costs CPU time at both ends: half as much as it costs in throughput.
            let cpu_us = CPU_US * (cpu_noise - effect - place / 2.0).exp();
            slice(side, noise + effect + left + place, cpu_us)
        });
        Epoch {
            slices: slices.collect(),
            latencies_ns: [Vec::new(), Vec::new()],
            noise: Some(self.ticks(seen, share, dice)),
        }
    }

    /// Returns the kernel's counts of this disturbance and of the recorded noise, in whole ticks.
    fn ticks(&self, seen: &Seen, share: f64, dice: &mut Dice) -> Noise {
        let mut counted = |pct: f64| (pct * TICKS / 100.0 + dice.uniform()).floor();
        let [steal, foreign] = match self.who {
            Who::Hypervisor => [share, 0.0],
            Who::Others => [0.0, share],
        };
        let steal_ticks = counted(seen.steal_pct + 100.0 * steal);
        let foreign_ticks = counted(seen.foreign_pct + 100.0 * foreign);
        Noise {
            total_ticks: TICKS,
            steal_ticks,
            softirq_ticks: 0.0,
            busy_ticks: 45.0 + foreign_ticks,
            own_ticks: Some(20.0),
            server_ticks: Some(25.0),
        }
    }
}

impl Places {
    fn ln_ratio(self, is_near: &mut bool, dice: &mut Dice) -> f64 {
        *is_near ^= dice.uniform() < 1.0 / self.stay;
        if *is_near { self.ratio.ln() } else { 0.0 }
    }
}

/// Draws the part of a slice in which its core is taken, `share` on average.
fn away_share(share: f64, dice: &mut Dice) -> f64 {
    if share == 0.0 {
        return 0.0;
    }
    let mean_ms = f64::midpoint(AWAY_MS[0], AWAY_MS[1]);
    let n = dice.n_events(share * SLICE_MS / mean_ms);
    let away_ms: f64 = (0..n).map(|_| dice.between(AWAY_MS)).sum();
    (away_ms / SLICE_MS).min(0.95)
}

fn slice(side: Side, ln_rate: f64, cpu_us: f64) -> Slice {
    let completions = (REQUESTS * ln_rate.exp()).round() as u64;
    Slice {
        side,
        completions,
        early: 0,
        active_ns: (SLICE_MS * 1e6) as u64,
        drained: 0,
        drain_ns: 0,
        requests: completions,
        client_cpu_ns: Some((completions as f64 * cpu_us * 1e3) as u64),
        server_cpu_ns: Some(0),
        client_switches: 0,
        is_in_place: true,
        response: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STILL: Seen = Seen { steal_pct: 0.0, foreign_pct: 0.0, ln_rates: [0.0; SLICES], ln_busy: None };
    const SCENE: Scene = Scene {
        when: When::SecondHalf,
        who: Who::Others,
        share_pct: [20.0, 20.0],
        theta: 0.05,
        one_sided: 0.1,
        places: None,
    };

    #[test]
    fn what_is_true_comes_out_where_nothing_is_noisy() {
        let scene = Scene { share_pct: [0.0, 0.0], ..SCENE };
        let epochs = scene.epochs(&[STILL], 20, &mut Dice::new(1));
        for (idx, epoch) in epochs.iter().enumerate() {
            let expected = if idx < 10 { 0.05 } else { 0.15 };
            assert!((epoch.theta().unwrap() - expected).abs() < 1e-5);
        }
        let n_flipped = epochs.iter().filter(|epoch| epoch.is_other_first()).count();
        assert!((3..=17).contains(&n_flipped), "{n_flipped}");
    }

    #[test]
    fn a_disturbance_takes_its_share_and_is_counted() {
        let mut dice = Dice::new(2);
        let shares: Vec<f64> = (0..20_000).map(|_| away_share(0.2, &mut dice)).collect();
        let mean = looptax_model::stats::mean(&shares);
        assert!((mean - 0.2).abs() < 0.005, "{mean}");
        let epochs = SCENE.epochs(&[STILL], 200, &mut dice);
        let shares = |part: &[Epoch]| {
            let noise = part.iter().filter_map(|epoch| epoch.noise.as_ref());
            looptax_model::stats::noise_shares(noise).and_then(|it| it.foreign_pct).unwrap()
        };
        assert!(shares(&epochs[..100]) < 0.1);
        assert!((shares(&epochs[100..]) - 20.0).abs() < 0.5);
    }

    #[test]
    fn a_seed_gives_the_same_run_and_bursts_have_their_lengths() {
        let scene = Scene { when: When::Bursts { on: 6.0, off: 12.0 }, ..SCENE };
        let run = |seed| scene.epochs(&[STILL], 3000, &mut Dice::new(seed));
        assert_eq!(run(7), run(7));
        let is_on = |epoch: &&Epoch| epoch.noise.is_some_and(|noise| noise.busy_ticks > 55.0);
        let n_on = run(7).iter().filter(is_on).count();
        assert!((850..1150).contains(&n_on), "{n_on}");
    }
}
