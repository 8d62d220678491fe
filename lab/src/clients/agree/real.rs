//! Measures a real client: its loop runs on both arms, in alternating slices.

use anyhow::{Context, Result};
use looptax_model::stats::median;

use super::rates::Rates;
use crate::clients::client::{Address, Answer, Loop};
use crate::clients::server::Server;
use crate::coin::Coin;

/// Length of the warm-up on each arm in seconds, because language runtimes compile code that runs often.
const WARM_UP_S: f64 = 2.0;
/// Number of requests after which the rate is known well enough to choose the size of a slice.
const FIRST_REQUESTS: usize = 500;
/// Thue-Morse order of eight slices, so that linear and quadratic drift affect both arms equally.
const ORDER: [usize; 8] = [0, 1, 1, 0, 1, 0, 0, 1];

/// Measures on new connections: a warm-up, then groups of eight slices, with a coin flip before each group. Also
/// returns the versions.
pub(super) fn measure(
    name: &str,
    server: &Server,
    slice_s: f64,
    n_octets: u32,
    coin: &mut Coin,
) -> Result<(Rates, String)> {
    let addresses = [Address::Unix(server.socket().clone()), Address::Tcp(server.tcp())];
    let mut loops = Vec::new();
    let mut slice_requests = Vec::new();
    for address in addresses {
        let mut started = Loop::connect(name, &address, server)?;
        let rate_per_s = warm_up(&mut started)?;
        slice_requests.push((rate_per_s * slice_s).ceil() as usize);
        loops.push(started);
    }
    let versions = loops[0].versions.clone();
    let mut answers: [Vec<Answer>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..n_octets {
        let swap = usize::from(coin.flip());
        for arm in ORDER.map(|arm| arm ^ swap) {
            answers[arm].push(loops[arm].ask(slice_requests[arm])?);
        }
    }
    loops.into_iter().try_for_each(Loop::end)?;
    Ok((rates(&answers)?, versions))
}

/// Runs the warm-up; returns the rate at its end.
fn warm_up(started: &mut Loop) -> Result<f64> {
    let mut n_requests = FIRST_REQUESTS;
    let mut spent_s = 0.0;
    loop {
        let answer = started.ask(n_requests)?;
        spent_s += answer.seconds;
        let rate_per_s = n_requests as f64 / answer.seconds;
        if spent_s >= WARM_UP_S {
            return Ok(rate_per_s);
        }
        // The warm-up runs in quarters, because the first measured rates are much too low.
        n_requests = (rate_per_s * WARM_UP_S / 4.0).ceil() as usize;
    }
}

/// Returns the medians of the slices, so that a single disturbed slice has no effect.
fn rates(answers: &[Vec<Answer>; 2]) -> Result<Rates> {
    let figure = |arm: usize, of: fn(&Answer) -> f64| {
        let mut values: Vec<f64> = answers[arm].iter().map(of).collect();
        median(&mut values).context("no slice")
    };
    let rate = |answer: &Answer| answer.n_requests as f64 / answer.seconds;
    let cpu_us = |answer: &Answer| 1e6 * answer.cpu_seconds / answer.n_requests as f64;
    Ok(Rates { per_s: [figure(0, rate)?, figure(1, rate)?], cpu_us: [figure(0, cpu_us)?, figure(1, cpu_us)?] })
}
