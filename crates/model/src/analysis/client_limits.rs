//! Finds arms in which the client limits the rate, not the server. If looptax's own work for a request costs more than
//! everything else, the measurement of the arm says little about its transport. Called by [`super::judged`].

use std::collections::BTreeSet;

use crate::record::{ClientLimit, ClientLimitCause, Epoch, Raw};
use crate::stats::Side;

use super::proved_arm::ProvedArm;

/// If the client's own code uses more than this share of all CPU time per request, the measurement mostly measures that
/// code.
const OWN_CODE: f64 = 0.5;
/// If the client is busy for more than this share of its cores' time, it has no reserve.
const BUSY: f64 = 0.9;
/// If requests are sent late by more than this fraction of the latency's p99, the delay distorts the figures.
const LATE: f64 = 0.1;

/// Looks for signs that the client is the bottleneck, and returns these signs for each arm of `pair`.
///
/// `p99_us` has the arms' 99th percentiles. For a command that is measured as a whole, no limits are returned: the
/// command's own code is part of what is measured.
pub(crate) fn find_limits(
    raw: &Raw,
    pair: [u32; 2],
    arms: &[ProvedArm; 2],
    p99_us: [Option<f64>; 2],
) -> Vec<ClientLimit> {
    let on_side = |side: Side| {
        let arm = &arms[side.idx()];
        if arm.proof.seen.is_some() {
            return Vec::new();
        }
        let causes = [own_code(raw, pair, side), busy(raw, pair, side), late(raw, pair, side, p99_us[side.idx()])];
        let limit = |cause| ClientLimit { arm: arm.name.clone(), cause };
        causes.into_iter().flatten().map(limit).collect()
    };
    Side::BOTH.into_iter().flat_map(on_side).collect()
}

/// Returns the client's user CPU time divided by the CPU time of both ends, if the result is above the limit. Returns
/// `None` also if one of these CPU times is not known.
fn own_code(raw: &Raw, pair: [u32; 2], side: Side) -> Option<ClientLimitCause> {
    let (mut user, mut all) = (0, 0);
    let epochs = raw.of_pair(pair);
    for slice in epochs.flat_map(|(_, epoch)| epoch.slices_of(side)) {
        user += slice.client_user_ns?;
        all += slice.client_cpu_ns? + slice.server_cpu_ns?;
    }
    above(user as f64 / all as f64, OWN_CODE).map(|share_pct| ClientLimitCause::OwnCode { share_pct })
}

/// Returns the client's CPU time divided by the time of its cores, if the server runs on other cores. The client of an
/// open loop may spin while it waits, so its CPU time shows nothing; [`late`] checks the open loop instead.
fn busy(raw: &Raw, pair: [u32; 2], side: Side) -> Option<ClientLimitCause> {
    let (mut used_ns, mut had_ns) = (0.0, 0.0);
    for (_, epoch) in raw.of_pair(pair) {
        if epoch.lag_p99_ns[side.idx()].is_some() {
            return None;
        }
        let n_cores = cores_alone(epoch)? as f64;
        for slice in epoch.slices_of(side) {
            used_ns += slice.client_cpu_ns? as f64;
            had_ns += n_cores * (slice.guard_ns + slice.active_ns + slice.drain_ns) as f64;
        }
    }
    above(used_ns / had_ns, BUSY).map(|busy_pct| ClientLimitCause::BusyCores { busy_pct })
}

/// Returns the number of the client's cores, if all cores are known and the server uses none of the client's cores.
fn cores_alone(epoch: &Epoch) -> Option<usize> {
    let all = |cores: &[Option<u32>]| cores.iter().copied().collect::<Option<BTreeSet<u32>>>();
    let (client, server) = (all(&epoch.client_cores)?, all(&epoch.server_cores)?);
    let is_split = !server.is_empty() && client.is_disjoint(&server);
    (is_split && !client.is_empty()).then_some(client.len())
}

