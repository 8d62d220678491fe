//! A request that mostly waits for a timer: what the two arms differ by is no cost of a transport then.

use crate::record::Tax;

/// Least time that counts, µs: a delayed acknowledgement comes after 40 ms, and a request on the other arm hides half of
/// its wait at most where every second answer waits.
const LEAST_US: f64 = 5_000.0;
/// Largest share of it that CPU time may be.
const MOST_CPU: f64 = 0.2;

/// What to know of a tax that is a wait, where one connection asks one request at a time.
///
/// # Source
/// RFC 9293, 3.7.4 (Nagle's algorithm) and 3.8.6.3 (delayed acknowledgements); Linux, `TCP_DELACK_MIN`: 40 ms.
pub(crate) fn warning(tax: &Tax, connections: u32) -> Option<String> {
    let longer_us = tax.latency_us.mean.known()?.value;
    let cpu_us = tax.cpu_us.both.known()?.value;
    (connections == 1 && is_wait(longer_us, cpu_us)).then(|| {
        format!(
            "of the {:.1} ms that a request over {} takes longer, {:.1} ms are CPU time: the rest it waits for a timer, as the \
             end of an answer does that TCP holds back until what went before is acknowledged (no TCP_NODELAY at the \
             sender, and acknowledgements that come after 40 ms)",
            longer_us / 1e3,
            tax.arm,
            cpu_us.max(0.0) / 1e3
        )
    })
}

/// Whether a request takes so much longer without work.
fn is_wait(longer_us: f64, cpu_us: f64) -> bool {
    longer_us >= LEAST_US && cpu_us <= MOST_CPU * longer_us
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
