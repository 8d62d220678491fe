//! Thousands of simulated runs in each scene, with verdicts decided as in a real run.
//!
//! Prints the tables of docs/src/results.

use std::iter;

use anyhow::Result;
use clap::Args;
use looptax_model::stats::{
    Decision, Direction, Epoch, Input, InterimAnalyses, Primary, StopRule, Verdict, dearer_by_cpu, median, primary,
    tax_pct,
};

use super::noise::{Seen, trace};
use super::regression;
use super::scene::{Dice, Places, Scene, When, Who};

/// Options of `simulate`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of runs for each cell of the table
    #[arg(long, default_value_t = 1000)]
    runs: u64,
    /// Seed of the first run of each cell
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const DELTA: f64 = 0.01;

pub(crate) fn run(options: &Options) -> Result<()> {
    println!("{} runs per cell, seed {}\n", options.runs, options.seed);
    for (title, cases) in [
        ("No true difference: runs that report one, percent (mean number of epochs)", no_difference()),
        ("A true difference: runs that find it, percent (mean number of epochs)", true_difference()),
        ("Disturbances slow one arm more: runs that report a difference, percent (mean number of epochs)", one_sided()),
    ] {
        println!("{title}\n");
        table(options, &cases, Tally::cell)?;
        println!();
    }
    println!(
        "A true difference: runs that give a figure, percent; the median of these figures divided by the true difference; \
         their intervals that contain it, percent\n"
    );
    table(options, &sizes(), Tally::figures)?;
    println!();
    regression::print(&trace("busy")?, options.runs, options.seed)
}

/// A scene over a recorded trace.
struct Case {
    name: String,
    trace: &'static str,
    scene: Scene,
}

const QUIET: Scene =
    Scene { when: When::Never, who: Who::Others, share_pct: [0.0, 0.0], theta: 0.0, one_sided: 0.0, places: None };
const STEAL: Scene = Scene { when: When::Always, who: Who::Hypervisor, share_pct: [1.0, 3.0], ..QUIET };
const BURSTS: Scene = Scene { when: When::Bursts { on: 6.0, off: 12.0 }, share_pct: [20.0, 20.0], ..QUIET };
const NEIGHBOUR: Scene = Scene { when: When::SecondHalf, share_pct: [20.0, 20.0], ..QUIET };

const CROWDED: Scene = Scene { when: When::Always, share_pct: [40.0, 90.0], ..QUIET };
const CROWDS: Scene = Scene { when: When::Bursts { on: 6.0, off: 12.0 }, ..CROWDED };
const LOTTERY: Scene = Scene { places: Some(Places { ratio: 4.0, stay: 3.0 }), ..QUIET };

fn scenes() -> [(&'static str, &'static str, Scene); 8] {
    [
        ("quiet", "quiet", QUIET),
        ("1 to 3 % stolen always", "quiet", STEAL),
        ("bursts of 20 % other work", "quiet", BURSTS),
        ("20 % other work from half-way on", "quiet", NEIGHBOUR),
        ("recorded beside other work", "busy", QUIET),
        ("40 to 90 % other work always", "quiet", CROWDED),
        ("bursts of 40 to 90 % other work", "quiet", CROWDS),
        ("a server on two cores by chance", "quiet", LOTTERY),
    ]
}

fn no_difference() -> Vec<Case> {
    let case = |(name, trace, scene): (&str, _, _)| Case { name: name.to_owned(), trace, scene };
    scenes().into_iter().map(case).collect()
}

fn true_difference() -> Vec<Case> {
    [5.0, 20.0].into_iter().flat_map(of_tax).collect()
}

fn sizes() -> Vec<Case> {
    [2.0, 5.0, 10.0, 20.0, 40.0].into_iter().flat_map(of_tax).collect()
}

fn of_tax(pct: f64) -> impl Iterator<Item = Case> {
    let theta = -(-pct / 100.0).ln_1p();
    scenes().into_iter().map(move |(name, trace, scene)| Case {
        name: format!("{pct:.0} %: {name}"),
        trace,
        scene: Scene { theta, ..scene },
    })
}

fn one_sided() -> Vec<Case> {
    let half_the_time = Scene { when: When::Bursts { on: 10.0, off: 10.0 }, ..BURSTS };
    let shifts = [5.0, 10.0, 20.0];
    let scenes = [("bursts, half of the time", half_the_time), ("from half-way on", NEIGHBOUR)];
    let case = |(name, scene): (&str, Scene), pct: f64| Case {
        name: format!("{pct:.0} %, {name}"),
        trace: "quiet",
        scene: Scene { one_sided: -(-pct / 100.0).ln_1p(), ..scene },
    };
    { scenes.into_iter() }.flat_map(|it| shifts.map(|pct| case(it, pct))).collect()
}

