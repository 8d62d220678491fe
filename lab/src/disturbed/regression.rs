//! Tests whether it would help to remove the disturbance from θ by regression. This design was tried and is not used.
//!
//! The covariate is the time in which neither end of a pinned pair ran, in each slice. Comparisons of an arm with
//! itself, over recorded noise, show the effect of each method on the error rate and on the interval.

use std::fmt::Write;

use anyhow::{Context, Result};
use looptax_model::stats::{hodges_lehmann, median};

use super::noise::{SLICES, Seen};
use super::scene::{Dice, ORDER};

const EPOCHS: [usize; 3] = [10, 20, 40];
const ALPHA: f64 = 0.05;

/// θ of an epoch, and the difference of the covariate between the arms, computed in the same way.
#[derive(Clone, Copy)]
struct Point {
    theta: f64,
    busy: f64,
}

/// A function that removes the part explained by the covariate from each θ.
type Adjust = fn(&[Point]) -> Vec<f64>;

const WAYS: [(&str, Adjust); 3] = [
    ("without", |points| points.iter().map(|it| it.theta).collect()),
    ("through the origin", through_origin),
    ("centred, by the median of all slopes", centred),
];

/// Prints the false differences and the half-widths for each method.
pub(crate) fn print(trace: &[Seen], n_runs: u64, first_seed: u64) -> Result<()> {
    println!(
        "An arm against itself beside other work, θ by regression: false differences in percent, half-width in points\n"
    );
    println!("| |{}", EPOCHS.map(|n| format!(" {n} epochs |")).concat());
    println!("|---|{}", "---|".repeat(EPOCHS.len()));
    for (name, adjust) in WAYS {
        let mut cells = String::new();
        for n_epochs in EPOCHS {
            let (mut n_false, mut half_widths) = (0_u64, Vec::new());
            for seed in 0..n_runs {
                let mut dice = Dice::new(first_seed.wrapping_add(seed));
                let points = points(trace, n_epochs, &mut dice)?;
                let found = hodges_lehmann::estimate(&adjust(&points), ALPHA);
                let found = found.context("no epochs")?;
                n_false += u64::from(!found.covers(0.0));
                half_widths.push(100.0 * found.half_width());
            }
            let share = 100.0 * n_false as f64 / n_runs as f64;
            let half_width = median(&mut half_widths).context("no runs")?;
            write!(cells, " {share:.1}, {half_width:.1} |").context("cannot write into text")?;
        }
        println!("| {name} |{cells}");
    }
    println!();
    Ok(())
}

fn points(trace: &[Seen], n_epochs: usize, dice: &mut Dice) -> Result<Vec<Point>> {
    let start = dice.below(trace.len());
    let point = |idx: usize| {
        let seen = &trace[(start + idx) % trace.len()];
        let ln_busy = seen.ln_busy.context("the trace has no CPU times")?;
        let coin = usize::from(dice.flip());
        Ok(Point { theta: contrast(&seen.ln_rates, coin), busy: contrast(&ln_busy, coin) })
    };
    (0..n_epochs).map(point).collect()
}

/// Returns the mean of the middle two of one arm's slices minus that of the other arm's.
fn contrast(values: &[f64; SLICES], coin: usize) -> f64 {
    let middle = |side: usize| {
        let of_side = ORDER.iter().zip(values).filter(|(turn, _)| **turn ^ coin == side);
        let mut values: Vec<f64> = of_side.map(|(_, value)| *value).collect();
        median(&mut values).unwrap_or_default()
    };
    middle(0) - middle(1)
}

/// Fits a line through the origin. If an epoch's labels are swapped, both of its numbers change their sign, so this
/// method keeps the sign symmetry.
fn through_origin(points: &[Point]) -> Vec<f64> {
    let products: f64 = points.iter().map(|it| it.theta * it.busy).sum();
    let squares: f64 = points.iter().map(|it| it.busy * it.busy).sum();
    let slope = if squares > 0.0 { products / squares } else { 0.0 };
    points.iter().map(|it| it.theta - slope * it.busy).collect()
}

/// Centres the covariate. A constant difference of the covariate stays in θ, because the transport itself may have
/// caused it.
fn centred(points: &[Point]) -> Vec<f64> {
    let mut slopes = Vec::new();
    for (idx, one) in points.iter().enumerate() {
        let slope = |it: &Point| (one.theta - it.theta) / (one.busy - it.busy);
        slopes.extend(points[..idx].iter().map(slope).filter(|it| it.is_finite()));
    }
    let slope = median(&mut slopes).unwrap_or_default();
    let mut busy: Vec<f64> = points.iter().map(|it| it.busy).collect();
    let middle = median(&mut busy).unwrap_or_default();
    points.iter().map(|it| it.theta - slope * (it.busy - middle)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_covariate_explains_is_taken_out() {
        let points: Vec<Point> =
            (0..9).map(|idx| f64::from(idx) - 4.0).map(|busy| Point { theta: 0.7 * busy, busy }).collect();
        for adjust in [through_origin, centred] {
            assert!(adjust(&points).iter().all(|theta| theta.abs() < 1e-9));
        }
        let shifted: Vec<Point> = points.iter().map(|it| Point { busy: it.busy + 9.0, ..*it }).collect();
        assert!(centred(&shifted).iter().all(|theta| theta.abs() < 1e-9));
    }
}
