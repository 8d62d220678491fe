//! Single actions held against each other in blocks: one of each arm, in an order that is drawn anew.
//!
//! For what is neither a request of the load engine nor a whole command, such as a page of a web site. What an
//! action is, and what it gives, is the caller's; here are the order, the clock, the length and the interim
//! analyses. An epoch is some blocks on end. Called by `replay`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_stats::{InterimAnalyses, InterimAnalysis};

use crate::clock::now_ns;
use crate::keys::generator;
use crate::schedule::{EpochDraw, shuffled};

/// A purpose of randomness (see `schedule`; `cores` has 4).
const BLOCK: u64 = 6;
/// The warm-up's epoch has a number of its own, so that measured ones repeat by seed.
const WARM_UP: u64 = 1 << 32;
/// So that no epoch keeps step with housekeeping timers.
const LONGEST_JITTER: Duration = Duration::from_millis(20);
/// A median and a standard deviation of each arm within an epoch need some.
const LEAST_BLOCKS: u32 = 4;
/// What is measured beside little else must not become one endless epoch.
const MOST_BLOCKS: u32 = 1_000;

/// What to do, and for how long.
#[derive(Debug, Clone)]
pub struct BlockPlan {
    /// Everything random comes from this.
    pub seed: u64,
    /// Actions of a block.
    pub n_arms: usize,
    /// Blocks before the first that counts. The second half of them tells how long a block takes.
    pub n_warm_up: u32,
    /// When it may end.
    pub analyses: InterimAnalyses,
    /// Time for all epochs up to the last interim analysis: epochs get as many blocks as fit, and an interim
    /// analysis that would come later by more than half of it is not waited for.
    pub time: Duration,
}

/// An action that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Timed<T> {
    /// Whose action.
    pub arm: usize,
    /// How long it took, by our clock.
    pub wall_ns: u64,
    /// What it gave.
    pub value: T,
}

/// What was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocks<T> {
    /// Epochs, blocks in each, and the actions of a block in the order of the arms.
    pub epochs: Vec<Vec<Vec<Timed<T>>>>,
    /// The interim analysis that ended it; `None` when it was interrupted.
    pub analysis: Option<InterimAnalysis>,
}

/// Does blocks of actions until an interim analysis ends it, the time is over, `stop` is set or an action fails.
///
/// `is_enough` is asked at each interim analysis.
///
/// # Errors
/// The first one of an action.
pub fn run_blocks<T, E>(
    plan: &BlockPlan,
    mut act: impl FnMut(usize) -> Result<T, E>,
    mut is_enough: impl FnMut(&[Vec<Vec<Timed<T>>>], InterimAnalysis) -> bool,
    stop: &AtomicBool,
) -> Result<Blocks<T>, E> {
    let mut done = Blocks {
        epochs: Vec::new(),
        analysis: None,
    };
    let block_ns = warm_up(plan, &mut act, stop)?;
    let n_blocks = blocks_per_epoch(plan, block_ns);
    let start_ns = now_ns();
    while done.analysis.is_none() {
        let epoch = done.epochs.len() as u64;
        thread::sleep(EpochDraw::new(plan.seed, 0, epoch, LONGEST_JITTER).jitter);
        let mut blocks = Vec::with_capacity(n_blocks as usize);
        for idx in 0..n_blocks {
            if stop.load(Ordering::Relaxed) {
                return Ok(done);
            }
            blocks.push(block(plan, epoch, idx, &mut act)?);
        }
        done.epochs.push(blocks);
        let due = plan.analyses.due(done.epochs.len());
        done.analysis = due.filter(|analysis| {
            is_late(plan, *analysis, now_ns() - start_ns) || is_enough(&done.epochs, *analysis)
        });
    }
    Ok(done)
}

/// Whether no interim analysis follows, or one that would come too late, when this one came after `past_ns`.
fn is_late(plan: &BlockPlan, analysis: InterimAnalysis, past_ns: u64) -> bool {
    let Some(next) = plan.analyses.after(analysis.n_epochs) else {
        return true;
    };
    let past_s = past_ns as f64 / 1e9;
    past_s * next.n_epochs as f64 / analysis.n_epochs as f64 > 1.5 * plan.time.as_secs_f64()
}

/// How long a block takes when nothing is new any more, in nanoseconds.
fn warm_up<T, E>(
    plan: &BlockPlan,
    act: &mut impl FnMut(usize) -> Result<T, E>,
    stop: &AtomicBool,
) -> Result<u64, E> {
    let n_cold = plan.n_warm_up / 2;
    let n_warm = plan.n_warm_up - n_cold;
    let mut start_ns = now_ns();
    for idx in 0..plan.n_warm_up {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if idx == n_cold {
            start_ns = now_ns();
        }
        block(plan, WARM_UP, idx, act)?;
    }
    Ok((now_ns() - start_ns) / u64::from(n_warm.max(1)))
}