/// Returns how late looptax itself sent the requests of an open loop, compared with the arm's p99.
fn late(raw: &Raw, pair: [u32; 2], side: Side, p99_us: Option<f64>) -> Option<ClientLimitCause> {
    let mut lags: Vec<u32> = raw.of_pair(pair).filter_map(|(_, epoch)| epoch.lag_p99_ns[side.idx()]).collect();
    lags.sort_unstable();
    let by_us = f64::from(*lags.get(lags.len() / 2)?) / 1e3;
    (by_us > LATE * p99_us?).then_some(ClientLimitCause::Late { by_us })
}

/// Returns the share in percent if it is a number above `most`, otherwise `None`.
fn above(share: f64, most: f64) -> Option<f64> {
    (share.is_finite() && share > most).then_some(100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made_up;

    const PAIR: [u32; 2] = [0, 1];

    #[track_caller]
    fn check(change: impl Fn(&mut Epoch), p99_us: Option<f64>, expected: &[ClientLimitCause]) {
        let epoch = |idx| {
            let mut epoch = made_up::epoch(idx, PAIR, [50, 40]);
            change(&mut epoch);
            epoch
        };
        let raw = Raw { epochs: (0..3).map(epoch).collect() };
        let arms = [made_up::arm("unix"), made_up::arm("tcp")];
        let found = find_limits(&raw, PAIR, &arms, [p99_us; 2]);
        let causes: Vec<_> = found.iter().map(|it| it.cause).collect();
        assert_eq!(causes, expected);
        assert!(found.iter().all(|it| it.arm == "tcp"), "{found:?}");
    }

    /// Changes all slices of the second arm.
    fn of_tcp(epoch: &mut Epoch, change: impl Fn(&mut crate::record::Slice)) {
        epoch.slices.iter_mut().filter(|slice| slice.arm_idx == 1).for_each(change);
    }

    #[test]
    fn a_server_that_works_more_sets_the_pace() {
        check(|_| {}, Some(9.0), &[]);
    }

    #[test]
    fn a_client_whose_own_code_takes_most_is_the_bottleneck() {
        let heavy = |epoch: &mut Epoch| {
            of_tcp(epoch, |slice| {
                slice.client_user_ns = Some(6_000);
                slice.client_cpu_ns = Some(7_000);
                slice.server_cpu_ns = Some(1_000);
            });
        };
        check(heavy, None, &[ClientLimitCause::OwnCode { share_pct: 75.0 }]);
    }

    #[test]
    fn a_client_that_fills_its_own_cores_is_the_bottleneck() {
        let full = |epoch: &mut Epoch| {
            epoch.client_cores = vec![Some(0), Some(0)];
            epoch.server_cores = vec![Some(1), Some(1)];
            of_tcp(epoch, |slice| {
                let whole = slice.guard_ns + slice.active_ns + slice.drain_ns;
                slice.client_cpu_ns = Some(whole);
            });
        };
        check(full, None, &[ClientLimitCause::BusyCores { busy_pct: 100.0 }]);
        // If client and server share a core, a busy core only shows that it is shared.
        let shared = |epoch: &mut Epoch| {
            full(epoch);
            epoch.server_cores = vec![Some(1), Some(0)];
        };
        check(shared, None, &[]);
        // In an open loop, a busy core only shows that the client spins.
        let spinning = |epoch: &mut Epoch| {
            full(epoch);
            epoch.lag_p99_ns = [Some(1), Some(1)];
        };
        check(spinning, None, &[]);
    }

    #[test]
    fn a_client_that_is_late_is_the_bottleneck() {
        let late = |epoch: &mut Epoch| epoch.lag_p99_ns = [Some(100), Some(2_000)];
        check(late, Some(10.0), &[ClientLimitCause::Late { by_us: 2.0 }]);
        check(late, Some(30.0), &[]);
        check(late, None, &[]);
    }
}
