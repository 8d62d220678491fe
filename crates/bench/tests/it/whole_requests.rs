//! Epochs of four whole requests: each slice has exactly one request, and no part of the request is outside the slice.

use looptax_bench::{ClientModel, Shape};
use looptax_model::stats::Side;

use crate::peer::Peers;
use crate::{outcome, plan};

#[test]
fn an_epoch_is_two_requests_of_each_side_in_a_palindrome() {
    for client in ClientModel::ALL {
        let mut plan = plan(client, 1, 6);
        plan.course.shape = Shape::whole();
        let mut peers = Peers::right();
        let found = outcome(&plan, &mut peers);
        assert!(found.failure.is_none(), "{found:?}");
        let epochs = &found.contrasts[0].epochs;
        assert_eq!(epochs.len(), 6);
        for epoch in epochs {
            let sides: Vec<Side> = epoch.raw.sided().map(|(side, _)| side).collect();
            assert_eq!(sides.len(), 4);
            assert!(sides[0] == sides[3] && sides[1] == sides[2] && sides[0] != sides[1]);
            assert_eq!(epoch.n_primed, 0);
            for slice in &epoch.raw.slices {
                assert_eq!((slice.completions, slice.requests, slice.drained), (1, 1, 0));
                assert_eq!((slice.guard_ns, slice.drain_ns), (0, 0));
                assert_eq!(slice.active_ns, slice.latency_sum_ns);
                assert!(slice.active_ns > 0 && slice.received_bytes.is_some());
            }
            assert!(epoch.raw.answers_agree);
        }
        for [baseline, other] in peers.seen() {
            assert_eq!((baseline[0].len(), other[0].len()), (2, 2));
        }
    }
}
