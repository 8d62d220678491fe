//! A machine that others use too, made up over recorded noise, with an effect that is known.
//!
//! Deterministic from its seed. Draws the coin of every epoch as the load engine does; knows nothing
//! of verdicts.

use looptax_model::stats::{Epoch, Noise, Side, Slice};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::noise::{SLICES, Seen};

/// Thue-Morse: which slices of an epoch are the other arm's, or the baseline's, by the coin.
pub(crate) const ORDER: [usize; SLICES] = [1, 0, 0, 1, 0, 1, 1, 0];
const SLICE_MS: f64 = 50.0;
/// Requests of a slice at the trace's own speed: so many that counting them adds no noise.
const REQUESTS: f64 = 1e6;
/// CPU time of a request at both ends, µs.
const CPU_US: f64 = 12.0;
/// Ticks of 10 ms in an epoch of two cores.
const TICKS: f64 = 100.0;
/// How long the core is away at a time.
const AWAY_MS: [f64; 2] = [1.0, 8.0];

/// When others take the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) enum When {
    Never,
    Always,
    /// In bursts of `on` epochs with `off` epochs between, on average.
    Bursts {
        on: f64,
        off: f64,
    },
    /// From the middle of the longest run on.
    SecondHalf,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Who {
    Hypervisor,
    Others,
}

/// The disturbances of the machine, and the truth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene {
    pub(crate) when: When,
    pub(crate) who: Who,
    /// Shares of the machine that are taken meanwhile, percent, drawn evenly for each epoch.
    pub(crate) share_pct: [f64; 2],
    /// θ without disturbance.
    pub(crate) theta: f64,
    /// The amount that a disturbance adds to θ: it hits one arm more.
    pub(crate) one_sided: f64,
    /// Each arm's server changes its core now and then.
    pub(crate) places: Option<Places>,
}

/// Two cores that a server may be on, of which one is the client's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    /// How many times as fast it is there.
    pub(crate) ratio: f64,
    /// Slices of an arm that it stays, on average.
    pub(crate) stay: f64,
}

pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    /// Evenly in [0, 1).
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

    /// Events in a time in which there are `expected` on average.
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
    /// A run of `n_epochs` over a part of `trace` that begins anywhere.
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
            // Noise of another stretch: were it that of the rates, CPU time would say what they say.
            let [seen, cpu] = [idx, idx + trace.len() / 2].map(|idx| &trace[(start + idx) % trace.len()]);
            self.epoch(seen, cpu, is_on, dice)
        };
        (0..n_epochs).map(epoch).collect()
    }

    fn epoch(&self, seen: &Seen, cpu: &Seen, is_on: bool, dice: &mut Dice) -> Epoch {
        let share = if is_on { dice.between(self.share_pct) / 100.0 } else { 0.0 };
        let theta = self.theta + if is_on { self.one_sided } else { 0.0 };
        let coin = usize::from(dice.flip());
        // Each epoch has separate connections, and so separate threads that serve them.
        let mut is_near = if self.places.is_some() { [dice.flip(), dice.flip()] } else { [false; 2] };
        let slices = ORDER.iter().zip(seen.ln_rates.into_iter().zip(cpu.ln_rates)).map(|(turn, (noise, cpu_noise))| {
            let side = Side::BOTH[turn ^ coin];
            let effect = if side == Side::Other { -theta } else { 0.0 };
            let left = (1.0 - away_share(share, dice)).ln();
            let place = self.places.map_or(0.0, |places| places.ln_ratio(&mut is_near[side.idx()], dice));
            // Waking another core costs time on both: half of what it costs in throughput.
            let cpu_us = CPU_US * (cpu_noise - effect - place / 2.0).exp();
            slice(side, noise + effect + left + place, cpu_us)
        });
        Epoch {
            slices: slices.collect(),
            latencies_ns: [Vec::new(), Vec::new()],
            noise: Some(self.ticks(seen, share, dice)),
        }
    }

    /// The kernel's counts of it, and of the recorded noise, in whole ticks.
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

/// The part of a slice in which its core is away, `share` on average.
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
