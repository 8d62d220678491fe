//! The injected delay, and the glimpse at the range of rates.

use std::sync::atomic::AtomicBool;

use looptax_bench::{ClientModel, glimpse};
use looptax_model::stats::Side;

use crate::peer::Peers;
use crate::{MS, outcome, plan};

#[test]
fn each_request_of_the_delayed_side_waits_at_least_as_long_as_told() {
    const INJECT_NS: u64 = 50_000;
    for client in ClientModel::ALL {
        let mut plan = plan(client, 3, 1);
        plan.contrasts[0].sides[1].inject_ns = Some(INJECT_NS);
        let outcome = outcome(&plan, &mut Peers::right());
        for (side, slice) in outcome.contrasts[0].epochs[0].raw.sided() {
            match side {
                Side::Baseline => assert_eq!(slice.injected_ns, 0),
                Side::Other => {
                    assert!(slice.injected_ns >= INJECT_NS * slice.requests, "{client}: {slice:?}");
                }
            }
        }
    }
}

#[test]
fn a_look_gives_equally_many_rates_for_both_sides() {
    let plan = plan(ClientModel::Poll, 2, 1);
    let stop = AtomicBool::new(false);
    // The shortest possible glimpse: two slices of 200 ms for each side.
    let seen = glimpse(&plan, &mut Peers::right(), MS, &stop).unwrap().unwrap();
    for rates in &seen.rates_per_s {
        assert_eq!(rates.len(), 4);
        assert!(rates.iter().any(|rate| *rate > 0.0), "{rates:?}");
    }
}