fn blocks_per_epoch(plan: &BlockPlan, block_ns: u64) -> u32 {
    let n_epochs = plan.analyses.n_max().max(1) as u64;
    let pauses_ns = LONGEST_JITTER.as_nanos() as u64 / 2;
    let epoch_ns = (plan.time.as_nanos() as u64 / n_epochs).saturating_sub(pauses_ns);
    let fitting = epoch_ns / block_ns.max(1);
    u32::try_from(fitting)
        .unwrap_or(MOST_BLOCKS)
        .clamp(LEAST_BLOCKS, MOST_BLOCKS)
}

/// One action of each arm; the result is in the order of the arms.
fn block<T, E>(
    plan: &BlockPlan,
    epoch: u64,
    idx: u32,
    act: &mut impl FnMut(usize) -> Result<T, E>,
) -> Result<Vec<Timed<T>>, E> {
    let random = generator(plan.seed, &[BLOCK, epoch, u64::from(idx)]);
    let mut actions = Vec::with_capacity(plan.n_arms);
    for arm in shuffled(random, plan.n_arms) {
        let start_ns = now_ns();
        let value = act(arm)?;
        actions.push(Timed {
            arm,
            wall_ns: now_ns() - start_ns,
            value,
        });
    }
    actions.sort_by_key(|action| action.arm);
    Ok(actions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(n_warm_up: u32) -> BlockPlan {
        BlockPlan {
            seed: 7,
            n_arms: 3,
            n_warm_up,
            analyses: InterimAnalyses::quick(),
            time: Duration::ZERO,
        }
    }

    #[test]
    fn a_block_has_one_action_of_each_arm_in_a_drawn_order() {
        let mut order = Vec::new();
        let act = |arm| {
            order.push(arm);
            Ok::<_, ()>(10 * arm)
        };
        let stop = AtomicBool::new(false);
        let done = run_blocks(&plan(2), act, |_, _| false, &stop).unwrap();
        // No time at all: the first interim analysis ends it, and epochs have the least of blocks.
        assert_eq!(done.analysis.map(|analysis| analysis.n_epochs), Some(10));
        assert_eq!(order.len(), 3 * (2 + 10 * LEAST_BLOCKS as usize));
        for block in done.epochs.iter().flatten() {
            let values: Vec<_> = block.iter().map(|it| (it.arm, it.value)).collect();
            assert_eq!(values, [(0, 0), (1, 10), (2, 20)]);
        }
        let firsts: Vec<usize> = order.chunks(3).map(|block| block[0]).collect();
        for arm in 0..3 {
            assert!(firsts.iter().filter(|first| **first == arm).count() > 5);
        }
    }

    #[test]
    fn an_interim_analysis_ends_it_only_when_it_may() {
        let long = BlockPlan {
            time: Duration::from_secs(60),
            ..plan(0)
        };
        // Nothing is known of a block's time, so that epochs have as many as there may be.
        let stop = AtomicBool::new(false);
        let mut asked = Vec::new();
        let is_enough = |epochs: &[Vec<_>], analysis: InterimAnalysis| {
            asked.push((epochs.len(), analysis.idx));
            analysis.idx == 1
        };
        let done = run_blocks(&long, Ok::<_, ()>, is_enough, &stop).unwrap();
        assert_eq!(done.epochs.len(), 20);
        assert_eq!(done.epochs[0].len(), MOST_BLOCKS as usize);
        assert_eq!(asked, [(10, 0), (20, 1)]);
    }

    #[test]
    fn an_error_and_a_wish_to_stop_end_it_at_once() {
        let stop = AtomicBool::new(false);
        let failed = run_blocks(&plan(2), |_| Err::<(), _>("no"), |_, _| true, &stop);
        assert_eq!(failed, Err("no"));
        let act = |_| {
            stop.store(true, Ordering::Relaxed);
            Ok::<_, ()>(())
        };
        let done = run_blocks(&plan(0), act, |_, _| true, &stop).unwrap();
        assert_eq!((done.epochs.len(), done.analysis), (0, None));
    }

    #[test]
    fn an_interim_analysis_that_would_come_too_late_is_not_waited_for() {
        let plan = BlockPlan {
            time: Duration::from_secs(20),
            ..plan(0)
        };
        let at = |n_epochs| plan.analyses.due(n_epochs).unwrap();
        assert!(!is_late(&plan, at(20), 15_000_000_000));
        assert!(is_late(&plan, at(20), 15_100_000_000));
        assert!(is_late(&plan, at(40), 0), "the last one");
    }

    #[test]
    fn an_epoch_has_the_blocks_that_fit_its_time() {
        let plan = BlockPlan {
            time: Duration::from_secs(20),
            ..plan(0)
        };
        // Half a second for each of 40 epochs, 10 ms of it for the pause.
        assert_eq!(blocks_per_epoch(&plan, 49_000_000), 10);
        assert_eq!(blocks_per_epoch(&plan, 1_000_000_000), LEAST_BLOCKS);
    }
}
