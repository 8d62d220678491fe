//! Kawin Viriyaprasopsook's comparison: Redis and MariaDB behind a published port, compared with their sockets.
//!
//! In the article, "TCP" passes through a bridge and a port proxy. The arms TCP, bridge and proxy are therefore all
//! measured, and the bill shows how much each arm adds.

use looptax_model::analysis::effect::Effect;
use looptax_model::record::{
    Bill, Comparison, Estimate, Figure, PortShare, ReproductionFinding, ReproductionPart, Verdict,
};

use super::publication::Publication;
use super::reading::Reading;

pub(crate) const PUBLISHED_PORT: &str = "proxy";

/// For each row about the published port, adds a finding that shows the parts of the port's cost.
pub(crate) fn add(part: &mut ReproductionPart, publication: &Publication, readings: &[Option<Reading>]) {
    for (plan, reading) in publication.steps.iter().zip(readings) {
        let Some(reading) = reading else { continue };
        let rows = publication
            .rows
            .iter()
            .filter(|row| row.step == plan.name && row.arm == PUBLISHED_PORT && row.effect == Effect::Rate);
        let all = &reading.record.comparisons;
        let found = rows.filter_map(|row| finding(row.comparison(all)?, &row.what));
        part.findings.extend(found);
    }
}

fn finding(comparison: &Comparison, what: &str) -> Option<ReproductionFinding> {
    let mut taxes = comparison.tax.iter();
    let is_proved = taxes.any(|tax| tax.arm == PUBLISHED_PORT && tax.verdict == Verdict::Difference);
    let bill = comparison.bill.as_ref().filter(|_| is_proved);
    bill.and_then(|bill| shares(bill, what))
}

/// Returns which share of the published port's cost is due to the proxy, and which to the transport; `None` if these
/// shares are not proved.
fn shares(bill: &Bill, what: &str) -> Option<ReproductionFinding> {
    let step = |arm: &str| bill.steps.iter().find(|step| step.arm == arm);
    let known = |figure: &Figure| -> Option<Estimate> {
        let it = figure.known()?;
        (it.lo.is_some() && it.hi.is_some()).then_some(*it)
    };
    let [tcp, bridge, proxy] = ["tcp", "bridge", PUBLISHED_PORT].map(step);
    let [tcp, bridge, proxy] = [tcp?, bridge?, proxy?];
    let in_all_us = known(&proxy.in_all_us)?;
    if in_all_us.lo? <= 0.0 {
        return None;
    }
    // Computed from the total costs of the arms, so that the parts add up to the whole.
    let until_tcp = known(&tcp.in_all_us)?.value;
    let until_bridge = known(&bridge.in_all_us)?.value;
    let share = |figure: &Figure, us: f64| Some(PortShare { us: known(figure)?, pct: 100.0 * us / in_all_us.value });
    Some(ReproductionFinding::ShareOfPort {
        what: what.to_owned(),
        in_all_us,
        shares: [
            share(&tcp.time_us, until_tcp)?,
            share(&bridge.time_us, until_bridge - until_tcp)?,
            share(&proxy.time_us, in_all_us.value - until_bridge)?,
        ],
    })
}

#[cfg(test)]
mod tests {
    use looptax_model::record::BillStep;

    use super::*;

    #[test]
    fn shares_are_those_of_the_added_time() {
        let us = |value: f64| Figure::new(value, value, value, 8);
        let step = |arm: &str, over: &str, us_: f64, all: f64| BillStep {
            arm: arm.to_owned(),
            over: over.to_owned(),
            time_us: us(us_),
            cpu_us: us(us_),
            in_all_us: us(all),
            left_over_us: None,
        };
        let bill = Bill {
            root: "unix".to_owned(),
            root_time_us: us(10.0),
            root_cpu_us: us(10.0),
            steps: vec![
                step("tcp", "unix", 2.0, 2.0),
                step("bridge", "tcp", 1.0, 3.0),
                step("proxy", "bridge", 17.0, 20.0),
            ],
        };
        let Some(ReproductionFinding::ShareOfPort { in_all_us, shares, .. }) = shares(&bill, "get") else {
            panic!("it is proved");
        };
        assert!((in_all_us.value - 20.0).abs() < 1e-9);
        let found = shares.map(|it| (it.us.value, it.pct));
        for (found, expected) in found.into_iter().zip([(2.0, 10.0), (1.0, 5.0), (17.0, 85.0)]) {
            assert!((found.0 - expected.0).abs() < 1e-9 && (found.1 - expected.1).abs() < 1e-9);
        }
    }
}