fn table(options: &Options, cases: &[Case], cell: fn(&Tally, u64) -> String) -> Result<()> {
    let presets = [
        ("quick", InterimAnalyses::quick()),
        ("normal", InterimAnalyses::full()),
        ("fixed 20", InterimAnalyses::fixed(20)),
        ("fixed 40", InterimAnalyses::fixed(40)),
    ];
    let heads: Vec<&str> = presets.iter().map(|(name, _)| *name).collect();
    println!("| | {} |", heads.join(" | "));
    println!("|---|{}", "---|".repeat(presets.len()));
    for case in cases {
        let seen = trace(case.trace)?;
        let mut cells = String::new();
        for (_, analyses) in &presets {
            cells.push_str(&cell(&tally(options, case, &seen, analyses), options.runs));
        }
        println!("| {} |{cells}", case.name);
    }
    Ok(())
}

#[derive(Default)]
struct Tally {
    /// Number of runs that report the other arm as slower, even if only by a negligible amount.
    slower: u64,
    /// Number of runs that report the other arm as faster.
    faster: u64,
    /// Number of runs that report a difference in CPU time, but none in throughput.
    by_cpu: u64,
    /// Number of slower and faster runs that also report the disturbance under which they were measured.
    with_disturbance: u64,
    epochs: usize,
    /// The reported figures of a difference, divided by the true difference.
    figures: Vec<f64>,
    /// Number of these figures whose interval contains the true difference.
    n_held: u64,
}

impl Tally {
    fn cell(&self, n_runs: u64) -> String {
        let share = |n: u64| 100.0 * n as f64 / n_runs as f64;
        let epochs = self.epochs as f64 / n_runs as f64;
        let said = share(self.slower + self.faster + self.by_cpu);
        let of_these = [(self.by_cpu, "by CPU time"), (self.with_disturbance, "named")];
        let of_these = of_these.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{:.1} {what}", share(n)));
        let cell = iter::once(format!("{said:.1}")).chain(of_these).collect::<Vec<_>>().join(", ");
        format!(" {cell} ({epochs:.0}) |")
    }
}

impl Tally {
    /// Returns a text such as: figures in 97.0 of 100 runs, 1.02 times the true difference in the median, and 95.5 % of
    /// the intervals contain it.
    fn figures(&self, n_runs: u64) -> String {
        let mut figures = self.figures.clone();
        let n = figures.len() as f64;
        match median(&mut figures) {
            Some(middle) => {
                let (shown, held) = (100.0 * n / n_runs as f64, 100.0 * self.n_held as f64 / n);
                format!(" {shown:.0}; {middle:.2}; {held:.0} ({:.0}) |", self.epochs as f64 / n_runs as f64)
            }
            None => " none |".to_owned(),
        }
    }
}

fn tally(options: &Options, case: &Case, seen: &[Seen], analyses: &InterimAnalyses) -> Tally {
    let mut tally = Tally::default();
    for seed in 0..options.runs {
        let mut dice = Dice::new(options.seed.wrapping_add(seed));
        let epochs = case.scene.epochs(seen, analyses.n_max(), &mut dice);
        let (found, by_cpu, n_epochs) = judged(&epochs, analyses, case.scene.places.is_some());
        tally.epochs += n_epochs;
        tally.by_cpu += u64::from(by_cpu.is_some());
        if !matches!(found.verdict, Verdict::Difference | Verdict::Negligible) {
            continue;
        }
        match found.direction {
            Some(Direction::OtherSlower) => tally.slower += 1,
            Some(Direction::OtherFaster) => tally.faster += 1,
            None => {}
        }
        if let Some(theta) = found.theta.filter(|_| found.uncertain_size.is_none()) {
            let truth = case.scene.theta;
            tally.figures.push(tax_pct(theta.value) / tax_pct(truth));
            tally.n_held += u64::from(theta.covers(truth));
        }
        let is_throughout = found.disturbance.is_some_and(|it| it.is_throughout());
        tally.with_disturbance += u64::from(is_throughout);
    }
    tally
}

/// Returns the verdicts at the interim analysis that ends the run: by throughput, otherwise by CPU time. Also returns
/// the number of epochs up to that analysis.
fn judged(epochs: &[Epoch], analyses: &InterimAnalyses, can_move: bool) -> (Primary, Option<Direction>, usize) {
    for analysis in analyses.iter() {
        let input = Input {
            epochs: &epochs[..analysis.n_epochs],
            connections: 1,
            alpha: analysis.alpha,
            delta: DELTA,
            invalid: Vec::new(),
            stopped_early: false,
            can_move,
        };
        let found = primary(&input);
        let theta = found.theta.expect("every interim analysis has epochs");
        let waits = found.is_unchecked() && !analysis.is_last;
        let stop = StopRule { is_precise: false };
        let decision = stop.decide(analysis, &theta, found.verdict);
        if !waits && decision != Decision::Continue {
            let by_cpu = dearer_by_cpu(&input, &found);
            return (found, by_cpu, analysis.n_epochs);
        }
    }
    unreachable!("the last interim analysis ends every run")
}
