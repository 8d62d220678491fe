//! The CPU time that TCP adds to a request, by condition. Combines the measurements of each group of machines, and
//! tests whether the groups differ.

use std::collections::BTreeMap;

use looptax_model::record::{FleetEffects, FleetGroup};
use looptax_model::stats::meta::{Effect, Pooled, Spread, benjamini_hochberg, groups};

use super::answers::Measured;
use super::saved::{ALPHA, saved};

const MOST_GROUPS: usize = 12;

/// A function that returns the name of a machine's group.
type Label = fn(&Measured) -> String;

const CONDITIONS: [(&str, Label); 5] = [
    ("server", |it| it.server.clone()),
    ("server version", |it| {
        let version = it.server_version.split(['-', ' ']).next();
        format!("{} {}", it.server, version.unwrap_or_default())
    }),
    ("kernel", |it| it.kernel.clone()),
    ("cpu", |it| it.cpu_model.clone()),
    ("virtualised", |it| match it.virtualised.as_str() {
        "" => "not known".to_owned(),
        said => said.to_owned(),
    }),
];

/// Returns each condition by which machines differ, with its groups. The kinds of server are always included. The tests
/// of all conditions are adjusted for the number of tests.
pub(super) fn by_condition(measured: &[Measured]) -> Vec<FleetEffects> {
    let found = CONDITIONS
        .iter()
        .filter_map(|(name, label)| condition(name, *label, measured))
        .filter(|it| it.groups.len() > 1 || it.condition == CONDITIONS[0].0);
    let mut found: Vec<FleetEffects> = found.collect();
    let p_values: Vec<f64> = found.iter().filter_map(|it| it.p).collect();
    let mut adjusted = benjamini_hochberg(&p_values).into_iter();
    for it in &mut found {
        if it.p.is_some() {
            it.p = adjusted.next();
        }
    }
    found
}

fn condition(name: &str, label: Label, measured: &[Measured]) -> Option<FleetEffects> {
    let mut by_label: BTreeMap<String, Vec<Effect>> = BTreeMap::new();
    for it in measured {
        by_label.entry(label(it)).or_default().push(it.effect);
    }
    let effects: Vec<&[Effect]> = by_label.values().map(Vec::as_slice).collect();
    let found = groups(&effects, Spread::PauleMandel, ALPHA)?;
    let own = by_label.keys().zip(&found.own);
    let mut rows: Vec<FleetGroup> = own.filter_map(|(label, pooled)| Some(group(label, pooled.as_ref()?))).collect();
    rows.sort_by_key(|it| std::cmp::Reverse(it.cpu_us.n));
    let n_more = rows.len().saturating_sub(MOST_GROUPS);
    rows.truncate(MOST_GROUPS);
    Some(FleetEffects {
        condition: name.to_owned(),
        groups: rows,
        n_more: n_more as u64,
        p: found.between.map(|it| it.p),
    })
}

fn group(label: &str, pooled: &Pooled) -> FleetGroup {
    let is_alone = pooled.n_hosts < 2;
    let of_many = |value: f64| Some(value).filter(|_| !is_alone);
    FleetGroup {
        label: label.to_owned(),
        cpu_us: saved(if is_alone { &pooled.fixed } else { &pooled.mean }),
        one_more: saved(&pooled.prediction),
        tau_us: of_many(pooled.tau_squared.value.max(0.0).sqrt()),
        i_squared: of_many(pooled.i_squared.value),
    }
}
