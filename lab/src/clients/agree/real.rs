//! A real client: its loop on both arms, in alternating slices.

use anyhow::{Context, Result};
use looptax_model::stats::median;

use super::rates::Rates;
use crate::clients::client::{Address, Answer, Loop};
use crate::clients::server::Server;
use crate::coin::Coin;

/// Run-times compile what runs often: so long on each arm before anything counts, in seconds.
const WARM_UP_S: f64 = 2.0;
/// Requests after which the rate is known well enough to size a slice by it.
const FIRST_REQUESTS: usize = 500;
/// Thue-Morse order of eight slices: linear and quadratic drift falls on both arms alike.
const ORDER: [usize; 8] = [0, 1, 1, 0, 1, 0, 0, 1];

/// Fresh connections, warm-up, groups of eight slices, a coin before each. Gives the versions too.
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

/// Gives the rate at its end.
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
        // A quarter of the warm-up at a time, since the first rates are much too low.
        n_requests = (rate_per_s * WARM_UP_S / 4.0).ceil() as usize;
    }
}

/// Medians of the slices: one that somebody else disturbed does no harm.
fn rates(answers: &[Vec<Answer>; 2]) -> Result<Rates> {
    let figure = |arm: usize, of: fn(&Answer) -> f64| {
        let mut values: Vec<f64> = answers[arm].iter().map(of).collect();
        median(&mut values).context("no slice")
    };
    let rate = |answer: &Answer| answer.n_requests as f64 / answer.seconds;
    let cpu_us = |answer: &Answer| 1e6 * answer.cpu_seconds / answer.n_requests as f64;
    Ok(Rates { per_s: [figure(0, rate)?, figure(1, rate)?], cpu_us: [figure(0, cpu_us)?, figure(1, cpu_us)?] })
}
