//! Reference values for the unit tests of this crate, and functions that compare with them.
//!
//! The file `tests/stat_vectors.json` was computed with numpy 2.4.6 and scipy 1.17.1. In this file, `U` is the
//! baseline and `T` the other arm. Used only by tests.

use serde_json::Value;

use crate::stats::{Epoch, Side, Slice};

/// Fails unless `found` is within `tolerance` of `expected`.
#[track_caller]
pub(crate) fn close(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "found {found}, expected {expected} within {tolerance}");
}

pub(crate) fn load() -> Value {
    serde_json::from_str(include_str!("../../tests/stat_vectors.json")).unwrap()
}

#[track_caller]
pub(crate) fn floats(value: &Value) -> Vec<f64> {
    let items = value.as_array().unwrap();
    items.iter().map(|item| item.as_f64().unwrap()).collect()
}

#[track_caller]
pub(crate) fn counts(value: &Value) -> Vec<u64> {
    let items = value.as_array().unwrap();
    items.iter().map(|item| item.as_u64().unwrap()).collect()
}

/// Makes a slice with `completions` in `active_ns`; all other fields are empty or zero.
pub(crate) fn plain_slice(side: Side, completions: u64, active_ns: u64) -> Slice {
    Slice {
        side,
        completions,
        early: 0,
        active_ns,
        drained: 0,
        drain_ns: 0,
        requests: completions,
        client_cpu_ns: None,
        server_cpu_ns: None,
        client_switches: 0,
        is_in_place: true,
        response: None,
    }
}

/// Makes the twelve epochs of vector V1.
pub(crate) fn v1_epochs() -> Vec<Epoch> {
    let vectors = load();
    let epochs = vectors["V1_epoch_effects_HL_signed_rank"]["input"]["epochs"].as_array();
    epochs.unwrap().iter().map(v1_epoch).collect()
}

fn v1_epoch(epoch: &Value) -> Epoch {
    let order = epoch["order"].as_str().unwrap().chars();
    let times_us = counts(&epoch["active_us"]);
    let slices = order.zip(counts(&epoch["counts"])).zip(times_us);
    let slices = slices.map(|((letter, n), time_us)| {
        let side = if letter == 'U' { Side::Baseline } else { Side::Other };
        plain_slice(side, n, time_us * 1000)
    });
    Epoch { slices: slices.collect(), latencies_ns: [vec![], vec![]], noise: None }
}

/// Returns the θ of the epochs of vector V1.
pub(crate) fn v1_thetas() -> Vec<f64> {
    v1_epochs().iter().map(|epoch| epoch.theta().unwrap()).collect()
}
