//! Finds taxes that consist mostly of waiting: the difference of the two arms is then not the cost of a transport.

use crate::record::{Figure, Tax};

/// The shortest difference that may be reported as waiting, µs. A delayed acknowledgement takes 40 ms. Even if only
/// every second answer waits for an acknowledgement, and the request on the other arm hides half of this wait, the
/// difference is longer than this limit.
const LEAST_US: f64 = 5_000.0;
/// Maximum share of the difference that may be CPU time.
const MOST_CPU: f64 = 0.2;
/// The range of the time that a delayed acknowledgement adds, µs: the kernel's timer of 40 ms, minus one tick of 4 ms
/// or plus two ticks.
const DELAYED_US: [f64; 2] = [36_000.0, 48_000.0];

/// Returns a warning if a tax consists of waiting, and one connection sends one request at a time. The cause of the
/// waiting is not measured, so the warning only reports that a quantile differs by the length of a timer.
///
/// # Source
/// RFC 9293, 3.7.4 (Nagle's algorithm) and 3.8.6.3 (delayed acknowledgements); Linux, `TCP_DELACK_MIN`: 40 ms.
pub(crate) fn warning(tax: &Tax, connections: u32) -> Option<String> {
    let longer = tax.latency_us.mean.known()?;
    let cpu_us = tax.cpu_us.both.known()?.value;
    let is_known = longer.lo.is_some_and(|lo| lo > 0.0);
    (connections == 1 && is_known && is_wait(longer.value, cpu_us)).then(|| {
        let timer = if [&tax.latency_us.p50, &tax.latency_us.p99].into_iter().any(is_delayed) {
            "; a quantile differs by some 40 ms, the time by which Linux may delay an acknowledgement: to see \
             whether Linux delayed acknowledgements in this run, compare TcpExtTCPDelayedACKs of `nstat` before and \
             after a run"
        } else {
            ""
        };
        format!(
            "a request over {} takes {:.1} ms longer; {:.1} ms of this difference are CPU time, and the rest is \
             waiting for a timer, a lock, or a core that other programs used; looptax did not measure which of the \
             three{timer}",
            tax.arm,
            longer.value / 1e3,
            cpu_us.max(0.0) / 1e3
        )
    })
}

/// Checks whether a request takes `longer_us` longer, and uses CPU time for only a small part of this difference.
fn is_wait(longer_us: f64, cpu_us: f64) -> bool {
    longer_us >= LEAST_US && cpu_us <= MOST_CPU * longer_us
}

/// Checks whether a quantile differs by the length of a delayed acknowledgement.
fn is_delayed(quantile: &Figure) -> bool {
    quantile.known().is_some_and(|it| (DELAYED_US[0]..DELAYED_US[1]).contains(&it.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_from_work() {
        assert!(is_wait(45_400.0, 370.0));
        assert!(is_wait(45_400.0, -3.0));
        assert!(!is_wait(45_400.0, 40_000.0), "a large answer is copied");
        assert!(!is_wait(60.0, 3.0));
        assert!(!is_wait(-45_400.0, 3.0));
    }
}
